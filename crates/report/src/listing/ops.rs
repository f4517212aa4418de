//! The listing of GPU operations.

use super::calls::op_names;
use super::cell::{Cell, nonzero};
use super::format::Format;
use super::order::{Order, Sort};
use super::write::Align::{Left, Right};
use super::write::Column;
use crate::labels::{Chosen, OpName};
use std::collections::BTreeMap;
use trace::{MemoryKind, OpKind, Selection, Trace};

/// Values that are looked up once for all rows.
pub(super) struct Listing<'a> {
    trace: &'a Trace,
    names: BTreeMap<OpName, String>,
}

/// The selected operations in that order.
pub(super) fn rows(trace: &Trace, selection: &Selection, order: Order) -> Vec<u32> {
    let (chosen, ops) = (Chosen::new(trace, selection), &trace.ops);
    let rows = (0..ops.len() as u32).filter(|&at| chosen.op(at as usize));
    let time = |row: u32| (ops.start[row as usize], ops.end[row as usize]);
    let names = match order.sort {
        Sort::Name => op_names(trace, Format::Csv),
        Sort::Start | Sort::Duration => BTreeMap::new(),
    };
    order.of(rows, time, |row| &names[&OpName::of(trace, row as usize)])
}

impl<'a> Listing<'a> {
    pub(super) fn new(trace: &'a Trace, format: Format) -> Listing<'a> {
        Listing { trace, names: op_names(trace, format) }
    }

    /// `cell` for kernels, nothing for other operations.
    fn of_kernel(&self, row: usize, cell: Cell<'a>) -> Cell<'a> {
        if self.trace.ops.kind[row] == OpKind::Kernel { cell } else { Cell::Empty }
    }

    fn duration(&self, row: usize) -> i64 {
        self.trace.ops.end[row] - self.trace.ops.start[row]
    }

    fn device(&self, row: usize) -> Cell<'a> {
        let device = self.trace.device_of_stream(self.trace.ops.stream[row]).some();
        device.map_or(Cell::Empty, |device| Cell::Int(self.trace.devices.ordinal[device.index()]))
    }

    fn context(&self, row: usize) -> Cell<'a> {
        let context = self.trace.context_of_stream(self.trace.ops.stream[row]).some();
        context.map_or(Cell::Empty, |context| Cell::Int(self.trace.contexts.number[context.index()]))
    }

    fn stream(&self, row: usize) -> Cell<'a> {
        let stream = self.trace.ops.stream[row].some();
        stream.map_or(Cell::Empty, |stream| Cell::Int(self.trace.streams.number[stream.index()]))
    }

    fn process(&self, row: usize) -> Cell<'a> {
        let process = self.trace.process_of_stream(self.trace.ops.stream[row]).some();
        process.map_or(Cell::Empty, |process| Cell::Int(self.trace.processes.pid[process.index()]))
    }
}

fn memory<'a>(kind: MemoryKind) -> Cell<'a> {
    if kind == MemoryKind::Unknown { Cell::Empty } else { Cell::Text(kind.name()) }
}

fn shared<'a>(bytes: u32) -> Cell<'a> {
    if bytes == 0 { Cell::Empty } else { Cell::Bytes(bytes.into()) }
}

/// The columns, in nvprof's order.
pub(super) fn columns<'t>() -> Vec<Column<Listing<'t>>> {
    let mut columns = vec![
        Column::both("Start (s)", "start_ns", Right, |list: &Listing<'t>, row| {
            Cell::Time(list.trace.ops.start[row])
        }),
        Column::both("Duration", "duration_ns", Right, |list, row| Cell::Duration(list.duration(row))),
        Column::programs("kind", |list, row| Cell::Text(list.trace.ops.kind[row].name())),
    ];
    columns.extend(launch_columns());
    columns.extend(copy_columns());
    columns.extend(place_columns());
    columns.push(Column::both("Name", "name", Left, |list, row| {
        Cell::Text(&list.names[&OpName::of(list.trace, row)])
    }));
    columns
}

