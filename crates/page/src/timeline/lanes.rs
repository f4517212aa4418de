//! The rows of the timeline and their boxes.

use super::gpus;
use super::labels::{Labels, Look, Moved};
use super::levels::Block;
use explain::{Engine, Explanation, Loss, Nature};
use report::units;
use rustc_hash::FxHashMap;
use serde::Serialize;
use trace::{CallId, CopyKind, DeviceId, Ns, OpKind, ProcessId, RangeKind, StreamId, Sym, ThreadId, Trace};

/// Most lanes for nested calls of a thread, or for simultaneous operations of a stream.
const MOST_CALLS_DEEP: usize = 6;

/// Most lanes for nested ranges. Python functions are not drawn, because they nest by the dozen.
const MOST_RANGES_DEEP: usize = 4;

/// Most threads with a row, and most streams; of more, those that lost the most time and have the most boxes.
const MOST_ROWS: usize = 256;

/// Threads of one name in a process that make a team, which the page can fold. A choice: two rows are read as easily.
const TEAM: usize = 3;

/// A GPU, a thread, an engine or a stream.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// `thread 8117`, `pt_autograd_0 (8117)`, `stream 7`.
    pub name: String,
    /// A further fact: `lost 1,163 ms`.
    pub note: String,
    /// Its heading: a process or a GPU.
    pub group: String,
    /// `gpu`, `thread`, `engine` or `stream`.
    pub kind: &'static str,
    /// For one of several threads of the same name in a process: that name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub team: String,
    /// For a GPU: the part of its account's time in which it worked, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
}

impl Row {
    fn of(name: String, group: String, kind: &'static str) -> Row {
        Row { name, note: String::new(), group, kind, team: String::new(), busy: None }
    }
}

/// Boxes of a row that do not overlap.
pub(crate) struct Lane {
    pub row: u32,
    pub kind: Kind,
    /// Nesting depth; 0 for the outermost.
    pub depth: usize,
    pub boxes: Vec<Block>,
}

/// The kind of a lane's boxes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Range,
    Call,
    Lost,
    Op,
    /// An operation on its engine: the page shows it as any other operation.
    #[serde(rename = "op")]
    Work,
    /// Time in which a GPU worked.
    Busy,
    /// Time in which a GPU was idle.
    Idle,
}

/// The timeline's rows and boxes, and counts of what is not drawn.
#[derive(Default)]
pub(crate) struct Lanes {
    pub rows: Vec<Row>,
    pub lanes: Vec<Lane>,
    /// Each thread's row, by thread number; `None` for a thread without a row.
    pub row_of_thread: Vec<Option<u32>>,
    pub row_of_stream: Vec<Option<u32>>,
    /// Number of boxes that are nested too deeply to be drawn.
    pub too_deep: u64,
    /// Number of Python functions, which are not drawn.
    pub python: u64,
    /// Number of threads and streams that have boxes but no row.
    pub rowless: u64,
}

/// The time that a timeline shows, ns of the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    pub start: Ns,
    pub end: Ns,
}

impl Window {
    /// An interval in the timeline's time, ns; `None` if it lies outside.
    pub fn place(&self, start: Ns, end: Ns) -> Option<(u64, u64)> {
        let outside = end < self.start || start > self.end || (end == self.start && start < end);
        let from = |time: Ns| time.clamp(self.start, self.end).abs_diff(self.start);
        (!outside).then(|| (from(start), from(end)))
    }

    pub fn length(&self) -> Ns {
        self.end.saturating_sub(self.start)
    }
}

/// Builds the rows of threads and streams that have boxes in the window.
pub(crate) struct Builder<'a, 'l> {
    trace: &'a Trace,
    explanation: &'a Explanation,
    window: Window,
    labels: &'l mut Labels<'a>,
    lanes: Lanes,
}

impl<'a, 'l> Builder<'a, 'l> {
    pub fn new(
        trace: &'a Trace,
        explanation: &'a Explanation,
        window: Window,
        labels: &'l mut Labels<'a>,
    ) -> Self {
        Builder { trace, explanation, window, labels, lanes: Lanes::default() }
    }

