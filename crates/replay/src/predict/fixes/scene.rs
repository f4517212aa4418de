//! A trace and its recovered steps, with the look-ups that changes need.

use crate::predict::untraced;
use crate::{Recovered, StepOf};
use explain::{Class, classify};
use rustc_hash::FxHashSet;
use sim::{CallOf, Does, Queue, RecordedStep, WorkKind};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;
use trace::{CallId, CopyKind, Ns, OpId, Trace};
use workload::{ContextId, Stream, StreamKind};

/// A synchronization that begins later than this after such a copy waits for other work, ns: a framework that reads a result calls one
/// right after the other, within 2 µs. A choice.
const RIGHT_AFTER: Ns = 10_000;

/// A trace with the steps that were recovered from it.
pub(crate) struct Scene<'a> {
    pub trace: &'a Trace,
    pub base: Recovered,
    /// By number of a call that others wait behind: its thread and step.
    holders: Vec<Option<(u32, u32)>>,
    /// By row of a work: its first operation.
    ops: Vec<OpId>,
    /// The class of calls of each name.
    classes: Vec<Class>,
    /// Calls that met those of other threads; see [`Scene::crowded`].
    crowded: OnceLock<Vec<Crowded>>,
}

/// A call that met those of other threads: what it costs, and what it would cost alone, ns.
#[derive(Clone, Copy)]
pub(crate) struct Crowded {
    /// Its thread and step.
    pub row: u32,
    pub at: u32,
    pub own: Ns,
    /// `None`: what the model's launch costs.
    pub least: Option<Ns>,
}

/// A call among the steps.
#[derive(Clone, Copy)]
pub(crate) struct At {
    pub row: usize,
    pub at: usize,
    pub id: CallId,
    pub call: CallOf,
}

impl<'a> Scene<'a> {
    pub fn new(trace: &'a Trace, base: Recovered) -> Scene<'a> {
        let mut holders = vec![None; base.recorded.holds as usize];
        for (row, steps) in base.recorded.threads.iter().enumerate() {
            for (at, step) in steps.iter().enumerate() {
                if let RecordedStep::Call(CallOf { holds: Some((number, _)), .. }) = step {
                    holders[*number as usize] = Some((row as u32, at as u32));
                }
            }
        }
        let mut ops = vec![OpId::NONE; base.recorded.works.len()];
        for op in trace.ops.ids() {
            let (row, offset) = base.works[op.index()];
            if offset == 0 && ops[row as usize].is_none() {
                ops[row as usize] = op;
            }
        }
        let classes = trace.strings.iter().map(|(_, name)| classify(name)).collect();
        Scene { trace, base, holders, ops, classes, crowded: OnceLock::new() }
    }

    /// Calls that met those of other threads, found once for all predictions.
    pub fn crowded(&self, find: impl FnOnce(&Scene<'a>) -> Vec<Crowded>) -> &[Crowded] {
        self.crowded.get_or_init(|| find(self))
    }

    /// Whether the program ran on a machine, by what the trace states. What machines were measured to do, and the simulator does not,
    /// counts only then.
    pub fn is_of_a_machine(&self) -> bool {
        untraced::is_by_cupti(self.trace)
    }

    /// The calls of all threads in order.
    pub fn calls(&self) -> impl Iterator<Item = At> + '_ {
        (0..self.base.steps.len()).flat_map(|row| self.calls_of(row))
    }

    /// The calls of one thread.
    pub fn calls_of(&self, row: usize) -> impl Iterator<Item = At> + '_ {
        self.calls_from(row, 0)
    }

