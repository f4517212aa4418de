//! How many streams run kernels side by side, and how fast the device starts those of many streams.

use super::runs::{Runs, STREAM, script, workload};
use crate::draft::{Draft, set};
use crate::sections::{Label, Sections};
use crate::statistics::{Line, Sample, side_by_side};
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
    runs.read(streams(runs, count), &[read])?;
    runs.read(queued(runs), &[starts])
}

/// A chain of two kernels in each of 1, 2, 3, … streams. The kernels of a hardware queue start in order, so that the first kernel of a chain
/// waits for the second one of the chain before it, which waits for its first one.
fn streams(runs: &Runs<'_>, most: u32) -> (Workload, Vec<Label>) {
    // Much longer than launching them all.
    let cycles = runs.cycles((runs.launch_ns() * 8 * i64::from(most)).max(200_000));
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
                        let delay = Kernel::Delay { cycles };
                        steps.launch(delay.clone(), 1, 32, *stream).launch(delay, 1, 32, *stream);
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
            let origin = format!("measured: kernels of stream {} wait for those of another one", count + 1);
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

/// Rounds of empty kernels, one in each stream.
const ROUNDS: [u64; 3] = [20, 40, 80];

/// Empty kernels in as many streams as run side by side. They are all queued before the first one may start, so that the device
/// alone decides how fast they start.
fn queued(runs: &Runs<'_>) -> (Workload, Vec<Label>) {
    let count = runs.draft.model.connections.default;
    let launches = ROUNDS[ROUNDS.len() - 1] as i64 * i64::from(count);
    let cycles = runs.cycles((runs.launch_ns() * 3 * launches).max(1_000_000));
    workload("queued kernels", |process, context| {
        let gate = process.stream("gate", context, STREAM);
        let streams: Vec<_> =
            (0..count).map(|number| process.stream(format!("s{number}"), context, STREAM)).collect();
        let open = process.event("open", context);
        let thread = process.thread("caller", context);
        thread.before().launch(Kernel::Delay { cycles: 10 }, 1, 32, gate).launch(Kernel::Empty, 1, 32, gate);
        script(thread, |script| {
            for rounds in [ROUNDS; 3].concat() {
                script.part("queued", rounds * u64::from(count), |steps| {
                    steps.launch(Kernel::Delay { cycles }, 1, 32, gate).record(open, gate);
                    for stream in &streams {
                        steps.wait(open, *stream);
                    }
                    steps.repeat(rounds, |steps| {
                        for stream in &streams {
                            steps.launch(Kernel::Empty, 1, 32, *stream);
                        }
                    });
                });
            }
        })
    })
}

/// The time from the start of a kernel to that of the next one in any stream. It counts if the streams' own gaps would
/// let them be faster.
fn starts(sections: &Sections<'_>, draft: &mut Draft) {
    let sizes = ROUNDS.map(|rounds| rounds * u64::from(draft.model.connections.default));
    let sample = |size: u64| {
        let of_size = sections.sized("queued").filter(|(each, _)| *each == size);
        Some((size, Sample::of(of_size.filter_map(|(_, section)| section.whole()))?))
    };
    let samples: Vec<_> = sizes.into_iter().filter_map(sample).collect();
    let Some(line) = Line::of(&samples) else { return };
    let (streams, device) = (i64::from(draft.model.connections.default), &draft.model.device);
    let own = device.gap_ns + device.queue_gap_ns * (streams - 1) + draft.model.kernels.base_ns;
    if line.per_unit * streams as f64 > 1.2 * own as f64 {
        let further = device.queue_issue_ns * (streams - 1);
        let origin = format!(
            "measured: {:.0} ns from start to start of kernels queued in {streams} streams, less queue_issue_ns",
            line.per_unit
        );
        set!(draft, device.issue_ns = (line.per_unit.round() as i64 - further).max(0), origin);
    }
}
