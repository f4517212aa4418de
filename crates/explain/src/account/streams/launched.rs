//! Whether kernels of several streams start in the order in which they were launched, as those of one hardware queue do: a kernel starts
//! when the one launched before it has started, which may wait for one of its own stream.
//!
//! So did chains of kernels on an H100: through one queue, the first kernel of each chain started beside the last one of the chain before
//! it, and of 40 kernels in as many streams none waited for another one (`lab/sim/tests/main/queues.rs`).

use super::asked::Launches;
use super::capacity::WHOLE;
use super::places::Places;
use rustc_hash::FxHashMap;
use trace::{Ns, OpId};

/// Most time between the moment that lets a kernel start and its start, ns, as in `overlap/slip.rs`.
const NEXT: Ns = 10_000;

/// What two kernels' recorded starts may differ although one let the other start, ns. GPUs start kernels 1 µs apart.
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
    /// By place: kernels that have not started, the last one first.
    waiting: Vec<Vec<OpId>>,
    /// By place: those with a kernel that started before one that had been launched before it.
    apart: Vec<Places>,
    /// Kernels that run, and those that ended at most [`NEXT`] ago.
    recent: Vec<Kernel>,
    /// By pair of places, the smaller one first: how often one's kernel was ready and had room, and started when the other's did, which
    /// had been launched before it.
    followed: FxHashMap<(usize, usize), u32>,
}

impl Launched {
    /// `kernels`: by place, in the order of their starts.
    pub fn new(mut kernels: Vec<Vec<OpId>>) -> Launched {
        kernels.iter_mut().for_each(|of| of.reverse());
        Launched { apart: vec![Places::default(); kernels.len()], waiting: kernels, ..Launched::default() }
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

    /// The next kernel starts; `kernel` looks one up.
    pub fn start(&mut self, starts: Kernel, kernel: impl Fn(OpId, usize) -> Kernel, known: &Launches<'_>) {
        self.waiting[starts.place].pop();
        self.keep_order(&starts, kernel);
        self.recent.retain(|other| starts.start - other.end <= NEXT);
        for other in self.before(&starts, known) {
            let pair = (other.min(starts.place), other.max(starts.place));
            *self.followed.entry(pair).or_default() += 1;
        }
        self.recent.push(starts);
    }

    /// Finds the streams whose next kernel was launched before this one, and starts later.
    fn keep_order(&mut self, starts: &Kernel, kernel: impl Fn(OpId, usize) -> Kernel) {
        for other in self.apart[starts.place].others(self.waiting.len()) {
            let Some(next) = self.waiting[other].last().map(|op| kernel(*op, other)) else { continue };
            if other != starts.place && next.precedes(starts) && next.start - starts.start > CLOSE {
                self.apart[starts.place].insert(other);
                self.apart[other].insert(starts.place);
            }
        }
    }

    /// The places whose kernel let this one start: it had been launched before, and started just now, because the kernel before it in
    /// its stream ended, beside which there was room for this one, which was ready.
    fn before(&self, starts: &Kernel, known: &Launches<'_>) -> Vec<usize> {
        let just_before = |time: Ns, moment: Ns| (time - NEXT..=time).contains(&moment);
        let ended = |other: &Kernel| {
            let of_stream = self.recent.iter().filter(|last| last.place == other.place);
            of_stream.map(|last| last.end).filter(|end| just_before(other.start, *end)).max()
        };
        let lets = |other: &Kernel| {
            let is_other = other.place != starts.place && !self.apart[starts.place].contains(other.place);
            (is_other && just_before(starts.start, other.start) && other.precedes(starts))
                .then(|| ended(other).map(|end| (other.place, end)))
                .flatten()
        };
        let others: Vec<(usize, Ns)> = self.recent.iter().filter_map(lets).collect();
        if others.is_empty() || !self.had_room(starts, known) {
            return Vec::new();
        }
        let Some(ready) = known.ready(starts.op) else { return Vec::new() };
        others.into_iter().filter(|(_, end)| ready + NEXT < *end).map(|(place, _)| place).collect()
    }

    /// Whether there was room for a kernel beside all that ran just before it started.
    fn had_room(&self, starts: &Kernel, known: &Launches<'_>) -> bool {
        let ran = self.recent.iter().filter(|other| starts.start - other.start > NEXT);
        let shares = ran.chain([starts]).map(|kernel| known.share(kernel.op));
        shares.sum::<Option<i64>>().is_some_and(|sum| sum <= WHOLE)
    }
}
