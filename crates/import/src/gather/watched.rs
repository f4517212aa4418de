//! Records of what `record` saw of a process from outside: states of threads, limits, samples. They lie in a file
//! beside the process's own, with texts of its own.

use super::state::Process;
use super::state::watched::{PendingStack, ThreadActivity};
use spool::{File, Glance, Home, Left, Limits, Record, Run, State, Unseen};
use trace::{Limit, Ns, Sample, StackId, ThreadState};

/// A thread that has not run for this long is sampled once a second instead of at every look, ns: most threads of a
/// program of many never run, and each of their samples is the same.
const IDLE: Ns = 10_000_000_000;
const IDLE_PERIOD: Ns = 1_000_000_000;

/// Processor time that no look found and that is not worth a note, ns: as much as the counters of one running thread
/// lag behind.
const LITTLE: i64 = 10_000_000;

impl Process<'_, '_> {
    /// Reads the file beside the process's own.
    pub(super) fn beside(&mut self, file: &File<'_>) {
        let (chunks, damage) = file.chunks();
        let own = std::mem::take(&mut self.texts);
        self.file = Home::Beside;
        self.last.resize(self.last.len().max(chunks.len() + 1), 0);
        let surveys = self.survey(&chunks);
        self.records(&chunks);
        self.texts = own;
        let broken = surveys.iter().map(|survey| survey.damaged).chain([damage.bytes]);
        let broken = broken.filter(|bytes| *bytes > 0).count();
        let lost = &mut self.all.trace.meta.lost;
        lost.records("damaged places in the spool", broken as u64);
        lost.records("no room left in the spool", file.dropped());
        if file.dropped() > 0 {
            self.note(format!(
                "process {}: states and samples of its threads are incomplete: the spool was full",
                self.pid
            ));
        }
        if !file.finished() {
            self.note(format!(
                "process {}: the recorder was killed: states and samples of its threads end there",
                self.pid
            ));
        }
        let found = self.end_threads(file.finished() && file.dropped() == 0);
        self.say_unseen(found);
    }

    /// Reads a record; `None` where it is too short for its kind.
    pub(super) fn watched(&mut self, kind: spool::Watched, record: &Record<'_>) -> Option<()> {
        use spool::Watched;
        let (body, tag) = (record.body, record.head.tag);
        match kind {
            Watched::State => self.state(tag, State::read(body)?),
            Watched::Limits => self.limit(Limits::read(body)?),
            Watched::Seen => {
                let (native, python) = record.seen()?;
                self.watched.stacks.insert(tag, PendingStack::Frames(native, python));
            }
            Watched::Look => {
                let (at, glances) = record.glances()?;
                self.look(at, &glances);
            }
            Watched::Left => self.endings.left(Left::read(body)?),
            Watched::Unseen => {
                let unseen = Unseen::read(body)?;
                if self.watched.unseen.is_none_or(|known| known.at <= unseen.at) {
                    self.watched.unseen = Some(unseen);
                }
            }
        }
        Some(())
    }

    fn state(&mut self, call: u32, state: State) {
        let State { start, end, running, runnable, object, tid, state } = state;
        let Some((start, end)) = self.times(start, end) else { return };
        let counted = running.checked_add(runnable).filter(|sum| *sum <= end - start);
        if counted.is_none() || running < 0 || runnable < 0 {
            return self.all.trace.meta.lost.record("invalid times");
        }
        let row = trace::State {
            start,
            end,
            thread: self.thread(tid),
            running,
            runnable,
            state: self.thread_state(state),
            call: self.texts.get(call),
            object: object.cast_signed(),
        };
        self.all.trace.states.push(row);
    }

    fn limit(&mut self, limits: Limits) {
        let Limits { start, end, throttled, quota, processors } = limits;
        let Some((start, end)) = self.times(start, end) else { return };
        let row = Limit {
            start,
            end,
            process: self.row,
            processors: self.valid(u32::try_from(processors).ok()),
            quota: self.valid(Some(quota).filter(|quota| *quota >= 0)),
            throttled: self.valid(Some(throttled).filter(|throttled| *throttled >= 0)),
        };
        self.all.trace.limits.push(row);
    }