    /// The calls of its thread after a call.
    pub fn calls_after(&self, call: &At) -> impl Iterator<Item = At> + '_ {
        self.calls_from(call.row, call.at + 1)
    }

    /// The synchronization right after a call that copies: a framework that reads a result makes both.
    pub fn sync_after(&self, call: &At) -> Option<At> {
        let calls = &self.trace.calls;
        let is_by_the_way = |at: &At| matches!(self.class(at.id), Class::Query | Class::Other);
        let next = self.calls_after(call).find(|at| !is_by_the_way(at))?;
        let is_right_after = calls.start[next.id.index()] - calls.end[call.id.index()] <= RIGHT_AFTER;
        (is_right_after && matches!(next.call.does, Does::Await(_)) && self.class(next.id) == Class::Sync)
            .then_some(next)
    }

    /// The calls of one thread from a step on.
    fn calls_from(&self, row: usize, first: usize) -> impl Iterator<Item = At> + '_ {
        let steps = self.base.steps[row][first..].iter().zip(&self.base.recorded.threads[row][first..]);
        (first..).zip(steps).filter_map(move |(at, step)| match step {
            (StepOf::Call(id), RecordedStep::Call(call)) => Some(At { row, at, id: *id, call: *call }),
            _ => None,
        })
    }

    /// The name of a call.
    pub fn name(&self, call: CallId) -> &str {
        self.trace.text(self.trace.calls.name[call.index()])
    }

    /// The process and the thread of a call, as the source numbers them; 0 where unknown.
    pub fn thread(&self, call: CallId) -> (i64, i64) {
        let Trace { calls, threads, processes, .. } = self.trace;
        let thread = calls.thread[call.index()];
        let process = self.trace.process_of_thread(thread);
        let pid = process.some().map_or(0, |process| processes.pid[process.index()]);
        (pid, thread.some().map_or(0, |thread| threads.tid[thread.index()]))
    }

    /// The class of a call.
    pub fn class(&self, call: CallId) -> Class {
        self.classes[self.trace.calls.name[call.index()].index()]
    }

    /// The first operation of a work.
    pub fn op(&self, work: u32) -> OpId {
        self.ops[work as usize]
    }

    /// The call that has this number.
    pub fn holder(&self, number: u32) -> Option<At> {
        let (row, at) = (*self.holders.get(number as usize)?)?;
        let (row, at) = (row as usize, at as usize);
        match (self.base.steps[row][at], self.base.recorded.threads[row][at]) {
            (StepOf::Call(id), RecordedStep::Call(call)) => Some(At { row, at, id, call }),
            _ => None,
        }
    }

    /// The copy that a call issues, if it issues one: its row, direction, bytes, and whether its memory is page-locked.
    pub fn copy(&self, call: &CallOf) -> Option<Copied> {
        let Does::Issue { works, .. } = call.does else { return None };
        let row = works.first;
        let WorkKind::Copy { kind, pinned } = self.base.recorded.works[row as usize].kind else {
            return None;
        };
        let op = self.op(row).some()?;
        Some(Copied { row, kind, pinned, bytes: self.trace.ops.bytes[op.index()] })
    }

    /// Whether a call is a copy of pageable memory.
    pub fn is_pageable(&self, call: &CallOf) -> bool {
        self.copy(call).is_some_and(|copy| !copy.pinned)
    }
}

/// The copy of a call.
#[derive(Clone, Copy)]
pub(crate) struct Copied {
    pub row: u32,
    pub kind: CopyKind,
    pub pinned: bool,
    pub bytes: i64,
}

impl Copied {
    /// Its time at a rate, ns.
    pub fn time(&self, latency_ns: Ns, mb_s: u64) -> Ns {
        latency_ns + (i128::from(self.bytes.max(0)) * 1000 / i128::from(mb_s.max(1))) as Ns
    }
}

impl Recovered {
    /// The call of a step, to change it.
    pub(crate) fn call_mut(&mut self, at: At) -> Option<&mut CallOf> {
        self.call_at(at.row, at.at)
    }

    /// The call at a thread's step.
    pub(crate) fn call_at(&mut self, row: usize, at: usize) -> Option<&mut CallOf> {
        match self.recorded.threads.get_mut(row)?.get_mut(at)? {
            RecordedStep::Call(call) => Some(call),
            _ => None,
        }
    }

    /// Lets a call that issues one operation not be made, nor the operation.
    pub(crate) fn leave_out(&mut self, at: At, row: u32) {
        let Some(call) = self.call_mut(at) else { return };
        let Does::Issue { works, .. } = call.does else { return };
        *call = CallOf { does: Does::Issue { works, waits: false }, ..CallOf::default() };
        let work = &mut self.recorded.works[row as usize];
        (work.ns, work.gap_ns, work.latency_ns) = (0, Some(0), Some(0));
    }

    /// Takes away the time between steps of a thread, with that of calls there that do nothing.
    pub(crate) fn close(&mut self, row: usize, steps: Range<usize>) {
        for at in steps {
            match (&mut self.recorded.threads[row][at], self.steps[row][at]) {
                (RecordedStep::Host(ns), StepOf::Outside) => *ns = 0,
                // What lies between the calls is not called any more.
                (RecordedStep::Call(call), _) if call.does == Does::Nothing => {
                    *call = CallOf { before_ns: 0, held_ns: 0, after_ns: 0, ..*call }
                }
                _ => {}
            }
        }
    }

