//! The operations of GPUs, as the simulator issues them.

use crate::arithmetic::median;
use crate::recover::costs::{Awaits, Cost, Costs};
use crate::recover::delays::Delays;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use sim::{Does, Meets, Model, Rows, Work, WorkKind};
use trace::{CallId, CopyKind, DeviceId, MemoryKind, Ns, OpId, OpKind, StreamId, Trace};
use waits::{Index, Waits};

/// A call with more operations than this launched a graph, whether or not the trace has its nodes.
const MANY: usize = 2;

/// All operations, those of a call together.
pub(crate) struct Works {
    /// The rows of [`sim::Recorded::works`].
    rows: Vec<Row>,
    /// By operation: its row, and how long after the first one it starts, ns.
    pub places: Vec<(u32, Ns)>,
    /// By call: the first row and the number of rows.
    of_call: Vec<(u32, u32)>,
    pub delays: Delays,
}

/// One operation, or the nodes of a graph in one stream.
struct Row {
    first: OpId,
    /// When the last one ends, ns.
    end: Ns,
    kind: WorkKind,
}

impl Works {
    /// Finds them.
    pub fn of(index: &Index<'_>, costs: &Costs<'_>, waits: &Waits) -> Works {
        let (trace, order) = (index.trace, &index.calls);
        let rows = || {
            let mut works = Works {
                rows: Vec::with_capacity(trace.ops.len()),
                places: vec![(0, 0); trace.ops.len()],
                of_call: vec![(0, 0); trace.calls.len()],
                delays: Delays::default(),
            };
            for thread in trace.threads.ids() {
                for call in order.of_thread(thread) {
                    works.add(trace, Some(*call), index.ops(*call));
                }
            }
            for op in trace.ops.ids().filter(|op| order.outermost(trace.ops.call[op.index()]).is_none()) {
                works.add(trace, None, &[op]);
            }
            works
        };
        let (delays, works) = rayon::join(|| Delays::of(trace, order, costs, waits), rows);
        Works { delays, ..works }
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
            return Does::Issue { works: Rows { first, count }, waits: cost.waits == Awaits::Own };
        }
        match &cost.waits {
            Awaits::Ops(ops) if !ops.is_empty() => {
                let first = awaited.len() as u32;
                awaited.extend(ops.iter().map(|op| self.places[op.index()].0));
                Does::Await(Rows { first, count: ops.len() as u32 })
            }
            _ => Does::Nothing,
        }
    }

    /// The rows that wait for an operation with which they seem to share a hardware queue.
    pub fn aliased(&self) -> Vec<u32> {
        let mut rows: Vec<u32> = self.delays.aliased.iter().map(|op| self.places[op.index()].0).collect();
        rows.sort_unstable();
        rows
    }

    /// The effect of issuing an operation whose call is not known.
    pub fn alone(&self, op: OpId) -> Does {
        Does::Issue { works: Rows { first: self.places[op.index()].0, count: 1 }, waits: false }
    }

    /// The operations for the simulator.
    pub fn works(&self, trace: &Trace, model: &Model, stream: impl Fn(StreamId) -> u32 + Sync) -> Vec<Work> {
        let latency = median(self.delays.of.iter().filter_map(|delay| delay.latency))
            .unwrap_or(model.device.latency_ns);
        let [of_launched, of_others] = self.gaps(trace, model);
        let meets = self.meets(trace);
        let work = |row: u32, Row { first: op, end, kind, .. }: &Row| {
            let (ops, at) = (&trace.ops, op.index());
            let delay = self.delays.of[at];
            Work {
                stream: stream(ops.stream[at]),
                kind: *kind,
                ns: end - ops.start[at],
                latency_ns: Some(delay.latency.unwrap_or(latency)),
                gap_ns: Some(delay.gap.unwrap_or(if matches!(kind, WorkKind::Kernel { .. }) {
                    of_launched
                } else {
                    of_others
                })),
                after: self.delays.after.get(op).and_then(|before| {
                    let (row, _) = self.places[before.index()];
                    // In the middle of a graph nothing begins.
                    (ops.end[before.index()] == self.rows[row as usize].end).then_some(row)
                }),
                alone: ops.call[at].is_none(),
                meets: meets.get(&row).copied(),
            }
        };
        let rows = self.rows.par_iter().enumerate();
        let mut works: Vec<Work> = rows.map(|(row, of)| work(row as u32, of)).collect();
        let device = &model.device;
        let room = u64::from(device.multiprocessors) * u64::from(device.threads_per_multiprocessor);
        self.share_ends(trace, room, &mut works);
        works
    }

    /// The gap before kernels and graphs, and before other operations, where the one before was not waited for: the median of the others, or
    /// else the model's, as between kernels and from one engine to another.
    fn gaps(&self, trace: &Trace, model: &Model) -> [Ns; 2] {
        let of = |launched: bool| {
            let delays = trace.ops.kind.iter().zip(&self.delays.of);
            median(
                delays
                    .filter(|(kind, _)| matches!(kind, OpKind::Kernel | OpKind::Graph) == launched)
                    .filter_map(|(_, delay)| delay.gap),
            )
        };
        [of(true).unwrap_or(model.device.gap_ns), of(false).unwrap_or(model.device.signal_ns)]
    }

    /// A kernel that has more threads than the device has room for fills it, but not to its end: the blocks that are left over leave room for
    /// the next kernel. The simulator starts that one at the end, so it has only the time from then on. Of two streams of kernels that fill
    /// a GPU four times each, kernels took 145 to 152 µs, and the next one began after 128 µs (H100, `turns` of `benches/whatif`).
    fn share_ends(&self, trace: &Trace, room: u64, works: &mut [Work]) {
        let ops = &trace.ops;
        let mut kernels: Vec<(DeviceId, Ns, usize)> = Vec::new();
        for (row, (Row { first, .. }, work)) in self.rows.iter().zip(&*works).enumerate() {
            if work.is_launched() {
                let at = first.index();
                kernels.push((trace.device_of_stream(ops.stream[at]), ops.start[at], row));
            }
        }
        kernels.sort_unstable();
        // The kernel that fills the device until then: its device, its row, and its end.
        let mut full: Option<(DeviceId, usize, Ns)> = None;
        for (device, start, row) in kernels {
            let end = self.rows[row].end;
            let before = full.filter(|(of, _, until)| *of == device && start < *until);
            if let Some((_, other, until)) = before
                && works[row].stream != works[other].stream
                && end > until
            {
                works[row].ns = end - until;
            }
            let fills =
                matches!(works[row].kind, WorkKind::Kernel { threads, .. } if u64::from(threads) > room);
            if fills && before.is_none_or(|(_, _, until)| end > until) {
                full = Some((device, row, end));
            }
        }
    }

    /// The rows that are kernels of collectives.
    fn meets(&self, trace: &Trace) -> FxHashMap<u32, Meets> {
        let mut meets = FxHashMap::default();
        for (number, kernels) in (0..).zip(explain::collectives(trace)) {
            let last = kernels.iter().map(|op| trace.ops.start[op.index()]).max().unwrap_or_default();
            // In the middle of a graph nobody knows when one begins.
            let is_whole = |op: &OpId| {
                let row = &self.rows[self.places[op.index()].0 as usize];
                row.first == *op && row.end == trace.ops.end[op.index()]
            };
            if kernels.iter().all(is_whole) {
                meets.extend(kernels.iter().map(|op| {
                    let ns = (trace.ops.end[op.index()] - last).max(0);
                    (self.places[op.index()].0, Meets { number, ns })
                }));
            }
        }
        meets
    }
}

/// Kind of an operation.
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
