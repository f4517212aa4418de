//! State of a run of recorded steps.

use super::meetings::Meetings;
use super::{CallOf, Does, Recorded, RecordedStep, Replayed, Rows, StepAt, Until, Waited, Work};
use crate::device::{Holder, OpRef};
use crate::host::Wait;
use crate::plan::{NONE, Plan};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::Range;

/// The state of a run of recorded steps.
pub(super) struct Replay<'a> {
    pub recorded: &'a Recorded,
    /// The call of each thread. A plan of all calls would have several times the size of the steps.
    pub plans: Vec<Plan<Effect>>,
    /// The context of each thread's last operation.
    pub contexts: Vec<u32>,
    pub holds: Vec<Hold>,
    pub works: Vec<Progress>,
    pub locks: Vec<PassedLock>,
    pub signals: Vec<Signal>,
    /// Threads that wait for an operation.
    pub waiting: FxHashMap<u32, Vec<u32>>,
    /// The call that each thread waits behind.
    pub stuck: Vec<Option<u32>>,
    /// The lock that each thread waits for.
    pub wants: Vec<Option<u32>>,
    /// The operation that each thread waits for, or waited for last.
    pub awaits: Vec<Option<u32>>,
    /// The context in which each thread copies to pageable memory now, or [`NONE`]; empty if no call costs more beside such copies.
    pub staging: Vec<u32>,
    /// The thread that issues each operation.
    pub issuers: Vec<u32>,
    pub meetings: Meetings,
    pub pools: Pools,
    pub replayed: Replayed,
}

/// The effect of a call, and its relation to those of other threads.
#[derive(Clone, Copy, Default)]
pub(super) struct Effect {
    pub does: Does,
    /// Calls that it waits behind, and whether others wait behind it.
    pub behind: Rows,
    pub holds: Option<(u32, Until)>,
    /// Additional cost beside a copy to pageable memory, ns: [`CallOf::beside_ns`].
    pub beside: i64,
}

/// How far an operation is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Progress {
    #[default]
    Unknown,
    Issued(OpRef),
    Done,
}

/// A call that others wait behind.
#[derive(Clone, Default)]
pub(super) struct Hold {
    /// When it began, and which step it is.
    pub begun: Option<(i64, StepAt)>,
    pub over: bool,
    /// The threads that wait, since when, and how long each takes to go on.
    pub waiting: Vec<(u32, i64, i64)>,
}

/// A lock outside of calls, which passes from thread to thread.
#[derive(Clone, Default)]
pub(super) struct PassedLock {
    pub by: Option<u32>,
    /// The threads that wait, and how long each takes to go on.
    pub waiting: VecDeque<(u32, i64)>,
}

/// A signal.
#[derive(Clone, Debug, Default)]
pub(super) struct Signal {
    pub posted: bool,
    /// The threads that wait, and how long each takes to go on.
    pub waiting: Vec<(u32, i64)>,
}

/// By number under which there are several queues: these.
pub(super) type Pools = FxHashMap<u32, Range<u32>>;

impl<'a> Replay<'a> {
    /// The start of a run, on pools of hardware queues; `contexts` are those of each thread's process.
    pub fn new(recorded: &'a Recorded, contexts: Vec<u32>) -> Replay<'a> {
        let threads = contexts.len();
        let steps = |row: usize| recorded.threads.get(row).map_or(0, Vec::len);
        Replay {
            recorded,
            plans: vec![plan(&CallOf::default(), 0); threads],
            contexts,
            holds: vec![Hold::default(); recorded.holds as usize],
            works: vec![Progress::default(); recorded.works.len()],
            locks: vec![PassedLock::default(); recorded.locks as usize],
            signals: vec![Signal::default(); recorded.signals as usize],
            waiting: FxHashMap::default(),
            stuck: vec![None; threads],
            wants: vec![None; threads],
            awaits: vec![None; threads],
            staging: vec![NONE; if costs_more_beside(recorded) { threads } else { 0 }],
            issuers: issuers(recorded),
            pools: Pools::default(),
            meetings: Meetings::of(&recorded.works),
            replayed: Replayed {
                steps: (0..threads).map(|row| Vec::with_capacity(steps(row) + 1)).collect(),
                works: vec![(0, 0); recorded.works.len()],
                waits: Vec::new(),
                given_up: 0,
            },
        }
    }

    /// The steps of a thread.
    pub fn steps(&self, thread: u32) -> &'a [RecordedStep] {
        self.recorded.threads.get(thread as usize).map_or(&[], Vec::as_slice)
    }

    /// The first operation that a call issues.
    pub fn first_work(&self, plan: &Plan<Effect>) -> Option<&'a Work> {
        match plan.effect.does {
            Does::Issue { works, .. } => self.recorded.works.get(works.first as usize),
            _ => None,
        }
    }

    /// Whether a thread waits for another one, or for one that waits in turn.
    pub fn waits_for(&self, mut thread: u32, other: u32) -> bool {
        // Threads that wait for each other are given up later.
        for _ in 0..self.stuck.len() {
            if thread == other {
                return true;
            }
            let Some(by) = self.blocker(thread) else { return false };
            thread = by;
        }
        false
    }

    /// The thread whose call, lock or launch a thread waits for.
    fn blocker(&self, thread: u32) -> Option<u32> {
        let at = thread as usize;
        let call = self.stuck[at].and_then(|number| self.holds[number as usize].begun);
        let lock = self.wants[at].and_then(|lock| self.locks[lock as usize].by);
        let work = self.awaits[at].filter(|work| self.works[*work as usize] == Progress::Unknown);
        let issuer = work.map(|work| self.issuers[work as usize]).filter(|by| *by != NONE);
        call.map(|(_, by)| by.thread).or(lock).or(issuer)
    }

    /// A thread's next step begins.
    pub fn begins(&mut self, thread: u32, time: i64) {
        self.replayed.steps[thread as usize].push(time);
    }

    /// The step that a thread is in.
    pub fn at(&self, thread: u32) -> StepAt {
        let begun = self.replayed.steps[thread as usize].len();
        StepAt { thread, step: begun.saturating_sub(1) as u32 }
    }

    /// A thread has acquired a lock that it waited for.
    pub fn waited(&mut self, thread: u32, wait: &Wait, end: i64) {
        let Wait { since: start, holder: Holder { thread: holder, call: step }, exclusive, .. } = *wait;
        let holder = StepAt { thread: holder, step };
        self.replayed.waits.push(Waited { start, end, by: self.at(thread), holder, exclusive });
    }
}

/// The plan of a call in a context.
pub(super) fn plan(call: &CallOf, context: u32) -> Plan<Effect> {
    Plan {
        before: call.before_ns,
        held: call.held_ns,
        after: call.after_ns,
        notice: call.notice_ns,
        lock: call.locks.context,
        staged_lock: call.locks.staged,
        mutex: call.locks.mutex,
        pieces: 1,
        keep: call.locks.keeps,
        context,
        effect: Effect { does: call.does, behind: call.behind, holds: call.holds, beside: call.beside_ns },
    }
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
