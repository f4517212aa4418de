//! The first call of each name in a process, beside its later ones: what is set up at the first use.

use super::FirstCall;
use std::collections::BTreeMap;
use trace::{Api, Ns, ProcessId, Selection, Sym, Trace};

/// From how much longer on a first call is told, ns: what `explain` calls slow unless told otherwise.
const LONGER: Ns = 100_000;

/// Calls that make a median.
const ENOUGH: usize = 3;

/// First calls that were twice as long as the median of later ones, most time lost first. Empty for a
/// part of the time, a thread or a range: their first calls are unknown.
pub(super) fn first_calls(trace: &Trace, selection: &Selection) -> Vec<FirstCall> {
    let is_part = trace.meta.is_part() || selection.from.is_some();
    if is_part || selection.thread.is_some() || selection.range.is_some() {
        return Vec::new();
    }
    let selected = selection.of(trace);
    let mut groups: BTreeMap<(ProcessId, Sym), Vec<(Ns, Ns)>> = BTreeMap::new();
    let calls = &trace.calls;
    for at in 0..calls.len() {
        let (start, end) = (calls.start[at], calls.end[at]);
        if calls.api[at] != Api::Os && selected.name(calls.name[at]) && selected.time(start, end) {
            let process = trace.process_of_thread(calls.thread[at]);
            groups.entry((process, calls.name[at])).or_default().push((start, end - start));
        }
    }
    let told = groups.into_iter().filter_map(|((process, name), calls)| {
        let (first, median, later) = first_and_median(calls)?;
        let is_slower = first >= median.saturating_mul(2) && first - median >= LONGER;
        is_slower.then(|| FirstCall {
            name: trace.text(name).to_owned(),
            pid: process.some().map_or(0, |process| trace.processes.pid[process.index()]),
            first_ns: first,
            later,
            median_ns: median,
        })
    });
    let mut told: Vec<FirstCall> = told.collect();
    told.sort_by(|a, b| {
        let lost = |row: &FirstCall| row.first_ns - row.median_ns;
        lost(b).cmp(&lost(a)).then_with(|| (&a.name, a.pid).cmp(&(&b.name, b.pid)))
    });
    told
}

/// The duration of the first of some calls (start and duration), the median of the later ones, and how many these are.
fn first_and_median(mut calls: Vec<(Ns, Ns)>) -> Option<(Ns, Ns, u64)> {
    let first = (0..calls.len()).min_by_key(|at| calls[*at].0)?;
    let (_, first) = calls.swap_remove(first);
    if calls.len() < ENOUGH {
        return None;
    }
    let middle = calls.len() / 2;
    let (_, (_, median), _) = calls.select_nth_unstable_by_key(middle, |(_, duration)| *duration);
    let median = *median;
    Some((first, median, calls.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Call;

    /// Calls of one name of a duration each, in µs, 1 ms apart.
    fn trace(durations: &[Ns]) -> Trace {
        let mut trace = Trace::default();
        let name = trace.strings.intern("cudaMalloc");
        for (at, duration) in durations.iter().enumerate() {
            let start = at as Ns * 1_000_000;
            trace.calls.push(Call { start, end: start + duration * 1000, name, ..Call::default() });
        }
        trace
    }

    fn told(durations: &[Ns]) -> Vec<(Ns, Ns, u64)> {
        let rows = first_calls(&trace(durations), &Selection::default());
        rows.iter().map(|row| (row.first_ns / 1000, row.median_ns / 1000, row.later)).collect()
    }

    #[test]
    fn a_first_call_is_told_where_it_was_longer_than_the_later_ones() {
        assert_eq!(told(&[900, 5, 4, 400, 6]), [(900, 6, 4)]);
        assert_eq!(told(&[900, 5, 4]), [], "two later calls have no median");
        assert_eq!(told(&[900, 500, 500, 500]), [], "less than twice as long");
        assert_eq!(told(&[90, 5, 5, 5]), [], "nothing that anybody waits for");
        assert_eq!(told(&[5, 900, 5, 5]), [], "not the first");
        let from = Selection { from: Some(1), ..Selection::default() };
        assert!(first_calls(&trace(&[900, 5, 4, 400, 6]), &from).is_empty());
    }
}
