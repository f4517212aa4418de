//! The operations of GPUs: how long each took, what it waited for, and how soon it could have started.

use crate::calls::{Cost, Costs, Waits};
use crate::threads::Threads;
use rustc_hash::{FxHashMap, FxHashSet};
use sim::{Does, Model, Rows, Work, WorkKind};
use trace::{CallId, ContextId, CopyKind, DeviceId, MemoryKind, Ns, OpId, OpKind, StreamId, SyncKind, Trace};

/// An operation that starts later than this after the one before it in its stream did not only wait for that one, ns.
const NEXT: Ns = 50_000;

/// An operation of another stream that ends at most this long before the start of one that had to wait is what that waited for, ns.
const NEAR: Ns = 20_000;

/// Hardware queues of a process unless it asks for more (CUDA programming guide, `CUDA_DEVICE_MAX_CONNECTIONS`).
const QUEUES: usize = 8;

/// A call with more operations than this launched a graph, whether the trace says so or not.
const MANY: usize = 2;

/// A stream that was asked to wait for an event at most this long before an operation was issued into it was asked for that one, ns.
const RECENT: Ns = 1_000_000;

/// All operations, those of a call together.
pub(crate) struct Works {
    /// The rows of [`sim::Recorded::works`].
    rows: Vec<Row>,
    /// By operation: its row, and how long after the first one it starts, ns.
    pub places: Vec<(u32, Ns)>,
    /// By call: the first row and the number of rows.
    of_call: Vec<(u32, u32)>,
    /// By operation: when it was issued, ns.
    pub issued: Vec<Ns>,
    delays: Vec<Delay>,
    /// Operations that wait for one of another stream.
    after: FxHashMap<OpId, OpId>,
    /// Those of them that seem to share a hardware queue with it.
    aliased: FxHashSet<OpId>,
}

/// One operation, or the nodes of a graph in one stream.
struct Row {
    first: OpId,
    /// When the last one ends, ns.
    end: Ns,
    kind: WorkKind,
}

/// What came before each operation.
struct Delays {
    issued: Vec<Ns>,
    delays: Vec<Delay>,
    after: FxHashMap<OpId, OpId>,
    aliased: FxHashSet<OpId>,
}

/// What comes before the start of an operation, ns.
#[derive(Clone, Copy, Default)]
struct Delay {
    /// From its call's effect; `None`: it waited for something else.
    latency: Option<Ns>,
    /// From the end of the operation before it; `None`: it did not wait for that.
    gap: Option<Ns>,
}

impl Works {
    /// `queues`: by stream, the first of those that share a hardware queue.
    pub fn of(trace: &Trace, threads: &Threads, costs: &Costs, queues: &[Option<u32>]) -> Works {
        let Delays { issued, delays, after, aliased } = delays(trace, threads, costs, queues);
        let mut works = Works {
            rows: Vec::with_capacity(trace.ops.len()),
            places: vec![(0, 0); trace.ops.len()],
            of_call: vec![(0, 0); trace.calls.len()],
            issued,
            delays,
            after,
            aliased,
        };
        for thread in trace.threads.ids() {
            for call in threads.calls(thread) {
                works.add(trace, Some(*call), costs.ops(*call));
            }
        }
        for op in trace.ops.ids().filter(|op| threads.outer(trace.ops.call[op.index()]).is_none()) {
            works.add(trace, None, &[op]);
        }
        works
    }

    /// Adds the operations of a call. The nodes of a graph are one row for each stream: what they wait for within the graph is not
    /// known.
    fn add(&mut self, trace: &Trace, call: Option<CallId>, ops: &[OpId]) {
        let (starts, ends) = (&trace.ops.start, &trace.ops.end);
        let first = self.rows.len();
        for op in ops {
            let at = op.index();
            let is_node = trace.ops.graph_node[at] != 0 || ops.len() > MANY;
            let stream = trace.ops.stream[at];
            let mut rows = (first..self.rows.len()).rev();
            let row = rows.find(|row| is_node && trace.ops.stream[self.rows[*row].first.index()] == stream);
            let row = row.unwrap_or_else(|| {
                self.rows.push(Row { first: *op, end: ends[at], kind: kind(trace, *op) });
                self.rows.len() - 1
            });
            let of = &mut self.rows[row];
            of.end = of.end.max(ends[at]);
            if of.first != *op {
                // While it runs it has gaps, in which others run: its time has what they cost it.
                of.kind = WorkKind::Kernel { threads: 1, in_graph: true };
            }
            let leader = of.first;
            self.places[at] = (row as u32, starts[at] - starts[leader.index()]);
        }
        if let Some(call) = call.filter(|_| !ops.is_empty()) {
            self.of_call[call.index()] = (first as u32, (self.rows.len() - first) as u32);
        }
    }

