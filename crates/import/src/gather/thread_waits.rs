//! Waits for Python's GIL, and of threads that call the driver for locks of the program and for each other.

use super::links::Index;
use super::state::Process;
use super::state::thread_waits::{RawStack, ThreadWaits};
use rustc_hash::FxHashMap;
use spool::{Awaited, ThreadWait};
use trace::{LockKind, LockLayer, StackId, Sym};

impl Process<'_, '_> {
    /// Adds waits to their table.
    pub(super) fn thread_waits(&mut self, index: &Index, kept: ThreadWaits) {
        let mut stacks = FxHashMap::default();
        for (tid, awaited, wait) in kept.waits {
            self.thread_wait(index, (tid, awaited), wait, &kept.places, &mut stacks);
        }
        if kept.unplaced > 0 {
            let who = format!("process {}", self.pid);
            self.note(format!(
                "{who}: where a thread waits, ends a wait or goes on after a pause was not looked for {} times: that takes at most 0.5 % of the time",
                kept.unplaced
            ));
        }
    }

    fn thread_wait(
        &mut self,
        index: &Index,
        (tid, awaited): (u32, u32),
        wait: ThreadWait,
        places: &FxHashMap<u64, RawStack>,
        stacks: &mut FxHashMap<u64, StackId>,
    ) {
        let ThreadWait {
            start,
            end,
            released,
            lock,
            place,
            holder_place,
            releaser_place,
            since,
            holder_since,
            releaser_since,
            function,
            holder_function,
            releaser_function,
            holder,
            releaser,
            holders,
            mode,
            zero: _,
        } = wait;
        let Some((start, end)) = self.ticks(start, end) else { return };
        let [stack, holder_stack, releaser_stack] =
            [place, holder_place, releaser_place].map(|number| self.place(number, places, stacks));
        let kind = self.awaited(awaited);
        let row = trace::Wait {
            start,
            end,
            thread: self.thread(tid),
            call: self.call_in(index, (tid, function, since), start),
            lock: lock.cast_signed(),
            kind,
            mode: self.lock_mode(mode),
            library: self.library_of(stack),
            holder: self.party(holder),
            holder_call: self.call_in(index, (holder, holder_function, holder_since), start),
            holders,
            releaser: self.party(releaser),
            releaser_call: self.call_in(index, (releaser, releaser_function, releaser_since), end),
            layer: if kind == LockKind::Gil { LockLayer::Interpreter } else { LockLayer::Program },
            handoff: match released {
                0 => 0,
                _ => end.saturating_sub(self.clocks.ns(released)).clamp(0, end - start),
            },
            stack,
            holder_stack,
            releaser_stack,
        };
        self.all.trace.waits.push(row);
    }

    /// The kind of an [`Awaited`]; counts a number that is none, but for 0.
    pub(super) fn awaited(&mut self, number: u32) -> LockKind {
        match number {
            0 => LockKind::Unknown,
            _ => self.valid(Awaited::from_number(number).map(kind)),
        }
    }

    /// The stack of a place, `NONE` for number 0 and for one that was lost.
    fn place(
        &mut self,
        number: u64,
        places: &FxHashMap<u64, RawStack>,
        stacks: &mut FxHashMap<u64, StackId>,
    ) -> StackId {
        let Some(found) = places.get(&number) else { return StackId::NONE };
        if let Some(known) = stacks.get(&number) {
            return *known;
        }
        let stack = self.stack_of(&found.native, &found.python);
        stacks.insert(number, stack);
        stack
    }

    /// The file name of the library that a stack's innermost frame lies in; empty for Python's.
    fn library_of(&mut self, stack: StackId) -> Sym {
        let trace = &mut self.all.trace;
        let Some(stack) = stack.some() else { return Sym::EMPTY };
        let Some(frame) = trace.stacks.frame[stack].some() else { return Sym::EMPTY };
        let path = trace.text(trace.frames.module[frame]);
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        trace.strings.intern(&name)
    }
}

fn kind(awaited: Awaited) -> LockKind {
    match awaited {
        Awaited::Mutex => LockKind::Mutex,
        Awaited::Rwlock => LockKind::RwLock,
        Awaited::Spin => LockKind::Spin,
        Awaited::Gil => LockKind::Gil,
        Awaited::Condition => LockKind::Condition,
        Awaited::Semaphore => LockKind::Semaphore,
        Awaited::Barrier => LockKind::Barrier,
        Awaited::Join => LockKind::Join,
    }
}

#[cfg(test)]
mod tests {
    use crate::gather::read_bytes;
    use proptest::prelude::*;
    use spool::{Awaited, Build, Call, Kind, Level, Mode, Place, PythonFrame, ThreadWait, Unplaced};
    use trace::{LockKind, LockLayer, StackId, Trace};

    const WAITER: u32 = 7;
    const HOLDER: u32 = 8;

    fn frame(build: &mut Build, function: &str, line: u32) -> PythonFrame {
        let (file, function) = (build.text(WAITER, "serve.py"), build.text(WAITER, function));
        PythonFrame { file, function, line, zero: 0 }
    }