    fn look(&mut self, at: Ns, glances: &[Glance]) {
        let latest = glances.iter().map(|glance| glance.after).max().unwrap_or(0);
        let Some((at, _)) = self.times(at, at.saturating_add(latest.into())) else { return };
        let mut any_gone = false;
        for &Glance { tid, state, stack, after } in glances {
            if state == Glance::GONE {
                any_gone = true;
                self.watched.threads.remove(&tid);
            } else {
                let (stack, state, after) = (self.seen(stack), self.thread_state(state), after.into());
                let now = ThreadActivity { stack, state, since: at, after, sampled: Ns::MIN };
                self.watched.threads.insert(tid, now);
            }
        }
        if !any_gone {
            self.sample(at);
        }
    }

    /// Adds a sample of every thread.
    fn sample(&mut self, at: Ns) {
        let mut threads = std::mem::take(&mut self.watched.threads);
        for (tid, now) in &mut threads {
            let is_idle = at - now.since > IDLE && at.saturating_sub(now.sampled) < IDLE_PERIOD;
            if now.stack.is_some() && !is_idle {
                now.sampled = at;
                let thread = self.thread(*tid);
                // It was seen so before, or its stack was read now.
                let at = if now.since == at { at + now.after } else { at };
                self.all.trace.samples.push(Sample { at, thread, stack: now.stack, state: now.state });
            }
        }
        self.watched.threads = threads;
    }

    /// The row of a stack by its number.
    fn seen(&mut self, number: u32) -> StackId {
        let row = match self.watched.stacks.remove(&number) {
            Some(PendingStack::Row(row)) => row,
            Some(PendingStack::Frames(native, python)) => self.stack_of(&native, &python),
            None => return StackId::NONE,
        };
        self.watched.stacks.insert(number, PendingStack::Row(row));
        row
    }

    /// Notes what could not be seen; `found` of its processor time was found elsewhere, ns.
    fn say_unseen(&mut self, found: Ns) {
        let Some(Unseen { at: _, running, torn, cut, late }) = self.watched.unseen else { return };
        let who = format!("process {}", self.pid);
        let running = running.saturating_sub(found);
        if running > LITTLE {
            let ms = running / 1_000_000;
            self.note(format!(
                "{who}: threads ran for {ms} ms that no look saw, between a look and their end: these are in no state"
            ));
        }
        if torn > 0 {
            self.note(format!(
                "{who}: Python stacks that were not sampled, because they changed while they were read: {torn}"
            ));
        }
        if cut > 0 {
            self.note(format!("{who}: native stacks of samples without their outermost frames: {cut}"));
        }
        if late > 0 {
            self.note(format!(
                "{who}: looks at its threads that came late, for too many threads or too few processors: {late}"
            ));
        }
    }

    /// The activity of a thread; counts a number of nothing that it can do.
    fn thread_state(&mut self, number: u32) -> ThreadState {
        let state = |run| match run {
            Run::Unknown => ThreadState::Unknown,
            Run::Running => ThreadState::Running,
            Run::Ready => ThreadState::Runnable,
            Run::Blocked => ThreadState::Blocked,
            Run::Uninterruptible => ThreadState::Uninterruptible,
            Run::Stopped => ThreadState::Stopped,
        };
        self.valid(Run::from_number(number).map(state))
    }
}

#[cfg(test)]
mod tests {
    use super::super::symbolizer::NoSymbols;
    use super::super::{Contents, gather};
    use super::*;
    use proptest::prelude::*;
    use spool::{Build, Call, Kind, Level, Look, Seen, Step, ThreadName};
    use trace::Trace;

    const MAIN: u32 = 100;
    const OTHER: u32 = 101;

