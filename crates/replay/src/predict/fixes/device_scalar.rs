//! Results of a few bytes stay on the device.

use super::{Fix, Scene};
use crate::Recovered;
use sim::CallOf;
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
    for at in scene.calls() {
        let copy = scene.copy(&at.call).filter(|copy| copy.kind == CopyKind::DtoH && copy.bytes <= MOST);
        let Some(copy) = copy else { continue };
        to.leave_out(at, copy.row);
        changed += 1;
        if let Some(call) = scene.sync_after(&at).and_then(|sync| to.call_mut(sync)) {
            *call = CallOf::default();
            changed += 1;
        }
    }
    changed
}
