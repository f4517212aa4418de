//! Writes the steps of one thread of a workload.

use super::act::{Act, HostMemory, Node, Pause, Thing, Way};
use super::fold::{Folded, median};
use super::made::Made;
use rustc_hash::FxHashMap;
use sim::Model;
use std::collections::BTreeMap;
use trace::{Ns, StreamId};
use workload::{BufferId, Call, EventId, GraphId, Kernel, Memory, Process, Step, StreamKind, Value};

/// Shortest pause that becomes a step, ns: the host's clock and a call of it take tens of nanoseconds.
const SHORTEST: Ns = 300;

/// Most nodes of a graph that are captured one by one.
const MOST_NODES: usize = 500;

/// Bytes of memory whose size nobody knows.
const SMALL: u64 = 1 << 20;

/// Memory of a thread that its steps share.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Use {
    /// The device's end of copies.
    Device,
    /// The other end of copies within a device.
    Second,
    Pinned,
    Pageable,
    /// Memory that is new in each round.
    Fresh,
    /// A fill of so many bytes.
    Fill(u64),
    /// Memory that is registered.
    Registered(u32),
}

/// Writes the steps of one thread.
pub(super) struct Writer<'a, 'p> {
    made: &'a mut Made<'p>,
    process: &'a mut Process,
    context: workload::ContextId,
    thread: &'a str,
    buffers: FxHashMap<Use, BufferId>,
    graphs: FxHashMap<u32, GraphId>,
    events: FxHashMap<u32, EventId>,
    /// Buffers, streams and events that the thread makes, by their number.
    things: FxHashMap<(Thing, u32), u32>,
    /// Steps before the timed ones.
    pub before: Vec<Step>,
}

impl<'a, 'p> Writer<'a, 'p> {
    pub fn new(
        made: &'a mut Made<'p>,
        process: &'a mut Process,
        context: workload::ContextId,
        thread: &'a str,
    ) -> Writer<'a, 'p> {
        Writer {
            made,
            process,
            context,
            thread,
            buffers: FxHashMap::default(),
            graphs: FxHashMap::default(),
            events: FxHashMap::default(),
            things: FxHashMap::default(),
            before: Vec::new(),
        }
    }

    /// The buffers that exist during all timed steps.
    pub fn lasting(&self) -> Vec<BufferId> {
        let all = self.buffers.iter().filter(|(of, _)| **of != Use::Fresh);
        all.map(|(_, buffer)| *buffer).collect()
    }

    /// The steps of a round.
    pub fn write(&mut self, body: &[Folded]) -> Vec<Step> {
        self.reserve(body);
        self.steps(body)
    }

    /// Makes the buffers, as large as the largest step needs.
    fn reserve(&mut self, body: &[Folded]) {
        let mut sizes: BTreeMap<Use, u64> = BTreeMap::new();
        sizes_of(body, &mut sizes);
        for (of, bytes) in sizes {
            let bytes = self.bytes(bytes);
            self.buffer(of, bytes);
        }
    }

    fn buffer(&mut self, of: Use, bytes: u64) -> BufferId {
        if let Some(known) = self.buffers.get(&of) {
            return *known;
        }
        let (word, memory) = match of {
            Use::Device => ("device".to_owned(), Memory::Device),
            Use::Second => ("device-2".to_owned(), Memory::Device),
            Use::Pinned => ("pinned".to_owned(), Memory::Pinned),
            Use::Pageable => ("pageable".to_owned(), Memory::Pageable),
            Use::Fresh => ("fresh".to_owned(), Memory::Fresh),
            Use::Fill(bytes) => (format!("fill-{bytes}"), Memory::Device),
            Use::Registered(slot) => (format!("registered-{slot}"), Memory::Pageable),
        };
        let buffer = self.process.buffer(format!("{}-{word}", self.thread), self.context, memory, bytes);
        self.buffers.insert(of, buffer);
        if of != Use::Fresh {
            self.before.push(Step::Call(Call::Allocate { buffer, stream: None }));
        }
        buffer
    }

