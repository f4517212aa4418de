//! GPU operations of printed rows: their values, their process and their GPU.

use super::amount::{Size, Thousand};
use super::columns::{Column, Table};
use super::number::{number, numbered};
use crate::identities::Identities;
use rustc_hash::FxHashMap;
use trace::{CopyKind, MemoryKind, Ns, Op, OpKind, Trace};

/// An operation whose stream and size are known only when all rows are read.
#[derive(Default)]
pub(super) struct OpDraft {
    pub(super) op: Op,
    pub(super) bytes: Option<Size>,
    /// Sizes per block: static and dynamic shared memory.
    shared: [Option<Size>; 2],
    /// The factor between units in these sizes, if it is known for the printer.
    pub(super) thousand: Option<Thousand>,
    /// Its process, if the row or its table names one.
    pub(super) process: Option<i64>,
    pub(super) device: i64,
    context: i64,
    stream: i64,
    /// The largest rounding error of the printed times, ns.
    pub(super) half: Ns,
}

/// The values of an operation's row, except its times; `None` if the row is something else.
pub(super) fn read(trace: &mut Trace, table: &Table, cells: &[String], name: &str) -> Option<OpDraft> {
    let cell = |column| table.cell(cells, column);
    let int = |column| number(table, cells, column);
    let size = |column| Size::parse(cell(column)?, table.unit(column));
    let memory = |column| cell(column).map_or(MemoryKind::Unknown, memory);
    let (plain, launched) = numbered(name);
    let correlation = int(Column::Correlation).or(launched).unwrap_or(0);
    let mut op = Op { correlation, ..Op::default() };
    (op.src, op.dst) = (memory(Column::Source), memory(Column::Destination));
    match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(what) => {
            (op.kind, op.copy) = move_of(what)?;
            // For a fill, both printers name one kind of memory, in the first column.
            if op.kind == OpKind::Memset && op.dst == MemoryKind::Unknown {
                (op.src, op.dst) = (MemoryKind::Unknown, op.src);
            }
        }
        None => {
            op.kind = OpKind::Kernel;
            op.name = trace.strings.intern(plain);
        }
    }
    let triple = |whole, parts: [Column; 3]| match cell(whole) {
        Some(text) => sides(text),
        None => parts.map(|column| int(column).and_then(|side| u32::try_from(side).ok()).unwrap_or(0)),
    };
    [op.grid_x, op.grid_y, op.grid_z] = triple(Column::Grid, [Column::GridX, Column::GridY, Column::GridZ]);
    [op.block_x, op.block_y, op.block_z] =
        triple(Column::Block, [Column::BlockX, Column::BlockY, Column::BlockZ]);
    op.registers = int(Column::Registers).and_then(|count| u32::try_from(count).ok()).unwrap_or(0);
    Some(OpDraft {
        op,
        bytes: size(Column::Size),
        shared: [size(Column::StaticShared), size(Column::DynamicShared)],
        context: int(Column::Context).unwrap_or(0),
        stream: int(Column::Stream).unwrap_or(0),
        ..OpDraft::default()
    })
}

/// A copy or a fill: `CUDA memcpy HtoD`, `CUDA memcpy Host-to-Device`, `Unified Memory Memcpy DtoH`.
fn move_of(what: &str) -> Option<(OpKind, CopyKind)> {
    let lower = what.to_ascii_lowercase();
    if lower.contains("memset") {
        return Some((OpKind::Memset, CopyKind::Unknown));
    }
    if !lower.contains("memcpy") {
        return None;
    }
    let direction = what.rsplit(' ').next().unwrap_or_default();
    let short = match direction.split_once("-to-") {
        Some((from, to)) => {
            let first = |end: &str| end.chars().next().map(String::from).unwrap_or_default();
            format!("{}to{}", first(from), first(to))
        }
        None => direction.to_owned(),
    };
    let unified = if lower.contains("unified") { "unified " } else { "" };
    Some((OpKind::Copy, CopyKind::from_name(&format!("{unified}{short}"))))
}

fn memory(text: &str) -> MemoryKind {
    match text {
        "Unified" => MemoryKind::Managed,
        _ => MemoryKind::from_name(&text.to_ascii_lowercase().replace(['-', '_'], " ")),
    }
}

