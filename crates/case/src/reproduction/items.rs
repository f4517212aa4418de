//! The steps of a thread as `replay` recovers them, in the words of a workload.

use super::act::{Act, HostMemory, Item, Node, Pause, Thing, Way};
use super::links::{Link, Links};
use super::states::Activity;
use replay::{Recovered, StepOf};
use rustc_hash::{FxHashMap, FxHashSet};
use sim::{CallOf, Does, RecordedStep};
use std::collections::BTreeMap;
use trace::{CallId, CopyKind, MemoryKind, Ns, OpId, OpKind, StreamId, Sym, Trace};
use waits::{Class, Index};

/// Most steps of a thread that are looked at.
const MOST: usize = 20_000;

/// Most blocks of a kernel's grid, and threads of a block, that a workload takes.
const MOST_THREADS: u32 = 1024;

/// Time of a call that does not matter, ns: other calls take longer.
const BRIEF: Ns = 2_000;

/// Sources of a thread's steps.
pub(super) struct Sources<'a> {
    pub trace: &'a Trace,
    pub index: &'a Index<'a>,
    pub recovered: &'a Recovered,
    /// By operation of [`Recovered::works`]: the first operation of the trace.
    pub ops: &'a [OpId],
    pub activity: &'a Activity,
    /// Sizes of the copies to pageable memory that took as long as those into memory that was never touched.
    pub fresh: &'a FxHashSet<i64>,
    /// From when to when steps are taken, ns from the trace's time 0.
    pub window: (Ns, Ns),
}

/// Things that no step of a workload stands for, with counts.
pub(super) type LeftOut = BTreeMap<&'static str, usize>;

/// The graphs of a workload, by their nodes.
#[derive(Default)]
pub(super) struct Graphs {
    numbers: FxHashMap<Vec<(u32, u32)>, u32>,
    pub all: Vec<Vec<Node>>,
}

/// Reads the steps of one thread.
pub(super) struct Reader<'a> {
    from: &'a Sources<'a>,
    row: usize,
    graphs: &'a mut Graphs,
    left_out: &'a mut LeftOut,
    links: Links,
    items: Vec<Item>,
    pause: Pause,
    /// The stream of the last operation.
    recent: StreamId,
    holds: bool,
    /// Time that calls of a kind take by themselves, ns.
    pub own: FxHashMap<Thing, Vec<Ns>>,
}

