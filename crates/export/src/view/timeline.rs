//! The events of each track, in an order in which they nest, with their arguments.

use super::buckets::Buckets;
use super::event::{Category, Detail, Flow, Key, Slice, Value};
use super::lanes::{Lanes, Wish};
use super::names::{Name, Names};
use super::states::States;
use super::viewer::{Lane, View};
use super::waits::Waits;
use super::who::{Owner, Track, Who};
use crate::{Export, Meter};
use explain::{Cause, Engine, Loss};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use trace::{
    ArgumentId, CallId, CopyKind, DeviceId, MemoryKind, Ns, OpId, OpKind, RangeId, RangeKind, StackId,
    StateId, SyncId, ThreadId, Trace, Wait, WaitId,
};

/// An event; of events with the same times, the later kinds lie within the earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Range(RangeId),
    Call(CallId),
    /// A row of the losses.
    Loss(u32),
    /// A wait for a lock that is not CUDA's.
    Wait(WaitId),
    /// A moment at which a thread held or released what another one waited for.
    Mark(u32),
    State(StateId),
    Op(OpId),
    /// An operation on its engine.
    Work(OpId),
}

/// An event with its start and end; of events that begin together, the outer ones sort first.
type At = (Ns, Reverse<Ns>, Event);

/// Number of frames of a stack that are shown.
const FRAMES: usize = 64;

/// An export with the indexes that its events need.
pub(super) struct Timeline<'a> {
    export: Export<'a>,
    pub names: Names<'a>,
    threads: Vec<String>,
    cause_names: BTreeMap<Cause, Name>,
    finding_names: Vec<Name>,
    work: Name,
    calls: Buckets,
    ranges: Buckets,
    losses: Buckets,
    pub ops_by_stream: Buckets,
    ops_by_engine: Buckets,
    ops_by_call: Buckets,
    /// Losses by the call that caused them.
    blamed: Buckets,
    syncs: Buckets,
    arguments: Buckets,
    waits: Waits<'a>,
    states: States<'a>,
}

impl<'a> Timeline<'a> {
    pub fn new(export: Export<'a>, who: &Who) -> Timeline<'a> {
        let Export { trace, explanation, losses } = export;
        let mut names = Names::new(trace);
        let (waits, states) = (Waits::new(trace, &mut names), States::new(trace, &mut names));
        let mut cause_names = BTreeMap::new();
        for loss in losses {
            cause_names.entry(loss.cause).or_insert_with(|| names.add(loss.cause.id().to_owned()));
        }
        let (calls, threads) = (trace.calls.len(), trace.threads.len());
        let index = |call: &CallId| call.some().map(CallId::index);
        let thread = |thread: ThreadId| thread.some().map(ThreadId::index);
        Timeline {
            export,
            cause_names,
            finding_names: explanation.findings.iter().map(|finding| names.add(finding.id.clone())).collect(),
            work: names.add("GPU work".to_owned()),
            names,
            threads: labels(trace, who),
            calls: Buckets::new(threads, trace.calls.thread.iter().map(|of| thread(*of))),
            ranges: Buckets::new(threads, trace.ranges.thread.iter().map(|of| thread(*of))),
            losses: Buckets::new(threads, losses.iter().map(|loss| thread(loss.thread))),
            ops_by_stream: Buckets::new(
                trace.streams.len(),
                trace.ops.stream.iter().map(|stream| stream.some().map(|stream| stream.index())),
            ),
            ops_by_engine: Buckets::new(trace.devices.len() * Engine::ALL.len(), engines(trace).into_iter()),
            ops_by_call: Buckets::new(calls, trace.ops.call.iter().map(index)),
            blamed: Buckets::new(calls, losses.iter().map(|loss| index(&loss.holder_call))),
            syncs: Buckets::new(calls, trace.syncs.call.iter().map(index)),
            arguments: Buckets::new(calls, trace.arguments.call.iter().map(index)),
            waits,
            states,
        }
    }

    fn trace(&self) -> &'a Trace {
        self.export.trace
    }

    /// The number of operations on the tracks of engines.
    pub fn on_engines(&self, who: &Who) -> usize {
        let count = |track: &Track| match track.what {
            Owner::Engine(device, engine) => self.ops_by_engine.of(engine_row(device, engine)).count(),
            _ => 0,
        };
        who.tracks.iter().map(count).sum()
    }

    /// The number of waits that are no losses, of their marks, and of states.
    pub fn besides(&self) -> usize {
        self.waits.len() + self.trace().states.len()
    }

