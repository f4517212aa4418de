//! The idle time of GPUs one part at a time, for outputs that draw it: when it was, what caused it, and the chain of threads.

use super::blame::Blame;
use super::by_cause::name;
use super::roots::{Root, Row};
use super::settle::largest;
use super::trail::{Charge, Trail, number};
use crate::{Cause, Place};
use rustc_hash::FxHashMap;
use trace::{DeviceId, Ns, OpId, ThreadId};

/// The idle time of all GPUs. The parts of a GPU add up to its idle time, to the nanosecond.
#[derive(Clone, Debug, Default)]
pub struct Idle {
    /// Every cause with its place and its chain, once.
    pub reasons: Vec<IdleReason>,
    /// The parts, by device and time; they do not overlap.
    pub parts: Vec<IdlePart>,
}

/// Why a GPU was idle.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdleReason {
    /// The root cause.
    pub cause: Cause,
    /// Where in the source, if that is known.
    pub place: Option<Place>,
    /// The call in which, or before which, the time passed; empty if there is none.
    pub call: String,
    /// The threads of the chain: first the one that asked for the operation that ended the gap, last the root. Empty if
    /// nobody on the host is known.
    pub threads: Vec<ThreadId>,
}

/// A part of a GPU's idle time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdlePart {
    /// The GPU.
    pub device: DeviceId,
    /// Start, ns.
    pub start: Ns,
    /// End, ns.
    pub end: Ns,
    /// Why: an index into [`Idle::reasons`].
    pub reason: u32,
    /// The operation that ended the gap.
    pub next: OpId,
}

impl Idle {
    /// The idle time of a GPU by what rows were charged with. Of a row that has several places, it shows the one with most time.
    pub(super) fn of(blame: &Blame<'_>, device: DeviceId, rows: &[Row], trail: Trail) -> Idle {
        let Trail { mut charges, chains, .. } = trail;
        charges.sort_by_key(|charge| charge.start);
        let roots = largest(rows, blame.sites);
        let (mut idle, mut known) = (Idle::default(), FxHashMap::<(Root, u32), u32>::default());
        for Charge { row, start, ns, chain, next } in charges {
            let Some(root) = roots.get(row).copied() else { continue };
            let reason = *known.entry((root, chain)).or_insert_with(|| {
                let (mut places, mut calls) = (Vec::new(), Vec::new());
                name(blame, root.culprit, &mut places, &mut calls);
                idle.reasons.push(IdleReason {
                    cause: root.cause,
                    place: places.pop(),
                    call: calls.pop().unwrap_or_default(),
                    threads: chains.get(chain as usize).cloned().unwrap_or_default(),
                });
                number(idle.reasons.len() - 1)
            });
            match idle
                .parts
                .last_mut()
                .filter(|last| last.reason == reason && last.end == start && last.next == next)
            {
                Some(last) => last.end += ns,
                None => idle.parts.push(IdlePart { device, start, end: start + ns, reason, next }),
            }
        }
        idle
    }

    /// Adds that of another GPU.
    pub(super) fn append(&mut self, other: Idle) {
        let base = number(self.reasons.len());
        self.reasons.extend(other.reasons);
        self.parts
            .extend(other.parts.into_iter().map(|part| IdlePart { reason: part.reason + base, ..part }));
    }
}
