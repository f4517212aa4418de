//! Scripts of one thread in sections, and the calls that each section made.
//!
//! `cuCtxSynchronize` begins each section and ends the last one. Nothing else in a script calls it.

use crate::statistics::Sample;
use trace::{ThreadId, Trace};
use workload::{Steps, Thread};

/// The call between two sections.
const MARK: &str = "cuCtxSynchronize";

/// Subject of a section, and its size or number.
pub(crate) type Label = (&'static str, u64);

/// Adds sections to a thread's body.
pub(crate) struct Script<'w> {
    thread: &'w mut Thread,
    labels: Vec<Label>,
}

impl<'w> Script<'w> {
    pub fn new(thread: &'w mut Thread) -> Script<'w> {
        Script { thread, labels: Vec::new() }
    }

    /// Adds a section of the steps that `fill` adds.
    pub fn part(&mut self, what: &'static str, size: u64, fill: impl FnOnce(&mut Steps<'_>)) {
        let mut body = self.thread.body();
        fill(body.synchronize_context());
        self.labels.push((what, size));
    }

    /// Adds a section that makes the steps of `fill` several times.
    pub fn rounds(&mut self, what: &'static str, size: u64, times: u64, fill: impl FnOnce(&mut Steps<'_>)) {
        self.part(what, size, |steps| _ = steps.repeat(times, fill));
    }

    /// The labels of all sections, in their order.
    pub fn end(self) -> Vec<Label> {
        self.thread.body().synchronize_context();
        self.labels
    }
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimedCall<'t> {
    pub name: &'t str,
    pub start: i64,
    pub end: i64,
}

impl TimedCall<'_> {
    pub fn took(&self) -> i64 {
        self.end - self.start
    }
}

/// The calls of one thread of the workload, by its row, in their order.
pub(crate) fn calls_of(trace: &Trace, thread: usize) -> Vec<TimedCall<'_>> {
    let rows = trace.calls.ids().map(|call| trace.calls.row(call));
    let own = rows.filter(|call| call.thread == ThreadId::new(thread));
    let mut calls: Vec<TimedCall<'_>> = own
        .map(|call| TimedCall { name: trace.strings.text(call.name), start: call.start, end: call.end })
        .collect();
    calls.sort_by_key(|call| (call.start, call.end));
    calls
}

/// The calls of one section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section<'t> {
    pub calls: Vec<TimedCall<'t>>,
    /// When the synchronization returned that ended it.
    pub end: i64,
}

impl Section<'_> {
    /// The times of the calls of that name, ns.
    pub fn took(&self, name: &str) -> Vec<i64> {
        self.calls.iter().filter(|call| call.name == name).map(TimedCall::took).collect()
    }

    /// The median of these times.
    pub fn sample(&self, name: &str) -> Option<Sample> {
        Sample::of(self.took(name))
    }

    /// The times from the start of each call `first` to the end of the next call `last`, ns. A further `first` in between counts
    /// as part of it.
    pub fn spans(&self, first: &str, last: &str) -> Vec<i64> {
        let mut began = None;
        let mut spans = Vec::new();
        for call in &self.calls {
            if call.name == first && began.is_none() {
                began = Some(call.start);
            }
            if call.name == last {
                spans.extend(began.take().map(|start| call.end - start));
            }
        }
        spans
    }

    /// From the start of its first call to the end of the synchronization behind it, ns.
    pub fn whole(&self) -> Option<i64> {
        self.calls.first().map(|call| self.end - call.start)
    }
}

/// The sections of a thread.
pub(crate) struct Sections<'t> {
    /// The calls before the first one.
    pub before: Section<'t>,
    all: Vec<(Label, Section<'t>)>,
}

impl<'t> Sections<'t> {
    /// Cuts the calls of a thread at the marks.
    pub fn of(trace: &'t Trace, thread: usize, labels: &[Label]) -> Sections<'t> {
        let mut parts = vec![Section::default()];
        for call in calls_of(trace, thread) {
            if let Some(part) = parts.last_mut() {
                match call.name == MARK {
                    true => part.end = call.end,
                    false => part.calls.push(call),
                }
            }
            if call.name == MARK {
                parts.push(Section::default());
            }
        }
        let mut parts = parts.into_iter();
        let before = parts.next().unwrap_or_default();
        Sections { before, all: labels.iter().copied().zip(parts).collect() }
    }

    /// The section of that label.
    pub fn get(&self, what: &str) -> Option<&Section<'t>> {
        self.all.iter().find(|(label, _)| label.0 == what).map(|(_, section)| section)
    }

    /// The sections of that label, each with its size.
    pub fn sized<'s>(&'s self, what: &'s str) -> impl Iterator<Item = (u64, &'s Section<'t>)> {
        let of_it = self.all.iter().filter(move |(label, _)| label.0 == what);
        of_it.map(|((_, size), section)| (*size, section))
    }

    /// A sample of each section of that label, by its size.
    pub fn samples(&self, what: &str, times: impl Fn(&Section<'t>) -> Vec<i64>) -> Vec<(u64, Sample)> {
        let sample = |(size, section): (u64, &Section<'t>)| Some((size, Sample::of(times(section))?));
        self.sized(what).filter_map(sample).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Api, Call};

    /// A trace of one thread with calls `(name, start, end)`.
    fn trace(calls: &[(&str, i64, i64)]) -> Trace {
        let mut trace = Trace::default();
        for (name, start, end) in calls {
            let (name, thread) = (trace.strings.intern(name), ThreadId::new(0));
            let (start, end, api) = (*start, *end, Api::Driver);
            trace.calls.push(Call { start, end, thread, api, name, ..Call::default() });
        }
        trace
    }

    #[test]
    fn sections_begin_and_end_with_a_synchronization() {
        let trace = trace(&[
            ("cuMemAlloc", 0, 5),
            (MARK, 5, 6),
            ("cuLaunchKernel", 10, 13),
            ("cuStreamSynchronize", 13, 20),
            (MARK, 20, 21),
            ("cuLaunchKernel", 30, 34),
            ("cuLaunchKernel", 34, 39),
            (MARK, 40, 50),
            ("cuMemFree", 60, 70),
        ]);
        let sections = Sections::of(&trace, 0, &[("one", 0), ("two", 7)]);
        assert_eq!(sections.before.took("cuMemAlloc"), [5]);
        let one = sections.get("one").expect("there");
        assert_eq!((one.took("cuLaunchKernel"), one.whole()), (vec![3], Some(11)));
        assert_eq!(one.spans("cuLaunchKernel", "cuStreamSynchronize"), [10]);
        let two: Vec<_> =
            sections.sized("two").map(|(size, two)| (size, two.took("cuLaunchKernel"))).collect();
        assert_eq!(two, [(7, vec![4, 5])]);
        assert!(sections.get("three").is_none());
    }

    #[test]
    fn a_span_begins_with_the_first_of_several_calls() {
        let trace =
            trace(&[(MARK, 0, 1), ("a", 1, 2), ("a", 3, 4), ("b", 5, 9), ("b", 9, 10), ("a", 20, 21)]);
        let sections = Sections::of(&trace, 0, &[("x", 0)]);
        assert_eq!(sections.get("x").expect("there").spans("a", "b"), [8]);
    }
}
