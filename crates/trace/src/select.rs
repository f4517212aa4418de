//! Selects a part of a trace.

use crate::{Ns, RangeId, RangeKind, Sym, ThreadId, Trace, Within};

/// Conditions on events, of which all must hold; without conditions, everything is selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only events that end after this time, ns.
    pub from: Option<Ns>,
    /// Only events that start before this time, ns.
    pub to: Option<Ns>,
    /// Only this thread: its id or a part of its name.
    pub thread: Option<String>,
    /// Only events whose name contains this; case is ignored.
    pub name: Option<String>,
    /// Only calls that a thread made within its ranges whose name contains this, and the operations that they asked
    /// for; case is ignored. A range that names no thread counts for every thread.
    pub range: Option<String>,
}

/// A [`Selection`] resolved for one trace.
pub struct Selected {
    from: Ns,
    to: Ns,
    /// Times between the two that are not selected.
    pauses: Vec<(Ns, Ns)>,
    /// Operations stay with their calls, whenever they ran.
    pub(crate) follows_calls: bool,
    threads: Option<Vec<bool>>,
    names: Option<Vec<bool>>,
    within: Option<Within>,
}

impl Selection {
    /// Resolves threads and names once, so that testing an event is a few comparisons.
    pub fn of(&self, trace: &Trace) -> Selected {
        Selected {
            from: self.from.unwrap_or(Ns::MIN),
            to: self.to.unwrap_or(Ns::MAX),
            pauses: Vec::new(),
            follows_calls: false,
            threads: self
                .thread
                .as_ref()
                .map(|wanted| trace.threads.ids().map(|id| is_thread(trace, id, wanted)).collect()),
            names: self
                .name
                .as_ref()
                .map(|wanted| trace.strings.iter().map(|(_, text)| contains(text, wanted)).collect()),
            within: self.range.as_ref().map(|wanted| {
                let chosen: Vec<bool> =
                    trace.strings.iter().map(|(_, text)| contains(text, wanted)).collect();
                Within::new(trace, |range| chosen[trace.ranges.name[range].index()] && marks(trace, range))
            }),
        }
    }

    /// Whether any thread of the trace is selected; always without a condition.
    pub fn has_thread(&self, trace: &Trace) -> bool {
        self.thread.as_ref().is_none_or(|wanted| trace.threads.ids().any(|id| is_thread(trace, id, wanted)))
    }

    /// Whether any call, operation or range of the trace has a selected name; always without a condition.
    pub fn has_name(&self, trace: &Trace) -> bool {
        let names = || trace.calls.name.iter().chain(&trace.ops.name).chain(&trace.ranges.name);
        let Some(wanted) = &self.name else { return true };
        let chosen: Vec<bool> = trace.strings.iter().map(|(_, text)| contains(text, wanted)).collect();
        names().any(|name| chosen[*name])
    }

    /// Whether any range of the trace has a selected name; always without a condition.
    pub fn has_range(&self, trace: &Trace) -> bool {
        self.range.is_none() || self.ranges(trace).next().is_some()
    }

    /// Whether any event of the trace is selected: a call, an operation, a range, or, without a condition on names, a wait or
    /// a sample.
    pub fn has_events(&self, trace: &Trace) -> bool {
        let selected = self.of(trace);
        let Trace { calls, ops, waits, ranges, samples, .. } = trace;
        let call = |at: usize| {
            selected.time(calls.start[at], calls.end[at])
                && selected.caller(calls.thread[at], calls.start[at])
                && selected.name(calls.name[at])
        };
        let op = |at: usize| {
            let caller = ops.call[at].some().map(|call| (calls.thread[call], calls.start[call]));
            let (thread, asked) = caller.unwrap_or((ThreadId::default(), ops.start[at]));
            selected.time(ops.start[at], ops.end[at])
                && selected.caller(thread, asked)
                && selected.name(ops.name[at])
        };
        let range = |at: usize| {
            let (start, end) = (ranges.start[at], ranges.end[at]);
            selected.time(start, end)
                && selected.range(ranges.thread[at], start, end)
                && selected.name(ranges.name[at])
        };
        let wait = |at: usize| {
            selected.time(waits.start[at], waits.end[at])
                && selected.caller(waits.thread[at], waits.start[at])
        };
        let sample = |at: usize| {
            selected.time(samples.at[at], samples.at[at] + 1)
                && selected.caller(samples.thread[at], samples.at[at])
        };
        (0..calls.len()).any(call)
            || (0..ops.len()).any(op)
            || (0..ranges.len()).any(range)
            || self.name.is_none() && ((0..waits.len()).any(wait) || (0..samples.len()).any(sample))
    }

