//! Takes off what the tracer adds to a program.

use crate::predict::beside::divide;
use crate::recover::costs::take;
use crate::{Recovered, StepOf};
use sim::{Does, RecordedStep, Work, WorkKind};
use std::collections::BTreeMap;
use trace::{DeviceId, Ns, OpId, OpKind, STACKS, TallyKind, ThreadId, Trace};

/// CUPTI's part of what a call costs that issues an operation: [`PART`] percent; of a launch that takes longer than [`USUAL`], as on slower
/// machines, [`BEYOND`] percent of the rest, ns. At most [`MOST`], ns: what takes longer does something else besides. A launch took 3.24 µs
/// without CUPTI and 4.57 µs with it on an H200, 3.15 and 4.5 µs on an H100, 3.9 and 6.0 µs there at another time (driver 580;
/// `docs/benchmarks.md`, "Between processes" and "By call"); on two further H100s 2.0 µs less of 5.7, and 2.3 of 6.2 (`graph before` of
/// `benches/whatif`).
const PART: Ns = 30;
const USUAL: Ns = 4_500;
const BEYOND: Ns = 55;
const MOST: Ns = 2_500;

/// The recorder's own part of such a call, outside of locks, ns: a launch took 0.10 and 0.12 µs longer at level light on an H200, one of PyTorch
/// 0.19 µs, 0.27 µs on an H100 (`docs/benchmarks.md`). Without it, `graph before` was left with 0.13 to 0.35 µs a launch more than it takes bare
/// on five H100s.
const RECORDER: Ns = 150;

/// CUPTI's part of the time for which a launch in a convoy holds its mutex, percent. 24 threads that only launch are 11 to 28 % faster
/// without it (`crowd-processes before` of `benches/whatif` on four H100s and an H200), also because each does less outside of the mutex: a
/// choice.
const WITH_MUTEX: Ns = 14;

/// Time that CUPTI adds to a kernel that was launched, ns: in five sizes of one kernel from 1.2 to 10.2 µs, each took 0.83 to 0.90 µs
/// longer as recorded launches than as nodes of a graph, which took as long as without CUPTI; and 20,000 launches of the longest one in a
/// row took 12.08 µs each with CUPTI and 11.09 µs without it (H200, driver 580; 4,000 rounds of an axpy on 8 blocks).
const KERNEL: Ns = 860;

/// Time that CUPTI adds from the start of one kernel to that of the next, ns: less, since the time between them is shorter. It was 430 ns
/// on an H200, and 250 ± 80 and 330 ± 80 ns for kernels of 20 µs on an H100 ("By call").
const KERNEL_PERIOD: Ns = 400;

/// The same for kernels beside those of other streams, ns: all of it. Kernels of 5 µs that were queued in 2, 4 and 8 streams took 0.8 and
/// 0.9, 0.6 to 1.0, and 2.5 and 3.3 µs longer each with CUPTI, and 0.1 in one stream (two runs by turns on an H100).
const BESIDE_OTHERS: Ns = KERNEL;

/// Time that CUPTI adds before the start of a copy or a fill, ns: copies of 4 KB and 1 MB in a row took 1.33 and 1.55 µs longer each, and
/// had 1.34 and 1.47 µs between them, which is all of it (H100, "By call").
const COPY: Ns = 1_400;

/// Time that the stack of a call takes after it in recordings that do not say it, ns: 8,000 copies of 139 µs took 1,537 ms with their
/// stacks, 1,515 without, and 1,474 bare (five runs of each by turns on an H100: `norm before` of `benches/whatif`, `holdup record` with
/// and without `--stacks off`).
const STACK: Ns = 2_700;

