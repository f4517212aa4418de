//! Records that are kept until the rest of their process is read.

use super::functions::Wrapped;
use super::streams::Numbers;
use super::tallies::Tallies;
use super::thread_waits::ThreadWaits;
use crate::gather::order::{Issue, JoinCounts};
use rustc_hash::{FxHashMap, FxHashSet};
use spool::{PythonFrame, StreamNumber, Sync, Wait};
use trace::Ns;

/// Records that are kept until the rest of their process is read.
#[derive(Default)]
pub(crate) struct Later {
    /// The thread that waited, the text number of the library whose code waited, and the wait.
    pub waits: Vec<(u32, u32, Wait)>,
    pub stacks: Vec<CallStack>,
    pub thread_waits: ThreadWaits,
    pub tallies: Tallies,
    pub syncs: Vec<(u32, Sync)>,
    /// The end of CUPTI's last record of a driver call, by thread.
    pub recorded_until: FxHashMap<u32, Ns>,
    /// How many calls the process's file has.
    pub driver_calls: u64,
    /// The threads whose first chunk was read, where chunks were overwritten.
    pub first_chunks: FxHashSet<u32>,
    /// Calls that began in chunks that were overwritten.
    pub begun_before: u64,
    /// Whether CUPTI recorded calls.
    pub has_calls: bool,
    /// Whether operations are joined with calls by order.
    pub is_joined: bool,
    /// Whether holdup gave CUPTI up while the process ran. Until then CUPTI told the id of each call that issued work.
    pub gave_up: bool,
    pub wrapped: Wrapped,
    /// Streams' numbers: the thread that wrote them, CUPTI's number, and the record.
    pub stream_numbers: Vec<(u32, u32, StreamNumber)>,
    pub numbers: Numbers,
    /// The calls that issued work.
    pub issues: Vec<Issue>,
    /// Calls that issued work where order does not decide which.
    pub unordered: u64,
    /// Kernel launches of which CUPTI told the id, where no operation at all was written.
    pub unwritten: u64,
    pub joined: JoinCounts,
}

/// The stack of a slow call.
pub(crate) struct CallStack {
    pub tid: u32,
    pub start: Ns,
    pub end: Ns,
    pub native: Vec<u64>,
    pub python: Vec<PythonFrame>,
}
