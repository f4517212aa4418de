//! Constants that several modules share, each with its source.

use trace::Ns;

/// Most time between two operations of an engine if the second waited for the first, ns: GPUs need 0.9 to 1.6 µs from one kernel to the
/// next (H100, H200).
pub const NEXT_OPERATION: Ns = 10_000;

/// Most time that a launch takes to reach an idle device, ns: about 10 µs (H100, H200, driver 580).
pub const LAUNCH: Ns = 20_000;

/// Most time between the ends of kernels that signal together, ns.
pub const SIGNAL_TOGETHER: Ns = 1_000;

/// Hardware queues of a process by default (`CUDA_DEVICE_MAX_CONNECTIONS`, CUDA programming guide).
pub const HARDWARE_QUEUES: usize = 8;
