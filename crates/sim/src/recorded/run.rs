//! Runs recorded steps: calls with their own costs, and the operations that they issue.

use super::queues;
use super::replay::{Held, Hold, PREAMBLE, Progress, Replay};
use super::{CallOf, Does, Recorded, RecordedStep, Replayed, Rows, Until, Waited, Work, WorkKind};
use crate::calls::LONGEST;
use crate::device::{COMPUTE, IN, OUT, PIECES_IN, PIECES_OUT, WITHIN};
use crate::events::Event;
use crate::functions::Function;
use crate::machine::Machine;
use crate::meetings::{Meetings, Waiting};
use crate::ops::Op;
use crate::plan::{Act, NONE, Plan, Program, Step, ThreadPlan, Way, What, WorkPlan};
use crate::{Error, Model, Options, Use, program};
use rustc_hash::FxHashMap;
use trace::CopyKind;
use workload::{Repeat, StreamKind};

/// Runs recorded steps.
///
/// # Errors
/// The errors of [`crate::run`].
pub fn run_recorded(recorded: &Recorded, model: &Model, options: Options) -> Result<Replayed, Error> {
    let mut program = program::places(&recorded.workload, model)?;
    program.signals = recorded.signals as usize;
    let mut contexts = Vec::new();
    for (process, of) in (0..).zip(&recorded.workload.processes) {
        let first = program.contexts.iter().position(|context| context.process == process);
        for _ in &of.threads {
            // Its steps are planned when the thread comes to them: a plan of all would have several times the size of the steps.
            let body = PREAMBLE.len() as u32;
            let repeat = Repeat::Times(1);
            program.threads.push(ThreadPlan { process, delay_ns: 0, repeat, steps: Vec::new(), body });
            // One plan for each thread: that of its call.
            program.plans.push(plan_call(&CallOf::default(), 0, |stream| stream));
            contexts.push(first.unwrap_or(0) as u32);
        }
    }
    let streams = program.streams.len() as u32;
    let steps = |row: usize| recorded.threads.get(row).map_or(0, Vec::len);
    let counts: Vec<usize> = (0..program.threads.len()).map(|row| PREAMBLE.len() + steps(row) + 1).collect();
    let options = Options { trace: false, ..options };
    let mut machine = Machine::new(&recorded.workload, model, program, options);
    let pools = queues::create(&mut machine, recorded, streams);
    for (row, _) in (0..streams).zip(&recorded.exclusive).filter(|(_, exclusive)| **exclusive) {
        let stream = stream_of(row, &machine.program);
        machine.streams[stream as usize].exclusive = true;
    }
    machine.replay = Some(Replay {
        recorded,
        contexts,
        holds: vec![Hold::default(); recorded.holds as usize],
        works: vec![Progress::default(); recorded.works.len()],
        locks: vec![Held::default(); recorded.locks as usize],
        waiting: FxHashMap::default(),
        stuck: vec![None; counts.len()],
        wants: vec![None; counts.len()],
        awaits: vec![None; counts.len()],
        staging: vec![NONE; if costs_more_beside(recorded) { counts.len() } else { 0 }],
        issuers: issuers(recorded),
        pools,
        meetings: Meetings::of(&recorded.works),
        replayed: Replayed {
            steps: counts.into_iter().map(Vec::with_capacity).collect(),
            works: vec![(0, 0); recorded.works.len()],
            waits: Vec::new(),
            given_up: 0,
        },
    });
    let mut replayed = machine.run()?.replayed;
    // The first two steps of each thread are the machine's own.
    replayed.steps.iter_mut().for_each(|times| drop(times.drain(..PREAMBLE.len().min(times.len()))));
    Ok(replayed)
}

fn costs_more_beside(recorded: &Recorded) -> bool {
    let mut steps = recorded.threads.iter().flatten();
    steps.any(|step| matches!(step, RecordedStep::Call(call) if call.beside_ns > 0))
}

/// The thread that issues each operation, or [`NONE`].
fn issuers(recorded: &Recorded) -> Vec<u32> {
    let mut issuers = vec![NONE; recorded.works.len()];
    for (row, steps) in (0..).zip(&recorded.threads) {
        for step in steps {
            if let RecordedStep::Call(CallOf { does: Does::Issue { works, .. }, .. }) = step {
                issuers[works.iter()].fill(row);
            }
        }
    }
    issuers
}