impl<'a> Reader<'a> {
    pub fn new(
        from: &'a Sources<'a>,
        row: usize,
        graphs: &'a mut Graphs,
        left_out: &'a mut LeftOut,
    ) -> Reader<'a> {
        let recent = first_stream(from, row);
        Reader {
            from,
            row,
            graphs,
            left_out,
            links: Links::default(),
            items: Vec::new(),
            pause: Pause::default(),
            recent,
            holds: false,
            own: FxHashMap::default(),
        }
    }

    /// The steps of the window.
    pub fn read(&mut self) -> Vec<Item> {
        let recovered = self.from.recovered;
        let (steps, begins) = (&recovered.recorded.threads[self.row], &recovered.begins[self.row]);
        let (from, to) = self.from.window;
        let at = |step: usize| recovered.start + begins[step];
        for (row, step) in steps.iter().enumerate() {
            if at(row) < from || self.items.len() >= MOST {
                continue;
            }
            if at(row) >= to {
                break;
            }
            self.step(*step, recovered.steps[self.row][row], (at(row), at(row + 1)));
        }
        self.links.applied(std::mem::take(&mut self.items))
    }

    fn step(&mut self, step: RecordedStep, of: StepOf, (start, end): (Ns, Ns)) {
        match step {
            RecordedStep::Host(_) | RecordedStep::HostUntil { .. } => self.outside(start, end),
            RecordedStep::Await { .. } | RecordedStep::GiveUp { .. } => {
                if end > start {
                    *self
                        .left_out
                        .entry("waits for another thread, which are sleeps of the same length")
                        .or_default() += 1;
                }
                self.pause.sleep += end - start;
            }
            RecordedStep::Acquire { .. } => self.holds = true,
            RecordedStep::Release(_) => self.holds = false,
            RecordedStep::Post(_) | RecordedStep::Leave(_) => {}
            RecordedStep::Call(call) => match of {
                StepOf::Call(id) => self.call(id, &call, end - start),
                // Nobody knows what issued these.
                StepOf::Issues(_)
                | StepOf::Outside
                | StepOf::Part
                | StepOf::Wait(_)
                | StepOf::Ends(_)
                | StepOf::Takes
                | StepOf::Leaves => {
                    *self.left_out.entry("operations of unknown calls").or_default() += 1;
                }
            },
        }
    }

    /// Time outside of calls.
    fn outside(&mut self, start: Ns, end: Ns) {
        let ns = end - start;
        let thread = self.from.recovered.threads[self.row];
        let sleeps =
            thread.is_some_and(|thread| self.from.activity.sleeps(self.from.trace, thread, start, end));
        match (self.holds, sleeps) {
            (true, _) => self.pause.hold += ns,
            (false, true) => self.pause.sleep += ns,
            (false, false) => self.pause.work += ns,
        }
    }

    fn call(&mut self, id: CallId, call: &CallOf, took: Ns) {
        let class = self.from.index.class(id);
        match call.does {
            Does::Issue { works, waits } => {
                let first = self.items.len();
                match self.graph(id, class) {
                    Some(act) => self.push(act, took),
                    None => works.iter().for_each(|work| self.operation(work, id, class)),
                }
                if let Some(last) = self.items.get_mut(first) {
                    last.took = took;
                }
                works.iter().for_each(|work| self.links.issued(work, self.items.len().saturating_sub(1)));
                if waits && !matches!(class, Class::Copy { .. }) {
                    self.push(Act::Synchronize(self.recent), 0);
                }
            }
            Does::Await(awaited) => {
                let works = &self.from.recovered.recorded.awaited[awaited.iter()];
                self.waits(id, class, works, took);
            }
            Does::Nothing | Does::Synchronize(_) => self.plain(id, class, call, took),
        }
    }

    /// The launch of a graph; `None` for any other call.
    fn graph(&mut self, id: CallId, class: Class) -> Option<Act> {
        let (trace, ops) = (self.from.trace, self.from.index.ops(id));
        let first = ops.first()?;
        let is_node =
            |op: &OpId| trace.ops.graph_node[op.index()] != 0 || trace.ops.kind[op.index()] == OpKind::Graph;
        if class != Class::Launch || !(is_node(first) || ops.len() > 2) {
            return None;
        }
        let stream = trace.ops.stream[first.index()];
        let nodes: Vec<Node> = ops.iter().map(|op| node(trace, *op)).collect();
        let key: Vec<(u32, u32)> = nodes.iter().map(|node| (node.grid, node.block)).collect();
        let next = self.graphs.all.len() as u32;
        let graph = *self.graphs.numbers.entry(key).or_insert(next);
        if graph == next {
            self.graphs.all.push(nodes);
        }
        self.recent = stream;
        Some(Act::Graph { stream, graph })
    }

    /// An operation that a call issues.
    fn operation(&mut self, work: usize, call: CallId, class: Class) {
        let (trace, op) = (self.from.trace, self.from.ops[work]);
        let Some(op) = op.some() else { return };
        let row = trace.ops.row(op);
        self.recent = row.stream;
        if let Some(before) = self.from.recovered.recorded.works[work].after {
            let link = Link::Stream { at: self.items.len(), stream: row.stream };
            if !self.links.waits(before as usize, link) {
                *self.left_out.entry("waits of a stream for an operation of another thread").or_default() +=
                    1;
            }
        }
        let stream = row.stream;
        let (act, kernel_ns) = match row.kind {
            OpKind::Copy => (self.copy(op, call, class), 0),
            OpKind::Memset => (Act::Fill { stream, bytes: words(row.bytes) }, 0),
            OpKind::Kernel | OpKind::Graph | OpKind::Unknown => {
                let Node { grid, block, ns } = node(trace, op);
                (Act::Launch { stream, kernel: row.name, grid, block }, ns)
            }
        };
        self.push(act, 0);
        if let Some(last) = self.items.last_mut() {
            last.kernel_ns = kernel_ns;
        }
    }

    fn copy(&mut self, op: OpId, call: CallId, class: Class) -> Act {
        let trace = self.from.trace;
        let row = trace.ops.row(op);
        let memory = |kind: MemoryKind| match kind {
            MemoryKind::Pageable => HostMemory::Pageable,
            MemoryKind::Unknown
            | MemoryKind::Pinned
            | MemoryKind::Device
            | MemoryKind::Array
            | MemoryKind::Managed
            | MemoryKind::DeviceStatic
            | MemoryKind::ManagedStatic => HostMemory::Pinned,
        };
        let way = match row.copy {
            CopyKind::HtoD | CopyKind::HtoA => Way::In(memory(row.src)),
            CopyKind::DtoH | CopyKind::AtoH => match memory(row.dst) {
                HostMemory::Pageable if self.from.fresh.contains(&row.bytes) => Way::Out(HostMemory::Fresh),
                memory => Way::Out(memory),
            },
            CopyKind::HtoH
            | CopyKind::PtoP
            | CopyKind::UnifiedHtoD
            | CopyKind::UnifiedDtoH
            | CopyKind::UnifiedDtoD => {
                *self.left_out.entry("copies between GPUs, within host memory or of unified memory, which are copies within the GPU").or_default() += 1;
                Way::Within
            }
            CopyKind::Unknown | CopyKind::AtoA | CopyKind::AtoD | CopyKind::DtoA | CopyKind::DtoD => {
                Way::Within
            }
        };
        let is_default = waits::is_default(trace, row.stream);
        // A call that does not say that it is asynchronous goes into the default stream.
        let name = trace.text(trace.calls.name[call.index()]);
        let blocking = class == Class::Copy { blocking: true }
            && is_default
            && !name.contains("2D")
            && !name.contains("3D");
        let stream = (!blocking).then_some(row.stream);
        Act::Copy { stream, in_stream: row.stream, way, bytes: words(row.bytes) }
    }

    /// A call that waits for operations which were issued before it.
    fn waits(&mut self, id: CallId, class: Class, works: &[u32], took: Ns) {
        let name = self.from.trace.text(self.from.trace.calls.name[id.index()]);
        let last = works.last().map(|work| *work as usize);
        let stream = last.and_then(|work| self.from.ops[work].some());
        let stream = stream.map_or(self.recent, |op| self.from.trace.ops.stream[op.index()]);
        if class != Class::Sync {
            return self.plain(id, class, &CallOf::default(), took);
        }
        let (at, act) = (self.items.len(), synchronization(name, stream));
        self.push(act, took);
        if let Some(work) = last.filter(|_| name.contains("Event")) {
            // Without an event, the wait is for the stream.
            let _ = self.links.waits(work, Link::Host { at });
        }
    }

    /// A call without operations.
    fn plain(&mut self, id: CallId, class: Class, call: &CallOf, took: Ns) {
        let own = call.before_ns + call.held_ns + call.after_ns;
        let name = self.from.trace.text(self.from.trace.calls.name[id.index()]);
        if let Some((thing, begins)) = thing(name) {
            self.own.entry(thing).or_default().push(if begins { own } else { 0 });
            let act = if begins { Act::Begin(thing, 0) } else { Act::End(thing, 0) };
            return self.push(act, took);
        }
        let stream = self.recent;
        let act = match class {
            Class::Sync => synchronization(name, stream),
            Class::Query if name.contains("EventQuery") || name.contains("StreamQuery") => Act::Query(stream),
            Class::Load if name.contains("ModuleLoad") || name.contains("LibraryLoad") => Act::LoadModule,
            Class::Load if name.contains("GraphInstantiate") => Act::Instantiate(stream),
            Class::Other if name.contains("EventRecord") => Act::Record(u32::MAX, stream),
            Class::Launch => Act::Launch { stream, kernel: Sym::EMPTY, grid: 1, block: 32 },
            Class::Copy { .. }
            | Class::Fill
            | Class::Allocate
            | Class::Release
            | Class::Load
            | Class::Create
            | Class::Query
            | Class::Os
            | Class::Other => return self.other(class, own),
        };
        let needs_stream = !matches!(act, Act::SynchronizeContext | Act::LoadModule);
        match needs_stream && stream.is_none() {
            true => self.other(class, own),
            false => self.push(act, took),
        }
    }

    /// A call that no step stands for: the thread works as long.
    fn other(&mut self, class: Class, own: Ns) {
        self.pause.work += own;
        let what = match class {
            Class::Query => return,
            Class::Launch | Class::Copy { .. } | Class::Fill => {
                "calls whose GPU operations are not in the trace"
            }
            Class::Allocate | Class::Release => "allocations of arrays and mapped memory",
            Class::Sync | Class::Load | Class::Create | Class::Os | Class::Other if own < BRIEF => return,
            Class::Sync | Class::Load | Class::Create | Class::Os | Class::Other => {
                "other calls, which are work of the same length"
            }
        };
        *self.left_out.entry(what).or_default() += 1;
    }

    fn push(&mut self, act: Act, took: Ns) {
        let pause = std::mem::take(&mut self.pause);
        self.items.push(Item { pause, act, kernel_ns: 0, took });
    }
}

