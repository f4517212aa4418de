//! Other causes that a wait could have, with the numbers that rule them out.

use crate::figures::is_waiter;
use explain::{Cause, Explanation, Loss};
use rustc_hash::FxHashSet;
use sim::Model;
use trace::{LockKind, Ns, OpKind, RangeKind, StreamId, ThreadId, Trace};
use waits::{Class, Index};

/// A cause that was considered, with its number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Considered {
    /// The GPUs have no room: the part of their time in which they were busy.
    GpuFull(f64),
    /// The threads have no processor: the time in which they were ready and did not run, and for which that is known, ns.
    NoCpu(Ns, Ns),
    /// The first use of something: how many calls lost time, and how long the first and the last one took, ns.
    FirstUse(u64, Ns, Ns),
    /// A full stream: the most launches that waited in one, and the number of which a launch waits.
    QueueFull(u64, u64),
    /// Locks of CUDA: how long the threads waited for one, ns.
    DriverLock(Ns),
    /// Allocations and frees: how many the process's threads made in what it repeats.
    Allocation(u64),
    /// Copies from or to pageable memory: how many.
    Pageable(u64),
    /// Python's lock: how long the threads waited for it, ns.
    Gil(Ns),
    /// Contexts that take turns: how many contexts the GPU had at most.
    TimeSlicing(u64),
    /// Streams that share a hardware queue: the most streams of a GPU, and the number of queues.
    ConnectionAliasing(u64, u64),
    /// The tracer's own work: its time, ns.
    ProfilerOverhead(Ns),
    /// Lost records: how many.
    Lost(u64),
}

impl Considered {
    /// The cause that it rules out; `None` for what is none.
    fn cause(self) -> Option<Cause> {
        Some(match self {
            Considered::GpuFull(_) => Cause::GpuFull,
            Considered::NoCpu(..) => Cause::NoCpu,
            Considered::QueueFull(..) => Cause::QueueFull,
            Considered::DriverLock(_) => Cause::DriverLock,
            Considered::Allocation(_) => Cause::Allocation,
            Considered::Pageable(_) => Cause::PageableStaging,
            Considered::Gil(_) => Cause::Gil,
            Considered::TimeSlicing(_) => Cause::TimeSlicing,
            Considered::ConnectionAliasing(..) => Cause::ConnectionAliasing,
            Considered::ProfilerOverhead(_) => Cause::ProfilerOverhead,
            // It is of the finding's own calls.
            Considered::FirstUse(..) | Considered::Lost(_) => return None,
        })
    }

    /// Whether the number rules it out, for a finding of so much time.
    fn is_ruled_out(self, lost: Ns) -> bool {
        /// The largest part of the lost time that does not matter, as a divisor: a choice.
        const PART: Ns = 50;
        /// Busy GPUs have room: a choice.
        const HALF: f64 = 0.5;
        match self {
            Considered::GpuFull(busy) => busy < HALF,
            Considered::NoCpu(ns, _) | Considered::DriverLock(ns) | Considered::Gil(ns) => ns <= lost / PART,
            Considered::ProfilerOverhead(ns) => ns <= lost / PART,
            Considered::FirstUse(calls, first, last) => calls >= 5 && last >= first / 2,
            Considered::QueueFull(most, depth) => most < depth / 2,
            Considered::Allocation(count) | Considered::Pageable(count) | Considered::Lost(count) => {
                count == 0
            }
            Considered::TimeSlicing(contexts) => contexts <= 1,
            Considered::ConnectionAliasing(streams, queues) => streams <= queues,
        }
    }
}

/// Causes that do not hold, and questions that the trace does not answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuledOut {
    /// Causes with the numbers that rule them out.
    pub causes: Vec<Considered>,
    /// Questions that nothing recorded answers.
    pub unknown: Vec<&'static str>,
}

