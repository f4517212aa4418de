//! Losses of a busy GPU that had room: operations that were ready and waited, and calls that would have asked for more
//! and waited for a lock.

use super::blame::Blame;
use super::gaps::Timeline;
use super::roots::{Charges, Culprit, Path, Root, RootTimes, Row};
use super::segment::{Doing, is_for_work};
use super::settle::settle;
use super::streams::{Held, HeldBack, WaitPart, Waiting, room};
use super::sums::add_to;
use crate::rules::passes;
use crate::{About, Cause, Confidence};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use trace::{CallId, CopyKind, LockLayer, Ns, OpId, OpKind, StreamId, Sym, ThreadId, Times};
use waits::{AwaitedByCall, is_default};

/// Cost of each root to a GPU while it was busy.
pub(super) struct HeldRows {
    /// Of operations that were ready.
    pub ready: Vec<Row>,
    /// Of calls that would have asked for more.
    pub asking: Vec<Row>,
    /// Of kernels that waited for pages, or took longer beside another process's.
    pub running: Vec<Row>,
}

/// Cost of each root to a GPU while it was busy.
pub(super) fn rows(blame: &Blame<'_>, timeline: &Timeline<'_>, waiting: &Waiting) -> HeldRows {
    let mut ready = Charges::default();
    for held in &waiting.held {
        if let Some((thread, call, root)) = root(blame, held) {
            let ns = held.end - held.start;
            let row = ready.charge(Some(&Path::of(thread)), root, held.start, ns);
            row.into_iter().for_each(|row| ready.is_of_call(row, call, ns));
        }
    }
    let mut asking = Charges::default();
    for (from, to, thread) in stalls(blame, timeline) {
        for part in without(&waiting.held, from, to) {
            blame.thread(&mut asking, &Path::of(thread), part);
        }
    }
    HeldRows {
        ready: settle(ready.done(), blame.facts.trace, blame.sites),
        asking: settle(asking.done(), blame.facts.trace, blame.sites),
        running: faulting(blame, timeline, waiting),
    }
}

/// Time for which kernels waited for pages of unified memory that moved while they ran, and nothing was held back: to the GPU, and away
/// from it where it has no room for more. From one page to the next a kernel waits as well, as far as it takes longer than the shortest
/// one of its kind.
fn faulting(blame: &Blame<'_>, timeline: &Timeline<'_>, waiting: &Waiting) -> Vec<Row> {
    let (ops, mut charges) = (&blame.facts.trace.ops, Charges::default());
    let times = |op: &OpId| (ops.start[op.index()], ops.end[op.index()]);
    let moves: Vec<OpId> = timeline.ops().iter().copied().filter(|op| blame.is_migration(*op)).collect();
    if moves.is_empty() {
        return Vec::new();
    }
    let comes = |op: &&OpId| ops.copy[op.index()] != CopyKind::UnifiedDtoH;
    let [come, moved] =
        [Times::of(moves.iter().filter(comes).map(times)), Times::of(moves.iter().map(times))];
    let kernels = || timeline.ops().iter().filter(|op| ops.kind[op.index()] == OpKind::Kernel);
    let alike = |op: &OpId| (ops.name[op.index()], ops.grid_x[op.index()], ops.grid_y[op.index()]);
    let mut shortest = FxHashMap::<_, Ns>::default();
    for op in kernels() {
        let ((start, end), known) = (times(op), shortest.entry(alike(op)).or_insert(Ns::MAX));
        *known = (*known).min(end - start);
    }
    let mut done = timeline.span.0;
    for op in kernels() {
        let (start, end) = times(op);
        let parts = without(&waiting.held, start.max(done), end.min(timeline.span.1));
        let (moved, is_faulting) = match come.part(start, end) {
            0 => (&come, false),
            _ => (&moved, true),
        };
        let (mut free, mut moving) = (0, 0);
        for (from, to) in parts {
            (free, moving) = (free + to - from, moving + moved.part(from, to));
        }
        let longer = (end - start - shortest[&alike(op)]).min(within(moved, (start, end)));
        let ns = if is_faulting { moving.max(longer.min(free)) } else { moving };
        done = done.max(end);
        blame.kernel(&mut charges, Cause::PageMigration, *op, ns);
    }
    charges.done()
}

/// From the first of some times in `[from, to)` to the end of the last one, ns.
fn within(times: &Times, (from, to): (Ns, Ns)) -> Ns {
    let all = times.intervals();
    let first = all.partition_point(|(_, end)| *end <= from);
    let last = all.partition_point(|(start, _)| *start < to);
    if first < last { all[last - 1].1.min(to) - all[first].0.max(from) } else { 0 }
}

/// The thread that asked for the operation that waited, its call, or the one that ordered it after another stream's work, and the root:
/// that call. Of the legacy default stream it is the call that put work into it, whichever waits, and of a hardware queue the one that put
/// work there first: others wait because of that.
fn root(blame: &Blame<'_>, held: &Held) -> Option<(ThreadId, CallId, Root)> {
    let trace = blame.facts.trace;
    let of = |op: OpId| blame.facts.outermost(trace.ops.call[op.index()]).some();
    let call = of(held.op)?;
    let is_in_default = |op: &OpId| is_default(trace, trace.ops.stream[op.index()]);
    let both = [held.op, held.behind].into_iter().filter(|op| op.is_some());
    let in_default = both.filter(|_| held.cause == Cause::DefaultStream).find(is_in_default);
    let order = if held.cause == Cause::Dependency {
        blame.facts.orders(call)
    } else if held.cause == Cause::ConnectionAliasing {
        held.behind.some().and_then(of)
    } else {
        in_default.and_then(of)
    };
    let (thread, ordered) = (blame.facts.thread(call), order.unwrap_or(call));
    let (process, stack) = (trace.process_of_thread(thread), blame.facts.own_stack(ordered));
    // Without a stack, what runs in the default stream tells most.
    let name = in_default.filter(|_| stack.is_none()).map(|op| trace.ops.name[op.index()]);
    let name = name.filter(|name| *name != Sym::EMPTY).unwrap_or(trace.calls.name[ordered.index()]);
    let culprit = Culprit::Call(process, name, stack);
    let root = Root::new(held.cause, culprit).selected(blame.facts.is_chosen_operation(held.op, call));
    Some((thread, ordered, root))
}

