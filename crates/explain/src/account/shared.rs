//! Kernels that take longer while another process's run on the same GPU.

use super::blame::Blame;
use super::gaps::Timeline;
use super::held_back::without;
use super::roots::{Charges, Row};
use super::streams::Waiting;
use crate::Cause;
use rustc_hash::FxHashMap;
use trace::{Ns, OpId, OpKind, ProcessId, Sym, Times};

/// Fewest kernels of a name that ran alone by which the time is known that they take, and the least part, in percent, by which those beside
/// another process's must take longer. Choices.
const ALONE: usize = 8;
const LONGER: Ns = 25;

/// Time that kernels took longer beside another process's than those of the same name alone, as far as nothing was held back meanwhile.
pub(super) fn rows(blame: &Blame<'_>, timeline: &Timeline<'_>, waiting: &Waiting) -> Vec<Row> {
    let trace = blame.facts.trace;
    let ops = &trace.ops;
    let process = |op: OpId| trace.process_of_stream(ops.stream[op.index()]);
    let times = |op: OpId| (ops.start[op.index()], ops.end[op.index()]);
    let kernels = || timeline.ops().iter().copied().filter(|op| ops.kind[op.index()] == OpKind::Kernel);
    let mut of_process = FxHashMap::<ProcessId, Vec<(Ns, Ns)>>::default();
    kernels().for_each(|op| of_process.entry(process(op)).or_default().push(times(op)));
    if of_process.len() < 2 {
        return Vec::new();
    }
    let others: FxHashMap<ProcessId, Times> = of_process
        .keys()
        .map(|own| {
            let of_others = of_process.iter().filter(|(process, _)| *process != own);
            (*own, Times::of(of_others.flat_map(|(_, times)| times.iter().copied())))
        })
        .collect();
    let beside = |op: OpId| {
        let (start, end) = times(op);
        others[&process(op)].part(start, end) * 2 >= end - start
    };
    let mut alone = FxHashMap::<(ProcessId, Sym), Vec<Ns>>::default();
    for op in kernels().filter(|op| !beside(*op)) {
        let (start, end) = times(op);
        alone.entry((process(op), ops.name[op.index()])).or_default().push(end - start);
    }
    let usual: FxHashMap<(ProcessId, Sym), Ns> = alone
        .into_iter()
        .filter(|(_, lengths)| lengths.len() >= ALONE)
        .map(|(key, mut lengths)| {
            let middle = lengths.len() / 2;
            (key, *lengths.select_nth_unstable(middle).1)
        })
        .collect();
    let mut charges = Charges::default();
    for op in kernels().filter(|op| beside(*op)) {
        let (start, end) = times(op);
        let Some(usual) = usual.get(&(process(op), ops.name[op.index()])) else { continue };
        let longer = (end - start - usual).max(0);
        if longer * 100 < usual * LONGER {
            continue;
        }
        let (from, to) = (start.max(timeline.span.0), end.min(timeline.span.1));
        let free: Ns = without(&waiting.held, from, to).into_iter().map(|(from, to)| to - from).sum();
        // While two processes' kernels run, the GPU's time counts once.
        let ns = longer.min(free) / of_process.len() as Ns;
        blame.kernel(&mut charges, Cause::TimeSlicing, op, ns);
    }
    charges.done()
}
