//! Whether kernels of several streams start in the order in which they were launched, as those of one hardware queue do: a kernel starts
//! when the one launched before it has started, which may wait for one of its own stream.
//!
//! So did chains of kernels on an H100: through one queue, the first kernel of each chain started beside the last one of the chain before
//! it, and of 40 kernels in as many streams none waited for another one (`crates/sim/tests/main/queues.rs`).

use super::capacity::WHOLE;
use super::changing::Behind;
use super::launches::Launches;
use super::stream_sets::StreamSet;
use crate::constants::NEXT_OPERATION;
use rustc_hash::FxHashMap;
use trace::{Ns, OpId};

/// Most time between the starts of two kernels of which one let the other start, ns: 0.2 to 1.2 µs in nine of ten cases, 2.2 at most (H100,
/// `holdup lab run architectures` with 16 threads).
const JUST: Ns = 2_500;

/// Time by which two kernels' recorded starts may differ although one let the other start, ns. GPUs start kernels 1 µs apart.
const CLOSE: Ns = 200;

/// A kernel that was launched.
#[derive(Clone, Copy)]
pub(super) struct Kernel {
    pub op: OpId,
    /// The place of its stream.
    pub place: usize,
    /// Its call, ns; `None` if unknown.
    pub call: Option<(Ns, Ns)>,
    pub start: Ns,
    pub end: Ns,
}

impl Kernel {
    /// Whether it was launched before another one.
    fn precedes(&self, other: &Kernel) -> bool {
        matches!((self.call, other.call), (Some((_, end)), Some((start, _))) if end <= start)
    }
}

/// The kernels of a context's streams, as time goes on.
#[derive(Default)]
pub(super) struct Launched {
    /// By place: its kernels, in the order of their starts.
    kernels: Vec<Vec<OpId>>,
    /// By place: how many of them have started.
    started: Vec<usize>,
    /// By place: those with a kernel that started before one that had been launched before it.
    apart: Vec<StreamSet>,
    /// Kernels that run, and those that ended at most [`NEXT_OPERATION`] ago.
    recent: Vec<Kernel>,
    /// By pair of places, the smaller one first: how often one's kernel was ready and had room, and started when the other's did, which
    /// had been launched before it.
    followed: FxHashMap<(usize, usize), u32>,
    behind: Vec<Behind>,
}

impl Launched {
    /// `kernels`: by place, in the order of their starts.
    pub fn new(kernels: Vec<Vec<OpId>>) -> Launched {
        let (apart, started) = (vec![StreamSet::default(); kernels.len()], vec![0; kernels.len()]);
        Launched { apart, started, kernels, ..Launched::default() }
    }

    /// How often kernels of two places followed each other; `None` if they did not keep the order.
    pub fn followed(&self, one: usize, other: usize) -> Option<u32> {
        let pair = (one.min(other), one.max(other));
        (!self.apart.get(one)?.contains(other)).then(|| self.followed.get(&pair).copied().unwrap_or(0))
    }

