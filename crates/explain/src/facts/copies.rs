//! Pageable copies by when they return.

use super::Facts;
use crate::class::Class;
use trace::{CallId, Ns};

/// Slow calls that copy from or to pageable memory, by end.
pub(super) struct PageableCopies(Vec<Returned>);

struct Returned {
    end: Ns,
    /// Its number among the slow calls.
    at: usize,
}

impl PageableCopies {
    fn new(facts: &Facts<'_>) -> PageableCopies {
        let is_pageable = |call: CallId| {
            let copies = matches!(facts.class(call), Class::Copy { .. });
            copies && facts.copied(call).is_some_and(|copied| copied.pageable())
        };
        let slow = facts.slow.iter().copied().enumerate().filter(|(_, call)| is_pageable(*call));
        let mut by_end: Vec<_> = slow.map(|(at, call)| Returned { end: facts.end(call), at }).collect();
        by_end.sort_by_key(|copy| copy.end);
        PageableCopies(by_end)
    }

    /// Those that return within `[from, to]`: a few a thread, whose slow calls follow each other.
    fn within(&self, from: Ns, to: Ns) -> &[Returned] {
        let first = self.0.partition_point(|copy| copy.end < from);
        let last = self.0.partition_point(|copy| copy.end <= to);
        &self.0[first..last.max(first)]
    }
}

impl Facts<'_> {
    /// The slow pageable copy that returns within `[from, to]` and that `wanted` picks; of several, the first by start.
    pub fn pageable_copy(&self, from: Ns, to: Ns, wanted: impl Fn(CallId) -> bool) -> Option<CallId> {
        let copies = self.pageable_copies.get_or_init(|| PageableCopies::new(self));
        let wanted = copies.within(from, to).iter().filter(|copy| wanted(self.slow[copy.at]));
        wanted.map(|copy| copy.at).min().map(|at| self.slow[at])
    }
}
