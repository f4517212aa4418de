//! Kernels: the clock, the gap between two, the way to the device and back, and how many launches a stream keeps pending.

use super::runs::{Runs, STREAM, script, workload};
use crate::draft::{Draft, set};
use crate::sections::{Label, Sections};
use crate::statistics::{Line, Sample, divided, mb_s};
use workload::{Kernel, Memory, Workload};

/// Runs it.
pub(super) fn measure(runs: &mut Runs<'_>) -> Result<(), String> {
    runs.read(kernels(runs), &[clock, gap_and_way, fills])?;
    let (workload, labels) = pending(runs);
    let ran = runs.run(&workload)?;
    depth(&Sections::of(&ran.trace, 0, &labels), runs.launch_ns(), runs.draft);
    Ok(())
}

/// Kernels of a chain. The first one has no gap.
const CHAIN: [u64; 3] = [1, 9, 33];

/// Bytes that fills write.
const FILLS: [u64; 3] = [4 << 10, 8 << 20, 64 << 20];

fn kernels(runs: &Runs<'_>) -> (Workload, Vec<Label>) {
    // A chain's kernels run longer than launching them takes.
    let lengths = [200_000, 1_000_000, 4_000_000].map(|ns| runs.cycles(ns));
    let link = runs.cycles(10 * runs.launch_ns());
    workload("kernels", |process, context| {
        let s = process.stream("s", context, STREAM);
        let buffers = FILLS
            .map(|bytes| (bytes, process.buffer(format!("fill {bytes}"), context, Memory::Device, bytes)));
        let thread = process.thread("caller", context);
        // For 20 ms, until the clock is up.
        let warm = Kernel::Delay { cycles: lengths[1] };
        thread.before().repeat(20, |steps| {
            steps.launch(warm, 1, 32, s).synchronize(s);
        });
        for (_, buffer) in buffers {
            thread.before().allocate(buffer).fill_on(buffer, 0, s).synchronize(s);
            thread.after().free(buffer);
        }
        script(thread, |script| {
            for cycles in lengths {
                script.part("delay", cycles, |steps| {
                    let kernel = Kernel::Delay { cycles };
                    steps.repeat(11, |steps| {
                        steps.launch(kernel, 1, 32, s).synchronize(s);
                    });
                });
            }
            for links in CHAIN {
                script.rounds("chain", links, 15, |steps| {
                    steps.repeat(links, |steps| {
                        steps.launch(Kernel::Delay { cycles: link }, 1, 32, s);
                    });
                    steps.synchronize(s);
                });
            }
            // The label is how long a kernel of the chain runs.
            script.part("link", link, |_| {});
            for (bytes, buffer) in buffers {
                script.rounds("fill", bytes, 20, |steps| {
                    steps.fill_on(buffer, 0, s).synchronize(s);
                });
            }
        })
    })
}

/// The clock, from kernels of several lengths in cycles.
fn clock(sections: &Sections<'_>, draft: &mut Draft) {
    let samples = sections.samples("delay", |part| part.spans("cuLaunchKernel", "cuStreamSynchronize"));
    let Some(line) = Line::of(&samples).filter(|line| line.per_unit > 0.0) else { return };
    let mhz = (1000.0 / line.per_unit).round() as u64;
    let longest = samples.iter().map(|(cycles, _)| *cycles).max().unwrap_or_default();
    let origin = format!("measured: kernels of up to {longest} cycles");
    set!(draft, device.clock_mhz = mhz.max(1), origin);
}

/// The gap between kernels of a stream, from chains of kernels of a known length; and from a single one of them the way to the
/// device and back. It runs longer than any call, so that the thread waits for it.
fn gap_and_way(sections: &Sections<'_>, draft: &mut Draft) {
    let Some((link, _)) = sections.sized("link").next() else { return };
    let samples = sections.samples("chain", |part| part.spans("cuLaunchKernel", "cuStreamSynchronize"));
    let (Some(line), Some((1, single))) = (Line::of(&samples), samples.first()) else { return };
    let runs_ns = link as f64 * 1000.0 / draft.model.device.clock_mhz as f64;
    let gap = (line.per_unit - runs_ns).round() as i64 - draft.model.kernels.base_ns;
    let of = format!("{:.2} µs from kernel to kernel", line.per_unit / 1000.0);
    let origin = format!("measured: {of}, less {runs_ns:.0} ns of cycles and kernels.base_ns");
    set!(draft, device.gap_ns = gap.max(0), origin);
    let (model, calls) = (&draft.model, &draft.model.calls);
    let known = calls.launch.before_ns
        + calls.launch.held_ns
        + model.device.gap_ns
        + model.kernels.base_ns
        + runs_ns.round() as i64
        + calls.synchronize.after_ns;
    let both = [model.device.latency_ns, model.device.notice_ns];
    let [latency, notice] = divided(single.median - known, both);
    let origin = format!(
        "measured: {single} for launch, kernel and wait; what else that takes, its parts as in {}",
        draft.base
    );
    set!(draft, device.latency_ns = latency, origin.clone());
    set!(draft, device.notice_ns = notice, origin);
}

fn fills(sections: &Sections<'_>, draft: &mut Draft) {
    let all = sections.sized("fill").flat_map(|(_, part)| part.took("cuMemsetD32Async"));
    if let Some(sample) = Sample::of(all) {
        draft.divide("fill", |model| &mut model.calls.fill, sample);
    }
    let samples = sections.samples("fill", |part| part.spans("cuMemsetD32Async", "cuStreamSynchronize"));
    let rate = Line::of(&samples).and_then(|line| mb_s(line.per_unit));
    if let Some(rate) = rate {
        set!(draft, kernels.fill_mb_s = Some(rate), "measured: fills of 4 KiB to 64 MiB");
    }
}

/// More launches than a stream keeps pending.
const LAUNCHES: u64 = 2_500;

/// Launches behind a kernel that runs longer than all of them take.
fn pending(runs: &Runs<'_>) -> (Workload, Vec<Label>) {
    let cycles = runs.cycles((runs.launch_ns() * 2 * LAUNCHES as i64).max(20_000_000));
    workload("pending launches", |process, context| {
        let s = process.stream("s", context, STREAM);
        let thread = process.thread("caller", context);
        thread.before().launch(Kernel::Empty, 1, 32, s).launch(Kernel::Delay { cycles: 10 }, 1, 32, s);
        script(thread, |script| {
            script.part("depth", 0, |steps| {
                steps.launch(Kernel::Delay { cycles }, 1, 32, s).repeat(LAUNCHES, |steps| {
                    steps.launch(Kernel::Empty, 1, 32, s);
                });
            });
        })
    })
}

/// The number of launches before the first that waits.
fn depth(sections: &Sections<'_>, launch_ns: i64, draft: &mut Draft) {
    let Some(section) = sections.get("depth") else { return };
    let launches = section.took("cuLaunchKernel");
    // It waits for most of the kernel, which is longer than 5,000 launches.
    match launches.iter().position(|took| *took > 500 * launch_ns) {
        Some(at) if at > 0 => {
            let origin = format!("measured: launch {} of a stream waits", at + 1);
            set!(draft, connections.depth = at as u32, origin);
        }
        _ => draft.remarks.push(format!("A stream keeps more than {LAUNCHES} launches pending.")),
    }
}
