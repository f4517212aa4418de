//! State of a run of a workload.

use super::memory::{Blocks, Buffer};
use super::plan::{Effect, KernelPlan, Step};
use super::record::Recorder;
use super::rounds::Rounds;
use crate::device::OpRef;
use crate::plan::Plan;

/// A workload, flattened, rows of all processes in one list each; and how far a run of it is.
pub(super) struct Script {
    pub plans: Vec<Plan<Effect>>,
    pub kernels: Vec<KernelPlan>,
    pub buffers: Vec<Buffer>,
    /// The nodes of graphs, one list of plans per capture.
    pub captured: Vec<Vec<u32>>,
    pub threads: Vec<ThreadScript>,
    /// The operations that each event waits for.
    pub marks: Vec<Vec<OpRef>>,
    /// When each event completed last.
    pub passed: Vec<i64>,
    /// The last capture of each graph.
    pub graphs: Vec<u32>,
    /// Threads at each barrier.
    pub meeting: Vec<Vec<u32>>,
    /// When the lock of each process will be free, after all threads that wait for it now.
    pub free_at: Vec<i64>,
    /// Kernels that each context has loaded, one bit each.
    pub loaded: Vec<u32>,
    /// The device memory of each context.
    pub blocks: Vec<Blocks>,
    /// Threads that are not ready for the release.
    pub preparing: usize,
    /// Threads that others wait for while they repeat their bodies.
    pub leading: usize,
    pub record: Recorder,
}

/// A thread's steps, and how far it is.
pub(super) struct ThreadScript {
    pub delay_ns: i64,
    pub repeat: workload::Repeat,
    /// `before`, [`Step::EndBefore`], the body, [`Step::EndBody`], `after`, [`Step::End`].
    pub steps: Vec<Step>,
    /// Where the body begins.
    pub body: u32,
    pub rounds: Rounds,
}
