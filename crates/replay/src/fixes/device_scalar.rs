//! Results of a few bytes stay on the device.

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
    let mut changed = 0;
    for row in 0..to.recorded.threads.len() {
        let mut follows = false;
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
                    follows = true;
                }
                (_, Does::Await(_)) if follows && class == Class::Sync => {
                    *call = CallOf::default();
                    changed += 1;
                    follows = false;
                }
                _ => follows &= matches!(class, Class::Query | Class::Other),
            }
        }
    }
    changed
}