    pub fn build(mut self, losses: &[Loss]) -> Lanes {
        let gpus = self.gpus();
        self.threads(losses);
        self.idle(&gpus);
        self.streams();
        self.lanes
    }

    /// Adds a row for each GPU; returns their devices, in the order of the rows.
    fn gpus(&mut self) -> Vec<DeviceId> {
        let gpus = gpus::used(self.trace, self.window);
        for (row, device) in (0..).zip(&gpus) {
            let lane = gpus::busy(self.trace, *device, self.window, row, self.labels);
            let share = gpus::share(&self.explanation.accounts, self.trace.devices.ordinal[device.index()]);
            let name = format!("GPU {}", self.trace.devices.ordinal[device.index()]);
            let note = share.map_or(String::new(), |share| format!("busy {}", units::percent(share)));
            self.lanes.rows.push(Row { note, busy: share, ..Row::of(name, String::from("GPUs"), "gpu") });
            self.lanes.lanes.push(lane);
        }
        gpus
    }

    /// Adds the idle time of the GPUs, where its causes are known, below their work.
    fn idle(&mut self, gpus: &[DeviceId]) {
        let accounts = &self.explanation.accounts;
        for (row, device) in (0..).zip(gpus).filter(|_| accounts.refused.is_none()) {
            let rows = &self.lanes.row_of_thread;
            let lane = gpus::idle(accounts, *device, self.window, row, self.labels, rows);
            self.lanes.lanes.push(lane);
        }
    }

    fn threads(&mut self, losses: &[Loss]) {
        let trace = self.trace;
        let threads = trace.threads.len();
        let mut calls = self.calls();
        let mut ranges = self.ranges();
        let losses = losses_by_thread(losses, threads);
        let lost: Vec<Ns> = losses.iter().map(|of| time_lost(of, self.explanation)).collect();
        let empty = |at: usize| calls[at].is_empty() && ranges[at].is_empty() && losses[at].is_empty();
        let mut shown: Vec<usize> = (0..threads).filter(|at| !empty(*at)).collect();
        self.limit(&mut shown, |at| (lost[at], calls[at].len()));
        let teams = teams(trace, &shown);
        let team = |at: usize| {
            let key = (trace.threads.process[at], trace.threads.name[at]);
            teams.get(&key).copied().filter(|team| team.members >= TEAM)
        };
        // The threads of a team follow its first one.
        shown.sort_by_key(|at| (trace.threads.process[*at], team(*at).map_or(*at, |team| team.first), *at));
        self.lanes.row_of_thread = vec![None; threads];
        for at in &shown {
            self.lanes.row_of_thread[*at] = Some(self.lanes.rows.len() as u32);
            let mut row = self.thread(ThreadId::new(*at), lost[*at]);
            if team(*at).is_some() {
                row.team = crate::html::shown(trace.text(trace.threads.name[*at]));
            }
            self.lanes.rows.push(row);
        }
        for at in shown {
            let row = self.lanes.row_of_thread[at].unwrap_or_default();
            self.nested(row, Kind::Range, std::mem::take(&mut ranges[at]), MOST_RANGES_DEEP);
            self.nested(row, Kind::Call, std::mem::take(&mut calls[at]), MOST_CALLS_DEEP);
            let boxes = self.losses(&losses[at]);
            if !boxes.is_empty() {
                self.lanes.lanes.push(Lane { row, kind: Kind::Lost, depth: 0, boxes });
            }
        }
    }

    fn thread(&self, id: ThreadId, lost: Ns) -> Row {
        let trace = self.trace;
        let thread = trace.threads.row(id);
        let process = thread.process.some().map(|process| trace.processes.row(process));
        let name = trace.text(thread.name);
        Row {
            name: match name {
                "" => format!("thread {}", thread.tid),
                name if name == thread.tid.to_string() => format!("thread {name}"),
                name => format!("{} ({})", crate::html::shown(name), thread.tid),
            },
            note: if lost > 0 { format!("lost {}", units::duration(lost)) } else { String::new() },
            group: process.map_or(String::from("host"), |process| match trace.text(process.name) {
                "" => format!("process {}", process.pid),
                name => format!("process {} · {}", process.pid, crate::html::shown(name)),
            }),
            ..Row::of(String::new(), String::new(), "thread")
        }
    }

