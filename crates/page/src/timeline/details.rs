//! Details that a click on an operation or a call shows: the call that asked for the operation, or the operation that it asked
//! for, how it was launched, and the call's stack. The page reads these data when they are asked for.

use super::encode::{CHUNK, Encoded, column};
use super::lanes::{Kind, Lanes, Window};
use crate::document::Data;
use crate::html::shown;
use rustc_hash::FxHashMap;
use serde::Serialize;
use trace::{CallId, FrameId, OpId, StackId, Trace};

/// Deflated data of all details together, as a percentage of the timeline's room.
const ROOM: usize = 12;

/// Most frames of a stack, the innermost ones; most text of all frames, bytes; most ways to launch. Choices.
const FRAMES: usize = 40;
const TEXT: usize = 2 << 20;
const LAUNCHES: usize = 20_000;

/// Launches, frames and stacks to which details refer.
#[derive(Default, Serialize)]
struct Stored {
    /// `grid 132 × 1 × 1 · block 256 × 1 × 1 · 40 registers`; the first is empty.
    launches: Vec<String>,
    /// The text of frames.
    frames: Vec<String>,
    /// The frames of each stack, innermost first; the first is empty.
    stacks: Vec<Vec<u32>>,
}

/// Details of one box.
#[derive(Clone, Copy, Default)]
struct Detail {
    /// The row of the call or operation at the other end, plus one; 0 for none.
    row: u64,
    /// The box's start less that of the other end, ns, as a number without a sign: even if it is not negative.
    since: u64,
    /// The duration of the other end, ns.
    takes: u64,
    launch: u64,
    stack: u64,
}

/// Adds data for the operations and calls of the finest level, as far as there is room: operations first. Returns whether
/// all have details.
pub(super) fn add(trace: &Trace, lanes: &Lanes, window: Window, room: usize, encoded: &mut Encoded) -> bool {
    let mut maker = Maker::new(trace, lanes, window);
    let (mut used, most) = (0, room * ROOM / 100);
    let mut is_complete = true;
    for kind in [Kind::Op, Kind::Call] {
        let own = lanes.lanes.iter().zip(&encoded.lanes).filter(|(lane, _)| lane.kind == kind);
        for (lane, index) in own {
            let finest = index.levels.iter().filter(|level| level.width == 0);
            for chunk in finest.flat_map(|level| &level.chunks) {
                let boxes = lane
                    .boxes
                    .chunks(CHUNK)
                    .find(|boxes| boxes.first().map(|first| first.start) == Some(chunk.1));
                let Some(boxes) = boxes.filter(|boxes| boxes.len() == chunk.3 && used < most) else {
                    is_complete = false;
                    continue;
                };
                let details: Vec<Detail> = boxes.iter().map(|block| maker.detail(kind, block.id)).collect();
                let data = Data::new(format!("details-{}", chunk.0), &bytes(&details), false);
                used += data.deflated.len();
                encoded.data.push(data);
            }
        }
    }
    encoded.data.extend(maker.finish());
    is_complete
}

fn bytes(details: &[Detail]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(details.len() * 8);
    for field in [
        |detail: &Detail| detail.row,
        |detail: &Detail| detail.since,
        |detail: &Detail| detail.takes,
        |detail: &Detail| detail.launch,
        |detail: &Detail| detail.stack,
    ] {
        column(&mut bytes, details.iter().map(field));
    }
    bytes
}

struct Maker<'a> {
    trace: &'a Trace,
    lanes: &'a Lanes,
    window: Window,
    /// The first operation of each call.
    op_of: FxHashMap<CallId, OpId>,
    stored: Stored,
    launches: FxHashMap<[u32; 8], u64>,
    stacks: FxHashMap<StackId, u64>,
    ranges: FxHashMap<trace::Sym, u64>,
    frames: FxHashMap<FrameId, u32>,
    text: usize,
}

