//! Turns rows into calls, operations and ranges of a trace.

use super::amount::{Size, Thousand, Time};
use super::columns::{Column, Printer, Rows, Table};
use super::number::{number, numbered};
use super::ops::{self, OpDraft};
use super::threads::{self, PrintedCall};
use crate::identities::Identities;
use crate::nsys::api_of;
use crate::{source, suffix};
use rustc_hash::FxHashMap;
use trace::{Api, Argument, Call, CallId, Ns, Range, RangeKind, Trace};

/// Times for which rebasing and subtraction cannot overflow, ns: 18 years.
const TIMES: std::ops::Range<Ns> = 0..1 << 59;

/// The largest rounding error of a printed time, ns: five digits of ten thousand seconds are at most half a second off.
const FURTHEST: Ns = 1_000_000_000;

/// How many of nvprof's warnings become notes.
const WARNINGS: usize = 8;

/// A trace under construction.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) trace: Trace,
    pub(super) ids: Identities,
    pub(super) devices: ops::Devices,
    /// The process of nvprof's last banner.
    process: i64,
    /// Calls that name no thread, by their process.
    unnamed: FxHashMap<i64, Vec<(CallId, PrintedCall)>>,
    /// Operations, whose processes and sizes are known only when all rows are read.
    asked: Vec<OpDraft>,
    /// The factor between nvprof's units, once a row shows it.
    thousand: Option<Thousand>,
}

impl Reader {
    /// Reads nvprof's message about a process.
    pub(super) fn banner(&mut self, process: i64, text: &str) {
        self.process = process;
        self.trace.meta.set_source(source::NVPROF);
        let command = text.split_once(", command: ").map(|(_, command)| command);
        if let Some(command) = command.filter(|_| self.trace.meta.command.is_empty()) {
            command.clone_into(&mut self.trace.meta.command);
        }
        let note = || format!("nvprof reports: {}", text.trim_start_matches("Warning:").trim());
        let notes = &mut self.trace.meta.notes;
        if text.starts_with("Warning:") && notes.len() < WARNINGS && !notes.contains(&note()) {
            notes.push(note());
        }
    }

    /// Counts a mark that replaces an unknown number of removed lines.
    pub(super) fn cut(&mut self) {
        self.trace.meta.lost.record("gap where lines were removed from the listing");
    }

    /// Counts a row that has too few or too many cells.
    pub(super) fn no_row(&mut self) {
        self.trace.meta.lost.record("row whose columns do not match its table");
    }

    /// Reads an event of a table.
    pub(super) fn row(&mut self, table: &Table, cells: &[String]) {
        self.trace.meta.set_source(match table.printer {
            Printer::Nvprof => source::NVPROF,
            Printer::Nsys => source::NSYS,
        });
        let Some(name) = table.cell(cells, Column::Name) else {
            return self.trace.meta.lost.record("row without a name");
        };
        // A row without a duration is an instant, such as a page fault; no table holds instants.
        if table.cell(cells, Column::Duration).is_none() {
            return self.trace.meta.leave_out(name.trim_matches(['[', ']']), 1);
        }
        let is_call = name.starts_with(|c| c != '[') && table.cell(cells, Column::Device).is_none();
        let read = match table.rows {
            Rows::Calls => self.call(table, cells, name),
            // nvprof's merged listing names no device for a call.
            Rows::Ops if is_call && table.printer == Printer::Nvprof => self.call(table, cells, name),
            Rows::Ops => self.op(table, cells, name),
            Rows::Ranges => self.range(table, cells, name),
        };
        if let Err(reason) = read {
            self.trace.meta.lost.record(reason);
        }
    }

