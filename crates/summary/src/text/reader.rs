//! Puts the rows of tables into summaries: decides where a profile begins, and which kind of rows a table has.

use super::cells::{self, Values};
use super::line::{is_cut, is_rule};
use super::malformed::Malformed;
use super::names::{is_call, is_overhead, work};
use super::section::{Notice, Part, notice};
use super::title::{Column, Titles};
use crate::model::{Operator, Row, Summary, Tool, Work, WorkKind};
use trace::Ns;

/// Lines that a terminal or a forum makes of one, at most.
const WRAPPED: usize = 4;

/// The titles of nvprof's summary, for rows whose titles were not copied.
const OF_NVPROF: &str = "Type  Time(%)  Time  Calls  Avg  Min  Max  Name";

/// A text as far as it was read.
#[derive(Default)]
pub(super) struct Reader {
    summaries: Vec<Summary>,
    titles: Option<Titles>,
    /// Kind of the next rows, where a heading or a row names it.
    part: Option<(Tool, Part)>,
    /// Kinds of tables that the last summary has.
    filled: Vec<Part>,
    /// The first titles of all.
    first: Option<(usize, Tool)>,
}

impl Reader {
    /// Takes what the first of `lines` begins, and returns its number of lines. `number` is that of the first.
    pub(super) fn take(&mut self, lines: &[String], number: usize) -> usize {
        let line = &lines[0];
        if line.trim().is_empty() || (is_rule(line) && !line.contains("...")) {
            return 1;
        }
        if let Some(notice) = notice(line) {
            self.notice(notice, number);
            return 1;
        }
        if let Some(taken) = self.titles(lines, number) {
            return taken;
        }
        if self.titles.is_none() && begins_without_titles(line) {
            self.table(Titles::of(OF_NVPROF).expect("they are titles"), number);
        }
        self.row(lines)
    }

    fn notice(&mut self, notice: Notice, number: usize) {
        match notice {
            Notice::Begin(tool, span_ns) => {
                self.begin(tool, number);
                self.part = (tool == Tool::Nvprof).then_some((tool, Part::Work));
                self.last(tool, number).span_ns = span_ns;
            }
            Notice::Part(tool, part) | Notice::Empty(tool, part) => {
                let is_again =
                    self.filled.contains(&part) || self.summaries.last().is_none_or(|last| last.tool != tool);
                if tool == Tool::Julia && is_again {
                    self.begin(tool, number);
                }
                self.part = Some((tool, part));
                self.titles = None;
                if matches!(notice, Notice::Empty(..)) || tool == Tool::Julia {
                    self.has(tool, part, number);
                }
            }
            Notice::Host(ns) | Notice::Device(ns) => {
                let Some(last) = self.summaries.last_mut().filter(|last| last.tool == Tool::Torch) else {
                    return;
                };
                match notice {
                    Notice::Host(_) => last.host_ns = Some(ns),
                    // Older tables add up nested times: that is no sum of work.
                    _ => last.device_ns = Some(ns).filter(|_| last.has_work),
                }
            }
        }
    }

    /// Begins a summary.
    fn begin(&mut self, tool: Tool, number: usize) {
        self.summaries.push(Summary::new(tool, number));
        self.filled.clear();
        self.titles = None;
    }

    /// The last summary, of `tool`.
    fn last(&mut self, tool: Tool, number: usize) -> &mut Summary {
        if self.summaries.last().is_none_or(|last| last.tool != tool) {
            self.begin(tool, number);
        }
        self.summaries.last_mut().expect("one has begun")
    }

    /// Remembers that the last summary has a table of this kind.
    fn has(&mut self, tool: Tool, part: Part, number: usize) {
        let last = self.last(tool, number);
        last.has_calls |= part == Part::Calls;
        last.has_work |= matches!(part, Part::Work | Part::Kernels | Part::Copies);
        self.filled.push(part);
    }