fn plan_call(call: &CallOf, context: u32, stream_of: impl FnOnce(u32) -> u32) -> Plan {
    Plan {
        // Nobody asks for sums by name.
        name: Function::Launch,
        before: call.before_ns,
        held: call.held_ns,
        after: call.after_ns,
        notice: call.notice_ns,
        beside: call.beside_ns,
        lock: call.locks.context,
        staged_lock: call.locks.staged,
        mutex: call.locks.mutex,
        pieces: 1,
        keep: call.locks.keeps,
        context,
        behind: call.behind,
        holds: call.holds,
        act: match call.does {
            Does::Nothing => Act::Nothing,
            Does::Issue { works, waits } => Act::Issue { works, waits },
            Does::Await(works) => Act::AwaitWorks(works),
            Does::Synchronize(stream) => Act::SynchronizeStream { stream: stream_of(stream) },
        },
    }
}

/// The row of a stream; a default stream has its context's.
fn stream_of(stream: u32, program: &Program) -> u32 {
    let plan = program.streams[stream as usize];
    match plan.kind {
        StreamKind::Default => program.contexts[plan.context as usize].default_stream,
        _ => stream,
    }
}

fn plan_work(work: &Work, model: &Model, program: &Program) -> WorkPlan {
    let room = model.device.multiprocessors * model.device.threads_per_multiprocessor;
    let one = model.device.copy_engines == 1;
    let (engine, what, slots) = match work.kind {
        WorkKind::Kernel { threads, in_graph } => {
            let what = What::Kernel { plan: 0, node: u32::from(in_graph) };
            (COMPUTE, what, threads.clamp(1, room))
        }
        WorkKind::Copy { kind, pinned } => {
            let pieces = !pinned && model.copies.pageable_in_pieces;
            let (way, engine) = match kind {
                CopyKind::HtoD if pieces => (Way::In, PIECES_IN),
                CopyKind::HtoD => (Way::In, IN),
                CopyKind::DtoH if pieces => (Way::Out, PIECES_OUT),
                CopyKind::DtoH if one => (Way::Out, IN),
                CopyKind::DtoH => (Way::Out, OUT),
                CopyKind::PtoP => (Way::Between, WITHIN),
                _ => (Way::Within, WITHIN),
            };
            (engine, What::Copy { way, pinned, bytes: 0 }, 0)
        }
        WorkKind::Fill => (WITHIN, What::Fill { bytes: 0 }, 0),
    };
    WorkPlan {
        stream: stream_of(work.stream, program),
        engine,
        what,
        slots,
        ns: work.ns.clamp(0, LONGEST),
        latency: work.latency_ns.unwrap_or(-1),
        gap: work.gap_ns.unwrap_or(-1),
        after: work.after.unwrap_or(NONE),
        alone: work.alone,
    }
}