/// The other causes of a finding that were considered.
pub fn ruled_out(
    trace: &Trace,
    explanation: &Explanation,
    row: usize,
    losses: &[Loss],
    model: &Model,
) -> RuledOut {
    let finding = &explanation.findings[row];
    let facts = Facts {
        trace,
        explanation,
        losses,
        row: row as u32,
        index: Index::of(trace),
        model,
        waiters: trace.threads.ids().filter(|thread| is_waiter(trace, finding, *thread)).collect(),
    };
    let found: FxHashSet<&str> = explanation.findings.iter().map(|finding| finding.cause.id()).collect();
    let is_open =
        |considered: &Considered| considered.cause().is_none_or(|cause| !found.contains(cause.id()));
    let is_other = |considered: &Considered| {
        finding.cause != Cause::FirstUse || !matches!(considered, Considered::FirstUse(..))
    };
    let all = facts.all();
    RuledOut {
        causes: all
            .into_iter()
            .filter(|one| is_open(one) && is_other(one) && one.is_ruled_out(finding.lost_ns))
            .collect(),
        unknown: facts.unknown(),
    }
}

struct Facts<'a> {
    trace: &'a Trace,
    explanation: &'a Explanation,
    losses: &'a [Loss],
    row: u32,
    index: Index<'a>,
    model: &'a Model,
    waiters: FxHashSet<ThreadId>,
}