    fn steps(&mut self, body: &[Folded]) -> Vec<Step> {
        let mut steps = Vec::new();
        for folded in body {
            match folded {
                Folded::Step { act, pauses, kernels, .. } => {
                    pause(&mut steps, pauses, self.paid(act), self.made.parts.shrinks);
                    let ns = self.shared(median(kernels.iter().copied()));
                    let step = self.step(act, ns);
                    match self.fresh(act) {
                        Some(buffer) => steps.extend([
                            Step::Call(Call::Allocate { buffer, stream: None }),
                            step,
                            Step::Call(Call::Free { buffer, stream: None }),
                        ]),
                        None => steps.push(step),
                    }
                }
                Folded::Loop { times, body } => {
                    let steps_of = self.steps(body);
                    let times = median(times.iter().copied()).max(1);
                    if !steps_of.is_empty() {
                        steps.push(Step::Loop { times, steps: steps_of });
                    }
                }
            }
        }
        steps
    }

    fn step(&mut self, act: &Act, kernel_ns: Ns) -> Step {
        Step::Call(match act {
            Act::Launch { stream, kernel: _, grid, block } => {
                let stream = self.stream(*stream);
                let (kernel, grid) = kernel(self.made.parts.model, kernel_ns, *grid, *block);
                Call::Launch { kernel, grid, block: *block, stream }
            }
            Act::Graph { stream, graph } => {
                let stream = self.stream(*stream);
                Call::LaunchGraph { graph: self.graph(*graph), stream }
            }
            Act::Copy { stream, in_stream: _, way, bytes } => self.copy(*stream, *way, *bytes),
            Act::Fill { stream, bytes } => {
                let (stream, size) = (self.stream(*stream), self.bytes(*bytes));
                let buffer = self.buffer(Use::Fill(*bytes), size);
                Call::Fill { buffer, value: Value::Int(0), stream: Some(stream) }
            }
            Act::Synchronize(stream) => Call::SynchronizeStream { stream: self.stream(*stream) },
            Act::SynchronizeContext => Call::SynchronizeContext,
            Act::SynchronizeEvent(slot) => Call::SynchronizeEvent { event: self.event(*slot) },
            Act::Record(slot, stream) => {
                let stream = self.stream(*stream);
                Call::RecordEvent { event: self.event(*slot), stream }
            }
            Act::Wait(slot, stream) => {
                let stream = self.stream(*stream);
                Call::WaitEvent { event: self.event(*slot), stream }
            }
            Act::Query(stream) => Call::QueryStream { stream: self.stream(*stream) },
            Act::Begin(thing, slot) => self.thing(*thing, *slot, true),
            Act::End(thing, slot) => self.thing(*thing, *slot, false),
            Act::LoadModule => Call::LoadModule,
            Act::Instantiate(_) => return self.instantiate(),
        })
    }

    /// The duration of a kernel, ns: where fewer GPUs stand for those of the trace, they are as busy as those.
    fn shared(&self, ns: Ns) -> Ns {
        let (part, of) = self.made.parts.shares;
        ns * Ns::from(part.max(1)) / Ns::from(of.max(1)) / self.made.parts.shrinks
    }

    /// The size of a copy or a fill in whole words.
    fn bytes(&self, bytes: u64) -> u64 {
        let shrinks = u64::try_from(self.made.parts.shrinks).unwrap_or(1).max(1);
        (bytes / shrinks / 4).max(1) * 4
    }

    /// The work of the thread before a step that other steps do, ns: to map and unmap memory that is new in each round.
    fn paid(&self, act: &Act) -> Ns {
        const PAGE: u64 = 4096;
        let Some(buffer) = self.fresh(act) else { return 0 };
        let (host, bytes) = (&self.made.parts.model.host, self.process.buffers[buffer].bytes);
        let pages = Ns::try_from(bytes / PAGE).unwrap_or(0);
        2 * host.map_ns + pages.saturating_mul(host.unmap_page_ns)
    }

    /// The memory that a step needs anew.
    fn fresh(&self, act: &Act) -> Option<BufferId> {
        let is_fresh = matches!(act, Act::Copy { way: Way::Out(HostMemory::Fresh), .. });
        self.buffers.get(&Use::Fresh).copied().filter(|_| is_fresh)
    }

    fn stream(&mut self, stream: StreamId) -> workload::StreamId {
        self.made.stream(self.process, stream, self.context)
    }

    fn event(&mut self, slot: u32) -> EventId {
        if let Some(known) = self.events.get(&slot) {
            return *known;
        }
        let name = format!("{}-event-{}", self.thread, self.events.len() + 1);
        let event = self.process.event(name, self.context);
        self.events.insert(slot, event);
        event
    }

