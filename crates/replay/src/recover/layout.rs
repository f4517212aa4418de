//! Processes, contexts, streams and threads as a workload has them.

use rustc_hash::FxHashSet;
use sim::Queue;
use trace::{ContextId, Ns, OpId, ProcessId, StreamId, ThreadId, Trace};
use waits::{SharedQueue, beside_default, is_default};
use workload::{StreamKind, Workload};

/// The rows of a trace in the order of a workload: those of each process together.
pub(crate) struct Places {
    pub workload: Workload,
    /// By stream of the trace.
    streams: Vec<u32>,
    /// The threads, in order. The last of each process stands for calls that are not known.
    pub threads: Vec<(ProcessId, Option<ThreadId>)>,
}

impl Places {
    /// `has_steps`: whether a thread has any.
    pub fn of(trace: &Trace, has_steps: impl Fn(ThreadId) -> bool) -> Places {
        // Recorded times have the turns of contexts, if they take turns.
        let mut workload = Workload { mps: true, ..Workload::new("recorded") };
        let (mut rows, mut threads) = (vec![0; trace.streams.len()], Vec::new());
        let (kinds, mut first) = (kinds(trace), 0);
        for process in trace.processes.ids() {
            let made = workload.process(trace.text(trace.processes.name[process.index()]));
            let mine = |context: &ContextId| trace.contexts.process[context.index()] == process;
            for context in trace.contexts.ids().filter(mine) {
                let device = trace.contexts.device[context.index()].some();
                let row = made.own_context(device.map_or(0, |device| device.index() as u32));
                let of_context = |stream: &StreamId| trace.streams.context[stream.index()] == context;
                for stream in trace.streams.ids().filter(of_context) {
                    rows[stream.index()] = first + made.streams.len() as u32;
                    made.stream(made.streams.len().to_string(), row, kinds[stream.index()]);
                }
            }
            if made.contexts.is_empty() {
                made.own_context(0);
            }
            if made.streams.is_empty() {
                made.stream("0", workload::ContextId(0), StreamKind::NonBlocking);
            }
            let mine =
                |thread: &ThreadId| trace.threads.process[thread.index()] == process && has_steps(*thread);
            for thread in trace.threads.ids().filter(mine).map(Some).chain([None]) {
                let name = thread.map_or("", |thread| trace.text(trace.threads.name[thread.index()]));
                made.thread(name, workload::ContextId(0));
                threads.push((process, thread));
            }
            first += made.streams.len() as u32;
        }
        Places { workload, streams: rows, threads }
    }

    /// The hardware queue of each row of the streams, by the streams of the trace that share one.
    pub fn queues(&self, shared: &[Option<SharedQueue>]) -> Vec<Option<Queue>> {
        let mut queues = vec![None; self.count()];
        for (row, shared) in self.streams.iter().zip(shared) {
            let queue = |SharedQueue { number, in_order, count }: SharedQueue| Queue {
                number: self.streams[number as usize],
                in_order,
                count,
            };
            queues[*row as usize] = shared.map(queue);
        }
        queues
    }

    /// Whether each row of the streams is one of these.
    pub fn exclusive(&self, streams: &FxHashSet<StreamId>) -> Vec<bool> {
        let mut exclusive = vec![false; self.count()];
        streams.iter().for_each(|stream| exclusive[self.stream(*stream) as usize] = true);
        exclusive
    }

    fn count(&self) -> usize {
        self.workload.processes.iter().map(|process| process.streams.len()).sum()
    }

    /// The row of a stream; of one that is not known, the first.
    pub fn stream(&self, stream: StreamId) -> u32 {
        stream.some().map_or(0, |stream| self.streams[stream.index()])
    }
}

/// Waits of each stream of a trace besides its own work: one that ran beside its context's default stream does not wait for that.
pub fn kinds(trace: &Trace) -> Vec<StreamKind> {
    let ops = &trace.ops;
    let mut order: Vec<OpId> = ops.ids().collect();
    order.sort_by_key(|op| ops.start[op.index()]);
    let times = |op: &OpId| -> (StreamId, Ns, Ns) {
        (ops.stream[op.index()], ops.start[op.index()], ops.end[op.index()])
    };
    let beside = beside_default(trace, order.iter().map(times));
    let kind = |stream: StreamId| match (is_default(trace, stream), beside[stream.index()]) {
        (true, _) => StreamKind::Default,
        (false, true) => StreamKind::NonBlocking,
        (false, false) => StreamKind::Blocking,
    };
    trace.streams.ids().map(kind).collect()
}
