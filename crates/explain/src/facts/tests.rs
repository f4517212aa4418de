//! Results of the indexes, compared with a full scan.

use super::Facts;
use crate::Options;
use trace::{
    Argument, Call, CallId, Context, CopyKind, Device, MemoryKind, Ns, Op, OpId, OpKind, Process, Range,
    RangeId, RangeKind, Stream, Thread, Trace,
};
use waits::Class;

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

/// A thread that issues kernels and graphs into three streams of two devices. A stream does one call's operations after the other's, those
/// of a graph at once; some operations have no call.
fn trace_of_streams(seed: u64) -> Trace {
    let (mut trace, mut numbers) = (Trace::default(), Numbers(seed));
    let process = trace.processes.push(Process { pid: 1, ..Process::default() });
    let thread = trace.threads.push(Thread { process, tid: 1, ..Thread::default() });
    let name = trace.strings.intern("cuLaunchKernel");
    let devices = [0, 1].map(|ordinal| trace.devices.push(Device { ordinal, ..Device::default() }));
    let contexts =
        devices.map(|device| trace.contexts.push(Context { process, device, ..Context::default() }));
    let streams =
        [0, 0, 1].map(|at| trace.streams.push(Stream { context: contexts[at], ..Stream::default() }));
    let (mut now, mut done) = (0, [0; 3]);
    for _ in 0..60 {
        let (start, at) = (now + numbers.below(5_000), numbers.below(3) as usize);
        now = start + 1 + numbers.below(3_000);
        let call = trace.calls.push(Call { start, end: now, thread, name, ..Call::default() });
        let call = if numbers.below(8) == 0 { CallId::NONE } else { call };
        let (stream, first) = (streams[at], done[at].max(start));
        for _ in 0..[1, 1, 5][numbers.below(3) as usize] {
            let start = first + numbers.below(2_000);
            let end = start + 1 + numbers.below(20_000);
            done[at] = done[at].max(end);
            trace.ops.push(Op { kind: OpKind::Kernel, start, end, stream, call, ..Op::default() });
        }
    }
    trace
}

#[test]
fn what_is_pending_and_what_ends_on_a_device_is_found() {
    for seed in 0..200 {
        let (trace, mut numbers) = (trace_of_streams(seed), Numbers(!seed));
        let facts = Facts::new(&trace, &Options::default());
        let ops = &trace.ops;
        let (start, end) = (|op: &OpId| ops.start[op.index()], |op: &OpId| ops.end[op.index()]);
        let process = trace.threads.process[0];
        for device in trace.devices.ids() {
            let of_device: Vec<OpId> = ops
                .ids()
                .filter(|op| trace.device_of_stream(ops.stream[op.index()]) == device)
                .filter(|op| ops.call[op.index()].is_some())
                .collect();
            let (from, since) = (numbers.below(300_000), numbers.below(300_000));
            let to = from + numbers.below(10_000);
            let pending = |op: &&OpId| start(op) <= from || facts.end(ops.call[op.index()]) <= from;
            let expected = of_device.iter().filter(pending).map(end).max();
            assert_eq!(facts.last_pending(process, device, from).map(|op| end(&op)), expected, "{seed}");
            let key = |op: &OpId| (end(op) - start(op).max(since), end(op));
            let near = of_device.iter().filter(|op| (from..=to).contains(&end(op)));
            let found = facts.longest_ending(process, device, since, (from, to));
            assert_eq!(found.map(|op| key(&op)), near.map(key).max(), "{seed}");
        }
        for stream in trace.streams.ids() {
            let (time, in_stream) = (numbers.below(300_000), facts.in_stream(stream));
            let is_certain = |op: &OpId| {
                start(op) <= time || ops.call[op.index()].some().is_some_and(|call| facts.end(call) <= time)
            };
            let certain = in_stream.iter().rposition(is_certain).map_or(0, |last| last + 1);
            assert_eq!(facts.done(stream, time), in_stream[..certain].iter().map(end).max(), "{seed}");
        }
    }
}
