//! Ranges that the program marked, with what it did within them.

use super::RangeRow;
use crate::labels::Chosen;
use std::collections::BTreeMap;
use trace::{Api, CallId, Ns, RangeKind, Sym, ThreadId, Trace, Within};

/// Threads, starts and ends.
type Intervals = Vec<(ThreadId, Ns, Ns)>;

/// The program's own ranges (NVTX, `record_function`) by domain and name, most time first, with the calls that their threads made
/// within and the GPU time that these asked for. A range within one of its own name counts with it, its calls once.
pub(super) fn ranges(trace: &Trace, chosen: &Chosen<'_>, cut: impl Fn(Ns, Ns) -> (Ns, Ns)) -> Vec<RangeRow> {
    let mut names: BTreeMap<(Sym, Sym), Intervals> = BTreeMap::new();
    let ranges = &trace.ranges;
    for at in (0..ranges.len()).filter(|at| ranges.kind[*at] == RangeKind::User && chosen.range(*at)) {
        let (start, end) = cut(ranges.start[at], ranges.end[at]);
        names.entry((ranges.domain[at], ranges.name[at])).or_default().push((ranges.thread[at], start, end));
    }
    if names.is_empty() {
        return Vec::new();
    }
    let calls = Calls::new(trace, chosen);
    let row = |((domain, name), intervals): ((Sym, Sym), Intervals)| {
        let total_ns = intervals.iter().fold(0, |sum: Ns, (_, start, end)| sum.saturating_add(end - start));
        let count = intervals.len() as u64;
        let mut row = RangeRow {
            name: titled(trace.text(domain), trace.text(name)),
            count,
            total_ns,
            mean_ns: total_ns as f64 / count as f64,
            calls: 0,
            ops: 0,
            gpu_ns: 0,
        };
        for (thread, start, end) in Within::of(intervals).intervals() {
            calls.within(*thread, *start, *end).for_each(|call| calls.add(call, &mut row));
        }
        row
    };
    let mut rows: Vec<RangeRow> = names.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    rows
}

/// A range's name, behind that of its domain if it has one, as NVTX's own tools have it: libraries use the same names.
fn titled(domain: &str, name: &str) -> String {
    if domain.is_empty() { name.to_owned() } else { format!("{domain}:{name}") }
}

/// The chosen calls of each thread, with what the GPU did for them.
struct Calls {
    /// Thread, start and call, sorted.
    rows: Vec<(ThreadId, Ns, CallId)>,
    threads: Vec<ThreadId>,
    /// Operations of each call of the trace, and their time.
    asked: Vec<(u64, Ns)>,
}

impl Calls {
    fn new(trace: &Trace, chosen: &Chosen<'_>) -> Calls {
        let calls = &trace.calls;
        let counts = |call: &CallId| chosen.call(call.index()) && calls.api[call.index()] != Api::Os;
        let row = |call: CallId| (calls.thread[call.index()], calls.start[call.index()], call);
        let mut rows: Vec<_> = calls.ids().filter(counts).map(row).collect();
        rows.sort_unstable();
        let mut threads: Vec<ThreadId> = rows.iter().map(|(thread, ..)| *thread).collect();
        threads.dedup();
        let mut asked = vec![(0, 0); calls.len()];
        for (at, call) in trace.ops.call.iter().enumerate() {
            if let Some(call) = call.some() {
                let (ops, time) = &mut asked[call.index()];
                *ops += 1;
                *time = Ns::saturating_add(*time, trace.ops.end[at] - trace.ops.start[at]);
            }
        }
        Calls { rows, threads, asked }
    }

    /// The calls that a thread began in `[start, end)`; of no thread, that any began.
    fn within(&self, thread: ThreadId, start: Ns, end: Ns) -> impl Iterator<Item = CallId> {
        let one = [thread];
        let threads = if thread.is_some() { &one[..] } else { &self.threads[..] };
        let of = |thread: &ThreadId| {
            let from = self.rows.partition_point(|(of, begun, _)| (*of, *begun) < (*thread, start));
            let to = self.rows.partition_point(|(of, begun, _)| (*of, *begun) < (*thread, end));
            from..to.max(from)
        };
        let spans: Vec<_> = threads.iter().map(of).collect();
        spans.into_iter().flatten().map(|at| self.rows[at].2)
    }

    fn add(&self, call: CallId, row: &mut RangeRow) {
        let (ops, time) = self.asked[call.index()];
        row.calls += 1;
        row.ops += ops;
        row.gpu_ns = row.gpu_ns.saturating_add(time);
    }
}