    /// The effect of a call. Operations that it waits for are added to `awaited`.
    pub fn does(&self, call: CallId, cost: &Cost, awaited: &mut Vec<u32>) -> Does {
        let (first, count) = self.of_call[call.index()];
        if count > 0 {
            return Does::Issue { works: Rows { first, count }, waits: cost.waits == Waits::Own };
        }
        match &cost.waits {
            Waits::Ops(ops) if !ops.is_empty() => {
                let first = awaited.len() as u32;
                awaited.extend(ops.iter().map(|op| self.places[op.index()].0));
                Does::Await(Rows { first, count: ops.len() as u32 })
            }
            _ => Does::Nothing,
        }
    }

    /// The rows that wait for an operation with which they seem to share a hardware queue.
    pub fn aliased(&self) -> Vec<u32> {
        let mut rows: Vec<u32> = self.aliased.iter().map(|op| self.places[op.index()].0).collect();
        rows.sort_unstable();
        rows
    }

    /// The effect of issuing an operation whose call is not known.
    pub fn alone(&self, op: OpId) -> Does {
        Does::Issue { works: Rows { first: self.places[op.index()].0, count: 1 }, waits: false }
    }

    /// The operations for the simulator.
    pub fn works(&self, trace: &Trace, model: &Model, stream: impl Fn(StreamId) -> u32) -> Vec<Work> {
        let latency =
            median(self.delays.iter().filter_map(|delay| delay.latency)).unwrap_or(model.device.latency_ns);
        let gap = median(self.delays.iter().filter_map(|delay| delay.gap)).unwrap_or(model.device.gap_ns);
        let work = |Row { first: op, end, kind, .. }: &Row| {
            let (ops, at) = (&trace.ops, op.index());
            let delay = self.delays[at];
            Work {
                stream: stream(ops.stream[at]),
                kind: *kind,
                ns: end - ops.start[at],
                latency_ns: Some(delay.latency.unwrap_or(latency)),
                gap_ns: Some(delay.gap.unwrap_or(gap)),
                after: self.after.get(op).and_then(|before| {
                    let (row, _) = self.places[before.index()];
                    // In the middle of a graph nothing begins.
                    (ops.end[before.index()] == self.rows[row as usize].end).then_some(row)
                }),
            }
        };
        self.rows.iter().map(work).collect()
    }
}

/// What an operation is.
fn kind(trace: &Trace, op: OpId) -> WorkKind {
    let (ops, at) = (&trace.ops, op.index());
    match ops.kind[at] {
        OpKind::Copy => {
            let pinned = ![ops.src[at], ops.dst[at]].contains(&MemoryKind::Pageable);
            WorkKind::Copy {
                kind: if ops.copy[at] == CopyKind::Unknown { CopyKind::DtoD } else { ops.copy[at] },
                pinned,
            }
        }
        OpKind::Memset => WorkKind::Fill,
        _ => {
            let product =
                |x: u32, y: u32, z: u32| u64::from(x.max(1)) * u64::from(y.max(1)) * u64::from(z.max(1));
            let blocks = product(ops.grid_x[at], ops.grid_y[at], ops.grid_z[at]);
            let threads = product(ops.block_x[at], ops.block_y[at], ops.block_z[at]);
            let threads = u32::try_from(blocks.saturating_mul(threads)).unwrap_or(u32::MAX);
            WorkKind::Kernel { threads, in_graph: ops.graph_node[at] != 0 }
        }
    }
}

/// When each operation was issued and what came before it, in the order in which they started.
fn delays(trace: &Trace, threads: &Threads, costs: &Costs, queues: &[Option<u32>]) -> Delays {
    let ops = &trace.ops;
    let mut order: Vec<OpId> = ops.ids().collect();
    order.sort_by_key(|op| (ops.start[op.index()], ops.end[op.index()], *op));
    let mut found = Delays {
        issued: issued(trace, threads, costs, &order),
        delays: vec![Delay::default(); ops.len()],
        after: FxHashMap::default(),
        aliased: FxHashSet::default(),
    };
    let Delays { issued, delays, after, aliased } = &mut found;
    let mut devices: FxHashMap<DeviceId, Recent> = FxHashMap::default();
    let (asked, crowded) = (Asked::of(trace), crowded(trace));
    for op in order {
        let at = op.index();
        let (start, stream) = (ops.start[at], ops.stream[at]);
        let effect = issued[at];
        let recent = devices.entry(trace.device_of_stream(stream)).or_default();
        let of_stream = recent.last.get(&stream).copied().unwrap_or(Ns::MIN);
        let launched = is_kernel(trace, op) && ops.graph_node[at] == 0;
        let queue = stream.some().and_then(|stream| queues[stream.index()]).filter(|_| launched);
        let of_queue = queue.and_then(|queue| recent.queues.insert(queue, ops.end[at]));
        let before = of_queue.filter(|end| *end <= start).map_or(of_stream, |end| end.max(of_stream));
        let latency = start - effect;
        if before > effect && start - before < NEXT {
            delays[at].gap = Some((start - before).max(0));
        } else if latency < NEAR {
            delays[at].latency = Some(latency.max(0));
        } else {
            let other = recent.ended(trace, op, effect.max(before));
            let kinds_differ = |other: &OpId| is_kernel(trace, *other) != is_kernel(trace, op);
            let share = crowded.contains(&trace.context_of_stream(stream));
            match other.filter(|other| share || asked.between(stream, effect) || kinds_differ(other)) {
                Some(other) => {
                    after.insert(op, other);
                    if !asked.between(stream, effect) && !kinds_differ(&other) {
                        aliased.insert(op);
                    }
                }
                // Nothing that is known kept it waiting.
                None if other.is_none() && before <= effect => delays[at].latency = Some(latency),
                None => {}
            }
        }
        recent.add(trace, op);
    }
    found
}

