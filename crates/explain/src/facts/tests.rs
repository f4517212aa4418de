//! Results of the indexes, compared with a full scan.

use super::Facts;
use crate::Options;
use crate::class::Class;
use trace::{
    Argument, Call, CallId, CopyKind, MemoryKind, Ns, Process, Range, RangeId, RangeKind, Thread, Trace,
};

/// Pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as i64 % end
    }
}

/// Two processes with two threads each. Each thread makes slow calls one after another, mostly copies; the tracer's
/// overheads have any length.
fn trace(seed: u64) -> Trace {
    let (mut trace, mut numbers) = (Trace::default(), Numbers(seed));
    let names = ["cudaMemcpyAsync", "cudaMalloc"].map(|name| trace.strings.intern(name));
    for tid in 0..4 {
        let process = match tid {
            0 | 2 => trace.processes.push(Process { pid: tid, ..Process::default() }),
            _ => trace.threads.process[trace.threads.len() - 1],
        };
        let thread = trace.threads.push(Thread { process, tid, ..Thread::default() });
        let mut end = 0;
        for _ in 0..12 {
            let start = end + numbers.below(50_000);
            end = start + 100_001 + numbers.below(200_000);
            let name = names[usize::from(numbers.below(4) == 0)];
            let call = trace.calls.push(Call { start, end, thread, name, ..Call::default() });
            let src = [MemoryKind::Pageable, MemoryKind::Pinned][numbers.below(2) as usize];
            let what = Argument { call, copy: CopyKind::HtoD, src, bytes: 8, ..Argument::default() };
            trace.arguments.push(what);
        }
    }
    for _ in 0..numbers.below(40) {
        let start = numbers.below(3_000_000);
        let longest = [1_000, 100_000, 2_000_000][numbers.below(3) as usize];
        let end = start + 1 + numbers.below(longest);
        trace.ranges.push(Range { start, end, kind: RangeKind::Overhead, ..Range::default() });
    }
    trace
}

fn each_trace(check: impl Fn(&Facts<'_>, &mut Numbers)) {
    for seed in 0..100 {
        let trace = trace(seed);
        check(&Facts::new(&trace, &Options::default()), &mut Numbers(!seed));
    }
}

#[test]
fn pageable_copies_that_return_within_a_time_are_found() {
    each_trace(|facts, numbers| {
        let pageable = |call: CallId| {
            let copies = matches!(facts.class(call), Class::Copy { .. });
            copies && facts.copied(call).is_some_and(|copied| copied.pageable())
        };
        assert_eq!(facts.slow.len(), facts.trace.calls.len());
        for call in &facts.slow {
            let time = facts.end(*call) - numbers.below(100_000);
            let (from, to) = (time - numbers.below(250_000), time + numbers.below(250_000));
            let mut found: Vec<_> = facts.pageable_copies(from, to).collect();
            found.sort_by_key(|other| facts.start(*other));
            let returns = |other: &CallId| (from..=to).contains(&facts.end(*other));
            let fits = |other: &CallId| pageable(*other) && returns(other);
            assert_eq!(found, facts.slow.iter().copied().filter(fits).collect::<Vec<_>>());
        }
    });
}

#[test]
fn all_overheads_during_a_call_are_found() {
    each_trace(|facts, _| {
        let ranges = &facts.trace.ranges;
        let times =
            |range: &RangeId| -> (Ns, Ns) { (ranges.start[range.index()], ranges.end[range.index()]) };
        for call in &facts.slow {
            let during =
                |range: &RangeId| times(range).0 < facts.end(*call) && times(range).1 > facts.start(*call);
            let expected: Vec<_> = facts.tracer.overheads.iter().copied().filter(during).collect();
            assert_eq!(facts.overheads_during(*call), expected);
        }
    });
}
