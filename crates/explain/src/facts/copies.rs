//! Calls that wait for the GPU: copies, synchronizations and frees by when they return, and what a copy waited for.

use super::Facts;
use trace::{CallId, CopyKind, Ns, OpId, OpKind};
use waits::Class;

/// Bytes per second below which a copy waited for something: even into untouched memory an H200 reaches 1.5 GB/s.
const SLOWEST_COPY: f64 = 1.0e9;

/// Most calls of a thread searched for the launch before a copy: a framework's queries lie between.
const LOOKED_THROUGH: usize = 64;

impl Facts<'_> {
    /// Slow calls that wait for the GPU, by end.
    fn all_gpu_waits(&self) -> Vec<CallId> {
        let waits = |call: &CallId| self.waits_for_gpu(*call) || self.frees(*call);
        let mut by_end: Vec<_> = self.slow.iter().copied().filter(waits).collect();
        by_end.sort_by_key(|call| self.end(*call));
        by_end
    }

    /// Slow calls that return within `[from, to]` and wait for the GPU, by end: a few per thread, because a thread's slow
    /// calls follow each other.
    fn gpu_waits(&self, from: Ns, to: Ns) -> impl Iterator<Item = CallId> {
        let all = self.operations.gpu_waits.get_or_init(|| self.all_gpu_waits());
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

    /// Slow calls that return within `[from, to]` when their own work on the GPU is done: synchronizations, and copies that
    /// take their time for themselves or for the work before them in their stream.
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

    /// Whether a call copies from or to pageable memory. If the trace records for no copy what it copies, one that takes
    /// long does: with pinned memory it would have returned at once.
    pub fn copies_pageable(&self, call: CallId) -> bool {
        let copies = matches!(self.class(call), Class::Copy { .. });
        copies && self.copied(call).map_or_else(|| self.has_unknown_copies(), |copied| copied.pageable())
    }

    /// Whether the trace records for no call what it copies, as in a listing of calls.
    pub fn has_unknown_copies(&self) -> bool {
        let ops = &self.trace.ops;
        *self.operations.unknown_copies.get_or_init(|| {
            let joined = |op: OpId| ops.kind[op.index()] == OpKind::Copy && ops.call[op.index()].is_some();
            let said = |copy: &CopyKind| *copy != CopyKind::Unknown;
            !self.trace.arguments.copy.iter().any(said) && !ops.ids().any(joined)
        })
    }

    /// The operation before a copy in its stream, which the copy waits for anyway, and when it ended; at the latest when the
    /// copy started.
    pub fn free_to_copy(&self, call: CallId) -> Option<(OpId, Ns)> {
        let copy = self.copy(call)?;
        let before = self.asked_before(copy.first, call)?;
        Some((before, self.trace.ops.end[before.index()].min(copy.start)))
    }

    /// Whether a copying call takes at least half of its time for its own work: the work before it in its stream, and the
    /// copy. The rest of the time it waited for others.
    pub fn keeps_busy(&self, call: CallId) -> bool {
        let (start, duration) = (self.start(call), self.duration(call));
        match self.copy(call) {
            Some(copy) => {
                let waited = self.free_to_copy(call).map_or(0, |(_, free)| (free - start).max(0));
                waited + (copy.end - copy.start.max(start)) >= duration / 2
            }
            // Without operations only the host's calls are evidence.
            None => {
                let bytes = self.copied(call).map_or(0, |copied| copied.bytes);
                // For a copy of unknown size the launch before it is the only evidence.
                let fits = bytes as f64 / (duration.max(1) as f64 * 1e-9) >= SLOWEST_COPY;
                fits || self.launched_before(call).is_some()
            }
        }
    }

    /// The launch that the same thread put into the stream before a copy or a synchronization, with nothing in between that
    /// waited for the stream.
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

    /// Whether two calls are of different threads of one process, and of one device if both devices are known.
    pub fn is_beside(&self, call: CallId, other: CallId) -> bool {
        let (device, others) = (self.device(call), self.device(other));
        self.process(call) == self.process(other)
            && self.thread(call) != self.thread(other)
            && (device.is_none() || others.is_none() || device == others)
    }
}
