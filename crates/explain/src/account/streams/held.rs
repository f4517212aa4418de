//! Stretches in which a GPU was held back: who waited, and for what.

use crate::Cause;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use trace::{Ns, OpId, StreamId};

/// A stretch of a GPU's busy time in which an operation was ready, had room, and waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    pub start: Ns,
    pub end: Ns,
    pub cause: Cause,
    /// The operation that waited.
    pub op: OpId,
    /// The operation that it waited for; `NONE` if unknown.
    pub behind: OpId,
}

/// The stretches without overlap, within the busy times of the GPU: where several operations waited, the one that waited
/// longest has the time.
pub(super) fn apart(mut held: Vec<Held>, busy: &[(Ns, Ns)]) -> Vec<Held> {
    held.sort_unstable_by_key(|held| (held.start, Reverse(held.end), held.op));
    let mut apart = Vec::with_capacity(held.len());
    let (mut done, mut next) = (Ns::MIN, 0);
    for held in held {
        let (from, to) = (held.start.max(done), held.end);
        while busy.get(next).is_some_and(|(_, end)| *end <= from) {
            next += 1;
        }
        for (start, end) in busy[next..].iter().take_while(|(start, _)| *start < to) {
            let (start, end) = (from.max(*start), to.min(*end));
            if start < end {
                apart.push(Held { start, end, ..held });
            }
        }
        done = done.max(to);
    }
    apart
}

/// A stream that waited, and the one that it waited for.
type Pair = (StreamId, StreamId);

/// The time of a cause, ns, and of each pair of streams in it, most first.
pub(super) struct ByCause {
    pub cause: Cause,
    pub ns: Ns,
    pub pairs: Vec<(Pair, Ns)>,
}

/// The time of each cause, most first.
pub(super) fn by_cause(held: &[Held], stream: impl Fn(OpId) -> StreamId) -> Vec<ByCause> {
    let mut causes = FxHashMap::<Cause, FxHashMap<Pair, Ns>>::default();
    for held in held {
        let pair = (stream(held.op), stream(held.behind));
        *causes.entry(held.cause).or_default().entry(pair).or_default() += held.end - held.start;
    }
    let cause = |(cause, pairs): (Cause, FxHashMap<Pair, Ns>)| {
        let mut pairs: Vec<(Pair, Ns)> = pairs.into_iter().collect();
        pairs.sort_unstable_by_key(|(pair, ns)| (Reverse(*ns), *pair));
        ByCause { cause, ns: pairs.iter().map(|(_, ns)| ns).sum(), pairs }
    };
    let mut causes: Vec<ByCause> = causes.into_iter().map(cause).collect();
    causes.sort_by_key(|of| (Reverse(of.ns), of.cause));
    causes
}