/// The stream of the first operation of a thread.
fn first_stream(from: &Sources<'_>, row: usize) -> StreamId {
    let issued = from.recovered.recorded.threads[row].iter().find_map(|step| match step {
        RecordedStep::Call(CallOf { does: Does::Issue { works, .. }, .. }) => works.iter().next(),
        RecordedStep::Call(_)
        | RecordedStep::Host(_)
        | RecordedStep::HostUntil { .. }
        | RecordedStep::Post(_)
        | RecordedStep::Await { .. }
        | RecordedStep::GiveUp { .. }
        | RecordedStep::Leave(_)
        | RecordedStep::Acquire { .. }
        | RecordedStep::Release(_) => None,
    });
    let op = issued.and_then(|work| from.ops[work].some());
    op.map_or(StreamId::NONE, |op| from.trace.ops.stream[op.index()])
}

/// The shape of a kernel as one block's width and a number of blocks; of any other operation the smallest.
fn node(trace: &Trace, op: OpId) -> Node {
    let row = trace.ops.row(op);
    let product = |parts: [u32; 3]| parts.into_iter().map(|part| u64::from(part.max(1))).product::<u64>();
    let threads = product([row.block_x, row.block_y, row.block_z]).clamp(1, u64::from(MOST_THREADS)) as u32;
    let blocks = product([row.grid_x, row.grid_y, row.grid_z]).min(1 << 20) as u32;
    let (grid, block) = if row.kind == OpKind::Kernel { (blocks, threads) } else { (1, 32) };
    Node { grid, block, ns: row.end - row.start }
}

