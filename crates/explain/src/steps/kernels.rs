//! Steps that nothing marks: a kernel that a loop runs once shows where its steps begin. The number of operations from one run
//! to the next may vary with the data, by a quarter in nine of ten steps.

use super::builds::Builds;
use super::found::{FEWEST, Found, StepSource, between};
use crate::facts::Facts;
use rustc_hash::FxHashMap;
use trace::{CallId, DeviceId, Ns, OpId, OpKind, ProcessId, StreamId, Sym, ThreadId, Trace};

/// Fewest operations of a step: a loop around one kernel is no step.
const SHORTEST: usize = 4;

/// Steps of ten that must have about the same number of operations.
const ALIKE: usize = 9;

/// How many of ten operations must be in such steps.
pub(super) const COVERED: usize = 8;

/// Operations for each one beyond a period that is even, at least. A decoder of 80 layers of 15 operations has more once a
/// token.
const EVEN: usize = 500;

/// Parts of the names of kernels that update a model's parameters, in lower case: PyTorch's `foreach` and fused
/// optimizers, Apex's, JAX's and Inductor's. Gradient accumulation has several passes through the model a step, and one update.
const UPDATES: [&str; 4] = ["multi_tensor_apply", "adam", "sgd", "adagrad"];

/// A kernel that comes back after about as many operations each time.
#[derive(Clone, Copy)]
struct Regular {
    name: Sym,
    runs: usize,
    /// Operations from one run to the next, in the median.
    period: usize,
    /// The operations before its first run.
    first: usize,
    /// Operations beyond the median from one run to the next, in all.
    excess: usize,
    updates: bool,
}

impl Regular {
    /// Whether its period differs from another by at most a tenth.
    fn is_about(&self, period: usize) -> bool {
        self.period.abs_diff(period) * 10 <= period
    }
}

pub(super) fn find(
    facts: &Facts<'_>,
    (from, to): (Ns, Ns),
    stream: StreamId,
    builds: &Builds,
) -> Option<Found> {
    let trace = facts.trace;
    let is_in = |op: &OpId| from <= trace.ops.start[op.index()] && trace.ops.end[op.index()] <= to;
    let mut ops = facts.in_stream(stream).to_vec();
    ops.retain(|op| is_in(op) && !builds.hold(trace, *op));
    let anchor = anchor(facts, &ops)?;
    let anchors: Vec<OpId> = ops.into_iter().filter(|op| kernel(facts, *op) == Some(anchor)).collect();
    let thread = thread(facts, &anchors)?;
    // Where they ran: the host may be many steps ahead.
    let begun: Vec<_> = anchors.iter().map(|op| (trace.ops.start[op.index()], call(facts, *op))).collect();
    let steps = between(thread, &begun);
    let name = trace.text(anchor).to_owned();
    (steps.len() >= FEWEST).then(|| Found::new(name, StepSource::Kernels, thread, steps))
}

/// The stream with most operations.
pub(super) struct Busiest {
    pub stream: StreamId,
    pub device: DeviceId,
    pub process: ProcessId,
    /// Whether nearly all operations of its process on its device are in it.
    pub has_nearly_all: bool,
}

impl Busiest {
    pub fn of(trace: &Trace, builds: &Builds) -> Option<Busiest> {
        let mut counts = vec![0usize; trace.streams.len()];
        for op in trace.ops.ids().filter(|op| !builds.hold(trace, *op)) {
            if let Some(stream) = trace.ops.stream[op.index()].some() {
                counts[stream.index()] += 1;
            }
        }
        let most = |stream: &StreamId| (counts[stream.index()], std::cmp::Reverse(*stream));
        let stream = trace.streams.ids().max_by_key(most)?;
        let of = |stream| (trace.device_of_stream(stream), trace.process_of_stream(stream));
        let (device, process) = of(stream);
        let beside = trace.streams.ids().filter(|other| of(*other) == (device, process));
        let all: usize = beside.map(|other| counts[other.index()]).sum();
        let has_nearly_all = counts[stream.index()] * 10 >= all * COVERED;
        Some(Busiest { stream, device, process, has_nearly_all })
    }
}