/// How a kernel was launched.
fn launch_columns<'t>() -> [Column<Listing<'t>>; 14] {
    macro_rules! number {
        ($column:ident) => {
            Column::programs(stringify!($column), |list: &Listing<'t>, row| {
                list.of_kernel(row, Cell::Int(list.trace.ops.$column[row].into()))
            })
        };
    }
    [
        Column::people("Grid Size", Right, |list: &Listing<'t>, row| {
            let ops = &list.trace.ops;
            list.of_kernel(row, Cell::Size([ops.grid_x[row], ops.grid_y[row], ops.grid_z[row]]))
        })
        .spare(3),
        Column::people("Block Size", Right, |list: &Listing<'t>, row| {
            let ops = &list.trace.ops;
            list.of_kernel(row, Cell::Size([ops.block_x[row], ops.block_y[row], ops.block_z[row]]))
        })
        .spare(3),
        number!(grid_x),
        number!(grid_y),
        number!(grid_z),
        number!(block_x),
        number!(block_y),
        number!(block_z),
        number!(registers),
        number!(static_shared),
        number!(dynamic_shared),
        Column::people("Regs", Right, |list: &Listing<'t>, row| {
            nonzero(list.trace.ops.registers[row].into())
        })
        .spare(4),
        Column::people("SSMem", Right, |list: &Listing<'t>, row| shared(list.trace.ops.static_shared[row]))
            .spare(4),
        Column::people("DSMem", Right, |list: &Listing<'t>, row| shared(list.trace.ops.dynamic_shared[row]))
            .spare(4),
    ]
}

/// Columns of copies and fills.
fn copy_columns<'t>() -> [Column<Listing<'t>>; 7] {
    [
        Column::people("Size", Right, |list, row| match list.trace.ops.kind[row] {
            OpKind::Copy | OpKind::Memset => Cell::Bytes(list.trace.ops.bytes[row]),
            OpKind::Kernel | OpKind::Graph | OpKind::Unknown => Cell::Empty,
        }),
        Column::programs("bytes", |list, row| match list.trace.ops.kind[row] {
            OpKind::Copy | OpKind::Memset => Cell::Int(list.trace.ops.bytes[row]),
            OpKind::Kernel | OpKind::Graph | OpKind::Unknown => Cell::Empty,
        }),
        Column::people("Throughput", Right, |list: &Listing<'t>, row| {
            Cell::Rate(list.trace.ops.bytes[row], list.duration(row))
        })
        .spare(2),
        Column::programs("copy", |list, row| match list.trace.ops.kind[row] {
            OpKind::Copy => Cell::Text(list.trace.ops.copy[row].name()),
            _ => Cell::Empty,
        }),
        Column::both("SrcMemType", "src", Left, |list: &Listing<'t>, row| memory(list.trace.ops.src[row]))
            .spare(2),
        Column::both("DstMemType", "dst", Left, |list: &Listing<'t>, row| memory(list.trace.ops.dst[row]))
            .spare(2),
        Column::programs("graph_node", |list, row| nonzero(list.trace.ops.graph_node[row])),
    ]
}

/// Where it ran, and by which call: its correlation id is that call's. People get device and context only where there are several.
fn place_columns<'t>() -> [Column<Listing<'t>>; 7] {
    [
        Column::programs("pid", |list: &Listing<'t>, row| list.process(row)),
        Column::people("Device", Right, |list, row| match list.trace.devices.len() {
            0 | 1 => Cell::Empty,
            _ => list.device(row),
        }),
        Column::programs("device", |list, row| list.device(row)),
        Column::people("Context", Right, |list, row| match list.trace.contexts.len() {
            0 | 1 => Cell::Empty,
            _ => list.context(row),
        }),
        Column::programs("context", |list, row| list.context(row)),
        Column::both("Stream", "stream", Right, |list, row| list.stream(row)),
        Column::both("Corr", "correlation", Right, |list: &Listing<'t>, row| {
            nonzero(list.trace.ops.correlation[row])
        })
        .spare(1),
    ]
}