/// The wait of a call of this name, by a thread whose work is in this stream.
fn synchronization(name: &str, stream: StreamId) -> Act {
    let is_of_stream = name.contains("Event") || name.contains("Stream");
    if is_of_stream { Act::Synchronize(stream) } else { Act::SynchronizeContext }
}

/// Rounds bytes down to 32-bit words, of which there is at least one.
fn words(bytes: i64) -> u64 {
    (u64::try_from(bytes).unwrap_or(0) / 4).max(1) * 4
}

/// Calls that make and unmake something, by the name after `cuda`, `cu` or `hip`; the first match wins.
const THINGS: [(&str, Thing, bool); 24] = [
    ("MallocAsync", Thing::Pool, true),
    ("MallocFromPoolAsync", Thing::Pool, true),
    ("MemAllocAsync", Thing::Pool, true),
    ("MemAllocFromPoolAsync", Thing::Pool, true),
    ("FreeAsync", Thing::Pool, false),
    ("MemFreeAsync", Thing::Pool, false),
    ("MallocManaged", Thing::Managed, true),
    ("MemAllocManaged", Thing::Managed, true),
    ("MallocHost", Thing::Pinned, true),
    ("HostAlloc", Thing::Pinned, true),
    ("HostMalloc", Thing::Pinned, true),
    ("MemHostAlloc", Thing::Pinned, true),
    ("MemAllocHost", Thing::Pinned, true),
    ("FreeHost", Thing::Pinned, false),
    ("HostFree", Thing::Pinned, false),
    ("MemFreeHost", Thing::Pinned, false),
    ("HostRegister", Thing::Registration, true),
    ("MemHostRegister", Thing::Registration, true),
    ("HostUnregister", Thing::Registration, false),
    ("MemHostUnregister", Thing::Registration, false),
    ("StreamCreate", Thing::Stream, true),
    ("StreamDestroy", Thing::Stream, false),
    ("EventCreate", Thing::Event, true),
    ("EventDestroy", Thing::Event, false),
];

/// Device memory: names that begin like others.
const OF_DEVICE: [(&str, bool); 4] =
    [("Malloc", true), ("MemAlloc", true), ("Free", false), ("MemFree", false)];

/// Thing that a call of a name makes or unmakes, and whether it makes it.
fn thing(name: &str) -> Option<(Thing, bool)> {
    let bare = ["cuda", "hip", "cu"].iter().find_map(|prefix| name.strip_prefix(prefix))?;
    let known = THINGS.iter().find(|(start, ..)| bare.starts_with(start));
    let known = known.map(|(_, thing, begins)| (*thing, *begins));
    let is =
        |start: &str| bare == start || bare.strip_prefix(start).is_some_and(|rest| rest.starts_with("_v"));
    let device = || OF_DEVICE.iter().find(|(start, _)| is(start)).map(|(_, begins)| (Thing::Device, *begins));
    known.or_else(device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_make_and_unmake_things_are_told_by_name() {
        for (name, expected) in [
            ("cudaMalloc", Some((Thing::Device, true))),
            ("cuMemAlloc_v2", Some((Thing::Device, true))),
            ("cuMemFree", Some((Thing::Device, false))),
            ("cudaFreeHost", Some((Thing::Pinned, false))),
            ("cuMemFreeHost", Some((Thing::Pinned, false))),
            ("cudaMallocAsync", Some((Thing::Pool, true))),
            ("cuMemFreeAsync", Some((Thing::Pool, false))),
            ("cudaHostUnregister", Some((Thing::Registration, false))),
            ("cudaStreamCreateWithFlags", Some((Thing::Stream, true))),
            ("cudaMalloc3DArray", None),
            ("cudaMemcpy", None),
        ] {
            assert_eq!(thing(name), expected, "{name}");
        }
    }

    #[test]
    fn bytes_are_whole_words() {
        assert_eq!([0, 1, 4, 7, 4096, -3].map(words), [4, 4, 4, 4, 4096, 4]);
    }
}