impl Facts<'_> {
    fn all(&self) -> Vec<Considered> {
        let busy = self.explanation.verdict.gpu_busy_share.map(Considered::GpuFull);
        let mut all: Vec<Considered> = busy.into_iter().collect();
        all.extend(self.no_cpu());
        all.extend(self.first_use());
        if !self.trace.ops.is_empty() {
            all.push(Considered::QueueFull(self.most_pending(), u64::from(self.model.connections.depth)));
            let streams = self.streams();
            all.push(Considered::ConnectionAliasing(streams, u64::from(self.model.connections.default)));
            all.push(Considered::TimeSlicing(self.contexts()));
            all.push(Considered::Pageable(self.pageable()));
        }
        if self.trace.meta.locks_watched {
            all.push(Considered::DriverLock(self.waited(|at| self.trace.waits.layer[at].is_cuda())));
        }
        if self.trace.waits.kind.contains(&LockKind::Gil) {
            all.push(Considered::Gil(self.waited(|at| self.trace.waits.kind[at] == LockKind::Gil)));
        }
        all.push(Considered::Allocation(self.allocations()));
        all.push(Considered::ProfilerOverhead(self.overhead()));
        all.push(Considered::Lost(self.trace.meta.lost.records));
        all
    }

    fn unknown(&self) -> Vec<&'static str> {
        let trace = self.trace;
        let is_scheduled = trace.states.thread.iter().any(|thread| self.waiters.contains(thread));
        let questions = [
            (
                !is_scheduled,
                "whether the threads lacked a processor: the trace has no scheduler's records of them",
            ),
            (
                !trace.meta.locks_watched,
                "whether the threads waited for the driver's locks: the trace does not have all of these waits",
            ),
            (trace.ops.is_empty(), "whether the GPUs were busy: the trace has no GPU operations"),
            (
                trace.meta.clock == trace::Clock::Separate,
                "what the GPUs did meanwhile: their clock is not the host's",
            ),
        ];
        questions.into_iter().filter(|(is_open, _)| *is_open).map(|(_, question)| question).collect()
    }

    fn no_cpu(&self) -> Option<Considered> {
        let states = &self.trace.states;
        let mine = (0..states.len()).filter(|at| self.waiters.contains(&states.thread[*at]));
        let (mut ready, mut known): (Ns, Ns) = (0, 0);
        for at in mine {
            ready += states.runnable[at];
            known += states.end[at] - states.start[at];
        }
        (known > 0).then_some(Considered::NoCpu(ready, known))
    }

    fn first_use(&self) -> Option<Considered> {
        let mine = self.losses.iter().filter(|loss| loss.finding == Some(self.row) && loss.lost_ns > 0);
        let mut calls: Vec<_> = mine.filter_map(|loss| loss.call.some()).collect();
        calls.sort_by_key(|call| (self.index.start(*call), *call));
        calls.dedup();
        let took = |call: &trace::CallId| self.index.end(*call) - self.index.start(*call);
        Some(Considered::FirstUse(calls.len() as u64, took(calls.first()?), took(calls.last()?)))
    }

    /// The most operations that were launched into a stream and had not ended.
    fn most_pending(&self) -> u64 {
        let ops = &self.trace.ops;
        let mut events: Vec<(StreamId, Ns, i64)> = Vec::new();
        for at in 0..ops.len() {
            if let Some(call) = ops.call[at].some().filter(|_| ops.kind[at] == OpKind::Kernel) {
                events.push((ops.stream[at], self.trace.calls.end[call.index()].min(ops.end[at]), 1));
                events.push((ops.stream[at], ops.end[at], -1));
            }
        }
        // What ends at a moment comes before what begins then.
        events.sort_unstable();
        let (mut stream, mut now, mut most) = (StreamId::NONE, 0, 0);
        for (of, _, change) in events {
            now = if of == stream { now + change } else { change };
            (stream, most) = (of, most.max(now));
        }
        u64::try_from(most).unwrap_or(0)
    }

    /// The most streams with operations on a GPU.
    fn streams(&self) -> u64 {
        let used: FxHashSet<StreamId> = self.trace.ops.stream.iter().copied().collect();
        self.most_per_device(used.into_iter().map(|stream| self.trace.device_of_stream(stream)))
    }

    /// The most contexts with operations on a GPU.
    fn contexts(&self) -> u64 {
        let used: FxHashSet<_> =
            self.trace.ops.stream.iter().map(|stream| self.trace.context_of_stream(*stream)).collect();
        let devices = used.into_iter().filter_map(|context| context.some());
        self.most_per_device(devices.map(|context| self.trace.contexts.device[context.index()]))
    }

    fn most_per_device(&self, devices: impl Iterator<Item = trace::DeviceId>) -> u64 {
        let mut counts = std::collections::BTreeMap::new();
        devices.for_each(|device| *counts.entry(device).or_insert(0_u64) += 1);
        counts.into_values().max().unwrap_or(0)
    }

    fn pageable(&self) -> u64 {
        let ops = &self.trace.ops;
        let is_pageable = |at: &usize| [ops.src[*at], ops.dst[*at]].contains(&trace::MemoryKind::Pageable);
        (0..ops.len()).filter(|at| ops.kind[*at] == OpKind::Copy).filter(is_pageable).count() as u64
    }

    /// How long the threads waited for locks.
    fn waited(&self, is: impl Fn(usize) -> bool) -> Ns {
        let waits = &self.trace.waits;
        let mine = (0..waits.len()).filter(|at| self.waiters.contains(&waits.thread[*at]) && is(*at));
        mine.map(|at| waits.end[at] - waits.start[at]).sum()
    }

    /// Allocations and frees in what the program repeats.
    fn allocations(&self) -> u64 {
        let steady = self.explanation.accounts.steady.map(|steady| (steady.start_ns, steady.end_ns));
        let (from, to) = steady.unwrap_or((Ns::MIN, Ns::MAX));
        let is_one = |call: &trace::CallId| {
            let in_time = (from..to).contains(&self.index.start(*call));
            in_time && matches!(self.index.class(*call), Class::Allocate | Class::Release)
        };
        self.index.calls.by_start().iter().filter(|call| is_one(call)).count() as u64
    }

    fn overhead(&self) -> Ns {
        let ranges = &self.trace.ranges;
        let mine = (0..ranges.len()).filter(|at| ranges.kind[*at] == RangeKind::Overhead);
        mine.map(|at| ranges.end[at] - ranges.start[at]).sum()
    }
}
