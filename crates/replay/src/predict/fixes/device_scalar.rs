//! Results of a few bytes stay on the device.

use super::scene::RIGHT_AFTER;
use super::{Fix, Scene};
use crate::Recovered;
use explain::Class;
use sim::{CallOf, Does};
use trace::CopyKind;

pub(super) const FIX: Fix = Fix {
    id: "device-scalar",
    text: "keep the result on the device, or read it once every many steps",
    safety: "safe if the host does not decide by the result",
    apply,
};

/// Most bytes of such a result.
const MOST: i64 = 64;

/// Copies of a few bytes to the host are not made, nor is the synchronization right after one.
fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let (mut changed, calls) = (0, &scene.trace.calls);
    for row in 0..to.recorded.threads.len() {
        // When the copy before this call ended, if nothing but queries came after it.
        let mut copied = None;
        for at in scene.calls_of(row) {
            let class = scene.class(at.id);
            let copy = scene.copy(&at.call).filter(|copy| copy.kind == CopyKind::DtoH && copy.bytes <= MOST);
            let Some(call) = to.call_mut(at) else { continue };
            match (copy, call.does) {
                (Some(copy), Does::Issue { works, .. }) => {
                    *call = CallOf { does: Does::Issue { works, waits: false }, ..CallOf::default() };
                    let work = &mut to.recorded.works[copy.row as usize];
                    (work.ns, work.gap_ns, work.latency_ns) = (0, Some(0), Some(0));
                    changed += 1;
                    copied = Some(calls.end[at.id.index()]);
                }
                (_, Does::Await(_)) if class == Class::Sync => {
                    if copied.take().is_some_and(|end| calls.start[at.id.index()] - end <= RIGHT_AFTER) {
                        *call = CallOf::default();
                        changed += 1;
                    }
                }
                _ => copied = copied.filter(|_| matches!(class, Class::Query | Class::Other)),
            }
        }
    }
    changed
}
