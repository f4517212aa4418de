//! The calls that issued operations, and the waits that delayed those calls.

use super::OverlapRule;
use std::sync::Arc;
use trace::{Api, CallId, MemoryKind, Ns, OpId, OpKind};
use waits::{Class, Index};

/// Shortest wait of a thread that delays its next call, ns: shorter ones are a call's cost (see `facts`: 10 µs for an
/// ordinary launch).
const BRIEF: Ns = 20_000;

/// The calls of a trace.
pub(super) struct Host<'a> {
    pub index: Arc<Index<'a>>,
    /// For each outermost call, the last call before it that made its thread wait.
    waited: Vec<CallId>,
    /// Calls that copy pageable memory.
    pageable: Vec<bool>,
    /// Calls of libraries in each thread, by start.
    libraries: Vec<Vec<CallId>>,
}

/// A call that made its thread wait.
#[derive(Clone, Copy)]
pub(super) struct ThreadWait {
    pub call: CallId,
    pub start: Ns,
    pub end: Ns,
    pub rule: OverlapRule,
}

impl<'a> Host<'a> {
    pub fn new(index: Arc<Index<'a>>) -> Host<'a> {
        let (pageable, libraries) = (pageable(&index), libraries(&index));
        let mut host = Host { index, waited: Vec::new(), pageable, libraries };
        host.waited = host.waits();
        host
    }

    /// The outermost call that issued an operation.
    pub fn asked(&self, op: OpId) -> CallId {
        self.index.calls.outermost(self.index.trace.ops.call[op.index()])
    }

    pub fn start(&self, call: CallId) -> Ns {
        self.index.start(call)
    }

    fn end(&self, call: CallId) -> Ns {
        self.index.end(call)
    }

    /// The wait that delayed a call: longer than all that the thread did since.
    pub fn kept(&self, call: CallId) -> Option<ThreadWait> {
        let waited = self.waited[call.some()?.index()].some()?;
        let (start, end) = (self.start(waited), self.end(waited));
        let since = self.start(call).saturating_sub(end);
        let rule = match self.pageable[waited.index()] {
            true => OverlapRule::PageableMemory,
            false => OverlapRule::Synchronization,
        };
        (since <= end.saturating_sub(start)).then_some(ThreadWait { call: waited, start, end, rule })
    }

    /// Whether the call copies pageable memory.
    pub fn is_pageable(&self, call: CallId) -> bool {
        call.some().is_some_and(|call| self.pageable[call.index()])
    }

    /// The innermost library call around a call; examines only the thread's last few library calls.
    pub fn library_around(&self, call: CallId) -> Option<CallId> {
        const MOST: usize = 8;
        let thread = self.index.trace.calls.thread[call.index()].some()?;
        let own = &self.libraries[thread.index()];
        let begun = own.partition_point(|other| self.start(*other) <= self.start(call));
        own[..begun].iter().rev().take(MOST).copied().find(|other| self.end(*other) >= self.end(call))
    }

    fn waits(&self) -> Vec<CallId> {
        let (order, calls) = (&self.index.calls, &self.index.trace.calls);
        let mut last = vec![CallId::NONE; self.index.trace.threads.len()];
        let mut waited = vec![CallId::NONE; calls.len()];
        for call in order.by_start().iter().copied().filter(|call| order.outermost(*call) == *call) {
            let at = call.index();
            let last = &mut last[calls.thread[at].index()];
            waited[at] = *last;
            let waits = match self.index.class(call) {
                Class::Sync | Class::Release | Class::Copy { blocking: true } => true,
                Class::Copy { blocking: false } => self.pageable[at],
                _ => false,
            };
            if waits && self.end(call).saturating_sub(self.start(call)) >= BRIEF {
                *last = call;
            }
        }
        waited
    }
}

fn libraries(index: &Index<'_>) -> Vec<Vec<CallId>> {
    let trace = index.trace;
    let mut by_thread = vec![Vec::new(); trace.threads.len()];
    for call in index.calls.by_start().iter().filter(|call| trace.calls.api[call.index()] == Api::Library) {
        by_thread[trace.calls.thread[call.index()].index()].push(*call);
    }
    by_thread
}

fn pageable(index: &Index<'_>) -> Vec<bool> {
    let ops = &index.trace.ops;
    let mut pageable = vec![false; index.trace.calls.len()];
    for at in (0..ops.len()).filter(|at| ops.kind[*at] == OpKind::Copy) {
        let of_host = [ops.src[at], ops.dst[at]].contains(&MemoryKind::Pageable);
        let call = index.calls.outermost(ops.call[at]).some();
        if let Some(call) = call.filter(|_| of_host) {
            pageable[call.index()] = true;
        }
    }
    pageable
}