    /// Every thread's calls.
    fn calls(&mut self) -> Vec<Vec<Block>> {
        let trace = self.trace;
        let copied = copied(trace);
        let mut by_thread = vec![Vec::new(); trace.threads.len()];
        for id in trace.calls.ids() {
            let at = id.index();
            let Some(thread) = trace.calls.thread[at].some() else { continue };
            let Some(place) = self.window.place(trace.calls.start[at], trace.calls.end[at]) else { continue };
            let (moved, bytes) = copied.get(&id).copied().unwrap_or_default();
            let label = self.labels.call(trace.calls.name[at], trace.calls.api[at], moved);
            by_thread[thread.index()].push(Block { id: at as u32, ..one(place, label, bytes) });
        }
        by_thread
    }

    /// Every thread's marked ranges.
    fn ranges(&mut self) -> Vec<Vec<Block>> {
        let ranges = &self.trace.ranges;
        let mut by_thread = vec![Vec::new(); self.trace.threads.len()];
        for at in 0..ranges.len() {
            let Some(thread) = ranges.thread[at].some() else { continue };
            let Some(place) = self.window.place(ranges.start[at], ranges.end[at]) else { continue };
            if ranges.kind[at] == RangeKind::Python {
                self.lanes.python += 1;
            } else {
                by_thread[thread.index()].push(one(place, self.labels.range(ranges.name[at]), 0));
            }
        }
        by_thread
    }

    /// Lost time of a thread; if two causes' intervals overlap, the earlier one is drawn first.
    fn losses(&mut self, losses: &[&Loss]) -> Vec<Block> {
        let mut boxes: Vec<Block> = Vec::new();
        for loss in losses {
            let Some((start, end)) = self.window.place(loss.start, loss.end) else { continue };
            let start = start.max(boxes.last().map_or(0, |last| last.end));
            if start < end {
                let label = self.loss(loss);
                boxes.push(one((start, end), label, 0));
            }
        }
        boxes
    }

    fn loss(&mut self, loss: &Loss) -> u32 {
        let trace = self.trace;
        let row = loss.holder.some().and_then(|thread| self.lanes.row_of_thread[thread.index()]);
        let mut text = loss.cause.id().to_owned();
        if let Some(row) = row {
            text.push_str(&format!(": waits for {}", self.lanes.rows[row as usize].name));
        }
        if let Some(call) = loss.holder_call.some() {
            text.push_str(&format!(" in {}", trace.text(trace.calls.name[call.index()])));
        }
        self.labels.lost(loss.cause, text, loss.finding, row)
    }

    fn streams(&mut self) {
        let trace = self.trace;
        let mut by_stream = vec![Vec::new(); trace.streams.len()];
        let mut engines = Engines::new(trace);
        let mut of_none = Vec::new();
        for id in trace.ops.ids() {
            let op = trace.ops.row(id);
            let Some(place) = self.window.place(op.start, op.end) else { continue };
            let look = match op.kind {
                OpKind::Copy => Look::Copy,
                OpKind::Memset => Look::Fill,
                OpKind::Kernel | OpKind::Graph | OpKind::Unknown => Look::Kernel,
            };
            let moved = Moved { kind: op.copy, src: op.src, dst: op.dst };
            let item = one(place, self.labels.op(op.name, look, moved), op.bytes.max(0) as u64);
            let item = Block { id: id.index() as u32, ..item };
            engines.add(trace.device_of_stream(op.stream), Engine::of(op.kind, op.copy), item);
            match op.stream.some() {
                Some(stream) => by_stream[stream.index()].push(item),
                None => of_none.push(item),
            }
        }
        self.lanes.row_of_stream = vec![None; trace.streams.len()];
        let mut shown: Vec<usize> = (0..by_stream.len()).filter(|at| !by_stream[*at].is_empty()).collect();
        self.limit(&mut shown, |at| (0, by_stream[at].len()));
        shown.sort_by_key(|at| (trace.device_of_stream(StreamId::new(*at)), trace.streams.number[*at]));
        for at in shown {
            let row = self.stream(StreamId::new(at));
            self.engines(engines.take(trace.device_of_stream(StreamId::new(at))), &row.group);
            let row = self.push_row(row);
            self.lanes.row_of_stream[at] = Some(row);
            self.side_by_side(row, Kind::Op, std::mem::take(&mut by_stream[at]));
        }
        if !of_none.is_empty() {
            let group = String::from("GPU");
            let row = self.push_row(Row::of(String::from("no stream"), group, "stream"));
            self.side_by_side(row, Kind::Op, of_none);
        }
    }

