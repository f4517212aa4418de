//! The state of a run, its loop, and its interface to a program.

use crate::chance::Chance;
use crate::delays::Observer;
use crate::device::{Context, Device, HardwareQueue, Kind, Lock, Next, Op, Ops, Part, Stream};
use crate::events::{Event, Queue};
use crate::host::{HostThread, Stage, Wait};
use crate::plan::{Layout, Plan, Way};
use crate::{Error, Model, Options, Order};
use workload::Workload;

/// The latest virtual time, 73 years, so that whatever is scheduled then does not overflow, ns.
const LATEST: i64 = i64::MAX / 4;

/// A program that runs on the machine: the steps of its threads, the effects of their calls, and its records.
pub(crate) trait Program: Sized {
    /// A step of a thread.
    type Step: Copy;
    /// The effect of a call.
    type Effect: Copy;

    /// A thread's step at a row.
    fn step(machine: &mut Machine<'_, Self>, thread: u32, at: u32) -> Self::Step;

    /// Whether a step affects other threads or depends on them, so that its time must have come.
    fn concerns_others(step: &Self::Step) -> bool;

    /// Executes a step. Returns when the next one begins; `None` if the thread goes on later, by an event.
    fn execute(machine: &mut Machine<'_, Self>, thread: u32, step: Self::Step, time: i64) -> Option<i64>;

    /// Describes the wait of a thread that waits for others between calls.
    fn waits_for_others(machine: &Machine<'_, Self>, thread: u32) -> String;

    /// The call in a row of the plans.
    fn plan(&self, plan: u32) -> &Plan<Self::Effect>;

    /// The stream that a call launches a kernel into, which must have room for it.
    fn launches_into(machine: &Machine<'_, Self>, plan: &Plan<Self::Effect>) -> Option<u32>;

    /// The stream that a call issues operations to.
    fn issues_to(machine: &Machine<'_, Self>, plan: &Plan<Self::Effect>) -> Option<u32>;

    /// The pageable copy that a call issues while it holds locks: its stream and direction.
    fn pageable_copy(machine: &Machine<'_, Self>, plan: &Plan<Self::Effect>) -> Option<(u32, Way)>;

    /// Whether a call that is about to acquire its locks waits, and tries again by an event.
    fn defers(_: &mut Machine<'_, Self>, _thread: u32, _: &Plan<Self::Effect>) -> bool {
        false
    }

    /// Whether a call waits for its context's operations before it takes effect.
    fn waits_first(_: &Plan<Self::Effect>) -> bool {
        false
    }

    /// The time that a call holds its locks beyond its plan, ns, and whether it needs [`Kind::Memory`] for that.
    fn held_longer(_: &mut Machine<'_, Self>, _: &Plan<Self::Effect>) -> (i64, bool) {
        (0, false)
    }

    /// A call takes effect.
    fn act(machine: &mut Machine<'_, Self>, thread: u32, plan: &Plan<Self::Effect>);

    /// Everything that a call waits for is done.
    fn done(_: &mut Machine<'_, Self>, _: &Plan<Self::Effect>) {}

    /// A call returns at a time.
    fn returns(machine: &mut Machine<'_, Self>, thread: u32, plan: &Plan<Self::Effect>, end: i64);

    /// A thread has acquired a lock that it waited for.
    fn waited(machine: &mut Machine<'_, Self>, thread: u32, wait: &Wait, kind: Kind);

    /// An operation has completed.
    fn completed(machine: &mut Machine<'_, Self>, op: &Op);

    /// An operation that an event waits for has completed.
    fn passed(_: &mut Machine<'_, Self>, _event: u32) {}

    /// A part of a kernel begins at a time. Returns whether the part, if contexts take no turns and so there is one, waits for other
    /// kernels.
    fn kernel_begins(_: &mut Machine<'_, Self>, _: &Op, _: Option<Part>, _time: i64) -> bool {
        false
    }

    /// A thread's time for a signal is over.
    fn times_out(_: &mut Machine<'_, Self>, _thread: u32, _signal: u32) {}

    /// Threads that wait behind a call go on.
    fn lets_go_on(_: &mut Machine<'_, Self>, _call: u32) {}

    /// Nothing happens any more, and threads wait. Returns whether one was made to go on.
    fn gives_up(_: &mut Machine<'_, Self>) -> bool {
        false
    }
}

/// A run.
pub(crate) struct Machine<'a, P> {
    pub workload: &'a Workload,
    pub model: &'a Model,
    pub layout: Layout,
    pub options: Options,
    pub program: P,
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
    /// Locks, each kind by context; of the last kind all contexts use the first one's.
    pub locks: Vec<Lock>,
    /// Delays of operations and their causes, if that was requested.
    pub observer: Option<Observer>,
    /// Buffer for what the release of a lock leads to.
    pub after_release: Vec<Next>,
    /// Threads that use or wait for a processor.
    pub awake: u32,
    /// Executed steps, calls included, and operations of graphs.
    pub made: u64,
    pub error: Option<Error>,
}

impl<'a, P: Program> Machine<'a, P> {
    pub(crate) fn new(
        workload: &'a Workload,
        model: &'a Model,
        layout: Layout,
        program: P,
        options: Options,
    ) -> Machine<'a, P> {
        let hyper_q = model.device.order == Order::Ready;
        let queues = match hyper_q {
            true => layout.contexts.len() * layout.connections as usize,
            false => layout.streams.len(),
        };
        let stream = |(row, plan): (usize, &crate::plan::StreamPlan)| {
            Stream::new(if hyper_q { plan.context * layout.connections } else { row as u32 })
        };
        let mut contexts: Vec<Context> = layout.contexts.iter().map(|_| Context::default()).collect();
        for (row, stream) in layout.streams.iter().enumerate() {
            contexts[stream.context as usize].streams.push(row as u32);
        }
        let (rules, count) = (&model.locks, contexts.len());
        let lock = |row: usize| {
            Lock::new(match Kind::of_row(row as u32, count as u32) {
                Kind::Launch => &rules.mutex,
                Kind::CopyIn | Kind::CopyOut => rules.copies.as_ref().unwrap_or(&rules.context),
                Kind::Memory => rules.memory.as_ref().unwrap_or(&rules.context),
                Kind::Context => &rules.context,
            })
        };
        let threads =
            (0..).zip(&workload.processes).flat_map(|(process, of)| of.threads.iter().map(move |_| process));
        Machine {
            workload,
            model,
            options,
            program,
            now: 0,
            chance: Chance::new(model.seed),
            events: Queue::default(),
            threads: threads.map(HostThread::new).collect(),
            ops: Ops::new(),
            streams: layout.streams.iter().enumerate().map(stream).collect(),
            contexts,
            queues: (0..queues).map(|_| HardwareQueue::default()).collect(),
            devices: layout.groups.iter().map(|groups| Device::new(model, *groups)).collect(),
            locks: (0..Kind::COUNT * count).map(lock).collect(),
            observer: None,
            after_release: Vec::new(),
            awake: 0,
            made: 0,
            error: None,
            layout,
        }
    }

    /// When each context is created: each process creates its own, one after the other, before its threads start.
    pub(crate) fn creations(&self) -> Vec<(i64, i64)> {
        let rule = &self.model.calls.context_create;
        let cost = rule.before_ns + rule.held_ns + rule.after_ns;
        let mut ready = vec![0; self.workload.processes.len()];
        let creation = |context: &crate::plan::ContextPlan| {
            let ready = &mut ready[context.process as usize];
            *ready += cost;
            (*ready - cost, *ready)
        };
        self.layout.contexts.iter().map(creation).collect()
    }

    /// When the contexts of each thread's process exist.
    pub(crate) fn starts(&self) -> Vec<i64> {
        let mut ready = vec![0; self.workload.processes.len()];
        for (context, (_, end)) in self.layout.contexts.iter().zip(self.creations()) {
            ready[context.process as usize] = end;
        }
        self.threads.iter().map(|thread| ready[thread.process as usize]).collect()
    }

    /// Runs to the end, each thread from a time on.
    pub(crate) fn run(&mut self, starts: &[i64]) -> Result<(), Error> {
        for (row, start) in (0..).zip(starts) {
            self.events.plan(*start, Event::Resume(row));
        }
        loop {
            let Some((time, event)) = self.events.take() else {
                if P::gives_up(self) {
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
        match self.threads.iter().all(|thread| thread.stage == Stage::Finished) {
            true => Ok(()),
            false => Err(self.deadlock()),
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Resume(thread) => self.resume(thread),
            Event::TimesOut { thread, signal } => P::times_out(self, thread, signal),
            Event::Want(thread) => self.want(thread),
            Event::Granted(thread) => self.granted(thread),
            Event::Woken(thread) => self.woken(thread),
            Event::Held(thread) => self.held(thread),
            Event::Noticed(thread) => self.noticed(thread),
            Event::LetsGoOn(call) => P::lets_go_on(self, call),
            Event::Ready(op) => self.ready(op),
            Event::Copied { device, engine } => self.copied(device, engine),
            Event::Ran { op, slots, generation } => self.ran(op, slots, generation),
            Event::TurnOver { device, turn } => self.turn_over(device, turn),
            Event::Switched { device, group } => self.switched(device, group),
        }
    }

    /// Counts steps. Returns whether the limit allows them.
    pub(crate) fn make(&mut self, steps: usize) -> bool {
        self.made += steps as u64;
        let too_long = self.made > self.options.most_calls;
        if too_long {
            self.error = Some(Error::TooLong { most: self.options.most_calls });
        }
        !too_long
    }

    fn deadlock(&self) -> Error {
        let stuck = |(row, thread): (u32, &HostThread)| {
            (thread.stage != Stage::Finished).then(|| {
                let (thread, process) = self.names_of(row);
                format!("{thread} of {process} {}", self.awaits(row))
            })
        };
        let mut waiting: Vec<String> = (0..).zip(&self.threads).filter_map(stuck).collect();
        let more = waiting.len().saturating_sub(4);
        waiting.truncate(4);
        if more > 0 {
            waiting.push(format!("{more} more wait"));
        }
        Error::Deadlock { at_ms: self.now / 1_000_000, waiting: waiting.join("; ") }
    }

    /// Describes the wait of a thread that never continues.
    fn awaits(&self, row: u32) -> String {
        let thread = &self.threads[row as usize];
        match (thread.stage, thread.wait) {
            (Stage::Between, _) => P::waits_for_others(self, row),
            (Stage::Calling, Some(wait)) => {
                format!("waits for a lock that {} holds", self.names_of(wait.holder.thread).0)
            }
            (Stage::Calling, None) => "waits for the device".to_owned(),
            _ => "waits for room in a stream".to_owned(),
        }
    }

    /// A thread's name and its process's.
    pub(crate) fn names_of(&self, thread: u32) -> (String, String) {
        let process = self.threads[thread as usize].process;
        let first = self.threads.partition_point(|thread| thread.process < process);
        let process = &self.workload.processes[process as usize];
        (process.threads[thread as usize - first].name.clone(), process.name.clone())
    }
}
