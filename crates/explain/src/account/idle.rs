//! The idle time of GPUs one part at a time, for outputs that draw it: when it was, what caused it, and the chain of threads.

use super::blame::Blame;
use super::gaps::Gap;
use super::name;
use super::roots::Charges;
use crate::{Cause, Place};
use rustc_hash::FxHashMap;
use trace::{DeviceId, Ns, OpId, ThreadId};

/// The idle time of all GPUs. The parts of a GPU add up to its idle time by cause, to the nanosecond.
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

/// Single charges in the order in which they were made.
#[derive(Default)]
pub(super) struct Trail {
    /// Since the last gap: the number of the reason, and its time, ns.
    charges: Vec<(u32, Ns)>,
    /// The row of [`Charges`] and the chain of each reason.
    reasons: Vec<(usize, u32)>,
    known: FxHashMap<(usize, u32), u32>,
    chains: Vec<Vec<ThreadId>>,
    known_chains: FxHashMap<Vec<ThreadId>, u32>,
    chain: u32,
}

/// The position of an added row as a number.
fn number(rows: usize) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}

impl Trail {
    pub fn push(&mut self, row: usize, ns: Ns) {
        let reasons = &mut self.reasons;
        let reason = *self.known.entry((row, self.chain)).or_insert_with(|| {
            reasons.push((row, self.chain));
            number(reasons.len() - 1)
        });
        match self.charges.last_mut().filter(|(last, _)| *last == reason) {
            Some((_, time)) => *time += ns,
            None => self.charges.push((reason, ns)),
        }
    }

    pub fn enter(&mut self, chain: &[ThreadId]) {
        if self.chains.get(self.chain as usize).is_some_and(|known| known == chain) {
            return;
        }
        self.chain = self.known_chains.get(chain).copied().unwrap_or_else(|| {
            let next = number(self.chains.len());
            self.chains.push(chain.to_vec());
            self.known_chains.insert(chain.to_vec(), next);
            next
        });
    }
}

impl Idle {
    /// Adds the charges of a gap, which fill it in the order of time.
    pub(super) fn add(&mut self, device: DeviceId, gap: &Gap, trail: &mut Trail) {
        let mut start = gap.start;
        for (reason, ns) in trail.charges.drain(..) {
            self.parts.push(IdlePart { device, start, end: start + ns, reason, next: gap.next });
            start += ns;
        }
    }

    /// Gives the parts from `first` on, which are those of one GPU, their reasons.
    pub(super) fn name(&mut self, blame: &Blame<'_>, charges: &mut Charges, first: usize) {
        let base = number(self.reasons.len());
        let Some(trail) = charges.trail() else { return };
        let (reasons, chains) = (std::mem::take(&mut trail.reasons), std::mem::take(&mut trail.chains));
        for (row, chain) in reasons {
            let Some((root, _)) = charges.rows().get(row) else { continue };
            let (mut places, mut calls) = (Vec::new(), Vec::new());
            name(blame, root.culprit, &mut places, &mut calls);
            self.reasons.push(IdleReason {
                cause: root.cause,
                place: places.pop(),
                call: calls.pop().unwrap_or_default(),
                threads: chains.get(chain as usize).cloned().unwrap_or_default(),
            });
        }
        for part in &mut self.parts[first..] {
            part.reason += base;
        }
    }
}
