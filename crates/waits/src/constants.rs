//! Constants that several modules share, each with its source.

use trace::{MAX_CONNECTIONS, Ns, ProcessId, Trace};

/// Most time between two operations of an engine if the second waited for the first, ns: GPUs need 0.9 to 1.6 µs from one kernel to the
/// next (H100, H200).
pub const NEXT_OPERATION: Ns = 10_000;

/// Most time that a launch takes to reach an idle device, ns: about 10 µs (H100, H200, driver 580).
pub const LAUNCH: Ns = 20_000;

/// Most time between the ends of kernels that signal together, ns.
pub const SIGNAL_TOGETHER: Ns = 1_000;

/// Hardware queues of a process by default (`CUDA_DEVICE_MAX_CONNECTIONS`, CUDA programming guide).
pub const HARDWARE_QUEUES: usize = 8;

/// The most hardware queues that a process can have (CUDA programming guide).
const MOST_HARDWARE_QUEUES: usize = 32;

/// Hardware queues that a process's environment sets, if the trace states it.
pub fn set_queues(trace: &Trace, process: ProcessId) -> Option<usize> {
    let set = trace.setting(process, MAX_CONNECTIONS).and_then(|value| value.parse().ok());
    set.filter(|count| (1..=MOST_HARDWARE_QUEUES).contains(count))
}

/// Hardware queues of a process: as many as are set, or the default.
pub fn hardware_queues(trace: &Trace, process: ProcessId) -> usize {
    set_queues(trace, process).unwrap_or(HARDWARE_QUEUES)
}
