//! When kernels left no room for another one.

use super::capacity::{Capacity, WHOLE};
use crate::constants::NEXT_OPERATION;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use trace::{Ns, OpId};

/// Loss of kernels' shares by rounding.
const ROUNDING: i64 = 1 << 10;

/// A stretch without room, and a kernel that took it.
#[derive(Clone, Copy)]
pub(super) struct Full {
    pub start: Ns,
    pub end: Ns,
    pub by: OpId,
}

/// The kernels that run, as time goes on. Contexts that take turns each have the whole device.
pub(super) struct Room {
    /// Most kernels at the same time.
    kernels: u32,
    running: BinaryHeap<Reverse<(Ns, usize, i64)>>,
    contexts: Vec<Used>,
    /// The context whose turn it is.
    active: usize,
    /// In order and apart; of the last one the end is unknown while `open`.
    full: Vec<Full>,
    open: bool,
}

#[derive(Clone, Copy, Default)]
struct Used {
    share: i64,
    kernels: u32,
}

impl Room {
    pub fn new(capacity: Option<&Capacity>, contexts: usize) -> Room {
        Room {
            kernels: capacity.map_or(u32::MAX, Capacity::kernels),
            running: BinaryHeap::new(),
            contexts: vec![Used::default(); contexts],
            active: 0,
            full: Vec::new(),
            open: false,
        }
    }

    /// Lets time go on to `now`: kernels end.
    pub fn advance(&mut self, now: Ns) {
        while let Some(Reverse((end, context, share))) =
            self.running.peek().copied().filter(|last| last.0.0 <= now)
        {
            self.running.pop();
            let used = &mut self.contexts[context];
            used.share -= share;
            used.kernels -= 1;
            self.update(end, OpId::NONE);
        }
    }

    /// A kernel of a context starts, whose turn it then is.
    pub fn start(&mut self, context: usize, op: OpId, (start, end): (Ns, Ns), share: i64) {
        self.active = context;
        let used = &mut self.contexts[context];
        used.share += share;
        used.kernels += 1;
        self.running.push(Reverse((end, context, share)));
        self.update(start, op);
    }

    fn update(&mut self, now: Ns, by: OpId) {
        let used = self.contexts[self.active];
        let full = used.share + ROUNDING >= WHOLE || used.kernels >= self.kernels;
        match (self.open, full) {
            (false, true) => match self.full.last_mut().filter(|last| now - last.end <= NEXT_OPERATION) {
                // What waited for the last kernel waits for this one too.
                Some(last) => last.end = Ns::MAX,
                None => self.full.push(Full { start: now, end: Ns::MAX, by }),
            },
            (true, false) => {
                if let Some(last) = self.full.last_mut() {
                    last.end = now;
                }
            }
            (true, true) | (false, false) => {}
        }
        self.open = full;
    }

    /// The stretches without room that overlap `[from, to)`, in order; `to` is not after the last start of a kernel.
    pub fn full(&self, from: Ns, to: Ns) -> impl Iterator<Item = Full> + '_ {
        let first = self.full.partition_point(|full| full.end <= from);
        let overlap = self.full[first..].iter().copied().take_while(move |full| full.start < to);
        // A kernel that ended as it started, by the clock that recorded it, took no time from anyone.
        overlap.filter(|full| full.start < full.end)
    }
}
