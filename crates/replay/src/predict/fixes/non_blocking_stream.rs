//! No stream waits for the legacy default one.

use super::{Fix, Scene};
use crate::Recovered;
use workload::StreamKind;

pub(super) const FIX: Fix = Fix {
    id: "non-blocking-stream",
    text: "keep work out of the legacy default stream",
    safety: "safe if the work of these streams needs no order, or has it by events",
    apply,
};

/// Blocking streams become non-blocking where there is a default stream: neither side waits for the other.
fn apply(_: &Scene<'_>, to: &mut Recovered) -> usize {
    let processes = to.recorded.workload.processes.iter_mut();
    let has_default =
        |streams: &[workload::Stream]| streams.iter().any(|one| one.kind == StreamKind::Default);
    let streams = processes.map(|process| &mut process.streams).filter(|streams| has_default(streams));
    let blocking = streams.flatten().filter(|stream| stream.kind == StreamKind::Blocking);
    blocking.map(|stream| stream.kind = StreamKind::NonBlocking).count()
}
