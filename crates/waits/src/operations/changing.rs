//! Streams that go from one hardware queue to another. The queues are a cache of streams: a stream stays in its queue until another one is
//! launched into it; then it goes on in the queue that was used least recently, of those in which no kernel waits if there are any.
//!
//! Each launch acquires a mutex of its queue, which a program with a `pthread_mutex_lock` of its own sees (`benches/queues`; H100, driver
//! 580.159; 1 to 32 threads, 2 to 40 streams, 1 to 8 queues): 42,169 launches of streams that had a queue all went into it; of 5,497 others,
//! 77 % into the queue named above. A replay by this rule of 12 to 32 threads that each wait for their round (`holdup lab run architectures`)
//! takes as long as the trace within 3.3 %, one without 9 % less.

use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use trace::{Ns, OpId};

/// A kernel that started just when one of another stream did, the last one that had been launched into that stream before it.
#[derive(Clone, Copy)]
pub(super) struct Behind {
    pub op: OpId,
    pub other: OpId,
    /// The places of both.
    pub places: (usize, usize),
    /// Other streams that were launched into between the two.
    pub between: u32,
    /// For how long it was ready before that, ns.
    pub waited: Ns,
}

/// Fewest such kernels if streams share queues: two may start together by chance.
const FEWEST: usize = 3;

/// The part of the time for which kernels waited that such kernels have at least if streams share queues: one of so many. They had 14 to
/// 100 % where streams did, 0.7 % at most where 16 threads had 32 queues (`architectures`, H100).
const LEAST: Ns = 20;

/// The number of queues, if some kernels waited in them; `all`: for how long all kernels of their streams waited. Those queues that were used
/// since the last kernel of a queue are others: so many streams were launched into.
pub(super) fn queues(behind: &[Behind], all: impl FnOnce() -> Ns) -> Option<u32> {
    let waited: Ns = behind.iter().map(|behind| behind.waited).sum();
    if behind.len() < FEWEST || waited * LEAST < all() {
        return None;
    }
    let mut by_count: FxHashMap<u32, Ns> = FxHashMap::default();
    behind.iter().for_each(|behind| *by_count.entry(behind.between + 1).or_default() += behind.waited);
    let (count, _) = by_count.into_iter().max_by_key(|(count, waited)| (*waited, Reverse(*count)))?;
    // Streams that share one queue share it all along.
    (count > 1).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernels that each waited 100 ns, with so many streams launched into since.
    fn behind(between: &[u32]) -> Vec<Behind> {
        let one = |between: &u32| Behind {
            op: OpId::new(1),
            other: OpId::new(0),
            places: (1, 0),
            between: *between,
            waited: 100,
        };
        between.iter().map(one).collect()
    }

    #[test]
    fn the_number_of_queues_is_that_of_most_waits() {
        assert_eq!(queues(&behind(&[7, 7, 7, 6, 9]), || 600), Some(8));
        assert_eq!(queues(&behind(&[1, 1, 1]), || 6_000), Some(2));
    }

    #[test]
    fn what_may_be_chance_tells_nothing() {
        assert_eq!(queues(&behind(&[7, 7]), || 200), None, "too few");
        assert_eq!(queues(&behind(&[7, 7, 7]), || 6_001), None, "too small a part of the waits");
        assert_eq!(queues(&behind(&[0, 0, 0]), || 300), None, "one queue");
    }
}