    /// The pairs of places with kernels that followed each other, and how often.
    pub fn pairs(&self) -> std::collections::hash_map::Iter<'_, (usize, usize), u32> {
        self.followed.iter()
    }

    /// The kernels that waited for the start of the last one that had been launched into another stream before, whether or not the two
    /// streams kept the order all along: a stream goes on in another queue where another stream took its own.
    pub fn behind(&self) -> &[Behind] {
        &self.behind
    }

    /// All kernels, each with its place.
    pub fn kernels(&self) -> impl Iterator<Item = (OpId, usize)> + '_ {
        let places = self.kernels.iter().enumerate();
        places.flat_map(|(place, of)| of.iter().map(move |op| (*op, place)))
    }

    /// The next kernel starts; `kernel` looks one up.
    pub fn start(&mut self, starts: Kernel, kernel: impl Fn(OpId, usize) -> Kernel, known: &Launches<'_>) {
        self.started[starts.place] += 1;
        self.keep_order(&starts, &kernel);
        self.recent.retain(|other| starts.start - other.end <= NEXT_OPERATION);
        let before = self.before(&starts, known);
        for other in before.iter().filter(|other| !self.apart[starts.place].contains(other.place)) {
            let pair = (other.place.min(starts.place), other.place.max(starts.place));
            *self.followed.entry(pair).or_default() += 1;
        }
        let is_last = |other: &&Kernel| {
            let next = self.next(other.place).map(|op| kernel(op, other.place));
            starts.start - other.start <= JUST && next.is_none_or(|next| !next.precedes(&starts))
        };
        if let Some(other) = before.iter().filter(is_last).max_by_key(|other| other.start) {
            let ready = known.ready(starts.op).unwrap_or(other.start);
            self.behind.push(Behind {
                op: starts.op,
                other: other.op,
                places: (starts.place, other.place),
                between: self.launched_between(other, &starts, known),
                waited: other.start - ready,
            });
        }
        self.recent.push(starts);
    }

    /// The first kernel of a place that has not started.
    fn next(&self, place: usize) -> Option<OpId> {
        self.kernels[place].get(self.started[place]).copied()
    }

    /// The number of streams that were launched into between two kernels of others.
    fn launched_between(&self, one: &Kernel, other: &Kernel, known: &Launches<'_>) -> u32 {
        let (Some((_, from)), Some((to, _))) = (one.call, other.call) else { return 0 };
        let since = |op: &OpId| known.call(*op).is_none_or(|(start, _)| start < from);
        let next = |of: &Vec<OpId>| of.get(of.partition_point(since)).and_then(|op| known.call(*op));
        let others =
            (0..).zip(&self.kernels).filter(|(place, _)| *place != one.place && *place != other.place);
        others.filter(|(_, of)| next(of).is_some_and(|(start, _)| start < to)).count() as u32
    }

    /// Finds the streams whose next kernel was launched before this one, and starts later.
    fn keep_order(&mut self, starts: &Kernel, kernel: &impl Fn(OpId, usize) -> Kernel) {
        for other in self.apart[starts.place].others(self.kernels.len()) {
            let Some(next) = self.next(other).map(|op| kernel(op, other)) else { continue };
            if other != starts.place && next.precedes(starts) && next.start - starts.start > CLOSE {
                self.apart[starts.place].insert(other);
                self.apart[other].insert(starts.place);
            }
        }
    }

    /// The kernels of other streams that let this one start: they had been launched before, and started just now, because the kernel
    /// before them in their stream ended, beside which there was room for this one, which was ready.
    fn before(&self, starts: &Kernel, known: &Launches<'_>) -> Vec<Kernel> {
        let just_before = |time: Ns, moment: Ns| (time - NEXT_OPERATION..=time).contains(&moment);
        let ended = |other: &Kernel| {
            let of_stream = self.recent.iter().filter(|last| last.place == other.place);
            of_stream.map(|last| last.end).filter(|end| just_before(other.start, *end)).max()
        };
        let lets = |other: &Kernel| {
            let may_share =
                starts.start - other.start <= JUST || !self.apart[starts.place].contains(other.place);
            (other.place != starts.place
                && may_share
                && just_before(starts.start, other.start)
                && other.precedes(starts))
            .then(|| ended(other).map(|end| (*other, end)))
            .flatten()
        };
        let others: Vec<(Kernel, Ns)> = self.recent.iter().filter_map(lets).collect();
        if others.is_empty() || !self.had_room(starts, known) {
            return Vec::new();
        }
        let Some(ready) = known.ready(starts.op) else { return Vec::new() };
        others.into_iter().filter(|(_, end)| ready + NEXT_OPERATION < *end).map(|(other, _)| other).collect()
    }

    /// Whether there was room for a kernel beside all that ran just before it started.
    fn had_room(&self, starts: &Kernel, known: &Launches<'_>) -> bool {
        let ran = self.recent.iter().filter(|other| starts.start - other.start > NEXT_OPERATION);
        let shares = ran.chain([starts]).map(|kernel| known.share(kernel.op));
        shares.sum::<Option<i64>>().is_some_and(|sum| sum <= WHOLE)
    }
}
