//! How many streams run kernels side by side.

use super::{Runs, STREAM, script, workload};
use crate::draft::{Draft, set};
use crate::sections::{Label, Sections};
use crate::statistics::side_by_side;
use sim::Order;
use workload::{Kernel, Workload};

/// More streams than hardware queues: CUDA has at most 32.
const STREAMS: u32 = 40;

/// Runs it.
pub(super) fn measure(runs: &mut Runs<'_>) -> Result<(), String> {
    let device = &runs.draft.model.device;
    // Before Hyper-Q the order of issue decides.
    if device.order == Order::Issue {
        return Ok(());
    }
    // With more, kernels wait for others to end and not for a queue.
    let count = STREAMS.min(device.concurrent_kernels);
    let (workload, labels) = streams(runs, count);
    let ran = runs.run(&workload)?;
    read(&Sections::of(&ran.trace, 0, &labels), runs.draft);
    Ok(())
}

/// One kernel in each of 1, 2, 3, … streams.
fn streams(runs: &Runs<'_>, most: u32) -> (Workload, Vec<Label>) {
    // Much longer than launching them all.
    let cycles = runs.cycles((runs.launch_ns() * 4 * i64::from(most)).max(200_000));
    workload("streams", |process, context| {
        let streams: Vec<_> =
            (0..most).map(|number| process.stream(format!("s{number}"), context, STREAM)).collect();
        let thread = process.thread("caller", context);
        for stream in &streams {
            thread.before().launch(Kernel::Delay { cycles: 10 }, 1, 32, *stream);
        }
        script(thread, |script| {
            for count in 1..=most {
                script.part("streams", count.into(), |steps| {
                    for stream in streams.iter().take(count as usize) {
                        steps.launch(Kernel::Delay { cycles }, 1, 32, *stream);
                    }
                });
            }
        })
    })
}

fn read(sections: &Sections<'_>, draft: &mut Draft) {
    let times: Vec<i64> = sections.sized("streams").filter_map(|(_, section)| section.whole()).collect();
    let most = draft.model.connections.most;
    match side_by_side(&times) {
        Some(count) => {
            let origin = format!("measured: the kernel of stream {} waits for another", count + 1);
            set!(draft, connections.default = count.min(most), origin);
        }
        None => {
            let count = times.len();
            draft
                .remarks
                .push(format!("{count} streams run side by side: the hardware queues are not counted."));
        }
    }
}
