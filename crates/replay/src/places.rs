//! Processes, contexts, streams and threads as a workload has them.

use explain::{beside_default, is_default};
use trace::{ContextId, Ns, OpId, ProcessId, StreamId, ThreadId, Trace};
use workload::{Context, ContextId as Row, Process, Repeat, Stream, StreamKind, Thread, Workload};

/// The rows of a trace in the order of a workload: those of each process together.
pub(crate) struct Places {
    pub workload: Workload,
    /// By stream of the trace.
    streams: Vec<u32>,
    /// The stream of operations whose stream is not known.
    unknown: u32,
    /// The threads, in order. The last of each process stands for calls that are not known.
    pub threads: Vec<(ProcessId, Option<ThreadId>)>,
}

impl Places {
    /// `has_steps`: whether a thread has any.
    pub fn of(trace: &Trace, has_steps: impl Fn(ThreadId) -> bool) -> Places {
        let mut places = Places {
            workload: Workload::new("recorded"),
            streams: vec![0; trace.streams.len()],
            unknown: 0,
            threads: Vec::new(),
        };
        places.workload.mps = true;
        let kinds = kinds(trace);
        let mut streams = 0;
        for process in trace.processes.ids() {
            let mut made = Process {
                name: trace.text(trace.processes.name[process.index()]).to_owned(),
                contexts: Vec::new(),
                streams: Vec::new(),
                events: Vec::new(),
                buffers: Vec::new(),
                graphs: Vec::new(),
                threads: Vec::new(),
            };
            let mine = |context: &ContextId| trace.contexts.process[context.index()] == process;
            for context in trace.contexts.ids().filter(mine) {
                let device =
                    trace.contexts.device[context.index()].some().map_or(0, |device| device.index() as u32);
                let row = made.context(device);
                let of_context = |stream: &StreamId| trace.streams.context[stream.index()] == context;
                for stream in trace.streams.ids().filter(of_context) {
                    places.streams[stream.index()] = streams + made.streams.len() as u32;
                    made.add_stream(row, kinds[stream.index()]);
                }
            }
            if made.contexts.is_empty() {
                made.context(0);
            }
            if made.streams.is_empty() {
                made.add_stream(Row(0), StreamKind::NonBlocking);
            }
            let mine =
                |thread: &ThreadId| trace.threads.process[thread.index()] == process && has_steps(*thread);
            let threads = trace.threads.ids().filter(mine).map(Some).chain([None]);
            for thread in threads {
                made.threads.push(thread_row(
                    thread.map_or("", |thread| trace.text(trace.threads.name[thread.index()])),
                ));
                places.threads.push((process, thread));
            }
            streams += made.streams.len() as u32;
            places.workload.processes.push(made);
        }
        places
    }

    /// The hardware queue of each row of the streams, by the streams of the trace that share one.
    pub fn queues(&self, shared: &[Option<u32>]) -> Vec<u32> {
        let count = self.workload.processes.iter().map(|process| process.streams.len()).sum();
        let mut queues = vec![u32::MAX; count];
        for (row, first) in self.streams.iter().zip(shared) {
            queues[*row as usize] = first.map_or(u32::MAX, |first| self.streams[first as usize]);
        }
        queues
    }

    /// The row of a stream.
    pub fn stream(&self, stream: StreamId) -> u32 {
        stream.some().map_or(self.unknown, |stream| self.streams[stream.index()])
    }
}

/// Adds rows to a process.
trait Add {
    fn context(&mut self, device: u32) -> Row;
    fn add_stream(&mut self, context: Row, kind: StreamKind);
}

impl Add for Process {
    fn context(&mut self, device: u32) -> Row {
        self.contexts.push(Context { device, primary: true });
        Row(self.contexts.len() as u32 - 1)
    }

    fn add_stream(&mut self, context: Row, kind: StreamKind) {
        self.streams.push(Stream { name: self.streams.len().to_string(), context, kind });
    }
}

fn thread_row(name: &str) -> Thread {
    Thread {
        name: name.to_owned(),
        context: Row(0),
        delay_ns: 0,
        before: Vec::new(),
        body: Vec::new(),
        repeat: Repeat::Times(1),
        after: Vec::new(),
    }
}

/// What each stream waits for besides its own work: one that ran beside its context's default stream does not wait for that.
fn kinds(trace: &Trace) -> Vec<StreamKind> {
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
