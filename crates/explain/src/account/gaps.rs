//! When each GPU worked, and the gaps between: each with the operation that ended it. A collective's kernel that waits for a
//! later rank does not work: while nothing else runs, the GPU is idle.

use super::collectives::{Collectives, Waiting};
use rustc_hash::FxHashMap;
use trace::{DeviceId, Ns, OpId, ProcessId, ThreadId, Trace};
use waits::{is_asked_after, launch_floor, ops_by_device};

/// A GPU's time: its work, and the gaps in it. Together they are its span, without overlap.
pub(super) struct Timeline<'a> {
    trace: &'a Trace,
    pub device: DeviceId,
    /// From the first call of any process that uses it to the end of its last operation, within the window, ns.
    pub span: (Ns, Ns),
    /// Its operations by start, those asked for earlier first.
    ops: Vec<OpId>,
    /// The first call of any process that uses it, or its first operation, ns.
    first: Ns,
    /// Its operations by the time from which each works, if that is not their order.
    works: Option<Vec<OpId>>,
    /// Its kernels that wait for the last rank of a collective, by start: each a row of [`Collectives::waiting`].
    waiting: Vec<(usize, Waiting)>,
    /// From when on each of these works, ns.
    from: FxHashMap<OpId, Ns>,
}

/// An operation while it works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Work {
    pub op: OpId,
    pub start: Ns,
    pub end: Ns,
}

/// A time in which a GPU had no operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gap {
    pub start: Ns,
    pub end: Ns,
    /// The operation that ended it.
    pub next: OpId,
    /// The operation that ended last before it; `NONE` before the first.
    pub last: OpId,
    /// Activity of the GPU instead: a kernel of a collective waited for the last rank. A row of [`Collectives::waiting`].
    pub awaited: Option<usize>,
}

impl Gap {
    pub fn length(&self) -> Ns {
        self.end - self.start
    }
}

/// The time of each device that has operations, within a window.
pub(super) fn timelines<'a>(
    trace: &'a Trace,
    window: (Ns, Ns),
    collectives: &Collectives,
) -> Vec<Timeline<'a>> {
    let first_calls = first_calls(trace);
    let used = trace.devices.ids().zip(ops_by_device(trace)).filter(|(_, ops)| !ops.is_empty());
    let mut timelines: Vec<_> =
        used.map(|(device, ops)| Timeline::new(trace, device, ops, &first_calls, window)).collect();
    timelines.iter_mut().for_each(|timeline| timeline.wait(collectives));
    timelines
}

/// The first call of each process, ns.
fn first_calls(trace: &Trace) -> FxHashMap<ProcessId, Ns> {
    let mut first = FxHashMap::default();
    for (thread, start) in trace.calls.thread.iter().zip(&trace.calls.start) {
        let known = first.entry(trace.process_of_thread(*thread)).or_insert(*start);
        *known = (*known).min(*start);
    }
    first
}

