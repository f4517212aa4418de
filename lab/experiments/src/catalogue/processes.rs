//! Processes of workers.

use workload::{Process, Workload};

/// Spreads workers over processes of so many threads each.
pub(super) fn spread(
    workload: &mut Workload,
    workers: u32,
    threads: u32,
    worker: impl Fn(&mut Process, u32),
) {
    for number in 0..workers / threads {
        let process = workload.process(format!("process {number}"));
        for thread in 0..threads {
            worker(process, number * threads + thread);
        }
    }
}
