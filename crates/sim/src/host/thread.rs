//! The state of a host thread.

use crate::device::{Holder, Kind};
use crate::plan::NONE;

/// Current stage of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Executes steps.
    Going,
    /// Is in a call, which waits for a lock or the device.
    Calling,
    /// Waits to launch into a full stream.
    Blocked,
    /// Waits for other threads, between calls.
    Between,
    /// Has ended.
    Finished,
}

/// A host thread.
pub(crate) struct HostThread {
    pub process: u32,
    pub stage: Stage,
    /// Whether it uses or waits for a processor.
    pub awake: bool,
    /// Its next step.
    pub at: u32,
    /// Its call: a row of plans.
    pub plan: u32,
    pub started: i64,
    /// The row of its call in the trace, or its step.
    pub call: u32,
    /// Number of operations that it waits for.
    pub awaited: u32,
    /// Whether it waits before it takes effect, as a free does.
    pub waits_first: bool,
    /// The time that the call spends with its locks, ns.
    pub held: i64,
    /// Remaining pieces of the call.
    pub pieces: u32,
    /// When it held each lock last, by [`Kind`]; in the future if never.
    pub had: [i64; Kind::COUNT],
    /// Which locks it holds, by [`Kind`].
    pub has: [bool; Kind::COUNT],
    /// The lock that it waits for.
    pub wait: Option<Wait>,
}

/// A wait for a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub lock: u32,
    pub exclusive: bool,
    /// Number of times that it was woken too late.
    pub late: u32,
    pub since: i64,
    /// The longest holder at that time, and the number of holders.
    pub holder: Holder,
    pub holders: u32,
}

impl HostThread {
    pub(crate) fn new(process: u32) -> HostThread {
        HostThread {
            process,
            stage: Stage::Going,
            awake: false,
            at: 0,
            plan: 0,
            started: 0,
            call: NONE,
            awaited: 0,
            waits_first: false,
            held: 0,
            pieces: 1,
            had: [i64::MAX; Kind::COUNT],
            has: [false; Kind::COUNT],
            wait: None,
        }
    }
}
