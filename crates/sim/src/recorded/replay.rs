//! State of a run of recorded steps.

use super::{Recorded, Replayed, StepAt, Waited};
use crate::locks::Holder;
use crate::meetings::Meetings;
use crate::ops::OpRef;
use crate::plan::{NONE, Step};
use crate::thread::Wait;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::Range;

/// A thread's first steps: it waits for the release of all, and has no body.
pub(super) const PREAMBLE: [Step; 2] = [Step::EndBefore, Step::EndBody];

/// The state of a run of recorded steps.
pub(crate) struct Replay<'a> {
    pub(super) recorded: &'a Recorded,
    /// The context of each thread's last operation.
    pub(super) contexts: Vec<u32>,
    pub(super) holds: Vec<Hold>,
    pub(super) works: Vec<Progress>,
    pub(super) locks: Vec<Held>,
    /// Threads that wait for an operation.
    pub(super) waiting: FxHashMap<u32, Vec<u32>>,
    /// The call that each thread waits behind.
    pub(super) stuck: Vec<Option<u32>>,
    /// The lock that each thread waits for.
    pub(super) wants: Vec<Option<u32>>,
    /// The operation that each thread waits for, or waited for last.
    pub(super) awaits: Vec<Option<u32>>,
    /// The context in which each thread copies to pageable memory now, or [`NONE`]; empty if no call costs more beside such copies.
    pub(super) staging: Vec<u32>,
    /// The thread that issues each operation.
    pub(super) issuers: Vec<u32>,
    pub(super) meetings: Meetings,
    pub(super) pools: Pools,
    pub replayed: Replayed,
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

/// A lock outside of calls.
#[derive(Clone, Default)]
pub(super) struct Held {
    pub by: Option<u32>,
    /// The threads that wait, and how long each takes to go on.
    pub waiting: VecDeque<(u32, i64)>,
}

/// A signal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signal {
    pub(super) posted: bool,
    pub(super) waiting: Vec<(u32, i64)>,
}

/// By number under which there are several queues: these.
pub(super) type Pools = FxHashMap<u32, Range<u32>>;

impl Replay<'_> {
    /// Whether a thread waits for another one, or for one that waits in turn.
    pub(super) fn waits_for(&self, mut thread: u32, other: u32) -> bool {
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
    pub(crate) fn step(&mut self, thread: u32, time: i64) {
        self.replayed.steps[thread as usize].push(time);
    }

    /// The step that a thread is in.
    pub(crate) fn at(&self, thread: u32) -> StepAt {
        let begun = self.replayed.steps[thread as usize].len();
        // Not counting the machine's own.
        StepAt { thread, step: begun.saturating_sub(PREAMBLE.len() + 1) as u32 }
    }

    /// A thread has acquired a lock that it waited for.
    pub(crate) fn waited(&mut self, thread: u32, wait: &Wait, end: i64) {
        let Wait { since: start, holder: Holder { thread: holder, call: step }, exclusive, .. } = *wait;
        let holder = StepAt { thread: holder, step };
        self.replayed.waits.push(Waited { start, end, by: self.at(thread), holder, exclusive });
    }
}
