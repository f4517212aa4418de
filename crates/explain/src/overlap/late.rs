//! The operations that were ready and did not start although their engine was idle, and which rule delayed each.

use super::OverlapRule;
use super::queue::Queue;
use rustc_hash::FxHashMap;
use trace::{DeviceId, Ns, OpId};
use waits::{Cause, Index, LAUNCH, OperationWaits, Piece, launch_floor, started_idle};

/// The rule that delayed an operation, and the item that it waited for.
#[derive(Clone, Copy)]
pub(super) struct Late {
    pub rule: OverlapRule,
    pub behind: u32,
}

/// The late items of the queue of a device, whose operations are `ops`, by start, those asked for earlier first.
pub(super) fn late(index: &Index<'_>, device: DeviceId, ops: &[OpId], queue: &Queue) -> FxHashMap<u32, Late> {
    let items: FxHashMap<OpId, u32> = queue.items.iter().map(|item| item.op).zip(0..).collect();
    let floor = launch_floor(index.trace, started_idle(index.trace, ops));
    let mut waits = OperationWaits::new(index, device, ops, floor);
    let mut late = FxHashMap::default();
    for op in ops.iter().copied() {
        let delays = waits.start(op).iter().filter_map(delay);
        if let Some((_, rule, behind)) = delays.max_by_key(|(ns, ..)| *ns).filter(|(ns, ..)| *ns >= LAUNCH) {
            late.insert(items[&op], Late { rule, behind: items[&behind] });
        }
    }
    late
}

/// The part of an operation's wait that a rule explains, ns, with the operation that it waited for.
fn delay(piece: &Piece) -> Option<(Ns, OverlapRule, OpId)> {
    let behind = piece.behind.some()?;
    let rules = [
        (Cause::DefaultStream, OverlapRule::DefaultStream),
        (Cause::IssueOrder, OverlapRule::IssueOrder),
        (Cause::ConnectionAliasing, OverlapRule::Connections),
    ];
    let (_, rule) = rules.into_iter().find(|(cause, _)| *cause == piece.cause)?;
    Some((piece.to - piece.from, rule, behind))
}
