//! The listing of host calls.

use super::cell::{Cell, nonzero};
use super::format::Format;
use super::order::Order;
use super::write::Align::{Left, Right};
use super::write::Column;
use crate::escape::Names;
use crate::labels::{self, Chosen, OpName};
use std::collections::BTreeMap;
use trace::{OpId, Selection, Sym, Trace};

/// Values that are looked up once for all rows.
pub(super) struct Listing<'a> {
    trace: &'a Trace,
    /// Only people need harmless text; programs get it as it is.
    names: Option<Names<'a>>,
    threads: Vec<String>,
    /// The first operation of each call, and how many it has.
    ops: Vec<(OpId, u32)>,
    op_names: BTreeMap<OpName, String>,
}

/// The selected calls in that order.
pub(super) fn rows(trace: &Trace, selection: &Selection, order: Order) -> Vec<u32> {
    let (chosen, calls) = (Chosen::new(trace, selection), &trace.calls);
    let rows = (0..calls.len() as u32).filter(|&at| chosen.call(at as usize));
    let time = |row: u32| (calls.start[row as usize], calls.end[row as usize]);
    order.of(rows, time, |row| trace.text(calls.name[row as usize]))
}

impl<'a> Listing<'a> {
    pub(super) fn new(trace: &'a Trace, format: Format) -> Listing<'a> {
        let mut ops = vec![(OpId::NONE, 0); trace.calls.len()];
        for op in trace.ops.ids() {
            if let Some(call) = trace.ops.call[op.index()].some() {
                let (first, number) = &mut ops[call.index()];
                *first = first.some().unwrap_or(op);
                *number += 1;
            }
        }
        Listing {
            trace,
            names: matches!(format, Format::Text(_)).then(|| Names::new(&trace.strings)),
            threads: labels::threads(trace),
            ops,
            op_names: op_names(trace, format),
        }
    }

    fn name(&self, name: Sym) -> &str {
        self.names.as_ref().map_or_else(|| self.trace.text(name), |names| names.text(name))
    }

    fn op(&self, call: usize) -> Option<usize> {
        self.ops[call].0.some().map(OpId::index)
    }

    fn thread(&self, call: usize) -> Option<usize> {
        self.trace.calls.thread[call].some().map(|thread| thread.index())
    }
}

/// The text of every name that operations of the trace have.
pub(super) fn op_names(trace: &Trace, format: Format) -> BTreeMap<OpName, String> {
    let mut names = BTreeMap::new();
    for at in 0..trace.ops.len() {
        let name = OpName::of(trace, at);
        names.entry(name).or_insert_with(|| match format {
            Format::Text(_) => crate::escape::visible(&name.text(trace)).into_owned(),
            Format::Csv | Format::Json => name.text(trace),
        });
    }
    names
}

/// The columns, in order.
pub(super) fn columns<'t>() -> Vec<Column<Listing<'t>>> {
    vec![
        Column::both("Start (s)", "start_ns", Right, |list, row| Cell::Time(list.trace.calls.start[row])),
        Column::both("Duration", "duration_ns", Right, |list, row| {
            Cell::Duration(list.trace.calls.end[row] - list.trace.calls.start[row])
        }),
        Column::people("Thread", Left, |list, row| {
            list.thread(row).map_or(Cell::Empty, |thread| Cell::Text(&list.threads[thread]))
        }),
        Column::programs("pid", |list, row| {
            let process = list.trace.process_of_thread(list.trace.calls.thread[row]).some();
            process.map_or(Cell::Empty, |process| Cell::Int(list.trace.processes.pid[process.index()]))
        }),
        Column::programs("tid", |list, row| {
            list.thread(row).map_or(Cell::Empty, |thread| Cell::Int(list.trace.threads.tid[thread]))
        }),
        Column::programs("thread", |list, row| {
            let name = |thread: usize| list.name(list.trace.threads.name[thread]);
            list.thread(row).map_or(Cell::Empty, |thread| Cell::Text(name(thread)))
        }),
        Column::both("Corr", "correlation", Right, |list: &Listing<'t>, row| {
            nonzero(list.trace.calls.correlation[row])
        })
        .spare(1),
        Column::people("Result", Right, |list, row| nonzero(list.trace.calls.result[row].into())),
        Column::programs("result", |list, row| Cell::Int(list.trace.calls.result[row].into())),
        Column::programs("api", |list, row| Cell::Text(list.trace.calls.api[row].name())),
        Column::both("Name", "name", Left, |list, row| Cell::Text(list.name(list.trace.calls.name[row]))),
        Column::people("Ops", Right, |list, row| match list.ops[row].1 {
            0..2 => Cell::Empty,
            several => Cell::Int(several.into()),
        }),
        Column::programs("ops", |list, row| Cell::Int(list.ops[row].1.into())),
        Column::programs("op_start_ns", |list, row| {
            list.op(row).map_or(Cell::Empty, |op| Cell::Time(list.trace.ops.start[op]))
        }),
        Column::programs("op_duration_ns", |list, row| {
            let duration = |op: usize| list.trace.ops.end[op] - list.trace.ops.start[op];
            list.op(row).map_or(Cell::Empty, |op| Cell::Duration(duration(op)))
        }),
        Column::both("GPU operation", "op", Left, |list, row| {
            let name = |op| &list.op_names[&OpName::of(list.trace, op)];
            list.op(row).map_or(Cell::Empty, |op| Cell::Text(name(op)))
        }),
    ]
}
