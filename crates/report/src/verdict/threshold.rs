//! Thresholds of the verdict: the share of time from which on a GPU is busy, and from which on a loss matters.

use explain::GpuAccount;
use trace::Ns;

/// Part of its time, in percent, from which on a GPU that is busy is held up by nobody on the host.
const BUSY: Ns = 95;

/// Smallest part of the GPUs' time that matters, 0 to 1.
pub(crate) const SMALL: f64 = 0.01;

/// Like [`SMALL`], but where all GPUs are busy: no more can be idle, and so only what holds them back.
pub(super) const SMALL_OF_BUSY: f64 = 0.05;

/// Like [`SMALL_OF_BUSY`], but where all GPUs are busy all the time: all that is lost is what is held back, which is estimated.
const SMALL_OF_FULL: f64 = 0.1;

/// Part of its time, in percent, from which on a GPU is busy all the time.
const FULL: Ns = 99;

/// The part of a thread's time that is worth a line although the GPUs lose nothing by it: a choice.
pub(super) const LOST: f64 = 0.25;

pub(super) fn is_busy(gpu: &GpuAccount) -> bool {
    is_busy_for(gpu, BUSY)
}

/// Whether a GPU is busy for this part of its time, in percent.
fn is_busy_for(gpu: &GpuAccount, part: Ns) -> bool {
    gpu.busy_ns * 100 >= gpu.working_ns() * part
}

/// The smallest part of the GPUs' time that a finding must cost to matter, 0 to 1.
pub(crate) fn least(gpus: &[GpuAccount]) -> f64 {
    let all_are_busy = |part: Ns| !gpus.is_empty() && gpus.iter().all(|gpu| is_busy_for(gpu, part));
    match () {
        () if all_are_busy(FULL) => SMALL_OF_FULL,
        () if all_are_busy(BUSY) => SMALL_OF_BUSY,
        () => SMALL,
    }
}
