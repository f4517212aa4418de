//! Calls and waits that a trace counts and does not list.

use super::Short;
use crate::labels::Chosen;
use std::collections::BTreeMap;
use trace::{Sym, TallyKind, ThreadId, Trace};

/// Counts by what is counted, most time first.
pub(super) fn short(trace: &Trace, chosen: &Chosen<'_>) -> Vec<Short> {
    let mut sums: BTreeMap<(TallyKind, Sym), (Short, Vec<ThreadId>)> = BTreeMap::new();
    for tally in trace.tallies.ids().filter(|tally| chosen.tally(tally.index())) {
        let tally = trace.tallies.row(tally);
        let (sum, threads) = sums.entry((tally.kind, tally.name)).or_insert_with(|| {
            let (kind, name) = (tally.kind.name(), trace.text(tally.name).to_owned());
            (Short { kind, name, count: 0, threads: 0, total_ns: 0 }, Vec::new())
        });
        sum.count = sum.count.saturating_add(tally.count.cast_unsigned());
        sum.total_ns = sum.total_ns.saturating_add(tally.time);
        threads.push(tally.thread);
    }
    let row = |(mut row, mut threads): (Short, Vec<ThreadId>)| {
        threads.sort_unstable();
        threads.dedup();
        row.threads = threads.len() as u64;
        row
    };
    let mut rows: Vec<Short> = sums.into_values().map(row).collect();
    rows.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Selection, Tally, Thread};

    #[test]
    fn counts_of_all_threads_are_one_row() {
        let mut trace = Trace::default();
        let threads = [7, 8].map(|tid| trace.threads.push(Thread { tid, ..Thread::default() }));
        let [device, gil] = ["cudaGetDevice", "gil"].map(|name| trace.strings.intern(name));
        for (at, (kind, name, count, time)) in [
            (TallyKind::Call, device, 5, 500),
            (TallyKind::Wait, gil, 2, 700),
            (TallyKind::Call, device, 6, 300),
        ]
        .into_iter()
        .enumerate()
        {
            trace.tallies.push(Tally { thread: threads[at % 2], kind, name, count, time });
        }
        let rows = |selection: Selection| {
            let rows = short(&trace, &Chosen::new(&trace, &selection));
            rows.into_iter()
                .map(|row| (row.kind, row.name, row.count, row.threads, row.total_ns))
                .collect::<Vec<_>>()
        };
        let device = ("call", "cudaGetDevice".to_owned(), 11, 1, 800);
        let gil = ("wait", "gil".to_owned(), 2, 1, 700);
        assert_eq!(rows(Selection::default()), [device.clone(), gil]);
        assert_eq!(rows(Selection { name: Some("getdevice".to_owned()), ..Selection::default() }), [device]);
        // What is counted has no time.
        assert_eq!(rows(Selection { from: Some(5), ..Selection::default() }), []);
    }
}