    /// Adds rows for a device's engines, above its streams.
    fn engines(&mut self, engines: Vec<(Engine, Vec<Block>)>, group: &str) {
        for (engine, boxes) in engines {
            let name = match engine {
                Engine::CopyIn => "copies in",
                Engine::Compute => "kernels",
                Engine::CopyOut => "copies out",
                Engine::Other => "other copies",
            };
            let note = String::from("all streams");
            let row = self.push_row(Row { note, ..Row::of(name.to_owned(), group.to_owned(), "engine") });
            self.side_by_side(row, Kind::Work, boxes);
        }
    }

    /// Keeps the rows with the largest weights.
    fn limit(&mut self, shown: &mut Vec<usize>, weight: impl Fn(usize) -> (Ns, usize)) {
        if shown.len() > MOST_ROWS {
            shown.sort_by_key(|at| (std::cmp::Reverse(weight(*at)), *at));
            self.lanes.rowless += (shown.len() - MOST_ROWS) as u64;
            shown.truncate(MOST_ROWS);
        }
    }

    fn push_row(&mut self, row: Row) -> u32 {
        self.lanes.rows.push(row);
        self.lanes.rows.len() as u32 - 1
    }

    fn stream(&self, id: StreamId) -> Row {
        let trace = self.trace;
        let device: DeviceId = trace.device_of_stream(id);
        let process = trace.process_of_stream(id).some().filter(|_| trace.processes.len() > 1);
        let process = process.map(|process| format!("process {}", trace.processes.pid[process.index()]));
        let group = device.some().map(|device| trace.devices.row(device));
        Row {
            name: format!("stream {}", trace.streams.number[id.index()]),
            note: process.unwrap_or_default(),
            group: group.map_or(String::from("GPU"), |device| match trace.text(device.name) {
                "" => format!("GPU {}", device.ordinal),
                name => format!("GPU {} · {}", device.ordinal, crate::html::shown(name)),
            }),
            ..Row::of(String::new(), String::new(), "stream")
        }
    }

    /// Puts nested boxes below each other.
    fn nested(&mut self, row: u32, kind: Kind, mut boxes: Vec<Block>, most: usize) {
        boxes.sort_by_key(|item| (item.start, std::cmp::Reverse(item.end)));
        let mut open: Vec<u64> = Vec::new();
        let mut lanes: Vec<Vec<Block>> = Vec::new();
        for item in boxes {
            while open.last().is_some_and(|end| *end <= item.start) {
                open.pop();
            }
            let depth = open.len();
            open.push(item.end);
            self.put(&mut lanes, depth, item, most);
        }
        self.push_lanes(row, kind, lanes);
    }

    /// Puts overlapping boxes below each other, each on the highest lane with room.
    fn side_by_side(&mut self, row: u32, kind: Kind, mut boxes: Vec<Block>) {
        boxes.sort_by_key(|item| (item.start, std::cmp::Reverse(item.end)));
        let mut lanes: Vec<Vec<Block>> = Vec::new();
        for item in boxes {
            let free = |lane: &Vec<Block>| lane.last().is_none_or(|last| last.end <= item.start);
            let depth = lanes.iter().position(free).unwrap_or(lanes.len());
            self.put(&mut lanes, depth, item, MOST_CALLS_DEEP);
        }
        self.push_lanes(row, kind, lanes);
    }

    fn put(&mut self, lanes: &mut Vec<Vec<Block>>, depth: usize, item: Block, most: usize) {
        if depth >= most {
            self.lanes.too_deep += 1;
            return;
        }
        if lanes.len() <= depth {
            lanes.resize(depth + 1, Vec::new());
        }
        lanes[depth].push(item);
    }

    fn push_lanes(&mut self, row: u32, kind: Kind, lanes: Vec<Vec<Block>>) {
        let lanes = lanes.into_iter().enumerate();
        self.lanes.lanes.extend(lanes.map(|(depth, boxes)| Lane { row, kind, depth, boxes }));
    }
}