/// The three sides of `(16 8 1)`.
fn sides(text: &str) -> [u32; 3] {
    let mut sides = text.trim_matches(['(', ')']).split_whitespace().map(|side| side.parse().unwrap_or(0));
    std::array::from_fn(|_| sides.next().unwrap_or(0))
}

/// Adds the operations to their streams, each with its sizes in bytes. The operations of a stream do not overlap: a
/// start is moved by up to its rounding error.
pub(super) fn place(trace: &mut Trace, ids: &mut Identities, asked: Vec<OpDraft>, thousand: Thousand) {
    let of_calls = Processes::new(trace);
    let mut ends = FxHashMap::default();
    for OpDraft { mut op, bytes, shared, thousand: own, process, device, context, stream, half } in asked {
        let Some(process) = process.or_else(|| of_calls.of(op.correlation)) else {
            trace.meta.lost.record("GPU operation that names no process in a listing of several");
            continue;
        };
        let size =
            |size: Option<Size>| size.and_then(|size| size.bytes(own.unwrap_or(thousand))).unwrap_or(0);
        let small = |bytes: i64| u32::try_from(bytes).unwrap_or(0);
        op.bytes = size(bytes);
        [op.static_shared, op.dynamic_shared] = shared.map(|shared| small(size(shared)));
        op.stream = ids.stream(trace, process, device, context, stream);
        let (end, end_half) = ends.get(&op.stream).copied().unwrap_or((op.start, 0));
        let hidden = Ns::max(end - op.start, 0);
        if hidden <= half + end_half {
            (op.start, op.end) = (op.start + hidden, op.end + hidden);
        }
        ends.insert(op.stream, (op.end, half));
        trace.ops.push(op);
    }
}

/// The process of an operation whose row names none: nsys's reports of GPUs name no process.
struct Processes {
    only: Option<i64>,
    /// The process of each correlation id; `None` if several processes use it.
    by_call: FxHashMap<i64, Option<i64>>,
}

impl Processes {
    fn new(trace: &Trace) -> Processes {
        let only = match trace.processes.pid[..] {
            [] => Some(0),
            [pid] => Some(pid),
            _ => None,
        };
        let mut by_call = FxHashMap::default();
        if only.is_none() {
            for (correlation, thread) in trace.calls.correlation.iter().zip(&trace.calls.thread) {
                let process = trace.process_of_thread(*thread).some();
                let pid = process.map(|process| trace.processes.pid[process]);
                let known = by_call.entry(*correlation).or_insert(pid);
                *known = known.filter(|known| Some(*known) == pid);
            }
        }
        Processes { only, by_call }
    }

    fn of(&self, correlation: i64) -> Option<i64> {
        self.only.or_else(|| self.by_call.get(&correlation).copied().flatten())
    }
}

/// The GPUs by name: `Tesla V100 (0)` has the GPU's number; `Tesla P100-PCIE` is only a name, cut to fifteen columns.
#[derive(Default)]
pub(super) struct Devices {
    known: Vec<(String, i64)>,
}

impl Devices {
    /// The number of the GPU of that name.
    pub(super) fn ordinal(&mut self, name: &str) -> i64 {
        if let Some((_, ordinal)) = self.known.iter().find(|(known, _)| known == name) {
            return *ordinal;
        }
        let stated = name.rsplit_once(" (").and_then(|(_, number)| number.strip_suffix(')')?.parse().ok());
        let next = || self.known.iter().map(|(_, ordinal)| ordinal + 1).max().unwrap_or(0);
        let ordinal = stated.filter(|ordinal| (0..1 << 20).contains(ordinal)).unwrap_or_else(next);
        self.known.push((name.to_owned(), ordinal));
        ordinal
    }

    /// Names the GPUs of the trace.
    pub(super) fn describe(&self, trace: &mut Trace, ids: &mut Identities) {
        for (name, ordinal) in &self.known {
            let row = ids.device(trace, *ordinal).index();
            let plain = name.strip_suffix(&format!(" ({ordinal})")).unwrap_or(name);
            trace.devices.name[row] = trace.strings.intern(plain);
        }
    }
}
