//! A process under MPS for each thread.

use super::{Fix, Scene, no_gil, own_stream};
use crate::Recovered;

pub(super) const FIX: Fix = Fix {
    id: "process-per-thread",
    text: "run each thread as a process of its own, under MPS",
    safety: "safe if the threads share no memory; each process has a context of its own, some 500 MB of device memory",
    apply,
};

/// Threads share neither the driver's locks nor an interpreter's, and no stream.
fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let issuing = (0..to.recorded.threads.len()).filter(|row| !to.streams_of(*row).is_empty()).count();
    if issuing < 2 || !to.model.sharing.mps {
        return 0;
    }
    let streams = (own_stream::FIX.apply)(scene, to);
    let waits = no_gil::apply(scene, to);
    let locks =
        to.lets_pass(scene, |at, number| scene.holder(number).is_some_and(|holder| holder.row != at.row));
    streams + waits + locks
}
