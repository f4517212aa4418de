//! Queries of the rules on a trace, with indexes that are built once. Each file has the queries on one subject and their
//! indexes.

pub(crate) mod call_tree;
mod calls;
mod churn;
mod copied;
mod copies;
mod first_uses;
mod gpu;
mod habits;
pub(crate) mod handles;
pub(crate) mod index;
mod indexes;
mod locks;
pub(crate) mod marks;
mod operations;
pub(crate) mod options;
mod own_code;
pub(crate) mod peaks;
pub(crate) mod pieces;
pub(crate) mod places;
pub(crate) mod stretch;
#[cfg(test)]
mod tests;
mod tracer;
pub(crate) mod turns;
pub(crate) mod weights;

pub(crate) use copied::{CopyFacts, RATED_BYTES, rate};
pub(crate) use gpu::Pending;

use crate::Options;
use indexes::{Calls, FirstUses, Habits, Locks, Operations, Tracer};
use std::sync::Arc;
use trace::{CallId, Trace};
use waits::Index;

/// A trace with the indexes that rules need.
pub(crate) struct Facts<'a> {
    pub trace: &'a Trace,
    /// Slow, outermost CUDA calls, by start.
    pub slow: Vec<CallId>,
    /// The rows that waits are found in.
    pub index: Arc<Index<'a>>,
    calls: Calls,
    operations: Operations,
    first: FirstUses,
    locks: Locks,
    tracer: Tracer,
    habits: Habits,
}

impl<'a> Facts<'a> {
    pub fn new(trace: &'a Trace, options: &Options) -> Facts<'a> {
        let index = Arc::new(Index::of(trace));
        let order = &index.calls;
        let calls = Calls::new(trace, options);
        let operations = Operations::new(trace, order);
        let first = FirstUses::new(trace, order.by_start());
        let locks = Locks::new(trace, order);
        let tracer = Tracer::new(trace);
        let habits = Habits::default();
        let slow = Vec::new();
        let mut facts = Facts { trace, slow, index, calls, operations, first, locks, tracer, habits };
        facts.slow = facts.calls_where(|call| facts.is_slow(call));
        facts
    }
}