    fn call(&mut self, table: &Table, cells: &[String], name: &str) -> Result<(), &'static str> {
        let (start, duration) = times(table, cells)?;
        let (function, kernel, launched) = launched(name);
        let api = api_of(function);
        let name = self.trace.strings.intern(suffix::strip(api, function));
        let correlation = number(table, cells, Column::Correlation).or(launched).unwrap_or(0);
        let result = number(table, cells, Column::Result).unwrap_or(0);
        let call = self.trace.calls.push(Call {
            start: start.ns,
            end: start.ns + duration.ns,
            api,
            name,
            correlation,
            // A code that does not fit is a failure too.
            result: i32::try_from(result).unwrap_or(i32::MAX),
            ..Call::default()
        });
        if let Some(kernel) = kernel {
            let kernel = self.trace.strings.intern(kernel);
            self.trace.arguments.push(Argument { call, kernel, ..Argument::default() });
        }
        let process = number(table, cells, Column::Process).unwrap_or(self.process);
        match number(table, cells, Column::Thread) {
            Some(thread) => {
                let thread = self.ids.thread(&mut self.trace, process, thread);
                self.trace.calls.thread[call] = thread;
                if let Some(name) = table.cell(cells, Column::ThreadName) {
                    self.trace.threads.name[thread] = self.trace.strings.intern(name);
                }
            }
            None => {
                let printed = PrintedCall {
                    start: start.ns,
                    end: start.ns + duration.ns,
                    start_half: start.half.min(FURTHEST),
                    duration_half: duration.half.min(FURTHEST),
                    driver: api == Api::Driver,
                };
                self.unnamed.entry(process).or_default().push((call, printed));
            }
        }
        Ok(())
    }

    fn op(&mut self, table: &Table, cells: &[String], name: &str) -> Result<(), &'static str> {
        let (start, duration) = times(table, cells)?;
        let Some(mut asked) = ops::read(&mut self.trace, table, cells, name) else {
            self.trace.meta.leave_out(name.trim_matches(['[', ']']), 1);
            return Ok(());
        };
        (asked.op.start, asked.op.end) = (start.ns, start.ns + duration.ns);
        asked.half = start.half.min(FURTHEST) + duration.half.min(FURTHEST);
        asked.device = self.devices.ordinal(table.cell(cells, Column::Device).unwrap_or_default());
        asked.process = number(table, cells, Column::Process);
        if table.printer == Printer::Nvprof {
            asked.process = Some(self.process);
            let rate = table.cell(cells, Column::Rate);
            let rate = rate.and_then(|rate| Size::parse(rate, table.unit(Column::Rate)));
            let told = asked.bytes.zip(rate).and_then(|(bytes, rate)| bytes.thousand(rate, duration.ns));
            self.thousand = self.thousand.or(told);
        } else {
            asked.thousand = Some(Thousand::Decimal);
        }
        self.asked.push(asked);
        Ok(())
    }

    fn range(&mut self, table: &Table, cells: &[String], name: &str) -> Result<(), &'static str> {
        let (start, duration) = times(table, cells)?;
        let thread = number(table, cells, Column::Thread).ok_or("range without a thread")?;
        let process = number(table, cells, Column::Process).unwrap_or(0);
        let thread = self.ids.thread(&mut self.trace, process, thread);
        // nsys prints the domain before the name; the default one is empty.
        let name = self.trace.strings.intern(name.strip_prefix(':').unwrap_or(name));
        let (start, end, kind) = (start.ns, start.ns + duration.ns, RangeKind::User);
        self.trace.ranges.push(Range { start, end, thread, kind, name, ..Range::default() });
        Ok(())
    }

    /// The trace, with what is known only when all rows are read.
    pub(super) fn done(mut self) -> Trace {
        self.name_threads();
        let thousand = self.thousand.unwrap_or(Thousand::Binary);
        let asked = std::mem::take(&mut self.asked);
        ops::place(&mut self.trace, &mut self.ids, asked, thousand);
        self.devices.describe(&mut self.trace, &mut self.ids);
        let Trace { meta, processes, .. } = &mut self.trace;
        if meta.source == source::NVPROF.id && processes.len() > 1 {
            let note = "Several processes are listed, each with its own clock: equal times in two processes are \
                        not simultaneous.";
            meta.notes.push(note.to_owned());
        }
        self.trace
    }

    /// Gives calls that name no thread an inferred one.
    fn name_threads(&mut self) {
        let mut processes: Vec<_> = self.unnamed.drain().collect();
        processes.sort_unstable_by_key(|(process, _)| *process);
        for (process, calls) in &processes {
            let mut printed: Vec<PrintedCall> = calls.iter().map(|(_, printed)| *printed).collect();
            let threads = threads::infer(&mut printed);
            for (((call, _), printed), number) in calls.iter().zip(printed).zip(threads) {
                let thread = self.ids.thread(&mut self.trace, *process, number as i64 + 1);
                let (rows, at) = (&mut self.trace.calls, call.index());
                (rows.thread[at], rows.start[at], rows.end[at]) = (thread, printed.start, printed.end);
            }
        }
        if !processes.is_empty() {
            let meta = &mut self.trace.meta;
            meta.threads_inferred = true;
            let note = "The listing names no threads: they are inferred from calls that overlap, and one \
                        may stand for several.";
            meta.notes.push(note.to_owned());
        }
    }
}

/// Start and duration of a row.
fn times(table: &Table, cells: &[String]) -> Result<(Time, Time), &'static str> {
    let time = |column| {
        let text = table.cell(cells, column)?;
        Time::parse(text, table.time_unit(column)).filter(|time| TIMES.contains(&time.ns))
    };
    let start = time(Column::Start).ok_or("row whose start is not a time")?;
    Ok((start, time(Column::Duration).ok_or("row whose duration is not a time")?))
}

/// The function of `cudaLaunchKernel (scale(float*) [423])`, its kernel, and the id that nvprof gives launches.
fn launched(name: &str) -> (&str, Option<&str>, Option<i64>) {
    let Some((function, launch)) = name.split_once(" (") else { return (name, None, None) };
    match launch.strip_suffix(')').map(numbered) {
        Some((kernel, Some(id))) => (function, Some(kernel), Some(id)),
        _ => (function, None, None),
    }
}