    /// Draws a track, on as many lanes as its events need for nesting.
    pub fn draw(
        &self,
        at: usize,
        who: &mut Who,
        view: &mut impl View,
        meter: &mut Meter<'_>,
    ) -> io::Result<()> {
        let Track { group, tid, what, .. } = who.tracks[at];
        let events = self.events(what);
        let lane_of = self.lanes(&events);
        let count = lane_of.iter().max().map_or(1, |most| *most as usize + 1);
        let by_lane = Buckets::new(count, lane_of.iter().map(|lane| Some(*lane as usize)));
        for number in 0..count {
            let tid = if number == 0 { tid } else { who.number_in(group, 0) };
            let track = &who.tracks[at];
            view.lane(&Lane { group: &who.groups[group], group_at: group, track, rank: at, number, tid })?;
            self.draw_lane(by_lane.of(number).map(|row| events[row]), view, meter)?;
        }
        Ok(())
    }

    /// The lane of each event. A loss is on its call's lane; calls have precedence on the first lane over inferred
    /// losses.
    fn lanes(&self, events: &[At]) -> Vec<u32> {
        let mut lanes = Lanes::default();
        // The lanes of calls that are not on the first.
        let mut elsewhere = FxHashMap::default();
        let mut lane_of = Vec::with_capacity(events.len());
        for (at, (start, Reverse(end), event)) in events.iter().enumerate() {
            let wish = match event {
                Event::Loss(loss) => {
                    let loss = &self.export.losses[*loss as usize];
                    let crossed = loss.wait.is_none() && self.crosses(*end, &events[at + 1..]);
                    let beside = elsewhere.get(&loss.call).copied().unwrap_or(0);
                    if crossed { Wish::Off(beside) } else { Wish::On(beside) }
                }
                _ => Wish::On(0),
            };
            let lane = lanes.place(wish, *start, *end);
            if let (Event::Call(call), 1..) = (event, lane) {
                elsewhere.insert(*call, lane);
            }
            lane_of.push(lane);
        }
        lane_of
    }

    /// Whether a call or a recorded wait begins before `end` and ends after it: these keep their lanes.
    fn crosses(&self, end: Ns, following: &[At]) -> bool {
        let mut within = following.iter().take_while(|(start, ..)| *start < end);
        within.any(|(_, Reverse(other), event)| match event {
            Event::Call(_) => *other > end,
            Event::Loss(loss) => *other > end && self.export.losses[*loss as usize].wait.is_some(),
            _ => false,
        })
    }

    /// A track's events by start; of events that start together, the longer and outer first.
    fn events(&self, what: Owner) -> Vec<At> {
        let trace = self.trace();
        let mut events = Vec::new();
        match what {
            Owner::Stream(stream) => {
                let rows = self.ops_by_stream.of_some(stream.some().map(|stream| stream.index()));
                let ops = &trace.ops;
                events.extend(rows.map(|at| (ops.start[at], Reverse(ops.end[at]), Event::Op(OpId::new(at)))));
            }
            Owner::Engine(device, engine) => {
                let rows = self.ops_by_engine.of(engine_row(device, engine));
                let ops = &trace.ops;
                events
                    .extend(rows.map(|at| (ops.start[at], Reverse(ops.end[at]), Event::Work(OpId::new(at)))));
            }
            Owner::Thread(thread) => {
                let thread = thread.some().map(|thread| thread.index());
                let (ranges, calls, losses) = (&trace.ranges, &trace.calls, self.export.losses);
                let range = |at| (ranges.start[at], Reverse(ranges.end[at]), Event::Range(RangeId::new(at)));
                let call = |at| (calls.start[at], Reverse(calls.end[at]), Event::Call(CallId::new(at)));
                let loss = |at: usize| (losses[at].start, Reverse(losses[at].end), Event::Loss(at as u32));
                let waits = &trace.waits;
                let wait = |wait: WaitId| {
                    (waits.start[wait.index()], Reverse(waits.end[wait.index()]), Event::Wait(wait))
                };
                let mark = |(at, mark)| (at, Reverse(at), Event::Mark(mark));
                events.extend(self.ranges.of_some(thread).map(range));
                events.extend(self.calls.of_some(thread).map(call));
                events.extend(self.losses.of_some(thread).map(loss));
                events.extend(self.waits.of_thread(thread).map(wait));
                events.extend(self.waits.marks_of_thread(thread).map(mark));
            }
            Owner::States(thread) => {
                let rows = self.states.of_threads.of_some(thread.some().map(|thread| thread.index()));
                let states = &trace.states;
                let state = |at| (states.start[at], Reverse(states.end[at]), Event::State(StateId::new(at)));
                events.extend(rows.map(state));
            }
        }
        if !events.is_sorted() {
            events.sort_unstable();
        }
        events
    }

