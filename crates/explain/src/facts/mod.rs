//! Queries of the rules on a trace, with indexes that are built once. Each file has the queries on one subject and their
//! indexes.

mod calls;
mod copied;
mod copies;
mod first;
mod gpu;
mod indexes;
mod locks;
mod operations;
#[cfg(test)]
mod tests;
mod tracer;

pub(crate) use copied::{CopyFacts, RATED_BYTES, rate};
pub(crate) use gpu::Pending;

use crate::Options;
use crate::index::CallOrder;
use indexes::{Calls, First, Locks, Operations, Tracer};
use std::sync::Arc;
use trace::{CallId, Trace};

/// A trace with the indexes that rules need.
pub(crate) struct Facts<'a> {
    pub trace: &'a Trace,
    /// Slow, outermost CUDA calls, by start.
    pub slow: Vec<CallId>,
    calls: Calls,
    operations: Operations,
    first: First,
    locks: Locks,
    tracer: Tracer,
}

impl<'a> Facts<'a> {
    pub fn new(trace: &'a Trace, options: &Options) -> Facts<'a> {
        Facts::with_order(trace, options, Arc::new(CallOrder::new(trace)))
    }

    /// Like [`Facts::new`], but with the order of the trace's calls.
    pub fn with_order(trace: &'a Trace, options: &Options, order: Arc<CallOrder>) -> Facts<'a> {
        let calls = Calls::new(trace, options, order);
        let operations = Operations::new(trace, &calls.order.outer);
        let first = First::new(trace, &calls.order.by_start);
        let locks = Locks::new(trace, &calls);
        let tracer = Tracer::new(trace);
        let mut facts = Facts { trace, slow: Vec::new(), calls, operations, first, locks, tracer };
        facts.slow = facts.calls_where(|call| facts.is_slow(call));
        facts
    }
}