    /// Takes titles, which may go on in further lines; ends the last table at titles that are of no sums.
    fn titles(&mut self, lines: &[String], number: usize) -> Option<usize> {
        if !Titles::may_begin(&lines[0]) {
            return None;
        }
        let mut found: Option<(Titles, usize)> = None;
        for between in [" ", ""] {
            let mut joined = String::new();
            let with_words = lines.iter().take(WRAPPED).take_while(|line| !line.trim().is_empty());
            for (at, line) in with_words.enumerate() {
                joined.push_str(if at > 0 { between } else { "" });
                joined.push_str(line);
                let is_longer = found.as_ref().is_none_or(|(_, taken)| *taken < at + 1);
                found = Titles::of(&joined).filter(|_| is_longer).map(|titles| (titles, at + 1)).or(found);
            }
        }
        match found {
            Some((titles, taken)) => {
                self.table(titles, number);
                Some(taken)
            }
            // Titles of a table that has no sums.
            None if Titles::begin(&lines[0]) => {
                self.titles = None;
                Some(1)
            }
            None => None,
        }
    }

    /// Begins a table, and a summary if the last one has such a table.
    fn table(&mut self, titles: Titles, number: usize) {
        let tool = titles.tool;
        self.first = self.first.or(Some((number, tool)));
        let heading = self.part.filter(|(of, _)| *of == tool).map(|(_, part)| part);
        let part = match tool {
            Tool::Torch => Some(Part::Operators),
            Tool::Nvprof if titles.columns.contains(&Column::Type) => None,
            Tool::Nvprof if titles.columns.contains(&Column::Size) => Some(Part::Pages),
            Tool::Nvprof | Tool::Julia => heading,
            Tool::Nsys => heading.or(match titles.count.as_str() {
                "instances" => Some(Part::Kernels),
                "operations" | "count" => Some(Part::Copies),
                _ => None,
            }),
        };
        let is_again = match part {
            // nvprof's table of calls and work.
            None if tool == Tool::Nvprof => self.summaries.last().is_some_and(|last| !last.is_empty()),
            part => tool != Tool::Julia && part.is_some_and(|part| self.filled.contains(&part)),
        };
        if is_again {
            self.begin(tool, number);
        }
        match part {
            Some(part) => self.has(tool, part, number),
            None => _ = self.last(tool, number),
        }
        if tool == Tool::Torch {
            self.last(tool, number).has_work |= titles.columns.contains(&Column::SelfDevice);
        }
        self.part = part.map(|part| (tool, part));
        self.titles = Some(titles);
    }

    /// Takes a row, which may go on in further lines.
    fn row(&mut self, lines: &[String]) -> usize {
        let Some(titles) = self.titles.take() else { return 1 };
        let marked = |line: &str| match titles.mark {
            Some(mark) => line.trim_start().trim_start_matches(mark).to_owned(),
            None => line.to_owned(),
        };
        let first = marked(&lines[0]);
        let begins = cells::begins(&first, &titles);
        let most = if begins { WRAPPED.min(lines.len()) } else { 1 };
        let mut taken = None;
        'joined: for between in [" ", ""] {
            let mut joined = first.clone();
            for (at, next) in lines.iter().enumerate().take(most) {
                if at > 0 {
                    joined.push_str(between);
                    joined.push_str(marked(next).trim_start());
                }
                if let Some(values) = cells::row(&joined, &titles) {
                    taken = Some((values, at + 1));
                    break 'joined;
                }
            }
        }
        let count = match taken {
            Some((values, count)) => {
                self.add(values, &titles);
                count
            }
            None => {
                let last = self.last(titles.tool, 1);
                last.is_cut |= is_cut(&first);
                last.unread += u64::from(begins);
                1
            }
        };
        self.titles = Some(titles);
        count
    }

    /// Adds a row to the last summary.
    fn add(&mut self, values: Values, titles: &Titles) {
        let tool = titles.tool;
        if tool == Tool::Torch {
            add_to_torch(self.last(tool, 1), values);
            return;
        }
        let named = match values.first.trim_end_matches([':', ' ']) {
            "GPU activities" => Some(Part::Work),
            "API calls" => Some(Part::Calls),
            "" => None,
            _ => Some(Part::Other),
        };
        if let Some(part) = named.filter(|_| tool == Tool::Nvprof) {
            self.part = Some((tool, part));
            self.has(tool, part, 1);
        }
        let part = self.part.map_or_else(|| by_name(&values.name, tool, titles), |(_, part)| part);
        let Some(total_ns) = values.total_ns else { return };
        let count = values.count.unwrap_or(1);
        let max_ns = values.max_ns.or((count == 1).then_some(total_ns));
        let row = Row { name: values.name, count, total_ns, max_ns };
        if self.part.is_none() && !self.filled.contains(&part) {
            self.has(tool, part, 1);
        }
        let last = self.last(tool, 1);
        match part {
            Part::Calls => put(&mut last.calls, row, titles.is_trace),
            Part::Os => put(&mut last.os, row, false),
            Part::Kernels | Part::Copies | Part::Work | Part::Pages => {
                let kind = work(&row.name);
                add_work(&mut last.work, Work { row, kind }, titles.is_trace);
            }
            Part::Operators | Part::Other => {}
        }
    }

    /// The summaries that have rows.
    pub(super) fn done(self) -> Result<Vec<Summary>, Malformed> {
        let mut summaries = self.summaries;
        summaries.retain(|summary| !summary.is_empty());
        for summary in &mut summaries {
            without_marks(summary);
        }
        match self.first.filter(|_| summaries.is_empty()) {
            Some((line, tool)) => Err(Malformed { line, tool: title(tool) }),
            None => Ok(summaries),
        }
    }
}

