//! Calls that wait for the GPU: copies, synchronizations and frees by when they return, and what a copy's time went into.

use super::Facts;
use crate::class::Class;
use trace::{CallId, CopyKind, Ns, OpId, OpKind};

/// Bytes per second that a copy reaches even into memory never touched: 1.5 GB/s on an H200. One that takes longer than
/// this waited for something.
const SLOWEST_COPY: f64 = 1.0e9;

/// Calls of a thread that are looked through for the launch before a copy: a framework's queries lie between.
const LOOKED_THROUGH: usize = 64;

/// Slow calls that wait for the GPU, by end.
pub(super) struct GpuWaits(Vec<CallId>);

impl GpuWaits {
    fn new(facts: &Facts<'_>) -> GpuWaits {
        let mut by_end: Vec<_> = facts
            .slow
            .iter()
            .copied()
            .filter(|call| facts.waits_for_gpu(*call) || facts.frees(*call))
            .collect();
        by_end.sort_by_key(|call| facts.end(*call));
        GpuWaits(by_end)
    }
}

impl Facts<'_> {
    /// Slow calls that return within `[from, to]` and wait for the GPU, by end: a few a thread, whose slow calls follow
    /// each other.
    fn gpu_waits(&self, from: Ns, to: Ns) -> impl Iterator<Item = CallId> {
        let all = &self.operations.gpu_waits.get_or_init(|| GpuWaits::new(self)).0;
        let first = all.partition_point(|call| self.end(*call) < from);
        let last = all.partition_point(|call| self.end(*call) <= to);
        all[first..last.max(first)].iter().copied()
    }

    /// Slow copies of pageable memory that return within `[from, to]`, by end.
    pub fn pageable_copies(&self, from: Ns, to: Ns) -> impl Iterator<Item = CallId> {
        self.gpu_waits(from, to).filter(|call| self.copies_pageable(*call))
    }

    /// Slow frees that return within `[from, to]`, by end.
    pub fn slow_frees(&self, from: Ns, to: Ns) -> impl Iterator<Item = CallId> {
        self.gpu_waits(from, to).filter(|call| self.frees(*call))
    }

    fn frees(&self, call: CallId) -> bool {
        self.class(call) == Class::Release
    }

    /// Slow calls that return within `[from, to]` as work of their own on the GPU is done: synchronizations, and copies
    /// that spend their time on what is before them in their stream or on themselves.
    pub fn device_waits(&self, from: Ns, to: Ns) -> impl Iterator<Item = CallId> {
        self.gpu_waits(from, to).filter(|call| match self.class(*call) {
            Class::Sync => true,
            Class::Copy { .. } => self.keeps_busy(*call),
            _ => false,
        })
    }

    /// Whether a call waits for the GPU by its kind.
    pub fn waits_for_gpu(&self, call: CallId) -> bool {
        match self.class(call) {
            Class::Sync => true,
            Class::Copy { blocking } => blocking || self.copies_pageable(call),
            _ => false,
        }
    }

    /// Whether a call copies from or to pageable memory. Where the trace says of no copy what it copies, one that takes long
    /// does: into pinned memory it would have returned at once.
    fn copies_pageable(&self, call: CallId) -> bool {
        let copies = matches!(self.class(call), Class::Copy { .. });
        copies && self.copied(call).map_or_else(|| self.has_unknown_copies(), |copied| copied.pageable())
    }

    /// Whether the trace says of no call what it copies, as a listing of calls does.
    pub fn has_unknown_copies(&self) -> bool {
        let ops = &self.trace.ops;
        *self.operations.unknown_copies.get_or_init(|| {
            let joined = |op: OpId| ops.kind[op.index()] == OpKind::Copy && ops.call[op.index()].is_some();
            let said = |copy: &CopyKind| *copy != CopyKind::Unknown;
            !self.trace.arguments.copy.iter().any(said) && !ops.ids().any(joined)
        })
    }

    /// When the GPU was done with what a copy waits for anyway, before it started: with what was in its stream before.
    pub fn free_to_copy(&self, call: CallId) -> Option<(OpId, Ns)> {
        let copy = self.copy(call)?;
        let before = self.asked_before(copy.first, call)?;
        Some((before, self.trace.ops.end[before.index()].min(copy.start)))
    }

    /// Whether most of a copying call's time is its own: the work before it in its stream, and the copy. What is left
    /// it spent waiting for others itself.
    pub fn keeps_busy(&self, call: CallId) -> bool {
        let (start, duration) = (self.start(call), self.duration(call));
        match self.copy(call) {
            Some(copy) => {
                let waited = self.free_to_copy(call).map_or(0, |(_, free)| (free - start).max(0));
                waited + (copy.end - copy.start.max(start)) >= duration / 2
            }
            // As far as the host's calls tell.
            None => {
                let bytes = self.copied(call).map_or(0, |copied| copied.bytes);
                // Of a copy of unknown size the work before it is all there is.
                let fits = bytes as f64 / (duration.max(1) as f64 * 1e-9) >= SLOWEST_COPY;
                fits || self.launched_before(call).is_some()
            }
        }
    }

    /// The launch that its thread put into a copy's or a synchronization's stream before it, with nothing between
    /// that waited for the stream.
    pub fn launched_before(&self, call: CallId) -> Option<CallId> {
        let stream = self.stream(call);
        let alike = |other: CallId| {
            let other = self.stream(other);
            other == stream || other.is_none() || stream.is_none()
        };
        let mut before = call;
        for _ in 0..LOOKED_THROUGH {
            before = self.previous(before)?;
            match self.class(before) {
                Class::Launch if alike(before) => return Some(before),
                _ if self.waits_for_gpu(before) && alike(before) => return None,
                _ => {}
            }
        }
        None
    }

    /// Whether two calls are of different threads of a process, and of one device where both are known.
    pub fn is_beside(&self, call: CallId, other: CallId) -> bool {
        let (device, others) = (self.device(call), self.device(other));
        self.process(call) == self.process(other)
            && self.thread(call) != self.thread(other)
            && (device.is_none() || others.is_none() || device == others)
    }
}
