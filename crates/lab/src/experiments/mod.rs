//! The experiments, a file each: the workload of a case as a function of what the case varies.

pub mod architectures;
pub mod hidden_sync;
pub mod interference;
pub mod launch_stall;
pub mod multi_gpu;
pub mod overlap;
pub mod stagger;