    /// Draws events that nest.
    fn draw_lane(
        &self,
        events: impl Iterator<Item = At>,
        view: &mut impl View,
        meter: &mut Meter<'_>,
    ) -> io::Result<()> {
        let mut open: Vec<(Ns, Vec<Flow>)> = Vec::new();
        let mut detail = Detail::default();
        for (start, Reverse(end), event) in events {
            while let Some((end, late)) = open.pop_if(|(end, _)| *end <= start) {
                view.end(end, &late)?;
            }
            detail.clear();
            let (name, category) = self.describe(event, &mut detail);
            view.slice(&Slice { start, end, name, category }, &detail, &self.names)?;
            open.push((end, detail.flows.iter().copied().filter(|flow| flow.at > start).collect()));
            meter.step();
        }
        while let Some((end, late)) = open.pop() {
            view.end(end, &late)?;
        }
        Ok(())
    }

    fn describe(&self, event: Event, detail: &mut Detail<'a>) -> (Name, Category) {
        match event {
            Event::Range(range) => self.describe_range(range, detail),
            Event::Call(call) => self.describe_call(call, detail),
            Event::Loss(at) => self.describe_loss(at as usize, detail),
            Event::Wait(wait) => self.describe_wait(wait, detail),
            Event::Mark(at) => self.waits.describe_mark(at, self.first_flow(), detail),
            Event::State(state) => self.states.describe(state, detail),
            Event::Op(op) => self.describe_op(op, detail),
            Event::Work(op) => self.describe_work(op, detail),
        }
    }

    fn describe_range(&self, range: RangeId, detail: &mut Detail<'a>) -> (Name, Category) {
        let row = self.trace().ranges.row(range);
        if !row.domain.is_empty() {
            detail.add(Key::Domain, Value::Name(row.domain.into()));
        }
        self.add_stack(row.stack, detail);
        let category = match row.kind {
            RangeKind::Operator => Category::Operator,
            RangeKind::User => Category::User,
            RangeKind::Python => Category::Python,
            RangeKind::Overhead => Category::Overhead,
            RangeKind::Unknown => Category::OtherRange,
        };
        (row.name.into(), category)
    }

    fn describe_call(&self, call: CallId, detail: &mut Detail<'a>) -> (Name, Category) {
        let trace = self.trace();
        let row = trace.calls.row(call);
        detail.add_known(Key::Api, row.api.name());
        detail.add_stated(Key::Correlation, row.correlation);
        detail.add_stated(Key::Result, row.result.into());
        self.add_stack(row.stack, detail);
        if let Some(range) = row.range.some() {
            detail.add(Key::Operator, Value::Name(trace.ranges.name[range.index()].into()));
        }
        for sync in self.syncs.of(call.index()).take(1) {
            detail.add(Key::WaitsFor, Value::Made(awaited(trace, SyncId::new(sync))));
        }
        for arguments in self.arguments.of(call.index()).take(1) {
            let row = trace.arguments.row(ArgumentId::new(arguments));
            add_transfer(row.bytes, row.copy, row.src, row.dst, detail);
            if !row.kernel.is_empty() {
                detail.add(Key::Kernel, Value::Name(row.kernel.into()));
            }
            if let Some(stream) = row.stream.some() {
                detail.add(Key::Stream, Value::Int(trace.streams.number[stream.index()]));
            }
        }
        for op in self.ops_by_call.of(call.index()) {
            detail.flows.push(self.flow_to_op(OpId::new(op), row.start, true));
        }
        for loss in self.blamed.of(call.index()) {
            detail.flows.push(self.flow_to_wait(loss, row.start, true));
        }
        (row.name.into(), Category::Call)
    }

