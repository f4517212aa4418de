//! A GPU's busy time: what it did, and when.

use super::gaps::{Gap, Timeline, Work};
use crate::Place;
use crate::facts::Facts;
use crate::facts::places::{PLACED, Places};
use crate::facts::stretch::Stretch;
use serde::Serialize;
use std::collections::BTreeMap;
use trace::{CallId, Ns, OpId, OpKind, Sym, Times, Trace};
use waits::Communicating;

/// A GPU's busy time by what it did; together they are all of it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Busy {
    /// Only kernels, graphs and operations of unknown kind ran, ns.
    pub kernels_ns: Ns,
    /// Only copies and fills ran, ns.
    pub copies_ns: Ns,
    /// Both ran, ns.
    pub both_ns: Ns,
}

impl Busy {
    pub(super) fn of(trace: &Trace, timeline: &Timeline<'_>) -> Busy {
        let mut busy = Busy::default();
        let (mut now, mut kernels, mut copies) = (timeline.span.0, timeline.span.0, timeline.span.0);
        for Work { op, start, end } in timeline.work() {
            let start = start.clamp(now, timeline.span.1.max(now));
            busy.add(now, kernels.min(start), copies.min(start));
            now = start;
            let end = end.min(timeline.span.1);
            match trace.ops.kind[op.index()] {
                OpKind::Kernel | OpKind::Graph | OpKind::Unknown => kernels = kernels.max(end),
                OpKind::Copy | OpKind::Memset => copies = copies.max(end),
            }
        }
        busy.add(now, kernels, copies);
        busy
    }

    /// Adds the time from `now` on, in which kernels run until one time and copies until another.
    fn add(&mut self, now: Ns, kernels: Ns, copies: Ns) {
        self.both_ns += (kernels.min(copies) - now).max(0);
        self.kernels_ns += (kernels - now.max(copies)).max(0);
        self.copies_ns += (copies - now.max(kernels)).max(0);
    }
}

/// Copies have much of a GPU's busy time from one of so many parts of that of its kernels on: a choice.
const MUCH: Ns = 3;

/// Operations of a kind that take much of a GPU's time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MainOperations {
    /// The call that issues most of them, by time.
    pub call: String,
    /// Where most of these calls are, by time; `null` if unknown.
    #[serde(rename = "where")]
    pub place: Option<Place>,
}

impl MainOperations {
    /// The copies of a GPU that does nothing but copy for much of its busy time; `None` for others.
    pub(super) fn copies(facts: &Facts<'_>, timeline: &Timeline<'_>, busy: &Busy) -> Option<MainOperations> {
        if busy.copies_ns <= (busy.kernels_ns + busy.both_ns) / MUCH {
            return None;
        }
        let ops = &facts.trace.ops;
        let copies = timeline.ops().iter().filter(|op| ops.kind[op.index()] == OpKind::Copy);
        MainOperations::of(facts, copies.map(|op| (*op, ops.end[op.index()] - ops.start[op.index()])))
    }

    /// The operations of a GPU that exchange data with other GPUs, by the time for which it does nothing else; `None` if it never does.
    pub(super) fn communication(
        facts: &Facts<'_>,
        timeline: &Timeline<'_>,
        computing: Option<&Times>,
    ) -> Option<MainOperations> {
        let computing = computing?;
        let mut communicating = Communicating::new(facts.trace);
        let alone =
            timeline.work().filter(|work| communicating.has(work.op)).map(|Work { op, start, end }| {
                let start = start.max(timeline.span.0);
                let end = end.min(timeline.span.1).max(start);
                (op, end - start - computing.part(start, end))
            });
        MainOperations::of(facts, alone)
    }

    /// Operations, each with a time in ns.
    fn of(facts: &Facts<'_>, ops: impl Iterator<Item = (OpId, Ns)>) -> Option<MainOperations> {
        let trace = facts.trace;
        let mut by_name = BTreeMap::<Sym, (Ns, Vec<(CallId, Ns)>)>::new();
        for (op, ns) in ops {
            let Some(call) = facts.outermost(trace.ops.call[op.index()]).some() else { continue };
            let (all, calls) = by_name.entry(trace.calls.name[call.index()]).or_default();
            *all += ns;
            calls.extend((calls.len() < PLACED).then_some((call, ns)));
        }
        let (name, (_, calls)) = by_name.into_iter().max_by_key(|(_, (ns, _))| *ns)?;
        let places = Places::new(trace, calls.iter().map(|(call, _)| Stretch::Call(*call)).collect());
        Some(MainOperations { call: trace.text(name).to_owned(), place: places.most(calls).cloned() })
    }
}

/// Equal parts of a GPU's time for which its busy share is known: what a line of a terminal shows.
const PARTS: usize = 48;

/// A GPU's idle time in equal parts of its span.
pub(super) struct OverTime {
    span: (Ns, Ns),
    idle: [Ns; PARTS],
}

impl OverTime {
    pub fn new(span: (Ns, Ns)) -> OverTime {
        OverTime { span, idle: [0; PARTS] }
    }

    /// Adds a gap, which lies in the span.
    pub fn add(&mut self, gap: &Gap) {
        let mut from = gap.start;
        let mut part = self.part_of(from);
        while from < gap.end && part < PARTS {
            let until = self.start_of(part + 1).min(gap.end);
            self.idle[part] += (until - from).max(0);
            from = from.max(until);
            part += 1;
        }
    }

    /// The busy share of each part, 0 to 1.
    pub fn busy(&self) -> Vec<f64> {
        let share = |part: usize| {
            let length = self.start_of(part + 1) - self.start_of(part);
            1.0 - self.idle[part] as f64 / length.max(1) as f64
        };
        (0..PARTS).map(share).collect()
    }

    fn length(&self) -> i128 {
        i128::from(self.span.1 - self.span.0).max(1)
    }

    fn part_of(&self, time: Ns) -> usize {
        let part = i128::from(time - self.span.0) * PARTS as i128 / self.length();
        // Where parts are shorter than a nanosecond, the one before may not have ended.
        usize::try_from(part).unwrap_or(0).min(PARTS - 1)
    }

    fn start_of(&self, part: usize) -> Ns {
        let start = self.length() * part as i128 / PARTS as i128;
        self.span.0 + start as Ns
    }
}