impl<'a> Timeline<'a> {
    fn new(
        trace: &'a Trace,
        device: DeviceId,
        ops: Vec<OpId>,
        first_calls: &FxHashMap<ProcessId, Ns>,
        (from, to): (Ns, Ns),
    ) -> Timeline<'a> {
        let mut processes: Vec<_> = trace.contexts.ids().map(|context| trace.contexts.row(context)).collect();
        processes.retain(|context| context.device == device);
        let calls = processes.iter().filter_map(|context| first_calls.get(&context.process)).copied();
        let starts = ops.first().map(|op| trace.ops.start[op.index()]);
        let first = calls.chain(starts).min().unwrap_or(from);
        let end = ops.iter().map(|op| trace.ops.end[op.index()]).max().unwrap_or(first);
        let span = (first.max(from), end.min(to));
        let span = (span.0, span.1.max(span.0));
        let (works, waiting, from) = (None, Vec::new(), FxHashMap::default());
        Timeline { trace, device, span, ops, first, works, waiting, from }
    }

    /// Lets the kernels that wait for a later rank work from its start on.
    fn wait(&mut self, collectives: &Collectives) {
        let of_this = |(_, waiting): &(usize, &Waiting)| waiting.kernel.device == self.device;
        let waiting = collectives.waiting.iter().enumerate().filter(of_this);
        self.waiting = waiting.map(|(at, waiting)| (at, *waiting)).collect();
        if self.waiting.is_empty() {
            return;
        }
        self.waiting.sort_by_key(|(at, waiting)| (waiting.kernel.start, *at));
        self.from = self.waiting.iter().map(|(_, waiting)| (waiting.kernel.op, waiting.until)).collect();
        let mut works = self.ops.clone();
        works.sort_by_key(|op| self.works_from(*op));
        self.works = Some(works);
    }

    /// When an operation starts to work, ns.
    fn works_from(&self, op: OpId) -> Ns {
        self.from.get(&op).copied().unwrap_or(self.trace.ops.start[op.index()])
    }

    /// Its operations while they work, by start, those asked for earlier first.
    pub fn work(&self) -> impl Iterator<Item = Work> {
        let work =
            |op: &OpId| Work { op: *op, start: self.works_from(*op), end: self.trace.ops.end[op.index()] };
        self.works.as_deref().unwrap_or(&self.ops).iter().map(work)
    }

    /// The time that a launch into the idle GPU takes to start once its call returned, ns.
    pub fn floor(&self) -> Ns {
        let asked = |gap: &Gap| gap.awaited.is_none() && is_asked_after(self.trace, gap.next, gap.start);
        let started = self.gaps().filter(asked).map(|gap| gap.next);
        launch_floor(self.trace, started)
    }

    /// Whether some of its kernels wait for later ranks.
    pub fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Its operations by start, those asked for earlier first.
    pub fn ops(&self) -> &[OpId] {
        &self.ops
    }

    /// The times in which any operation works, in order and apart.
    pub fn busy(&self) -> Vec<(Ns, Ns)> {
        let mut busy: Vec<(Ns, Ns)> = Vec::new();
        for Work { start, end, .. } in self.work() {
            match busy.last_mut().filter(|last| start <= last.1) {
                Some(last) => last.1 = end.max(last.1),
                None => busy.push((start, end)),
            }
        }
        busy
    }

    /// The times in which no operation of any stream, context and process works, in order.
    pub fn gaps(&self) -> impl Iterator<Item = Gap> {
        let (mut done, mut last) = (self.first, OpId::NONE);
        let gaps = self.work().filter_map(move |Work { op, start, end }| {
            let (from, until) = (done.max(self.span.0), start.min(self.span.1));
            let gap = Gap { start: from, end: until, next: op, last, awaited: None };
            if end > done {
                (done, last) = (end, op);
            }
            (gap.start < gap.end).then_some(gap)
        });
        gaps.flat_map(|gap| self.parts(gap)).filter(|gap| gap.start < gap.end)
    }

    /// The part of a gap before a kernel waited for a later rank, and that in which one did. If the thread that asked for that
    /// kernel asked for what ended the gap, too, the GPU waited for the thread: it was not held up by the collective.
    fn parts(&self, gap: Gap) -> [Gap; 2] {
        /// Streams of collectives that a GPU may have.
        const STREAMS: usize = 16;
        let began = self.waiting.partition_point(|(_, waiting)| waiting.kernel.start < gap.end);
        let near = &self.waiting[began.saturating_sub(STREAMS)..began];
        let holds = |waiting: &Waiting| {
            let is_next = waiting.kernel.op == gap.next;
            gap.end <= waiting.until && (is_next || self.thread(waiting.kernel.op) != self.thread(gap.next))
        };
        match near.iter().find(|(_, waiting)| holds(waiting)) {
            Some((at, waiting)) => {
                let from = waiting.kernel.start.max(gap.start);
                [Gap { end: from, ..gap }, Gap { start: from, awaited: Some(*at), ..gap }]
            }
            None => [gap, Gap { end: gap.start, ..gap }],
        }
    }

    /// The thread that asked for an operation.
    fn thread(&self, op: OpId) -> ThreadId {
        let call = self.trace.ops.call[op.index()].some();
        call.map_or(ThreadId::NONE, |call| self.trace.calls.thread[call.index()])
    }
}