/// The name of a tool for people.
fn title(tool: Tool) -> &'static str {
    match tool {
        Tool::Torch => "PyTorch's profiler",
        Tool::Nvprof => "nvprof",
        Tool::Nsys => "nsys",
        Tool::Julia => "CUDA.jl",
    }
}

/// Whether a line is a row of nvprof's that tells its kind.
fn begins_without_titles(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("GPU activities:") || line.starts_with("API calls:")
}

/// Kind of a row below no heading.
fn by_name(name: &str, tool: Tool, titles: &Titles) -> Part {
    match tool {
        _ if is_call(name) => Part::Calls,
        Tool::Nsys if titles.count.contains("calls") => Part::Os,
        Tool::Nsys | Tool::Nvprof | Tool::Julia => Part::Work,
        Tool::Torch => Part::Operators,
    }
}

/// Adds a row; in a table of events, to the row of its name.
fn put(rows: &mut Vec<Row>, row: Row, is_trace: bool) {
    match rows.iter_mut().find(|known| is_trace && known.name == row.name) {
        Some(known) => merge(known, &row),
        None => rows.push(row),
    }
}

fn add_work(works: &mut Vec<Work>, work: Work, is_trace: bool) {
    match works.iter_mut().find(|known| is_trace && known.row.name == work.row.name) {
        Some(known) => merge(&mut known.row, &work.row),
        None => works.push(work),
    }
}

fn merge(known: &mut Row, row: &Row) {
    known.count = known.count.saturating_add(row.count);
    known.total_ns = known.total_ns.saturating_add(row.total_ns);
    known.max_ns = known.max_ns.max(row.max_ns);
}

/// Adds a row of PyTorch's table: an operator, a call, or work of the GPU, which has no time on the host.
fn add_to_torch(summary: &mut Summary, values: Values) {
    let on_host: Ns = values.self_host_ns.unwrap_or(0).max(values.total_host_ns.unwrap_or(0));
    let on_device = values.self_device_ns.or(values.total_device_ns).unwrap_or(0);
    let (name, count) = (values.name, values.count.unwrap_or(0));
    if is_call(&name) || is_overhead(&name) {
        let total_ns = values.self_host_ns.or(values.total_host_ns).unwrap_or(0);
        let max_ns = (count == 1).then_some(total_ns);
        summary.has_calls = true;
        summary.calls.push(Row { name, count, total_ns, max_ns });
    } else if on_host == 0 && on_device > 0 {
        let kind = work(&name);
        let max_ns = (count == 1).then_some(on_device);
        summary.work.push(Work { row: Row { name, count, total_ns: on_device, max_ns }, kind });
    } else {
        let total_ns = values.total_host_ns.or(values.self_host_ns).unwrap_or(0);
        let self_ns = values.self_host_ns.unwrap_or(0);
        summary.operators.push(Operator { name, count, self_ns, total_ns, device_ns: values.self_device_ns });
    }
}

/// Removes rows that are no kernels: PyTorch's tables repeat ranges of the program as work of the GPU.
fn without_marks(summary: &mut Summary) {
    let operators = &summary.operators;
    let is_mark = |work: &Work| {
        let name = &work.row.name;
        let is_range = operators.iter().any(|operator| operator.name == *name);
        let is_named = name == "ProfilerStep*" || name.starts_with("nccl:") || name.starts_with("c10d::");
        work.kind == WorkKind::Kernel && (is_range || is_named)
    };
    summary.work.retain(|work| summary.tool != Tool::Torch || !is_mark(work));
}
