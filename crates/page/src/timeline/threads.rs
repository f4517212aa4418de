//! The rows of threads: their ranges, calls, and the time that they lost.

use super::labels::Moved;
use super::lanes::{Builder, Kind, Lane, MOST_CALLS_DEEP, Row, one};
use super::levels::Block;
use explain::{About, Explanation, Loss, Nature};
use report::units;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use trace::{CallId, CopyKind, Ns, OpKind, ProcessId, RangeKind, ThreadId, Trace};

/// Most lanes for nested ranges. Python functions are not drawn, because they nest by the dozen.
const MOST_RANGES_DEEP: usize = 4;

/// Threads of alike names in a process that make a team, which the page can fold. A choice: two rows are read as easily.
const TEAM: usize = 3;

impl Builder<'_, '_> {
    /// Adds a row for each thread, with its ranges, calls and losses.
    pub(super) fn threads(&mut self, losses: &[Loss]) {
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
        // The threads of a team follow its first one.
        let first = |at: usize| teams.get(&at).map_or(at, |team| team.first);
        shown.sort_by_key(|at| (trace.threads.process[*at], first(*at), *at));
        self.lanes.row_of_thread = vec![None; threads];
        for at in &shown {
            self.lanes.row_of_thread[*at] = Some(self.lanes.rows.len() as u32);
            let mut row = self.thread(ThreadId::new(*at), lost[*at]);
            if let Some(team) = teams.get(at) {
                row.team = crate::html::shown(&team.name);
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
}

/// Threads of one process whose names differ at most in numbers, as those of a pool do.
struct Team {
    first: usize,
    /// Their name, with `#` for numbers that differ.
    name: String,
}

/// The team of each of some threads that has one.
fn teams(trace: &Trace, threads: &[usize]) -> FxHashMap<usize, Rc<Team>> {
    let name = |at: usize| trace.text(trace.threads.name[at]);
    let mut alike = FxHashMap::<(ProcessId, String), Vec<usize>>::default();
    for at in threads.iter().copied().filter(|at| name(*at).contains(char::is_alphabetic)) {
        alike.entry((trace.threads.process[at], explain::without_numbers(name(at)))).or_default().push(at);
    }
    let mut teams = FxHashMap::default();
    for ((_, pattern), members) in alike.into_iter().filter(|(_, members)| members.len() >= TEAM) {
        let first = members.iter().copied().min().unwrap_or_default();
        let is_one_name = members.iter().all(|at| name(*at) == name(first));
        let name = if is_one_name { name(first).to_owned() } else { pattern };
        let team = Rc::new(Team { first, name });
        teams.extend(members.into_iter().map(|at| (at, Rc::clone(&team))));
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
        finding.is_some_and(|finding| About::of(finding.cause).nature != Nature::Asked)
    };
    losses.iter().filter(counts).fold(0, |sum: Ns, loss| sum.saturating_add(loss.lost_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Process, Thread};

    #[test]
    fn threads_whose_names_differ_in_numbers_are_a_team() {
        let mut trace = Trace::default();
        let process = trace.processes.push(Process { pid: 1, ..Process::default() });
        let other = trace.processes.push(Process { pid: 2, ..Process::default() });
        let names = [
            "main",
            "pool-1-thread-1",
            "py3",
            "pool-1-thread-2",
            "py3",
            "7",
            "8",
            "9",
            "py3",
            "pool-2-thread-1",
        ];
        for (tid, name) in (0..).zip(names) {
            let name = trace.strings.intern(name);
            trace.threads.push(Thread { process, tid, name, ..Thread::default() });
        }
        let name = trace.strings.intern("pool-1-thread-3");
        trace.threads.push(Thread { process: other, tid: 99, name, ..Thread::default() });
        let teams = teams(&trace, &(0..trace.threads.len()).collect::<Vec<_>>());
        let of = |at: usize| teams.get(&at).map(|team| (team.first, &*team.name));
        assert_eq!([of(1), of(3), of(9)], [Some((1, "pool-#-thread-#")); 3]);
        assert_eq!([of(2), of(4), of(8)], [Some((2, "py3")); 3]);
        assert_eq!([of(0), of(5), of(10)], [None; 3], "alone, without a name, of another process");
    }
}