    /// The least gap between recorded kernels of a stream, from the end of one to the start of the next that is ready, ns: that of one in a
    /// hundred. `None` without gaps.
    pub(crate) fn least_gap(&self) -> Option<Ns> {
        let works = self.recorded.works.iter().filter(|work| matches!(work.kind, WorkKind::Kernel { .. }));
        let mut gaps: Vec<Ns> = works.filter_map(|work| work.gap_ns).filter(|gap| *gap > 0).collect();
        let row = gaps.len() / 100;
        (!gaps.is_empty()).then(|| *gaps.select_nth_unstable(row).1)
    }

    /// Removes waits behind other calls: those that are gone, by the waiting call and the number of the other one. Returns how many.
    pub(crate) fn lets_pass(&mut self, scene: &Scene<'_>, mut is_gone: impl FnMut(At, u32) -> bool) -> usize {
        // A number that no call has.
        let nobody = self.recorded.holds;
        let mut gone = 0;
        for at in scene.calls() {
            for row in at.call.behind.iter() {
                let (number, _) = self.recorded.behind[row];
                if number != nobody && is_gone(at, number) {
                    self.recorded.behind[row].0 = nobody;
                    gone += 1;
                }
            }
        }
        self.recorded.holds += u32::from(gone > 0);
        gone
    }

    /// Removes waits of these calls, by thread and step, behind others, and those of others behind them.
    pub(crate) fn lets_pass_beside(&mut self, scene: &Scene<'_>, calls: &FxHashSet<(usize, usize)>) {
        self.lets_pass(scene, |at, number| {
            let holder = scene.holder(number);
            calls.contains(&(at.row, at.at))
                || holder.is_some_and(|holder| calls.contains(&(holder.row, holder.at)))
        });
    }

    /// Adds a stream that waits for no other, beside each of these: one that goes from queue to queue as they do. Returns the row of each.
    pub(crate) fn streams_beside(&mut self, streams: &[u32]) -> Vec<u32> {
        let counts: Vec<usize> =
            self.recorded.workload.processes.iter().map(|process| process.streams.len()).collect();
        let place = |row: u32| {
            let mut row = row as usize;
            let process = counts.iter().position(|count| {
                let is_here = row < *count;
                row -= if is_here { 0 } else { *count };
                is_here
            });
            (process.unwrap_or(0), row)
        };
        let wanted: Vec<(usize, usize)> = streams.iter().map(|row| place(*row)).collect();
        let mut added = vec![0; counts.len()];
        let mut new = Vec::new();
        for (process, row) in &wanted {
            let of = &mut self.recorded.workload.processes[*process];
            let context = of.streams.get(*row).map_or(ContextId(0), |stream| stream.context);
            of.streams.push(Stream {
                name: of.streams.len().to_string(),
                context,
                kind: StreamKind::NonBlocking,
            });
            new.push((*process, counts[*process] + added[*process]));
            added[*process] += 1;
        }
        // Rows of later processes move.
        let first = |process: usize, with: bool| -> usize {
            (0..process).map(|before| counts[before] + if with { added[before] } else { 0 }).sum()
        };
        let moved = |row: u32| {
            let (process, row) = place(row);
            (first(process, true) + row) as u32
        };
        let mut queues = vec![None; counts.iter().sum::<usize>() + wanted.len()];
        for (row, queue) in self.recorded.queues.iter().enumerate() {
            queues[moved(row as u32) as usize] =
                queue.map(|queue| Queue { number: moved(queue.number), ..queue });
        }
        let new: Vec<u32> =
            new.into_iter().map(|(process, row)| (first(process, true) + row) as u32).collect();
        for (new, beside) in new.iter().zip(streams) {
            let queue = queues[moved(*beside) as usize];
            queues[*new as usize] = queue.filter(|queue: &Queue| queue.count > 1);
        }
        let mut exclusive = vec![false; queues.len()];
        for (row, alone) in self.recorded.exclusive.iter().enumerate() {
            exclusive[moved(row as u32) as usize] = *alone;
        }
        (self.recorded.queues, self.recorded.exclusive) = (queues, exclusive);
        self.recorded.works.iter_mut().for_each(|work| work.stream = moved(work.stream));
        new
    }

    /// The streams that a thread issues operations to.
    pub(crate) fn streams_of(&self, row: usize) -> BTreeSet<u32> {
        let works = |step: &RecordedStep| match step {
            RecordedStep::Call(CallOf { does: Does::Issue { works, .. }, .. }) => works.iter(),
            _ => 0..0,
        };
        let streams =
            self.recorded.threads[row].iter().flat_map(works).map(|work| self.recorded.works[work].stream);
        let (mut found, mut last) = (BTreeSet::new(), None);
        for stream in streams {
            // Most operations follow one of the same stream.
            if last.replace(stream) != Some(stream) {
                found.insert(stream);
            }
        }
        found
    }
}