    fn describe_op(&self, op: OpId, detail: &mut Detail<'a>) -> (Name, Category) {
        let trace = self.trace();
        let row = trace.ops.row(op);
        detail.add_stated(Key::Correlation, row.correlation);
        let category = match row.kind {
            OpKind::Kernel | OpKind::Graph => Category::Kernel,
            OpKind::Copy => Category::Memcpy,
            OpKind::Memset => Category::Memset,
            OpKind::Unknown => Category::OtherOp,
        };
        match row.kind {
            OpKind::Copy | OpKind::Memset => {
                add_transfer(row.bytes, row.copy, row.src, row.dst, detail);
                if row.bytes > 0 && row.end > row.start {
                    detail.add(Key::Rate, Value::Real(row.bytes as f64 / (row.end - row.start) as f64));
                }
            }
            OpKind::Kernel | OpKind::Graph | OpKind::Unknown => {
                add_size(Key::Grid, [row.grid_x, row.grid_y, row.grid_z], detail);
                add_size(Key::Block, [row.block_x, row.block_y, row.block_z], detail);
                detail.add_stated(Key::Registers, row.registers.into());
                detail.add_stated(Key::StaticShared, row.static_shared.into());
                detail.add_stated(Key::DynamicShared, row.dynamic_shared.into());
            }
        }
        detail.add_stated(Key::GraphNode, row.graph_node);
        if let Some(call) = row.call.some() {
            let calls = &trace.calls;
            let by = self.thread(calls.thread[call.index()]);
            detail.add(Key::CalledBy, Value::Made(by.to_owned()));
            let asked = calls.start[call.index()];
            detail.flows.push(self.flow_to_op(op, asked.clamp(row.start, row.end), false));
        }
        (self.names.of_op(op), category)
    }

    /// Describes an operation on its engine, with its stream only: the stream's track has the other arguments.
    fn describe_work(&self, op: OpId, detail: &mut Detail<'a>) -> (Name, Category) {
        let trace = self.trace();
        if let Some(stream) = trace.ops.stream[op.index()].some() {
            detail.add(Key::Stream, Value::Int(trace.streams.number[stream.index()]));
        }
        (self.names.of_op(op), Category::Engine)
    }

    /// Describes a loss; it is named after its cause, recorded or inferred.
    fn describe_loss(&self, at: usize, detail: &mut Detail<'a>) -> (Name, Category) {
        let trace = self.trace();
        let loss = &self.export.losses[at];
        if let Some(finding) = loss.finding {
            detail.add(Key::Finding, Value::Name(self.finding_names[finding as usize]));
        }
        detail.add(Key::Evidence, Value::Text(loss.evidence.id()));
        detail.add(Key::Confidence, Value::Text(loss.confidence.id()));
        detail.add_stated(Key::LostNs, loss.lost_ns);
        if loss.holder.is_some() {
            detail.add(Key::Holder, Value::Made(self.thread(loss.holder).to_owned()));
        }
        if let Some(call) = loss.holder_call.some() {
            detail.add(Key::HeldIn, Value::Name(trace.calls.name[call.index()].into()));
            let holds = trace.calls.start[call.index()];
            // The arrow must end after the holder's call began; otherwise it would point the other way.
            let at_end = (holds + 1).clamp(loss.start, loss.end);
            detail.flows.push(self.flow_to_wait(at, at_end, false));
        }
        let category = if loss.wait.is_some() { Category::Wait } else { Category::Loss };
        self.add_lock(loss, detail);
        (self.cause_names[&loss.cause], category)
    }

    /// Describes a wait for a lock that is not CUDA's.
    fn describe_wait(&self, wait: WaitId, detail: &mut Detail<'a>) -> (Name, Category) {
        let described = self.waits.describe(wait, self.first_flow(), detail);
        let row = self.trace().waits.row(wait);
        if row.holder.is_some() {
            detail.add(Key::Holder, Value::Made(self.thread(row.holder).to_owned()));
        }
        if let Some(call) = row.holder_call.some() {
            detail.add(Key::HeldIn, Value::Name(self.trace().calls.name[call.index()].into()));
        }
        self.add_record(&row, row.holder, detail);
        described
    }

    /// The number of the first arrow to a wait that is no loss.
    fn first_flow(&self) -> u64 {
        (self.trace().ops.len() + self.export.losses.len()) as u64 + 1
    }

    /// Adds the lock from the record of a wait.
    fn add_lock(&self, loss: &Loss, detail: &mut Detail<'a>) {
        if let Some(wait) = loss.wait.some() {
            self.add_record(&self.trace().waits.row(wait), loss.holder, detail);
        }
    }

