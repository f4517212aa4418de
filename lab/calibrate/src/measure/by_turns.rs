//! From one engine of the device to another: how long after a copy a kernel starts that waits for it, and a copy after a kernel.

use super::runs::{Runs, STREAM, script, workload};
use crate::draft::{Draft, set};
use crate::sections::{Label, Sections};
use crate::statistics::Line;
use workload::{Kernel, Memory, Workload};

/// Pairs of a copy and a kernel behind the kernel that holds their stream.
const PAIRS: [u64; 3] = [1, 9, 33];

/// Bytes of a copy.
const BYTES: u64 = 4 << 10;

/// Runs it.
pub(super) fn measure(runs: &mut Runs<'_>) -> Result<(), String> {
    runs.read(pairs(runs), &[read])
}

/// Copies to the device and kernels by turns in one stream, all issued before the first one may start.
fn pairs(runs: &Runs<'_>) -> (Workload, Vec<Label>) {
    let issued_ns = 6 * PAIRS[PAIRS.len() - 1] as i64 * runs.launch_ns();
    let hold = Kernel::Delay { cycles: runs.cycles(issued_ns) };
    workload("signals", |process, context| {
        let s = process.stream("s", context, STREAM);
        let device = process.buffer("device", context, Memory::Device, BYTES);
        let host = process.buffer("host", context, Memory::Pinned, BYTES);
        let thread = process.thread("caller", context);
        thread.before().allocate(device).allocate(host);
        thread.before().launch(Kernel::Empty, 1, 32, s).launch(hold.clone(), 1, 32, s);
        thread.after().free(host).free(device);
        script(thread, |script| {
            for pairs in PAIRS {
                script.rounds("pairs", pairs, 9, |steps| {
                    steps.launch(hold.clone(), 1, 32, s).repeat(pairs, |steps| {
                        steps.copy(host, device, BYTES, s).launch(Kernel::Empty, 1, 32, s);
                    });
                    steps.synchronize(s);
                });
            }
        })
    })
}

/// Time of a pair besides its copy and its kernel: two signals.
fn read(sections: &Sections<'_>, draft: &mut Draft) {
    let samples = sections.samples("pairs", |part| part.spans("cuLaunchKernel", "cuStreamSynchronize"));
    let Some(line) = Line::of(&samples) else { return };
    let (model, copies) = (&draft.model, &draft.model.copies);
    let copy_ns = copies.to_device.latency_ns.unwrap_or(copies.latency_ns)
        + (BYTES * 1_000 / copies.to_device.pinned_mb_s) as i64;
    let known = copy_ns + model.device.gap_ns + model.kernels.base_ns;
    let signal = (line.per_unit.round() as i64 - known) / 2;
    let origin = format!(
        "measured: a copy of {BYTES} bytes and a kernel by turns take {:.2} µs, less both of them",
        line.per_unit / 1000.0
    );
    set!(draft, device.signal_ns = signal.max(0), origin);
}