/// When each operation was issued, ns. One whose call is not known was issued before the operations of its stream that started after
/// it: in a part of a trace, many were issued before it begins.
fn issued(trace: &Trace, threads: &Threads, costs: &Costs, order: &[OpId]) -> Vec<Ns> {
    let ops = &trace.ops;
    let mut latest: FxHashMap<StreamId, Ns> = FxHashMap::default();
    let mut issued = vec![0; ops.len()];
    for op in order.iter().rev() {
        let at = op.index();
        let latest = latest.entry(ops.stream[at]).or_insert(Ns::MAX);
        let call = threads.outer(ops.call[at]);
        let known = costs.of_call(call).map(|cost| cost.effect);
        issued[at] = known.unwrap_or(ops.start[at].min(*latest));
        // A call that waits less in a replay takes effect earlier, but not before it begins.
        *latest = call.some().map_or(issued[at], |call| trace.calls.start[call.index()] - 1);
    }
    issued
}

/// The contexts with kernels in more streams than there are hardware queues: which ones share a queue is only seen where they wait.
fn crowded(trace: &Trace) -> FxHashSet<ContextId> {
    let launched = |op: &OpId| is_kernel(trace, *op) && trace.ops.graph_node[op.index()] == 0;
    let kernels = trace.ops.ids().filter(launched);
    let streams: FxHashSet<StreamId> = kernels.map(|op| trace.ops.stream[op.index()]).collect();
    let mut counts: FxHashMap<ContextId, usize> = FxHashMap::default();
    streams.into_iter().for_each(|stream| *counts.entry(trace.context_of_stream(stream)).or_default() += 1);
    counts.into_iter().filter(|(_, count)| *count > QUEUES).map(|(context, _)| context).collect()
}

fn is_kernel(trace: &Trace, op: OpId) -> bool {
    !matches!(trace.ops.kind[op.index()], OpKind::Copy | OpKind::Memset)
}

/// The operations of a device that started last.
#[derive(Default)]
struct Recent {
    /// The end of the last operation of each stream, ns.
    last: FxHashMap<StreamId, Ns>,
    /// The last two of each stream: the last one may run still.
    ops: FxHashMap<StreamId, [OpId; 2]>,
    /// The end of the last kernel of each hardware queue that streams share, ns.
    queues: FxHashMap<u32, Ns>,
}

impl Recent {
    fn add(&mut self, trace: &Trace, op: OpId) {
        let stream = trace.ops.stream[op.index()];
        let last = self.last.entry(stream).or_insert(Ns::MIN);
        *last = (*last).max(trace.ops.end[op.index()]);
        let [_, last] = self.ops.get(&stream).copied().unwrap_or([OpId::NONE; 2]);
        self.ops.insert(stream, [last, op]);
    }

    /// The operation of another stream that ended last, as this one started, and not before `from`.
    fn ended(&self, trace: &Trace, op: OpId, from: Ns) -> Option<OpId> {
        let (ops, start) = (&trace.ops, trace.ops.start[op.index()]);
        let near = |other: &OpId| {
            let end = ops.end[other.index()];
            end > from
                && (start - NEAR..=start).contains(&end)
                && ops.stream[other.index()] != ops.stream[op.index()]
        };
        self.ops
            .values()
            .flatten()
            .copied()
            .filter(|other| other.is_some())
            .filter(near)
            .max_by_key(|other| (ops.end[other.index()], *other))
    }
}

/// When streams were asked to wait for events.
struct Asked(FxHashMap<StreamId, Vec<Ns>>);

impl Asked {
    fn of(trace: &Trace) -> Asked {
        let syncs = &trace.syncs;
        let mut asked: FxHashMap<StreamId, Vec<Ns>> = FxHashMap::default();
        for at in (0..syncs.len()).filter(|at| syncs.kind[*at] == SyncKind::StreamWaitEvent) {
            asked.entry(syncs.stream[at]).or_default().push(syncs.start[at]);
        }
        asked.values_mut().for_each(|times| times.sort_unstable());
        Asked(asked)
    }

    /// Whether a stream was asked to shortly before a moment.
    fn between(&self, stream: StreamId, at: Ns) -> bool {
        let Some(times) = self.0.get(&stream) else { return false };
        let before = times.partition_point(|time| *time <= at);
        before.checked_sub(1).is_some_and(|last| at - times[last] < RECENT)
    }
}

fn median(values: impl Iterator<Item = Ns>) -> Option<Ns> {
    let mut values: Vec<Ns> = values.collect();
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}
