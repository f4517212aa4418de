//! Copies through page-locked memory that is allocated once.

use super::scene::At;
use super::{Fix, Scene};
use crate::Recovered;
use explain::Class;
use rustc_hash::FxHashSet;
use sim::{Does, Locks, WorkKind};
use trace::CopyKind;

pub(super) const FIX: Fix = Fix {
    id: "pinned-reused",
    text: "copy through pinned memory that is allocated once (pinning per copy stalls every launch)",
    safety: "safe if the buffer is not reused before its copy is done",
    apply,
};

/// Smaller copies gain nothing, bytes: the model's measured rates hold from here on.
const LEAST: i64 = 65_536;

/// How many calls of its thread later a synchronization may come for the copy not to wait itself.
const SOON: usize = 3;

/// A copy takes the model's time for pinned memory, holds no lock, and returns at once where its thread waits for it anyway.
fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let changed: Vec<At> = scene.calls().filter(|at| is_changed(scene, at)).collect();
    let mut numbers = FxHashSet::default();
    for at in &changed {
        let Some(copy) = scene.copy(&at.call) else { continue };
        let copies = &to.model.copies;
        let rates = if copy.kind == CopyKind::HtoD { &copies.to_device } else { &copies.to_host };
        let ns = copy.time(rates.latency_ns.unwrap_or(copies.latency_ns), rates.pinned_mb_s);
        let (rule, signal_ns) = (to.model.calls.copy.clone(), to.model.device.signal_ns);
        let work = &mut to.recorded.works[copy.row as usize];
        work.ns = work.ns.min(ns);
        // Behind another operation the driver begins a copy of pageable memory only when it has noticed the end of that one.
        work.gap_ns = work.gap_ns.map(|gap| gap.min(signal_ns));
        work.kind = WorkKind::Copy { kind: copy.kind, pinned: true };
        numbers.extend(at.call.holds.map(|(number, _)| number));
        let waits = copy.kind == CopyKind::DtoH && !syncs_soon(scene, at);
        let Some(call) = to.call_mut(*at) else { continue };
        call.before_ns = call.before_ns.min(rule.before_ns);
        call.held_ns = call.held_ns.min(rule.held_ns);
        call.after_ns = call.after_ns.min(rule.after_ns);
        if call.locks != Locks::default() {
            call.locks = Locks::of(&rule);
        }
        if let Does::Issue { works, waits: true } = call.does {
            call.does = Does::Issue { works, waits };
        }
    }
    let pageable: FxHashSet<(usize, usize)> = changed.iter().map(|at| (at.row, at.at)).collect();
    let is_copy =
        |number: u32| scene.holder(number).is_some_and(|holder| pageable.contains(&(holder.row, holder.at)));
    to.lets_pass(scene, |_, number| numbers.contains(&number) || is_copy(number));
    to.overtaken.extend(changed.iter().filter_map(|at| scene.copy(&at.call)).map(|copy| copy.row));
    changed.len()
}

/// Whether a call is a copy of pageable memory that is large enough.
pub(super) fn is_changed(scene: &Scene<'_>, at: &At) -> bool {
    let between = |kind| matches!(kind, CopyKind::HtoD | CopyKind::DtoH);
    scene.copy(&at.call).is_some_and(|copy| !copy.pinned && copy.bytes >= LEAST && between(copy.kind))
}

/// Whether the thread waits for the device soon after the call.
fn syncs_soon(scene: &Scene<'_>, at: &At) -> bool {
    let counted =
        scene.calls_after(at).filter(|other| !matches!(scene.class(other.id), Class::Query | Class::Other));
    counted.take(SOON).any(|other| scene.class(other.id) == Class::Sync)
}
