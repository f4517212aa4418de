//! The state of a run, and its loop.

use crate::chance::Chance;
use crate::delays::{Delays, Observer};
use crate::device::Device;
use crate::events::{Event, Queue};
use crate::locks::{Kind, Lock};
use crate::ops::{OpRef, Ops};
use crate::plan::{BufferPlan, NONE, Program, Step};
use crate::record::Recorder;
use crate::recorded::{Replay, Replayed, Signal};
use crate::thread::{HostThread, Stage};
use crate::{Error, Model, Options, Order};
use std::collections::VecDeque;
use trace::Trace;
use workload::{Outcome, Repeat, Workload};

/// The latest virtual time, 73 years, so that whatever is scheduled then does not overflow, ns.
const LATEST: i64 = i64::MAX / 4;

/// A run.
pub(crate) struct Machine<'a> {
    pub workload: &'a Workload,
    pub model: &'a Model,
    pub program: Program,
    pub options: Options,
    pub now: i64,
    pub chance: Chance,
    pub events: Queue,
    pub threads: Vec<HostThread>,
    pub ops: Ops,
    pub streams: Vec<Stream>,
    pub contexts: Vec<Context>,
    /// Hardware queues of kernels, those of a context together; before Hyper-Q, one per stream.
    pub queues: Vec<HardwareQueue>,
    pub devices: Vec<Device>,
    pub buffers: Vec<Buffer>,
    /// The operations that each event waits for.
    pub marks: Vec<Vec<OpRef>>,
    /// When each event completed last.
    pub passed: Vec<i64>,
    /// The last capture of each graph.
    pub graphs: Vec<u32>,
    /// Threads at each barrier.
    pub meeting: Vec<Vec<u32>>,
    /// When the lock of each process will be free, after all threads that wait for it now.
    pub free_at: Vec<i64>,
    /// Locks, each kind by context; of the last kind all contexts use the first one's.
    pub locks: Vec<Lock>,
    pub record: Recorder,
    /// Delays of operations and their causes, if that was requested.
    pub observer: Option<Observer>,
    /// The state of recorded steps.
    pub replay: Option<Replay<'a>>,
    /// Signals that threads wait for.
    pub signals: Vec<Signal>,
    /// Buffer for what the release of a lock leads to.
    pub after_release: Vec<crate::locks::Next>,
    /// Threads that use or wait for a processor.
    pub awake: u32,
    /// Executed steps, calls included, and operations of graphs.
    pub made: u64,
    /// Threads that are not ready for the release.
    pub preparing: usize,
    /// Threads that others wait for while they repeat their bodies.
    pub leading: usize,
    pub error: Option<Error>,
}

/// Results of a run.
pub(crate) struct Ran {
    pub outcome: Outcome,
    pub trace: Option<Trace>,
    /// Of each operation of the trace, if that was requested.
    pub delays: Vec<Delays>,
    /// Of recorded steps.
    pub replayed: Replayed,
}

/// A stream.
pub(crate) struct Stream {
    pub queue: u32,
    /// Its last operation.
    pub last: OpRef,
    /// Other operations that its next operation waits for.
    pub awaited: Vec<OpRef>,
    /// Incomplete launches.
    pub pending: u32,
    /// Threads whose launches wait because it is full.
    pub blocked: VecDeque<u32>,
    /// Pageable copies in it that hold their context's lock.
    pub staging: u32,
    /// Whether calls need their context's lock exclusively to enqueue into it.
    pub exclusive: bool,
}

/// A context.
#[derive(Default)]
pub(crate) struct Context {
    /// Its streams.
    pub streams: Vec<u32>,
    /// Operations of streams that were destroyed before these completed.
    pub left: Vec<OpRef>,
    /// Number of streams created so far: they get hardware queues in turn.
    pub created: u32,
    /// Loaded kernels, one bit each.
    pub loaded: u32,
    /// Its device memory.
    pub blocks: Blocks,
}

/// The blocks of device memory that a context's small buffers share, estimated from their sizes.
#[derive(Default)]
pub(crate) struct Blocks {
    /// Number of calls.
    count: u64,
    /// Bytes of the small buffers.
    used: u64,
}

impl Blocks {
    /// The size of a block of device memory, bytes.
    const SIZE: u64 = 2 << 20;

    /// Blocks to allocate for a buffer.
    pub(crate) fn take(&mut self, bytes: u64) -> u64 {
        if bytes >= Self::SIZE {
            return bytes.div_ceil(Self::SIZE);
        }
        self.used += bytes;
        let new = self.used.div_ceil(Self::SIZE).saturating_sub(self.count);
        self.count += new;
        new
    }

    /// Blocks to free with a buffer.
    pub(crate) fn give_back(&mut self, bytes: u64) -> u64 {
        if bytes >= Self::SIZE {
            return bytes.div_ceil(Self::SIZE);
        }
        self.used -= bytes;
        let old = self.count - self.used.div_ceil(Self::SIZE);
        self.count -= old;
        old
    }
}