    /// Adds what the record of a wait has besides the holder.
    fn add_record(&self, row: &Wait, holder: ThreadId, detail: &mut Detail<'a>) {
        let trace = self.trace();
        detail.add(Key::Library, Value::Name(row.library.into()));
        detail.add(Key::Lock, Value::Made(format!("{:#x}", row.lock)));
        detail.add_known(Key::LockKind, row.kind.name());
        detail.add_known(Key::LockMode, row.mode.name());
        detail.add_stated(Key::Holders, row.holders.into());
        if row.releaser.is_some() && row.releaser != holder {
            detail.add(Key::Releaser, Value::Made(self.thread(row.releaser).to_owned()));
            if let Some(call) = row.releaser_call.some() {
                detail.add(Key::ReleasedIn, Value::Name(trace.calls.name[call.index()].into()));
            }
        }
        detail.add_stated(Key::Handoff, row.handoff);
        for (key, stack) in [(Key::HolderPlace, row.holder_stack), (Key::ReleaserPlace, row.releaser_stack)] {
            if let Some(place) = self.names.of_place(stack) {
                detail.add(key, Value::Name(place));
            }
        }
        self.add_stack(row.stack, detail);
    }

    fn add_stack(&self, stack: StackId, detail: &mut Detail<'a>) {
        let stacks = &self.trace().stacks;
        let frames = std::iter::successors(stack.some(), |stack| stacks.caller[stack.index()].some());
        let frames = frames.filter_map(|stack| stacks.frame[stack.index()].some()).take(FRAMES);
        let frames: Vec<Name> = frames.map(|frame| self.names.of_frame(frame)).collect();
        if let Some(place) = self.names.of_place(stack) {
            detail.add(Key::Place, Value::Name(place));
        }
        if !frames.is_empty() {
            detail.add(Key::Stack, Value::List(frames));
        }
    }

    fn flow_to_op(&self, op: OpId, at: Ns, is_start: bool) -> Flow {
        let id = op.index() as u64 + 1;
        Flow { id, name: self.work, category: Category::Call, at, is_start }
    }

    fn flow_to_wait(&self, loss: usize, at: Ns, is_start: bool) -> Flow {
        let id = (self.trace().ops.len() + loss) as u64 + 1;
        let name = self.cause_names[&self.export.losses[loss].cause];
        Flow { id, name, category: Category::Wait, at, is_start }
    }

    fn thread(&self, thread: ThreadId) -> &str {
        thread.some().map_or("no thread", |thread| &self.threads[thread.index()])
    }
}

/// The row of each operation's engine; `None` if the device is unknown.
fn engines(trace: &Trace) -> Vec<Option<usize>> {
    let ops = &trace.ops;
    let row = |at: usize| {
        let device = trace.device_of_stream(ops.stream[at]).some()?;
        Some(engine_row(device, Engine::of(ops.kind[at], ops.copy[at])))
    };
    (0..ops.len()).map(row).collect()
}

fn engine_row(device: DeviceId, engine: Engine) -> usize {
    device.index() * Engine::ALL.len() + engine as usize
}

/// Each thread's label in arguments: its name and number as shown, and the process if there are several.
fn labels(trace: &Trace, who: &Who) -> Vec<String> {
    let several = trace.processes.len() > 1;
    let threads =
        who.tracks.iter().filter(|track| matches!(track.what, Owner::Thread(thread) if thread.is_some()));
    let label = |track: &Track| {
        let process = if several { format!(" of {}", who.groups[track.group].pid) } else { String::new() };
        format!("{} {}{process}", if track.name.is_empty() { "thread" } else { &track.name }, track.tid)
    };
    threads.map(label).collect()
}

fn add_transfer(bytes: i64, copy: CopyKind, src: MemoryKind, dst: MemoryKind, detail: &mut Detail<'_>) {
    detail.add_stated(Key::Bytes, bytes);
    detail.add_known(Key::Copy, copy.name());
    detail.add_known(Key::From, src.name());
    detail.add_known(Key::To, dst.name());
}

fn add_size(key: Key, [x, y, z]: [u32; 3], detail: &mut Detail<'_>) {
    if [x, y, z] != [0; 3] {
        detail.add(key, Value::Made(format!("{x} × {y} × {z}")));
    }
}

/// The object that a synchronization waits for: `stream 7`.
fn awaited(trace: &Trace, sync: SyncId) -> String {
    let row = trace.syncs.row(sync);
    let mut text = row.kind.name().to_owned();
    if let Some(stream) = row.stream.some() {
        text.push_str(&format!(" {}", trace.streams.number[stream.index()]));
    }
    if row.event != 0 {
        text.push_str(&format!(" {}", row.event));
    }
    text
}
