//! Recorded calls in virtual time: each with its own cost, the operations that it issues with their durations, and what it waits
//! for. Locks, streams, hardware queues, engines and turns of contexts are the model's, as for any workload.

mod between_calls;
mod meetings;
mod queues;
mod replay;
mod run;
mod waits;
mod works;

pub use run::run_recorded;

use crate::{Rule, Use};
use trace::CopyKind;
use workload::Workload;

/// Actions of the threads of a program, as steps that depend on each other.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Processes with contexts, streams and threads; the steps of its threads are not used.
    pub workload: Workload,
    /// The steps of each thread, threads of all processes in order.
    pub threads: Vec<Vec<RecordedStep>>,
    /// The operations that calls issue.
    pub works: Vec<Work>,
    /// The hardware queue that each stream shares with others, streams of all processes in order.
    pub queues: Vec<Option<Queue>>,
    /// Whether calls need their context's lock exclusively to enqueue into each stream, streams of all processes in order; none of those
    /// that are missing.
    pub exclusive: Vec<bool>,
    /// The number of signals.
    pub signals: u32,
    /// The number of locks that steps acquire outside of calls.
    pub locks: u32,
    /// The number of calls that others wait behind.
    pub holds: u32,
    /// Calls that others wait behind, those of a waiting call together: a number below `holds`, and the time that it takes to
    /// go on after that call releases it, ns.
    pub behind: Vec<(u32, i64)>,
    /// The operations that calls wait for, those of a call together: rows of `works`.
    pub awaited: Vec<u32>,
}

/// A hardware queue that several streams share, or several such queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Its number, below the number of streams.
    pub number: u32,
    /// Whether a kernel only waits for the start of the one before it in the queue, and not for its end.
    pub in_order: bool,
    /// How many queues there are under this number. A stream stays in one of several until another stream is launched into it; then it goes
    /// on in the one that was used least recently, of those in which no kernel waits if there are any: as measured on an H100.
    pub count: u32,
}

/// Rows of a list: the first, and how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The first.
    pub first: u32,
    /// How many.
    pub count: u32,
}

impl Rows {
    /// Each of them.
    pub fn iter(self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}

/// A step of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedStep {
    /// Time outside of calls, ns.
    Host(i64),
    /// Time outside of calls, which ends once the signal has been posted.
    HostUntil {
        /// The signal.
        signal: u32,
        /// At most, ns.
        ns: i64,
    },
    /// Threads that wait for this signal go on.
    Post(u32),
    /// Waits until the signal has been posted. A thread that had to wait continues `handoff_ns` later.
    Await {
        /// The signal.
        signal: u32,
        /// ns.
        handoff_ns: i64,
    },
    /// Waits until the signal has been posted, for at most so long.
    GiveUp {
        /// The signal.
        signal: u32,
        /// ns.
        ns: i64,
    },
    /// If the signal has been posted, goes on at the thread's next wait for it. The steps before that are not made: what they post is
    /// posted, and what they issue is done.
    Leave(u32),
    /// Acquires a lock below [`Recorded::locks`], which threads acquire in the order in which they come; nothing if the thread has it. A
    /// thread that had to wait continues `handoff_ns` after the release.
    Acquire {
        /// The lock.
        lock: u32,
        /// ns.
        handoff_ns: i64,
    },
    /// Releases a lock; nothing if the thread does not have it.
    Release(u32),
    /// A call.
    Call(CallOf),
}

impl RecordedStep {
    /// The time outside of calls that it takes at most, ns.
    pub fn host_mut(&mut self) -> Option<&mut i64> {
        match self {
            RecordedStep::Host(ns) | RecordedStep::HostUntil { ns, .. } => Some(ns),
            _ => None,
        }
    }
}

/// A call with its own costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallOf {
    /// Before it waits behind others, ns.
    pub before_ns: i64,
    /// From then on until it takes effect, ns.
    pub held_ns: i64,
    /// After its effect and its wait, ns.
    pub after_ns: i64,
    /// From the end of what it waits for until it continues, ns, if it has to wait.
    pub notice_ns: i64,
    /// Calls that it waits behind if they have begun and have not released it: rows of [`Recorded::behind`].
    pub behind: Rows,
    /// Its number, and when it releases those that wait behind it.
    pub holds: Option<(u32, Until)>,
    /// Additional cost if another thread of its context copies to pageable memory when it begins, ns: before its effect, or after its
    /// wait if it has no effect.
    pub beside_ns: i64,
    /// How it acquires its context's lock, from `before_ns` on.
    pub locks: Locks,
    /// Its effect.
    pub does: Does,
}