    fn place(build: &mut Build, number: u64, function: &str, line: u32) {
        let PythonFrame { file, function, line, .. } = frame(build, function, line);
        let frame: Vec<u8> = [file, function, line, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        build.record(HOLDER, Place::KIND, 0, &[Place { number, python: 1 }.bytes(), &frame]);
    }

    /// `WAITER` waits from 1,000 to 9,000 for the GIL of `HOLDER`, which releases it at 8,600.
    fn wait() -> ThreadWait {
        ThreadWait {
            start: 1_000,
            end: 9_000,
            released: 8_600,
            lock: 0x500,
            place: 1,
            holder_place: 2,
            releaser_place: 3,
            holder: HOLDER,
            releaser: HOLDER,
            holders: 1,
            mode: Mode::Exclusive as u32,
            ..ThreadWait::default()
        }
    }

    fn build() -> Build {
        let mut build = Build::new(42, Level::Light);
        let name = build.text(HOLDER, "cuLaunchKernel");
        build.record(HOLDER, Call::KIND, name, &[Call { start: 500, end: 2_000, ..Call::default() }.bytes()]);
        place(&mut build, 1, "handle", 10);
        place(&mut build, 3, "compute", 31);
        build
    }

    fn line(trace: &Trace, stack: StackId) -> Option<(&str, u32)> {
        let frame = trace.stacks.frame[stack.some()?.index()];
        Some((trace.text(trace.frames.function[frame]), trace.frames.line[frame]))
    }

    #[test]
    fn a_wait_has_its_threads_places_and_handoff() {
        let mut build = build();
        let record = ThreadWait { holder_function: 1, holder_since: 500, ..wait() };
        build.record(WAITER, ThreadWait::KIND, Awaited::Gil as u32, &[record.bytes()]);
        let trace = read_bytes(&build.finish(), &mut |_| {});
        assert_eq!(trace.waits.len(), 1);
        let wait = trace.waits.row(trace.waits.ids().next().expect("one wait"));
        assert_eq!((wait.kind, wait.layer, wait.handoff), (LockKind::Gil, LockLayer::Interpreter, 400));
        assert_eq!(wait.end - wait.start, 8_000);
        let tid = |thread: trace::ThreadId| trace.threads.tid[thread];
        assert_eq!(
            [wait.thread, wait.holder, wait.releaser].map(tid),
            [WAITER, HOLDER, HOLDER].map(i64::from)
        );
        assert_eq!(line(&trace, wait.stack), Some(("handle", 10)));
        assert_eq!(line(&trace, wait.holder_stack), None, "that place was lost");
        assert_eq!(line(&trace, wait.releaser_stack), Some(("compute", 31)));
        assert_eq!(wait.holder_call.some().map(|call| call.index()), Some(0));
        assert!(wait.call.is_none() && wait.releaser_call.is_none());
    }

    #[test]
    fn of_other_kinds_the_layer_is_the_program() {
        let mut build = build();
        for awaited in
            [Awaited::Semaphore, Awaited::Condition, Awaited::Barrier, Awaited::Join, Awaited::Mutex]
        {
            let record = ThreadWait { released: 0, holder: 0, ..wait() };
            build.record(WAITER, ThreadWait::KIND, awaited as u32, &[record.bytes()]);
        }
        build.record(WAITER, ThreadWait::KIND, 99, &[wait().bytes()]);
        let trace = read_bytes(&build.finish(), &mut |_| {});
        use LockKind::*;
        assert_eq!(trace.waits.kind, [Semaphore, Condition, Barrier, Join, Mutex, Unknown]);
        assert!(trace.waits.layer.iter().all(|layer| *layer == LockLayer::Program));
        assert_eq!(trace.waits.handoff[..5], [0; 5]);
        assert!(trace.waits.holder[..5].iter().all(|holder| holder.is_none()));
    }

    #[test]
    fn places_that_were_not_looked_for_are_counted() {
        let mut build = build();
        build.record(HOLDER, Unplaced::KIND, 0, &[Unplaced { count: 5 }.bytes()]);
        let trace = read_bytes(&build.finish(), &mut |_| {});
        assert!(trace.meta.notes.iter().any(|note| note.contains("was not looked for 5 times")));
    }

    /// Numbers of the kinds that need other records, as waits do.
    fn kinds() -> Vec<u16> {
        let step = |kind: &Kind| std::mem::discriminant(&kind.step());
        let of_waits = Kind::ALL.iter().filter(|kind| step(kind) == step(&Kind::ThreadWait));
        of_waits.map(|kind| *kind as u16).collect()
    }

    proptest! {
        /// Records with any contents are read or counted as lost.
        #[test]
        fn no_record_is_too_strange(
            kind in proptest::sample::select(kinds()),
            tag in any::<u32>(),
            words in proptest::collection::vec(prop_oneof![0..10u64, any::<u64>()], 0..24),
        ) {
            let mut build = build();
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            build.record(WAITER, kind, tag % 12, &[&bytes]);
            build.record(WAITER, ThreadWait::KIND, tag, &[wait().bytes()]);
            let trace = read_bytes(&build.finish(), &mut |_| {});
            prop_assert!((1..=2).contains(&trace.waits.len()));
            for row in trace.waits.ids().map(|wait| trace.waits.row(wait)) {
                prop_assert!(row.start <= row.end && (0..=row.end - row.start).contains(&row.handoff));
            }
        }
    }
}