    fn copy(&mut self, stream: Option<StreamId>, way: Way, bytes: u64) -> Call {
        let (stream, bytes) = (stream.map(|stream| self.stream(stream)), self.bytes(bytes));
        let host = |memory: HostMemory| match memory {
            HostMemory::Pinned => Use::Pinned,
            HostMemory::Pageable => Use::Pageable,
            HostMemory::Fresh => Use::Fresh,
        };
        let (from, to) = match way {
            Way::In(memory) => (host(memory), Use::Device),
            Way::Out(memory) => (Use::Device, host(memory)),
            Way::Within => (Use::Device, Use::Second),
        };
        let [from, to] = [from, to].map(|of| self.buffer(of, bytes));
        Call::Copy { from, to, offset: 0.into(), bytes, stream }
    }

    /// Makes or unmakes something.
    fn thing(&mut self, thing: Thing, slot: u32, begins: bool) -> Call {
        let stream = (thing == Thing::Pool).then(|| self.stream_of_pool());
        let row = self.row(thing, slot);
        let buffer = BufferId(row);
        match (thing, begins) {
            (Thing::Stream, true) => Call::CreateStream { stream: workload::StreamId(row) },
            (Thing::Stream, false) => Call::DestroyStream { stream: workload::StreamId(row) },
            (Thing::Event, true) => Call::CreateEvent { event: EventId(row) },
            (Thing::Event, false) => Call::DestroyEvent { event: EventId(row) },
            (Thing::Registration, true) => Call::Register { buffer },
            (Thing::Registration, false) => Call::Unregister { buffer },
            (Thing::Device | Thing::Managed | Thing::Pinned | Thing::Pool, true) => {
                Call::Allocate { buffer, stream }
            }
            (Thing::Device | Thing::Managed | Thing::Pinned | Thing::Pool, false) => {
                Call::Free { buffer, stream }
            }
        }
    }

    /// The row of something that the thread makes.
    fn row(&mut self, thing: Thing, slot: u32) -> u32 {
        if let Some(known) = self.things.get(&(thing, slot)) {
            return *known;
        }
        let bytes = self.made.parts.sizes.get(&thing).copied().unwrap_or(SMALL);
        let name = |word: &str| format!("{}-{word}-{}", self.thread, slot + 1);
        let memory = |memory: Memory| (memory, name("made"));
        let (memory, name) = match thing {
            Thing::Stream => {
                let row = self.process.stream(name("stream"), self.context, StreamKind::NonBlocking).0;
                self.things.insert((thing, slot), row);
                return row;
            }
            Thing::Event => {
                let row = self.process.event(name("made-event"), self.context).0;
                self.things.insert((thing, slot), row);
                return row;
            }
            Thing::Registration => {
                let row = self.buffer(Use::Registered(slot), bytes).0;
                self.things.insert((thing, slot), row);
                return row;
            }
            Thing::Device => memory(Memory::Device),
            Thing::Managed => (Memory::Managed, name("managed")),
            Thing::Pinned => (Memory::Pinned, name("made-pinned")),
            Thing::Pool => (Memory::Pool, name("pool")),
        };
        let row = self.process.buffer(name, self.context, memory, bytes).0;
        self.things.insert((thing, slot), row);
        row
    }

    /// The stream in whose order pool memory comes and goes: the first of the thread's context that exists all the time.
    fn stream_of_pool(&mut self) -> workload::StreamId {
        self.made.first_stream(self.context).unwrap_or_else(|| self.stream(StreamId::NONE))
    }

    /// A stream that can be captured.
    fn capturing(&mut self) -> workload::StreamId {
        let is_it =
            |stream: &workload::Stream| stream.context == self.context && stream.name.ends_with("-capture");
        match self.process.streams.iter().position(is_it) {
            Some(row) => workload::StreamId(row as u32),
            None => {
                self.process.stream(format!("{}-capture", self.thread), self.context, StreamKind::NonBlocking)
            }
        }
    }

    /// The graph, captured before the timed steps.
    fn graph(&mut self, number: u32) -> GraphId {
        if let Some(known) = self.graphs.get(&number) {
            return *known;
        }
        let graph = self.process.graph(format!("{}-graph-{}", self.thread, self.graphs.len() + 1));
        self.graphs.insert(number, graph);
        let stream = self.capturing();
        let nodes = self.made.parts.graphs.get(number as usize).map_or(&[][..], Vec::as_slice);
        let mean: Ns = nodes.iter().map(|node| node.ns).sum::<Ns>() / nodes.len().clamp(1, MOST_NODES) as Ns;
        let is_long = nodes.len() > MOST_NODES;
        let launch = |node: &Node| {
            let ns = self.shared(if is_long { mean } else { node.ns });
            let (kernel, grid) = kernel(self.made.parts.model, ns, node.grid, node.block);
            Step::Call(Call::Launch { kernel, grid, block: node.block, stream })
        };
        let steps = nodes.iter().take(MOST_NODES).map(launch).collect();
        self.before.push(Step::Capture { graph, stream, steps });
        graph
    }