impl Machine<'_> {
    /// The step of a thread at `at`. If it is a call, its plan becomes that of the thread.
    pub(crate) fn step(&mut self, row: u32, at: u32) -> Step {
        let Some(replay) = &mut self.replay else {
            return self.program.threads[row as usize].steps[at as usize];
        };
        replay.staging.get_mut(row as usize).into_iter().for_each(|context| *context = NONE);
        let at = at as usize;
        if let Some(step) = PREAMBLE.get(at) {
            return *step;
        }
        let steps = replay.recorded.threads.get(row as usize).map_or(&[][..], Vec::as_slice);
        match steps.get(at - PREAMBLE.len()) {
            None => Step::End,
            Some(RecordedStep::Host(ns)) => Step::Pause((*ns).clamp(0, LONGEST)),
            Some(RecordedStep::HostUntil { signal, ns }) => {
                Step::PauseUntil { signal: *signal, ns: (*ns).clamp(0, LONGEST) }
            }
            Some(RecordedStep::Post(signal)) => Step::Post { signal: *signal },
            Some(RecordedStep::Await { signal, handoff_ns }) => {
                Step::Await { signal: *signal, handoff: *handoff_ns }
            }
            Some(RecordedStep::GiveUp { signal, ns }) => {
                Step::GiveUp { signal: *signal, after: (*ns).clamp(0, LONGEST) }
            }
            Some(RecordedStep::Leave(signal)) => Step::Leave { signal: *signal },
            Some(RecordedStep::Acquire { lock, handoff_ns }) => {
                Step::Acquire { lock: *lock, handoff: *handoff_ns }
            }
            Some(RecordedStep::Release(lock)) => Step::Release { lock: *lock },
            Some(RecordedStep::Call(call)) => self.plan_call_of(row, call),
        }
    }

    fn plan_call_of(&mut self, row: u32, call: &CallOf) -> Step {
        if let (Some(replay), Does::Issue { works, .. }) = (&mut self.replay, call.does)
            && let Some(work) = replay.recorded.works.get(works.first as usize)
        {
            let stream = stream_of(work.stream, &self.program);
            replay.contexts[row as usize] = self.program.streams[stream as usize].context;
        }
        let context = self.replay.as_ref().map_or(0, |replay| replay.contexts[row as usize]);
        let plan = plan_call(call, context, |stream| stream_of(stream, &self.program));
        self.program.plans[row as usize] = plan;
        Step::Call(row)
    }

    /// A recorded operation.
    pub(crate) fn work(&self, row: u32) -> Option<WorkPlan> {
        let work = self.replay.as_ref()?.recorded.works.get(row as usize)?;
        Some(plan_work(work, self.model, &self.program))
    }

    /// The stream that a call launches a kernel into, which must have room for it.
    pub(crate) fn launches_into(&self, act: &Act) -> Option<u32> {
        match *act {
            Act::Launch { stream, .. } => Some(stream),
            Act::Issue { works, .. } => {
                let work = self.work(works.first)?;
                matches!(work.what, What::Kernel { node: 0, .. }).then_some(work.stream)
            }
            _ => None,
        }
    }

    /// The pageable copy that a recorded call issues, if it issues one and acquires locks: its stream and direction.
    pub(crate) fn stages(&self, plan: &Plan) -> Option<(u32, Way)> {
        self.pageable_copy(plan).filter(|_| plan.lock != Use::None)
    }

    fn pageable_copy(&self, plan: &Plan) -> Option<(u32, Way)> {
        let Act::Issue { works, .. } = plan.act else { return None };
        let work = self.work(works.first)?;
        match work.what {
            What::Copy { way, pinned: false, .. } => Some((work.stream, way)),
            _ => None,
        }
    }

    /// A call wants its locks: it copies to pageable memory from now on, or it may cost more beside such a copy. Returns whether it goes on
    /// only later for that.
    pub(crate) fn meets_staging(&mut self, row: u32, plan: &Plan) -> bool {
        if self.replay.as_ref().is_none_or(|replay| replay.staging.is_empty()) {
            return false;
        }
        let copies = self.pageable_copy(plan).is_some_and(|(_, way)| way == Way::Out);
        let Some(replay) = &mut self.replay else { return false };
        if copies {
            replay.staging[row as usize] = plan.context;
        }
        let mut staging = (0..).zip(&replay.staging);
        if plan.beside == 0 || !staging.any(|(other, of)| *of == plan.context && other != row) {
            return false;
        }
        let own = &mut self.program.plans[row as usize];
        let more = std::mem::take(&mut own.beside);
        if let Act::Issue { .. } = plan.act {
            self.events.plan(self.now + more, Event::Want(row));
            return true;
        }
        own.after += more;
        false
    }

    /// A call that others wait behind begins at `time`.
    pub(crate) fn begins(&mut self, row: u32, plan: u32, time: i64) {
        let holds = self.program.plans[plan as usize].holds;
        if let (Some((number, _)), Some(replay)) = (holds, &mut self.replay) {
            replay.holds[number as usize].begun = Some((time, replay.at(row)));
        }
    }

    /// Whether a call has to wait behind another one; it tries again when that one lets it.
    pub(crate) fn is_behind(&mut self, row: u32, plan: &Plan) -> bool {
        let (Some(replay), now) = (&mut self.replay, self.now) else { return false };
        for (number, handoff) in &replay.recorded.behind[plan.behind.iter()] {
            // A number that no call has stands for nobody.
            let hold = replay.holds.get(*number as usize).filter(|hold| !hold.over);
            let Some((begun, by)) = hold.and_then(|hold| hold.begun) else { continue };
            if begun <= now && !replay.waits_for(by.thread, row) {
                replay.holds[*number as usize].waiting.push((row, now, *handoff));
                replay.stuck[row as usize] = Some(*number);
                return true;
            }
        }
        false
    }

    /// Nothing happens any more, and threads wait: gives up a wait of a call that began when it could not, in the recorded order,
    /// have waited any longer. Returns whether there was one.
    pub(crate) fn gives_up(&mut self) -> bool {
        let Some(replay) = &mut self.replay else { return false };
        let held = (0..).zip(&replay.holds).filter(|(_, hold)| !hold.waiting.is_empty());
        let first: Option<u32> = held.min_by_key(|(_, hold)| hold.begun).map(|(number, _)| number);
        let unknown = |work: &&u32| replay.works[**work as usize] == Progress::Unknown;
        let work = replay.waiting.keys().filter(unknown).min().copied();
        let lock = replay.locks.iter().position(|lock| !lock.waiting.is_empty());
        if let Some(alone) = replay.meetings.give_up() {
            replay.replayed.given_up += 1;
            self.exchange(alone);
            return true;
        }
        match (lock, first, work) {
            (Some(lock), ..) => {
                replay.replayed.given_up += 1;
                self.passes(lock as u32);
            }
            (None, Some(number), _) => {
                replay.replayed.given_up += replay.holds[number as usize].waiting.len() as u64;
                self.lets_go_on(number);
            }
            (None, None, Some(work)) => {
                let threads = replay.waiting.remove(&work).unwrap_or_default();
                replay.replayed.given_up += threads.len() as u64;
                threads.into_iter().for_each(|thread| self.arrived(thread));
            }
            (None, None, None) => return false,
        }
        true
    }

    /// A call that others wait behind has come to a moment.
    pub(crate) fn comes_to(&mut self, plan: &Plan, until: Until) {
        match plan.holds {
            Some((number, at)) if at == until => self.lets_go_on(number),
            _ => {}
        }
    }

    /// Threads that wait behind a call go on.
    pub(crate) fn lets_go_on(&mut self, number: u32) {
        let Some(replay) = &mut self.replay else { return };
        let hold = &mut replay.holds[number as usize];
        hold.over = true;
        let waiting = std::mem::take(&mut hold.waiting);
        let holder = hold.begun.map(|(_, by)| by);
        for (thread, start, handoff) in waiting {
            replay.stuck[thread as usize] = None;
            let end = self.now + handoff;
            let by = replay.at(thread);
            replay.replayed.waits.extend(holder.map(|holder| Waited {
                start,
                end,
                by,
                holder,
                exclusive: true,
            }));
            self.events.plan(end, Event::Want(thread));
        }
    }

    /// Issues recorded operations.
    pub(crate) fn issue_recorded(&mut self, row: u32, works: Rows, waits: bool) {
        for at in works.iter() {
            let Some(work) = self.work(at as u32) else { continue };
            let after = match (&self.replay, work.after) {
                (Some(replay), after) if after != NONE => replay.works[after as usize],
                _ => Progress::Done,
            };
            if let Progress::Issued(op) = after {
                self.ops.name_in(&mut self.streams[work.stream as usize].awaited, op);
            }
            let plain = self.op(row, work.stream, work.engine, work.what, work.ns);
            let latency = if work.latency < 0 { plain.earliest } else { work.latency };
            let op = Op { slots: work.slots, earliest: latency, gap: work.gap, work: at as u32, ..plain };
            let op = match work.what {
                What::Kernel { node: 0, .. } => self.enter_recorded_queue(op, work.alone),
                _ => op,
            };
            let issued = self.enqueue(op);
            if let Some(replay) = &mut self.replay {
                replay.works[at] = Progress::Issued(issued);
            }
            if waits {
                self.await_op(issued, row);
            }
        }
    }

    /// Makes a thread wait for recorded operations. One that a thread will issue only after this one has gone on is not waited for.
    pub(crate) fn await_works(&mut self, row: u32, works: Rows) {
        let Some(replay) = &mut self.replay else { return };
        for work in &replay.recorded.awaited[works.iter()] {
            let progress = replay.works[*work as usize];
            let by = replay.issuers[*work as usize];
            if progress == Progress::Unknown && by != NONE && by != row && replay.waits_for(by, row) {
                replay.replayed.given_up += 1;
            } else if progress != Progress::Done {
                replay.waiting.entry(*work).or_default().push(row);
                replay.awaits[row as usize] = Some(*work);
                self.threads[row as usize].awaited += 1;
            }
        }
    }

    /// A part of a kernel begins at a time: a row of [`Recorded::works`]. Returns whether that part, if there is one, waits for the
    /// other kernels of its collective.
    pub(crate) fn meets(&mut self, part: Option<Waiting>, work: u32, time: i64) -> bool {
        let Some(replay) = &mut self.replay else { return false };
        let meets = replay.recorded.works.get(work as usize).and_then(|work| work.meets);
        let Some(meets) = meets else { return false };
        let together = replay.meetings.begin(part, work, meets, time);
        self.exchange(together);
        part.is_some()
    }

    /// Kernels of a collective exchange data until their ends.
    fn exchange(&mut self, together: Vec<(Waiting, i64)>) {
        for (Waiting { op, slots, generation }, end) in together {
            self.events.plan(end.max(self.now), Event::Ran { op, slots, generation });
        }
    }

    /// A recorded operation has ended.
    pub(crate) fn keep_work(&mut self, op: &Op) {
        self.is_done(op.work, op.begin);
    }

    /// An operation that began then is done; nothing if it is none of the recorded ones.
    pub(super) fn is_done(&mut self, work: u32, begin: i64) {
        let Some(replay) = &mut self.replay else { return };
        let Some(times) = replay.replayed.works.get_mut(work as usize) else { return };
        *times = (begin, self.now);
        replay.works[work as usize] = Progress::Done;
        for thread in replay.waiting.remove(&work).unwrap_or_default() {
            self.arrived(thread);
        }
    }
}