impl<'a> Maker<'a> {
    fn new(trace: &'a Trace, lanes: &'a Lanes, window: Window) -> Maker<'a> {
        let mut op_of = FxHashMap::default();
        for op in trace.ops.ids() {
            if let Some(call) = trace.ops.call[op.index()].some() {
                op_of.entry(call).or_insert(op);
            }
        }
        let stored = Stored { launches: vec![String::new()], stacks: vec![Vec::new()], ..Stored::default() };
        Maker {
            trace,
            lanes,
            window,
            op_of,
            stored,
            launches: FxHashMap::default(),
            stacks: FxHashMap::default(),
            ranges: FxHashMap::default(),
            frames: FxHashMap::default(),
            text: 0,
        }
    }

    fn detail(&mut self, kind: Kind, id: u32) -> Detail {
        let trace = self.trace;
        let (op, call) = match kind {
            Kind::Op => {
                let op = OpId::new(id as usize);
                (op, trace.ops.call[op.index()])
            }
            Kind::Range | Kind::Call | Kind::Lost | Kind::Work | Kind::Busy | Kind::Idle => {
                let call = CallId::new(id as usize);
                (self.op_of.get(&call).copied().unwrap_or(OpId::NONE), call)
            }
        };
        let of_call = call.some().and_then(|call| {
            let row = trace.calls.row(call);
            Some((self.lanes.row_of_thread[row.thread.some()?.index()]?, row.start, row.end))
        });
        let of_op = op.some().and_then(|op| {
            let row = trace.ops.row(op);
            Some((self.lanes.row_of_stream[row.stream.some()?.index()]?, row.start, row.end))
        });
        let (own, other) = if kind == Kind::Op { (of_op, of_call) } else { (of_call, of_op) };
        let (mut detail, launch, stack) = (Detail::default(), self.launch(op), self.stack(call));
        (detail.launch, detail.stack) = (launch, stack);
        let (Some((_, start, _)), Some((row, from, to))) = (own, other) else { return detail };
        let Some((from, to)) = self.window.place(from, to) else { return detail };
        let start = self.window.place(start, start).map_or(0, |(start, _)| start);
        detail.row = u64::from(row) + 1;
        detail.since = if from <= start { 2 * (start - from) } else { 2 * (from - start) - 1 };
        detail.takes = to - from;
        detail
    }

    /// How a kernel was launched.
    fn launch(&mut self, op: OpId) -> u64 {
        let Some(op) = op.some() else { return 0 };
        let row = self.trace.ops.row(op);
        let key = [
            row.grid_x,
            row.grid_y,
            row.grid_z,
            row.block_x,
            row.block_y,
            row.block_z,
            row.registers,
            row.static_shared.saturating_add(row.dynamic_shared),
        ];
        if row.grid_x == 0 || (self.launches.len() >= LAUNCHES && !self.launches.contains_key(&key)) {
            return 0;
        }
        let launches = &mut self.stored.launches;
        *self.launches.entry(key).or_insert_with(|| {
            launches.push(launch_text(key));
            launches.len() as u64 - 1
        })
    }

    /// The stack of a call; the operator that made it if there is none.
    fn stack(&mut self, call: CallId) -> u64 {
        let Some(call) = call.some() else { return 0 };
        let row = self.trace.calls.row(call);
        if row.stack.is_none() {
            let Some(range) = row.range.some() else { return 0 };
            let name = self.trace.ranges.name[range.index()];
            if let Some(known) = self.ranges.get(&name) {
                return *known;
            }
            let frame = self.frame_text(self.trace.text(name).to_owned());
            let number = self.push_stack(frame.into_iter().collect());
            self.ranges.insert(name, number);
            return number;
        }
        if let Some(known) = self.stacks.get(&row.stack) {
            return *known;
        }
        let mut frames = Vec::new();
        let mut next = row.stack;
        while let Some(stack) = next.some().filter(|_| frames.len() < FRAMES) {
            let level = self.trace.stacks.row(stack);
            frames.extend(level.frame.some().and_then(|frame| self.frame(frame)));
            next = level.caller;
        }
        let number = self.push_stack(frames);
        self.stacks.insert(row.stack, number);
        number
    }

    fn push_stack(&mut self, frames: Vec<u32>) -> u64 {
        if frames.is_empty() {
            return 0;
        }
        self.text += 8 * frames.len();
        self.stored.stacks.push(frames);
        self.stored.stacks.len() as u64 - 1
    }

    fn frame(&mut self, id: FrameId) -> Option<u32> {
        if let Some(known) = self.frames.get(&id) {
            return Some(*known);
        }
        let frame = self.trace.frames.row(id);
        let file = match self.trace.text(frame.file) {
            "" => self.trace.text(frame.module),
            file => file,
        };
        let place = explain::Place {
            file: file.to_owned(),
            line: frame.line,
            function: self.trace.text(frame.function).to_owned(),
        };
        let number = self.frame_text(report::explanation::place_text(&place))?;
        self.frames.insert(id, number);
        Some(number)
    }

    /// A frame with that text; `None` if there is no room for more.
    fn frame_text(&mut self, text: String) -> Option<u32> {
        let text = shown(&text);
        self.text += text.len();
        (self.text < TEXT && !text.is_empty()).then(|| {
            self.stored.frames.push(text);
            self.stored.frames.len() as u32 - 1
        })
    }

    fn finish(self) -> Option<Data> {
        let stored = serde_json::to_vec(&self.stored).expect("numbers and strings always serialize");
        Some(Data::new("details", &stored, false))
    }
}

fn launch_text([gx, gy, gz, bx, by, bz, registers, shared]: [u32; 8]) -> String {
    let mut text = format!("grid {gx} × {gy} × {gz} · block {bx} × {by} × {bz}");
    if registers > 0 {
        text.push_str(&format!(" · {registers} registers"));
    }
    if shared > 0 {
        text.push_str(&format!(" · {} shared", report::units::bytes(i64::from(shared))));
    }
    text
}