    /// The program's ranges that have a selected name; none without a condition.
    pub fn ranges<'a>(&'a self, trace: &'a Trace) -> impl Iterator<Item = RangeId> + 'a {
        let of = move |wanted: &'a String| {
            let name = |range: &RangeId| trace.text(trace.ranges.name[*range]);
            trace.ranges.ids().filter(move |range| marks(trace, *range) && contains(name(range), wanted))
        };
        self.range.iter().flat_map(of)
    }
}

/// Whether a range is the program's, not the tracer's own work.
pub fn marks(trace: &Trace, range: RangeId) -> bool {
    trace.ranges.kind[range] != RangeKind::Overhead
}

impl Selected {
    /// Whether an event in `[start, end)` lies at least partly in the selected time.
    pub fn time(&self, start: Ns, end: Ns) -> bool {
        let overlaps = end > self.from && start < self.to || start == end && start == self.from;
        overlaps && !self.pauses.iter().any(|(off, on)| *off <= start && end <= *on)
    }

    /// Selects what lies at least partly in `[from, to)`, whatever the time that was selected.
    pub fn set_time(&mut self, from: Ns, to: Ns) {
        (self.from, self.to) = (from, to);
    }

    /// Selects no more what happened within one of these times, which are in order and apart; operations follow their calls.
    pub(crate) fn without(self, pauses: Vec<(Ns, Ns)>) -> Selected {
        Selected { pauses, follows_calls: true, ..self }
    }

    /// Whether all times and ranges are selected.
    pub fn always(&self) -> bool {
        self.from == Ns::MIN && self.to == Ns::MAX && self.within.is_none()
    }

    /// Whether only calls of some threads, names or ranges are selected.
    pub fn chooses_calls(&self) -> bool {
        self.threads.is_some() || self.names.is_some() || self.within.is_some()
    }

    /// How much of `[start, end)` lies in the selected time, ns.
    pub fn part(&self, start: Ns, end: Ns) -> Ns {
        end.min(self.to).saturating_sub(start.max(self.from)).max(0)
    }

    /// Whether events of a thread at a time are selected, by the thread and by the ranges that it was in.
    pub fn caller(&self, thread: ThreadId, at: Ns) -> bool {
        self.thread(thread) && self.within.as_ref().is_none_or(|within| within.holds(thread, at))
    }

    /// Whether a range of a thread is selected, by the thread and by the selected ranges that it overlaps.
    pub fn range(&self, thread: ThreadId, start: Ns, end: Ns) -> bool {
        // The tracer's own work names no thread and applies to all.
        (thread.is_none() || self.thread(thread))
            && self.within.as_ref().is_none_or(|within| within.touches(thread, start, end))
    }

    /// Whether the thread is selected; an event without a thread is selected only without a condition on threads.
    pub fn thread(&self, thread: ThreadId) -> bool {
        match &self.threads {
            None => true,
            Some(chosen) => thread.some().is_some_and(|thread| chosen[thread]),
        }
    }

    /// Whether the name is selected.
    pub fn name(&self, name: Sym) -> bool {
        self.names.as_ref().is_none_or(|chosen| chosen[name])
    }
}

/// Whether a thread has the id `wanted`, or `wanted` in its name.
fn is_thread(trace: &Trace, id: ThreadId, wanted: &str) -> bool {
    let row = trace.threads.row(id);
    row.tid.to_string() == wanted || contains(trace.text(row.name), wanted)
}

fn contains(text: &str, wanted: &str) -> bool {
    !wanted.is_empty() && text.to_ascii_lowercase().contains(&wanted.to_ascii_lowercase())
}
