//! The time that a launch takes to start if nothing delays it.

use trace::{Ns, OpId, Trace};

/// The time that a launch into an idle device takes to start once its call returned, ns: the 10th percentile of operations that each
/// started when the device was idle.
pub fn launch_floor(trace: &Trace, started: impl Iterator<Item = OpId>) -> Ns {
    let latency = |op: OpId| {
        let call = trace.ops.call[op.index()].some()?;
        let took = trace.ops.start[op.index()] - trace.calls.end[call.index()];
        (took > 0).then_some(took)
    };
    let mut latencies: Vec<Ns> = started.filter_map(latency).collect();
    if latencies.is_empty() {
        return 0;
    }
    let tenth = latencies.len() / 10;
    *latencies.select_nth_unstable(tenth).1
}

/// The operations of a device, by start, that started when it ran nothing, and were asked for then: one that was asked for before waited
/// for something else.
pub fn started_idle(trace: &Trace, ops: &[OpId]) -> impl Iterator<Item = OpId> {
    let mut done = Ns::MIN;
    ops.iter().copied().filter(move |op| {
        let is_idle = done < trace.ops.start[op.index()] && is_asked_after(trace, *op, done);
        done = done.max(trace.ops.end[op.index()]);
        is_idle
    })
}

/// Whether the call that asked for an operation returned after a moment.
pub fn is_asked_after(trace: &Trace, op: OpId, moment: Ns) -> bool {
    trace.ops.call[op.index()].some().is_none_or(|call| trace.calls.end[call.index()] >= moment)
}