/// How a call acquires the lock of its context, and holds it: that of its stream, or of its thread's last operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locks {
    /// In which mode.
    pub context: Use,
    /// In which mode while another thread's pageable copy waits in its stream.
    pub staged: Use,
    /// Whether it holds the lock while it waits.
    pub keeps: bool,
    /// Whether it holds the launch mutex from then on until it takes effect.
    pub mutex: bool,
}

impl Locks {
    /// As a model's rule has it.
    pub fn of(rule: &Rule) -> Locks {
        Locks {
            context: rule.lock,
            staged: rule.staged_stream_lock.unwrap_or(rule.lock),
            keeps: rule.keeps,
            mutex: false,
        }
    }
}

/// The moment at which a call releases those behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When it has taken effect, before it waits.
    Effect,
    /// When what it waits for is done.
    Done,
    /// When it returns.
    Return,
}

/// The effect of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Does {
    /// None.
    #[default]
    Nothing,
    /// Issues operations: rows of [`Recorded::works`].
    Issue {
        /// The operations.
        works: Rows,
        /// Whether the call waits for them.
        waits: bool,
    },
    /// Waits for operations, issued or not: rows of [`Recorded::awaited`].
    Await(Rows),
    /// Waits for all that is issued into a stream by then: a row of the streams of all processes.
    Synchronize(u32),
}

/// An operation on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Its stream: a row of the streams of all processes.
    pub stream: u32,
    /// Its kind.
    pub kind: WorkKind,
    /// Its duration, ns.
    pub ns: i64,
    /// From the call's effect to the earliest start, ns; `None`: the model's.
    pub latency_ns: Option<i64>,
    /// From the end of the last operation that it waits for to its start, ns; `None`: the model's.
    pub gap_ns: Option<i64>,
    /// An operation of another stream that it waits for: a row of [`Recorded::works`].
    pub after: Option<u32>,
    /// Whether it waits in no queue of several, as a kernel does of which nobody knows when it was launched.
    pub alone: bool,
    /// The collective of which it is a kernel.
    pub meets: Option<Meets>,
}

/// A kernel of a collective: a kernel on each of several devices. All wait until the last of them has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meets {
    /// The collective's number, as all its kernels have.
    pub number: u32,
    /// From when the last one has begun to the end of this one, ns.
    pub ns: i64,
}

impl Work {
    /// Whether it is a kernel that the host launched, not one of a graph.
    pub fn is_launched(&self) -> bool {
        matches!(self.kind, WorkKind::Kernel { in_graph: false, .. })
    }
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// A kernel.
    Kernel {
        /// Threads that it keeps busy at the same time; more than the device has means all.
        threads: u32,
        /// Whether it belongs to a graph, and so to no hardware queue.
        in_graph: bool,
    },
    /// A copy.
    Copy {
        /// Its direction.
        kind: CopyKind,
        /// Whether the host's memory is page-locked.
        pinned: bool,
    },
    /// A fill.
    Fill,
}

/// When everything happened, ns from the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// The start of each step of each thread, and the thread's end.
    pub steps: Vec<Vec<i64>>,
    /// The start and the end of each operation; the same rows as [`Recorded::works`].
    pub works: Vec<(i64, i64)>,
    /// Waits of calls for those of other threads, in the order of their ends.
    pub waits: Vec<Waited>,
    /// Waits that were given up, because nothing else could go on.
    pub given_up: u64,
}

/// A call waited for one of another thread, which held a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// When, ns from the start.
    pub start: i64,
    /// Until when, ns.
    pub end: i64,
    /// The call: a step of a thread.
    pub by: StepAt,
    /// The call that held the lock at first.
    pub holder: StepAt,
    /// Whether it needed the lock alone.
    pub exclusive: bool,
}

/// A step of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepAt {
    /// The thread: a row of [`Recorded::threads`].
    pub thread: u32,
    /// The row of its step.
    pub step: u32,
}

impl Replayed {
    /// The end of the last step or operation, ns.
    pub fn end(&self) -> i64 {
        let threads = self.steps.iter().filter_map(|times| times.last().copied());
        threads.chain(self.works.iter().map(|(_, end)| *end)).max().unwrap_or(0)
    }
}