/// The roots of the time for which the operations of each stream held the GPU back, in the order of the streams.
pub(super) fn of_streams(blame: &Blame<'_>, waiting: &Waiting) -> Vec<RootTimes> {
    let mut times = FxHashMap::<StreamId, RootTimes>::default();
    for held in &waiting.held {
        if let Some((.., root)) = root(blame, held) {
            let stream = blame.facts.trace.ops.stream[held.op.index()];
            add_to(times.entry(stream).or_default(), root, held.end - held.start);
        }
    }
    waiting.ids.iter().map(|stream| times.remove(stream).unwrap_or_default()).collect()
}

/// The parts of `[from, to)` in which no operation was held back.
pub(super) fn without(held: &[Held], from: Ns, to: Ns) -> Vec<(Ns, Ns)> {
    let (mut parts, mut now) = (Vec::new(), from);
    let first = held.partition_point(|held| held.end <= from);
    for held in held[first..].iter().take_while(|held| held.start < to) {
        parts.push((now, held.start.max(now)));
        now = held.end;
    }
    parts.push((now.min(to), to));
    parts.retain(|(from, to)| from < to);
    parts
}

/// When threads that put work into a GPU waited outside calls for a lock of the program or of an interpreter, as long as its holder waited for
/// the GPU: in any order. A holder that works would hold it anyway while the GPU is busy.
fn behind_waiting(blame: &Blame<'_>, timeline: &Timeline<'_>) -> Vec<(Ns, Ns, ThreadId)> {
    let (facts, waits) = (blame.facts, &blame.facts.trace.waits);
    let is_of_program = |layer| matches!(layer, LockLayer::Program | LockLayer::Interpreter);
    let mut stalls = Vec::new();
    for at in (0..waits.len()).filter(|at| is_of_program(waits.layer[*at]) && !is_for_work(waits.kind[*at])) {
        let (Some(thread), Some(holder)) = (waits.thread[at].some(), waits.holder[at].some()) else {
            continue;
        };
        let before = blame.activity.call_before(thread, waits.start[at]);
        if before.some().is_some_and(|call| facts.device(call) == timeline.device) {
            blame.activity.walk(holder, waits.start[at], waits.end[at], |segment| {
                let cause = match segment.doing {
                    Doing::Lost(part) => blame.activity.part(part).cause,
                    Doing::Working(call) => passes::of_rest(facts, call),
                    Doing::Waiting(_) | Doing::Outside(_) => return,
                };
                if cause.awaited_by_call() == AwaitedByCall::Device {
                    stalls.push((segment.start, segment.end, thread));
                }
            });
        }
    }
    stalls
}

/// When calls that put work into a GPU, and threads that would make such calls, waited for a lock while it was busy and had room: in order
/// and apart.
fn stalls(blame: &Blame<'_>, timeline: &Timeline<'_>) -> Vec<(Ns, Ns, ThreadId)> {
    let facts = blame.facts;
    let asks = |call: &CallId| facts.device(*call) == timeline.device && !facts.ops(*call).is_empty();
    let calls = facts.slow.iter().copied().filter(asks);
    let mut stalls: Vec<(Ns, Ns, ThreadId)> = calls
        .flat_map(|call| blame.activity.locks(call).map(move |(from, to)| (from, to, call)))
        .map(|(from, to, call)| (from, to, facts.thread(call)))
        .collect();
    stalls.extend(behind_waiting(blame, timeline));
    if stalls.is_empty() {
        return stalls;
    }
    stalls.sort_unstable();
    let room = room(facts.trace, timeline);
    let (mut apart, mut done, mut next) = (Vec::new(), timeline.span.0, 0);
    for (from, to, thread) in stalls {
        let (from, to) = (from.max(done), to.min(timeline.span.1));
        while room.get(next).is_some_and(|(_, end)| *end <= from) {
            next += 1;
        }
        for (start, end) in room[next..].iter().take_while(|(start, _)| *start < to) {
            let (start, end) = (from.max(*start), to.min(*end));
            if start < end {
                apart.push((start, end, thread));
            }
        }
        done = done.max(to);
    }
    apart
}

/// Time for which calls that waited for locks held the GPU back, by cause, most first.
pub(super) fn of_calls(rows: &[Row]) -> Vec<HeldBack> {
    let mut causes = BTreeMap::<Cause, Ns>::new();
    rows.iter().for_each(|row| *causes.entry(row.root.cause).or_default() += row.ns);
    let part = |(cause, ns): (Cause, Ns)| {
        let evidence = About::of(cause).usual_evidence();
        HeldBack {
            part: WaitPart { cause, ns, evidence, confidence: Confidence::Likely, finding: None },
            streams: Vec::new(),
        }
    };
    causes.into_iter().map(part).collect()
}
