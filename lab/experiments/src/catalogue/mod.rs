//! The experiments, a file each: the workload of a case as a function of what the case varies.

pub mod architectures;
pub mod hidden_sync;
pub mod interference;
pub mod launch_stall;
pub mod multi_gpu;
mod onset;
pub mod overlap;
pub mod stagger;

use workload::{Process, Workload};

/// Puts workers into processes of so many threads each.
fn spread(workload: &mut Workload, workers: u32, threads: u32, worker: impl Fn(&mut Process, u32)) {
    for number in 0..workers / threads {
        let process = workload.process(format!("process {number}"));
        for thread in 0..threads {
            worker(process, number * threads + thread);
        }
    }
}