/// Boxes by device and engine, for devices with something to overlap.
struct Engines(Vec<Vec<(Engine, Vec<Block>)>>);

impl Engines {
    fn new(trace: &Trace) -> Engines {
        let empty = |used: Vec<Engine>| used.into_iter().map(|engine| (engine, Vec::new())).collect();
        Engines(Engine::used(trace).into_iter().map(empty).collect())
    }

    fn add(&mut self, device: DeviceId, engine: Engine, item: Block) {
        let own =
            device.some().and_then(|device| self.0[device.index()].iter_mut().find(|own| own.0 == engine));
        if let Some((_, boxes)) = own {
            boxes.push(item);
        }
    }

    /// Takes a device's engines that have boxes; empty at the second call.
    fn take(&mut self, device: DeviceId) -> Vec<(Engine, Vec<Block>)> {
        let own = device.some().map(|device| std::mem::take(&mut self.0[device.index()]));
        let mut own = own.unwrap_or_default();
        own.retain(|(_, boxes)| !boxes.is_empty());
        own
    }
}

/// A single box.
pub(super) fn one((start, end): (u64, u64), label: u32, bytes: u64) -> Block {
    let long = end - start;
    Block { start, end, label, count: 1, busy: long, longest: long, bytes, id: Block::NONE }
}

/// Threads of one name in one process.
#[derive(Clone, Copy)]
struct Team {
    first: usize,
    members: usize,
}

/// The teams of some threads, by process and name.
fn teams(trace: &Trace, threads: &[usize]) -> FxHashMap<(ProcessId, Sym), Team> {
    let mut teams = FxHashMap::default();
    for at in threads.iter().filter(|at| !trace.text(trace.threads.name[**at]).is_empty()) {
        let key = (trace.threads.process[*at], trace.threads.name[*at]);
        let team = teams.entry(key).or_insert(Team { first: *at, members: 0 });
        (team.first, team.members) = (team.first.min(*at), team.members + 1);
    }
    teams
}

/// The copies of calls: from their operations, or else from their arguments.
fn copied(trace: &Trace) -> FxHashMap<CallId, (Moved, u64)> {
    let mut copied = FxHashMap::<CallId, (Moved, u64)>::default();
    let mut add = |call: CallId, moved: Moved, bytes: i64| {
        if call.is_some() && (moved.kind != CopyKind::Unknown || bytes > 0) {
            let entry = copied.entry(call).or_insert((moved, 0));
            entry.1 = entry.1.saturating_add(bytes.max(0) as u64);
        }
    };
    let ops = &trace.ops;
    for at in (0..ops.len()).filter(|at| matches!(ops.kind[*at], OpKind::Copy | OpKind::Memset)) {
        add(ops.call[at], Moved { kind: ops.copy[at], src: ops.src[at], dst: ops.dst[at] }, ops.bytes[at]);
    }
    if ops.is_empty() {
        for id in trace.arguments.ids() {
            let row = trace.arguments.row(id);
            add(row.call, Moved { kind: row.copy, src: row.src, dst: row.dst }, row.bytes);
        }
    }
    copied
}

/// Every thread's losses that findings count, by start.
fn losses_by_thread(losses: &[Loss], threads: usize) -> Vec<Vec<&Loss>> {
    let mut by_thread = vec![Vec::new(); threads];
    for loss in losses.iter().filter(|loss| loss.finding.is_some()) {
        if let Some(thread) = loss.thread.some() {
            by_thread[thread.index()].push(loss);
        }
    }
    for losses in &mut by_thread {
        losses.sort_by_key(|loss| (loss.start, loss.end));
    }
    by_thread
}

/// Time that a thread lost according to the findings, ns.
fn time_lost(losses: &[&Loss], explanation: &Explanation) -> Ns {
    let counts = |loss: &&&Loss| {
        let finding = loss.finding.and_then(|at| explanation.findings.get(at as usize));
        finding.is_some_and(|finding| finding.cause.about().nature != Nature::Asked)
    };
    losses.iter().filter(counts).fold(0, |sum: Ns, loss| sum.saturating_add(loss.lost_ns))
}