/// A hardware queue. Its kernels start in order: each waits for the start of the one before it, whatever their streams. On an H100, kernels
/// that a thread launched into 40 streams ran at the same time through one queue, and of chains, the first kernel of each ran beside the
/// last one of the chain before it. Threads launch many kernels in a row, which they do not here: rounds of 2, 4, 8 and 16 threads in one
/// queue took 1.9, 3.8, 7.7 and 15.3 times as long as those of one thread. So a kernel waits for the end of one that another thread launched.
#[derive(Default)]
pub(crate) struct HardwareQueue {
    /// The last kernel in it, and the thread that launched it; none of recorded steps.
    pub last: OpRef,
    pub by: Option<u32>,
    /// Whether the next one, which is being launched, only waits for the start of the last one.
    pub in_order: bool,
    /// Incomplete kernels in it.
    pub kernels: u32,
    /// The stream that was last launched into it, of recorded programs.
    pub stream: Option<u32>,
}

/// A buffer.
#[derive(Clone, Copy, Default)]
pub(crate) struct Buffer {
    /// Whether host memory was touched.
    pub touched: bool,
    /// Whether host memory was page-locked.
    pub pinned: bool,
    /// Allocated device memory, bytes.
    pub reserved: u64,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(
        workload: &'a Workload,
        model: &'a Model,
        program: Program,
        options: Options,
    ) -> Machine<'a> {
        let hyper_q = model.device.order == Order::Ready;
        let queues = match hyper_q {
            true => program.contexts.len() * program.connections as usize,
            false => program.streams.len(),
        };
        let stream = |(row, plan): (usize, &crate::plan::StreamPlan)| Stream {
            queue: if hyper_q { plan.context * program.connections } else { row as u32 },
            last: OpRef::DONE,
            awaited: Vec::new(),
            pending: 0,
            blocked: VecDeque::new(),
            staging: 0,
            exclusive: false,
        };
        let mut contexts: Vec<Context> = program.contexts.iter().map(|_| Context::default()).collect();
        for (row, stream) in program.streams.iter().enumerate() {
            contexts[stream.context as usize].streams.push(row as u32);
        }
        let (rules, count) = (&model.locks, program.contexts.len());
        let lock = |row: usize| {
            Lock::new(match Kind::of_row(row as u32, count as u32) {
                Kind::Launch => &rules.mutex,
                Kind::CopyIn | Kind::CopyOut => rules.copies.as_ref().unwrap_or(&rules.context),
                Kind::Memory => rules.memory.as_ref().unwrap_or(&rules.context),
                _ => &rules.context,
            })
        };
        let buffer = |plan: &BufferPlan| Buffer { touched: plan.touched, ..Buffer::default() };
        let leading = |repeat: Repeat| repeat != Repeat::WhileOthers;
        Machine {
            workload,
            model,
            options,
            now: 0,
            chance: Chance::new(model.seed),
            events: Queue::default(),
            threads: program.threads.iter().map(|_| HostThread::new()).collect(),
            ops: Ops::new(),
            streams: program.streams.iter().enumerate().map(stream).collect(),
            contexts,
            queues: (0..queues).map(|_| HardwareQueue::default()).collect(),
            devices: program.groups.iter().map(|groups| Device::new(model, *groups)).collect(),
            buffers: program.buffers.iter().map(buffer).collect(),
            marks: vec![Vec::new(); program.events],
            passed: vec![0; program.events],
            graphs: vec![NONE; program.graphs],
            meeting: vec![Vec::new(); workload.barriers.len()],
            free_at: vec![0; workload.processes.len()],
            locks: (0..Kind::COUNT * count).map(lock).collect(),
            record: Recorder::new(options),
            observer: None,
            replay: None,
            signals: vec![Signal::default(); program.signals],
            after_release: Vec::new(),
            awake: 0,
            made: 0,
            preparing: program.threads.len(),
            leading: program.threads.iter().filter(|thread| leading(thread.repeat)).count(),
            error: None,
            program,
        }
    }

    /// Also keeps what delays operations.
    pub(crate) fn observed(mut self) -> Machine<'a> {
        self.observer = Some(Observer::default());
        self
    }

    /// Runs to the end.
    pub(crate) fn run(mut self) -> Result<Ran, Error> {
        self.create_contexts();
        loop {
            let Some((time, event)) = self.events.take() else {
                if self.gives_up() {
                    continue;
                }
                break;
            };
            self.now = time;
            if time > LATEST {
                return Err(Error::TooLate);
            }
            self.happen(event);
            if let Some(error) = self.error.take() {
                return Err(error);
            }
        }
        if self.threads.iter().any(|thread| thread.stage != Stage::Finished) {
            return Err(self.deadlock());
        }
        let outcome = Outcome { threads: self.threads.iter_mut().map(HostThread::outcome).collect() };
        let mut trace = None;
        let mut delays = Vec::new();
        if self.options.trace {
            let (made, serials) = self.record.trace(self.workload, self.model, &self.program);
            delays = self
                .observer
                .map(|observer| observer.delays(self.model, &made, &serials))
                .unwrap_or_default();
            trace = Some(made);
        }
        Ok(Ran {
            outcome,
            trace,
            delays,
            replayed: self.replay.map(|replay| replay.replayed).unwrap_or_default(),
        })
    }

    /// Each process creates its contexts, one after the other, before its threads start.
    fn create_contexts(&mut self) {
        let rule = &self.model.calls.context_create;
        let cost = rule.before_ns + rule.held_ns + rule.after_ns;
        let mut ready = vec![0; self.workload.processes.len()];
        for context in &self.program.contexts {
            let ready = &mut ready[context.process as usize];
            self.record.context(context, *ready, *ready + cost);
            *ready += cost;
        }
        for (row, thread) in self.program.threads.iter().enumerate() {
            self.events.plan(ready[thread.process as usize], Event::Resume(row as u32));
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Resume(thread) => self.resume(thread),
            Event::GivesUp { thread, signal } => self.stops_waiting(thread, signal),
            Event::Want(thread) => self.want(thread),
            Event::Granted(thread) => self.granted(thread),
            Event::Woken(thread) => self.woken(thread),
            Event::Held(thread) => self.held(thread),
            Event::Noticed(thread) => self.noticed(thread),
            Event::LetsGoOn(number) => self.lets_go_on(number),
            Event::Ready(op) => self.ready(op),
            Event::Copied { device, engine } => self.copied(device, engine),
            Event::Ran { op, slots, generation } => self.ran(op, slots, generation),
            Event::TurnOver { device, turn } => self.turn_over(device, turn),
            Event::Switched { device, group } => self.switched(device, group),
        }
    }

    fn deadlock(&self) -> Error {
        let stuck = |(row, thread): (usize, &HostThread)| {
            (thread.stage != Stage::Finished).then(|| {
                let plan = &self.program.threads[row];
                let process = &self.workload.processes[plan.process as usize];
                format!("{} of {} {}", self.name_of(row as u32), process.name, self.awaits(thread, plan))
            })
        };
        let mut waiting: Vec<String> = self.threads.iter().enumerate().filter_map(stuck).collect();
        let more = waiting.len().saturating_sub(4);
        waiting.truncate(4);
        if more > 0 {
            waiting.push(format!("{more} more wait"));
        }
        Error::Deadlock { at_ms: self.now / 1_000_000, waiting: waiting.join("; ") }
    }

    /// Describes the wait of a thread that never continues.
    fn awaits(&self, thread: &HostThread, plan: &crate::plan::ThreadPlan) -> String {
        match (thread.stage, plan.steps.get(thread.at as usize)) {
            (Stage::Meeting, Some(Step::Meet { barrier })) => {
                let came = self.meeting[*barrier as usize].len();
                let barrier = &self.workload.barriers[*barrier as usize];
                format!("waits at {}, where {came} of {} threads are", barrier.name, barrier.parties)
            }
            (Stage::Prepared, _) => "waits to be released".to_owned(),
            (Stage::Awaiting, _) => "waits for another thread".to_owned(),
            (Stage::Calling, _) => match thread.wait {
                Some(wait) => format!("waits for a lock that {} holds", self.name_of(wait.holder.thread)),
                None => "waits for the device".to_owned(),
            },
            _ => "waits for room in a stream".to_owned(),
        }
    }

    fn name_of(&self, thread: u32) -> &str {
        let plan = &self.program.threads[thread as usize];
        let first = self.program.threads.partition_point(|thread| thread.process < plan.process);
        &self.workload.processes[plan.process as usize].threads[thread as usize - first].name
    }

    /// A thread's name and its process's.
    pub(crate) fn names_of(&self, thread: u32) -> (String, String) {
        let plan = &self.program.threads[thread as usize];
        let process = &self.workload.processes[plan.process as usize];
        (self.name_of(thread).to_owned(), process.name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_buffers_share_blocks() {
        const MIB: u64 = 1 << 20;
        let mut blocks = Blocks::default();
        let taken = [MIB, MIB, MIB / 2, 64 * MIB].map(|bytes| blocks.take(bytes));
        assert_eq!(taken, [1, 0, 1, 32]);
        let given_back = [64 * MIB, MIB, MIB, MIB / 2].map(|bytes| blocks.give_back(bytes));
        assert_eq!(given_back, [32, 1, 0, 1]);
    }

    /// [`Workload::check`] refuses this workload. If it misses one, the run ends with the threads that wait.
    #[test]
    fn a_deadlock_is_reported() {
        let mut workload = Workload::new("stuck");
        let [one, other] = ["one", "other"].map(|name| workload.barrier(name, 2));
        let process = workload.process("main");
        let context = process.primary(0);
        process.thread("A", context).body().meet(one).meet(other);
        process.thread("B", context).body().meet(other).meet(one);
        let model = Model::load("h200").unwrap();
        let program = crate::program::compile(&workload, &model).unwrap();
        let error = Machine::new(&workload, &model, program, Options::default()).run().err().unwrap();
        let waiting = "A of main waits at one, where 1 of 2 threads are; B of main waits at other, where 1 of 2 threads are";
        // Both meet as soon as there is a context.
        let at_ms = model.calls.context_create.held_ns / 1_000_000;
        assert_eq!(error, Error::Deadlock { at_ms, waiting: waiting.to_owned() });
    }
}
