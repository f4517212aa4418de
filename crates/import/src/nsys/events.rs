//! Tables of events.

use super::{calls, host, ops, stacks, threads};

/// Tables that are read row by row, in the order they are read.
pub(super) const EVENTS: [&str; 17] = [
    stacks::CUDA,
    stacks::OS,
    calls::CUDA,
    calls::LIBRARIES[0],
    calls::LIBRARIES[1],
    calls::OS,
    ops::MEMCPY,
    ops::MEMSET,
    ops::KERNEL,
    ops::GRAPH,
    ops::SYNCHRONIZATION,
    host::NVTX,
    host::PROFILER,
    host::CUPTI,
    stacks::SAMPLES,
    threads::SAMPLES,
    threads::SCHEDULER,
];