    /// Captures a graph of one kernel.
    fn instantiate(&mut self) -> Step {
        let number = u32::MAX;
        let known = self.graphs.get(&number).copied();
        let graph = known.unwrap_or_else(|| self.process.graph(format!("{}-made-graph", self.thread)));
        self.graphs.insert(number, graph);
        let stream = self.capturing();
        let launch = Call::Launch { kernel: Kernel::Empty, grid: 1, block: 32, stream };
        Step::Capture { graph, stream, steps: vec![Step::Call(launch)] }
    }
}

/// The largest sizes that steps need, by use.
fn sizes_of(body: &[Folded], sizes: &mut BTreeMap<Use, u64>) {
    for folded in body {
        match folded {
            Folded::Step { act, .. } => {
                for (of, bytes) in uses(act) {
                    let size = sizes.entry(of).or_default();
                    *size = bytes.max(*size);
                }
            }
            Folded::Loop { body, .. } => sizes_of(body, sizes),
        }
    }
}

/// The memory that a step uses beside what the thread makes in its rounds.
fn uses(act: &Act) -> Vec<(Use, u64)> {
    match act {
        Act::Copy { way, bytes, .. } => {
            let other = match way {
                Way::In(HostMemory::Pinned) | Way::Out(HostMemory::Pinned) => Use::Pinned,
                Way::In(HostMemory::Pageable) | Way::Out(HostMemory::Pageable) => Use::Pageable,
                Way::In(HostMemory::Fresh) | Way::Out(HostMemory::Fresh) => Use::Fresh,
                Way::Within => Use::Second,
            };
            vec![(Use::Device, *bytes), (other, *bytes)]
        }
        Act::Fill { bytes, .. } => vec![(Use::Fill(*bytes), *bytes)],
        Act::Launch { .. }
        | Act::Graph { .. }
        | Act::Synchronize(_)
        | Act::SynchronizeContext
        | Act::SynchronizeEvent(_)
        | Act::Record(..)
        | Act::Wait(..)
        | Act::Query(_)
        | Act::Begin(..)
        | Act::End(..)
        | Act::LoadModule
        | Act::Instantiate(_) => Vec::new(),
    }
}

/// Adds the time before a step: that of the round in the middle, without work that other steps do.
fn pause(steps: &mut Vec<Step>, pauses: &[Pause], paid: Ns, shrinks: i64) {
    let mut sorted = pauses.to_vec();
    sorted.sort_by_key(|pause| pause.all());
    let Some(Pause { work, sleep, hold }) = sorted.get(sorted.len() / 2).copied() else { return };
    let [work, sleep, hold] = [(work / shrinks - paid).max(0), sleep / shrinks, hold / shrinks];
    let ns = |ns: Ns| u64::try_from(ns).unwrap_or(0);
    let parts = [
        (hold, Call::Hold { ns: ns(hold) }),
        (work, Call::Work { ns: ns(work) }),
        (sleep, Call::Sleep { ns: ns(sleep) }),
    ];
    steps.extend(parts.into_iter().filter(|(ns, _)| *ns >= SHORTEST).map(|(_, call)| Step::Call(call)));
}

/// A kernel of a duration, with as many blocks as run at the same time.
fn kernel(model: &Model, ns: Ns, grid: u32, block: u32) -> (Kernel, u32) {
    let device = &model.device;
    let per_processor = (device.threads_per_multiprocessor / block.next_multiple_of(32).max(1))
        .clamp(1, device.blocks_per_multiprocessor.max(1));
    let grid = grid.clamp(1, device.multiprocessors.saturating_mul(per_processor).max(1));
    let clocked = ns - model.kernels.base_ns;
    match clocked >= SHORTEST {
        true => (Kernel::Delay { cycles: (clocked as u64).saturating_mul(device.clock_mhz) / 1000 }, grid),
        false => (Kernel::Empty, grid),
    }
}