/// The outermost call that asked for an operation.
pub(super) fn call(facts: &Facts<'_>, op: OpId) -> CallId {
    facts.outermost(facts.trace.ops.call[op.index()])
}

pub(super) fn kernel(facts: &Facts<'_>, op: OpId) -> Option<Sym> {
    let ops = &facts.trace.ops;
    (ops.kind[op.index()] == OpKind::Kernel).then(|| ops.name[op.index()])
}

/// The thread that launched all of them.
fn thread(facts: &Facts<'_>, ops: &[OpId]) -> Option<ThreadId> {
    let of = |op: &OpId| Some(facts.thread(facts.trace.ops.call[op.index()].some()?));
    let thread = of(ops.first()?)?;
    ops.iter().all(|op| of(op) == Some(thread)).then_some(thread)
}

/// The kernel with which steps begin: of those that a step has once, the first to run.
pub(super) fn anchor(facts: &Facts<'_>, ops: &[OpId]) -> Option<Sym> {
    let regular = regular(facts, ops);
    let longest = |kernels: &mut dyn Iterator<Item = &Regular>| kernels.map(|kernel| kernel.period).max();
    // What updates the model shows the program's own step; else the longest that repeats, as layers repeat within one.
    let of_updates = longest(&mut regular.iter().filter(|kernel| kernel.updates));
    let period = match of_updates {
        Some(period) => period,
        None => evenly(&regular, ops.len(), longest(&mut regular.iter())?),
    };
    let once = regular.iter().filter(|kernel| kernel.is_about(period));
    // The first step may lack some that the others have.
    once.max_by_key(|kernel| (kernel.runs, std::cmp::Reverse(kernel.first))).map(|kernel| kernel.name)
}

/// The period that a longer one consists of, if more kernels have it, and run evenly: with next to no other operations once in
/// the longer one. In a loop over tokens a few kernels alternate, as tensors of odd and even lengths have different ones. Layers
/// are followed by operations of their step.
fn evenly(regular: &[Regular], operations: usize, longer: usize) -> usize {
    let of = |period: usize| regular.iter().filter(|kernel| kernel.is_about(period)).count();
    let is_even = |kernel: &&Regular| kernel.period * 3 < longer * 2 && kernel.excess * EVEN <= operations;
    let period = regular.iter().filter(is_even).map(|kernel| kernel.period).max();
    period.filter(|period| of(*period) > of(longer)).unwrap_or(longer)
}

/// The kernels with regular runs that nearly all operations are between.
fn regular(facts: &Facts<'_>, ops: &[OpId]) -> Vec<Regular> {
    let mut runs = FxHashMap::<Sym, Vec<usize>>::default();
    for (at, op) in ops.iter().enumerate() {
        if let Some(name) = kernel(facts, *op) {
            runs.entry(name).or_default().push(at);
        }
    }
    let regular = |(name, runs): (Sym, Vec<usize>)| {
        let mut periods: Vec<usize> = runs.windows(2).map(|pair| pair[1] - pair[0]).collect();
        periods.sort_unstable();
        let period = *periods.get(periods.len() / 2)?;
        let kept = periods.iter().filter(|of_one| of_one.abs_diff(period) * 4 <= period).count();
        let is_regular = kept * 10 >= periods.len() * ALIKE;
        let is_covering = periods.len() * period * 10 >= ops.len() * COVERED;
        let is_step = periods.len() >= FEWEST && period >= SHORTEST && is_regular && is_covering;
        let excess = periods.iter().map(|of_one| of_one.saturating_sub(period)).sum();
        let updates = is_step && updates(facts.trace.text(name));
        is_step.then_some(Regular { name, runs: runs.len(), period, first: runs[0], excess, updates })
    };
    runs.into_iter().filter_map(regular).collect()
}

fn updates(kernel: &str) -> bool {
    let lower = kernel.to_lowercase();
    UPDATES.iter().any(|word| lower.contains(word))
}
