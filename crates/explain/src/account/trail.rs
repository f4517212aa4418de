//! Single charges, in the order in which they were made.

use rustc_hash::FxHashMap;
use trace::{Ns, OpId, ThreadId};

/// Single charges.
#[derive(Default)]
pub(super) struct Trail {
    pub charges: Vec<Charge>,
    /// Threads of the chains, the first that waited first.
    pub chains: Vec<Vec<ThreadId>>,
    known: FxHashMap<Vec<ThreadId>, u32>,
    /// The operation that ends the present gap.
    next: Option<OpId>,
}

pub(super) struct Charge {
    /// Index of the row of [`super::roots::Charges`].
    pub row: usize,
    pub start: Ns,
    pub ns: Ns,
    /// A row of [`Trail::chains`].
    pub chain: u32,
    /// The operation that ended the gap.
    pub next: OpId,
}

/// The position of an added row as a number.
pub(super) fn number(rows: usize) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}

impl Trail {
    pub fn enter(&mut self, next: OpId) {
        self.next = Some(next);
    }

    /// Adds a charge of a row: the time, and the threads of its chain, the first that waited first.
    pub fn push(&mut self, row: usize, threads: Vec<ThreadId>, (start, ns): (Ns, Ns)) {
        let chain = self.chain(threads);
        let next = self.next.unwrap_or(OpId::NONE);
        self.charges.push(Charge { row, start, ns, chain, next });
    }

    fn chain(&mut self, threads: Vec<ThreadId>) -> u32 {
        if let Some(known) = self.known.get(&threads) {
            return *known;
        }
        let next = number(self.chains.len());
        self.chains.push(threads.clone());
        self.known.insert(threads, next);
        next
    }

    /// Adds what others charged; `rows` are their rows as this one's.
    pub fn append(&mut self, other: Trail, rows: &[usize]) {
        let Trail { charges, chains, .. } = other;
        let chains: Vec<u32> = chains.into_iter().map(|threads| self.chain(threads)).collect();
        for charge in charges {
            if let (Some(row), Some(chain)) = (rows.get(charge.row), chains.get(charge.chain as usize)) {
                self.charges.push(Charge { row: *row, chain: *chain, ..charge });
            }
        }
    }
}