    /// A process whose main thread made a call and has a name, with the file beside it.
    fn read(beside: Build) -> Trace {
        let mut own = Build::new(MAIN, Level::Light);
        let name = own.text(MAIN, "cuLaunchKernel");
        own.record(MAIN, Call::KIND, name, &[Call { start: 1000, end: 2000, ..Call::default() }.bytes()]);
        let given = own.text(MAIN, "given");
        own.record(MAIN, ThreadName::KIND, given, &[ThreadName { tid: MAIN.into() }.bytes()]);
        let (own, beside) = (own.finish(), beside.finish());
        let contents = Contents { name: "100-0.spool".to_owned(), bytes: &own, beside: Some(&beside) };
        gather(&[contents], None, &mut NoSymbols, &mut |_| {})
    }

    fn python(build: &mut Build, id: u32, function: &str, line: u32) {
        let (file, function) = (build.text(0, "serve.py"), build.text(0, function));
        let frame: Vec<u8> = [file, function, line, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
        build.record(0, Seen::KIND, id, &[Seen { native: 0, python: 1 }.bytes(), &frame]);
    }

    /// A look whose stacks are read 10 ns after each other.
    fn look(build: &mut Build, at: Ns, glances: &[(u32, u32, u32)]) {
        let glances: Vec<u8> = glances
            .iter()
            .zip((0..).step_by(10))
            .flat_map(|((tid, state, stack), after)| {
                Glance { tid: *tid, state: *state, stack: *stack, after }.bytes()
            })
            .collect();
        build.record(0, Look::KIND, (glances.len() / 16) as u32, &[Look { at }.bytes(), &glances]);
    }

    #[test]
    fn states_limits_and_names() {
        let mut build = Build::new(MAIN, Level::Light);
        // Other texts have the numbers that the process's own file uses.
        let read_call = build.text(0, "read");
        let (comm, other) = (build.text(0, "python"), build.text(0, "worker"));
        for (tid, name) in [(MAIN, comm), (OTHER, other)] {
            build.record(0, ThreadName::KIND, name, &[ThreadName { tid: tid.into() }.bytes()]);
        }
        let state = State {
            start: 1500,
            end: 2500,
            running: 100,
            runnable: 50,
            object: 3,
            tid: OTHER,
            state: Run::Blocked as u32,
        };
        build.record(0, State::KIND, read_call, &[state.bytes()]);
        build.record(0, State::KIND, 0, &[State { running: 990, runnable: 50, ..state }.bytes()]);
        let limits = Limits { start: 1500, end: 2500, throttled: 7, quota: 1500, processors: 4 };
        build.record(0, Limits::KIND, 0, &[limits.bytes()]);
        let trace = read(build);
        assert_eq!(trace.states.len(), 1, "more than the interval has");
        assert_eq!(trace.meta.lost.records, 1);
        let row = trace.states.row(trace.states.ids().next().unwrap());
        assert_eq!((row.end - row.start, row.running, row.runnable, row.object), (1000, 100, 50, 3));
        assert_eq!((trace.text(row.call), row.state), ("read", ThreadState::Blocked));
        assert_eq!(trace.text(trace.threads.name[row.thread]), "worker");
        let names: Vec<_> = trace.threads.name.iter().map(|name| trace.text(*name)).collect();
        assert!(names.contains(&"given") && !names.contains(&"python"), "{names:?}");
        let limit = trace.limits.row(trace.limits.ids().next().unwrap());
        assert_eq!((limit.processors, limit.quota, limit.throttled), (4, 1500, 7));
    }

    #[test]
    fn a_process_that_is_only_watched_lacks_nothing() {
        let mut beside = Build::new(MAIN, Level::Light);
        python(&mut beside, 1, "load", 5);
        look(&mut beside, 2000, &[(MAIN, Run::Running as u32, 1)]);
        let (own, beside) = (Build::new(MAIN, Level::Watched).finish(), beside.finish());
        let contents = Contents { name: "100-w.spool".to_owned(), bytes: &own, beside: Some(&beside) };
        let trace = gather(&[contents], None, &mut NoSymbols, &mut |_| {});
        assert_eq!((trace.processes.len(), trace.samples.len()), (1, 1));
        assert!(trace.meta.notes.is_empty() && trace.meta.lost.records == 0, "{:?}", trace.meta);
    }

    #[test]
    fn a_thread_that_does_not_run_is_sampled_where_it_was() {
        let mut build = Build::new(MAIN, Level::Light);
        python(&mut build, 1, "wait", 5);
        python(&mut build, 2, "work", 9);
        let (blocked, running) = (Run::Blocked as u32, Run::Running as u32);
        look(&mut build, 2000, &[(MAIN, running, 2), (OTHER, blocked, 1)]);
        look(&mut build, 3000, &[]);
        look(&mut build, 3500, &[(MAIN, Glance::GONE, 0)]);
        look(&mut build, 4000, &[(OTHER, running, 0)]);
        let trace = read(build);
        let function = |stack: StackId| {
            let frame = trace.frames.row(trace.stacks.frame[stack]);
            (trace.text(frame.function), frame.line)
        };
        let samples: Vec<_> = trace
            .samples
            .ids()
            .map(|id| trace.samples.row(id))
            .map(|sample| (sample.at, trace.threads.tid[sample.thread], function(sample.stack), sample.state))
            .collect();
        let (work, wait) = (("work", 9), ("wait", 5));
        let expected = [
            (1000, 100, work, ThreadState::Running),
            (1010, 101, wait, ThreadState::Blocked),
            (2000, 100, work, ThreadState::Running),
            (2000, 101, wait, ThreadState::Blocked),
        ];
        // The trace begins with the call at 1000; at 4000 nobody has a known stack.
        assert_eq!(samples, expected);
    }

    #[test]
    fn idle_threads_are_sampled_once_a_second() {
        let mut build = Build::new(MAIN, Level::Light);
        python(&mut build, 1, "wait", 5);
        look(&mut build, 2000, &[(OTHER, Run::Blocked as u32, 1)]);
        // A hundred looks a second, for twenty seconds.
        (1..2000).for_each(|count| look(&mut build, 2000 + count * 10_000_000, &[]));
        assert_eq!(read(build).samples.len(), 1001 + 9);
    }

    #[test]
    fn what_was_not_seen_is_said() {
        let mut build = Build::new(MAIN, Level::Light);
        let unseen = Unseen { at: 5000, running: 45_000_000, torn: 3, cut: 2, late: 1 };
        build.record(0, Unseen::KIND, 0, &[unseen.bytes()]);
        let notes = read(build).meta.notes;
        for said in ["45 ms that no look saw", "read: 3", "frames: 2", "processors: 1"] {
            assert!(notes.iter().any(|note| note.contains(said)), "{said}: {notes:?}");
        }
    }

    /// Numbers of the kinds that are read here.
    fn kinds() -> Vec<u16> {
        let is_watched = |kind: &&Kind| matches!(kind.step(), Step::Watched(_));
        Kind::ALL.iter().filter(is_watched).map(|kind| *kind as u16).collect()
    }

    proptest! {
        #[test]
        fn no_record_is_too_strange(
            records in proptest::collection::vec((proptest::sample::select(kinds()), 0..4u32, proptest::collection::vec(any::<u8>(), 0..80)), 0..40),
            small: bool,
        ) {
            let mut build = Build::new(MAIN, Level::Light);
            for (kind, tag, bytes) in &records {
                // Small numbers fit together more often.
                let bytes: Vec<u8> = bytes.iter().enumerate().map(|(at, byte)| if small && at % 4 > 0 { 0 } else { *byte }).collect();
                build.record(0, *kind, *tag, &[&bytes]);
            }
            let trace = read(build);
            for state in trace.states.ids().map(|id| trace.states.row(id)) {
                prop_assert!(state.start <= state.end && state.running + state.runnable <= state.end - state.start);
            }
        }
    }
}