impl Recovered {
    /// The steps without what the recorder and CUPTI added to the calls and operations; as they are if neither recorded them.
    pub fn untraced(&self, trace: &Trace) -> Recovered {
        let mut bare = self.clone();
        without_stacks(&mut bare, trace);
        if !is_by_cupti(trace) {
            return bare;
        }
        let recorder = if is_recorded(trace) { RECORDER } else { 0 };
        for step in bare.recorded.threads.iter_mut().flatten() {
            let RecordedStep::Call(call) = step else { continue };
            if let Does::Issue { works, .. } = call.does {
                let own = call.before_ns + call.held_ns + call.after_ns;
                let first = bare.recorded.works.get(works.first as usize);
                let slow = if first.is_some_and(Work::is_launched) { (own - USUAL).max(0) } else { 0 };
                let added = (own * PART + slow * (BEYOND - PART)) / 100;
                let added = added.min(MOST * i64::from(works.count));
                let with_mutex = if call.locks.mutex { call.held_ns * WITH_MUTEX / 100 } else { 0 };
                call.held_ns -= with_mutex;
                let rest = (added - with_mutex).max(0);
                take([&mut call.after_ns, &mut call.held_ns, &mut call.before_ns], rest);
                take([&mut call.before_ns, &mut call.after_ns], recorder);
            }
        }
        let beside = beside_others(&bare, trace);
        for (work, beside) in bare.recorded.works.iter_mut().zip(beside) {
            match work.kind {
                WorkKind::Kernel { in_graph: false, .. } => {
                    let added = of_kernel(work.ns);
                    let period = if beside { BESIDE_OTHERS } else { KERNEL_PERIOD };
                    work.ns -= added;
                    work.gap_ns.iter_mut().for_each(|gap| *gap += (added - period).max(0));
                    work.meets.iter_mut().for_each(|meets| meets.ns -= KERNEL.min(meets.ns / 2));
                }
                WorkKind::Kernel { in_graph: true, .. } => {}
                WorkKind::Copy { .. } | WorkKind::Fill => {
                    let before = [&mut work.latency_ns, &mut work.gap_ns];
                    before.into_iter().flatten().for_each(|ns| *ns -= COPY.min(*ns));
                }
            }
        }
        bare
    }
}

/// CUPTI's part of the recorded time of a launched kernel, ns: at most half of it.
pub(crate) fn of_kernel(recorded: Ns) -> Ns {
    KERNEL.min(recorded / 2)
}

/// By work: whether it is a kernel that ran while another one of its device did.
fn beside_others(of: &Recovered, trace: &Trace) -> Vec<bool> {
    let ops = &trace.ops;
    let mut kernels: BTreeMap<DeviceId, Vec<OpId>> = BTreeMap::new();
    for op in ops.ids().filter(|op| ops.kind[op.index()] == OpKind::Kernel) {
        kernels.entry(trace.device_of_stream(ops.stream[op.index()])).or_default().push(op);
    }
    let mut beside = vec![false; of.recorded.works.len()];
    for kernels in kernels.into_values() {
        let time = |op: &OpId| (ops.start[op.index()], ops.end[op.index()]);
        divide(kernels, time, |op, meets| beside[of.works[op.index()].0 as usize] |= meets);
    }
    beside
}

/// Takes the time of a call's stack from the pause after it, or else from its end.
fn without_stacks(bare: &mut Recovered, trace: &Trace) {
    let costs = stack_costs(trace);
    if costs.is_none() && !is_recorded(trace) {
        return;
    }
    for ((thread, of), steps) in trace.threads.ids().zip(bare.steps.iter()).zip(&mut bare.recorded.threads) {
        let cost = costs.as_ref().map_or(STACK, |costs| costs.get(&thread).copied().unwrap_or(0));
        for (at, of) in of.iter().enumerate() {
            if !matches!(of, StepOf::Call(id) if trace.calls.stack[id.index()].is_some()) {
                continue;
            }
            let (front, behind) = steps.split_at_mut(at + 1);
            let left = match behind.first_mut() {
                Some(RecordedStep::Host(ns)) => cost - take([ns], cost),
                _ => cost,
            };
            if let RecordedStep::Call(call) = &mut front[at] {
                take([&mut call.after_ns], left);
            }
        }
    }
}

/// Time of a stack on each thread in the mean, ns; `None` where the recording does not say it.
fn stack_costs(trace: &Trace) -> Option<BTreeMap<ThreadId, Ns>> {
    let tallies = trace.tallies.ids().map(|tally| trace.tallies.row(tally));
    let stacks = tallies.filter(|row| row.kind == TallyKind::Recorder && trace.text(row.name) == STACKS);
    let costs: BTreeMap<_, _> = stacks.map(|row| (row.thread, row.time / row.count.max(1))).collect();
    (!costs.is_empty()).then_some(costs)
}

/// Whether CUPTI recorded the operations: simulated traces have no tracer.
pub(crate) fn is_by_cupti(trace: &Trace) -> bool {
    is_recorded(trace) || trace.meta.libraries.contains_key("CUPTI")
}

/// Whether it is a recording of holdup's: others come by their stacks in other ways.
fn is_recorded(trace: &Trace) -> bool {
    trace.meta.source_version.starts_with("CUPTI")
}
