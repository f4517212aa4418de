//! Thread that delayed a GPU in a gap: the thread that asked for the operation that ended the gap, and through proven waits
//! the thread that delayed that one. The root of the chain is charged, once.

use super::activity::Activity;
use super::contended::ContendedLocks;
use super::gaps::Gap;
use super::lateness::Lateness;
use super::outside::{Outside, Pause, is_demand};
use super::roots::{Charges, Culprit, Path, Root};
use super::segment::{Doing, Segment, is_for_work};
use super::sites::Sites;
use crate::analysis::group::Key;
use crate::analysis::parts::Holder;
use crate::analysis::recorded_waits;
use crate::facts::Facts;
use crate::facts::marks::Mark;
use crate::facts::stretch::Stretch;
use crate::facts::turns::TURN;
use crate::rules::passes;
use crate::{Cause, Confidence};
use trace::{CallId, CopyKind, DeviceId, LockLayer, Ns, OpId, OpKind, StackId, ThreadId, WaitId};
use waits::NEXT_OPERATION;

/// The activity of all threads, and what is known of the times outside calls.
pub(super) struct Blame<'a> {
    pub facts: &'a Facts<'a>,
    pub activity: &'a Activity<'a>,
    pub outside: &'a Outside,
    pub sites: &'a Sites,
    pub lateness: &'a Lateness,
    pub contended: &'a ContendedLocks,
}

impl Blame<'_> {
    /// Divides a gap of a GPU among roots. `floor` is the time that a launch into an idle GPU takes to start, ns.
    pub fn gap(&self, charges: &mut Charges, device: DeviceId, gap: &Gap, floor: Ns) {
        if let Some(at) = gap.awaited {
            return self.lateness.charge(charges, self.facts, gap, at);
        }
        let call = self.facts.outermost(self.facts.trace.ops.call[gap.next.index()]);
        let path = call.some().map(|call| Path::of(self.facts.thread(call)));
        let is_selected = call.some().is_none_or(|call| self.facts.is_chosen_operation(gap.next, call));
        if self.is_migration(gap.next) && gap.last.is_some() {
            let root = Root::new(Cause::PageMigration, Culprit::Device(device)).selected(is_selected);
            return self.migration(charges, root, gap);
        }
        let is_off = || self.facts.trace.meta.pauses().any(|(off, on)| off < gap.end && gap.start < on);
        let of_gpu = |cause| Root::new(cause, Culprit::Device(device));
        let mut charge = |root: Root, start, ns| {
            charges.charge(path.as_ref(), root.selected(is_selected), start, ns);
        };
        if call.is_none() || !self.facts.one_clock() || is_off() {
            return charge(of_gpu(Cause::NotRecorded), gap.start, gap.length());
        }
        // The GPU waited for the thread until its call returned, at most until the operation started.
        let until = self.facts.end(call).clamp(gap.start, gap.end);
        // From one operation to the next that waits for it already, a GPU takes some time, too.
        let floor = if self.facts.end(call) < gap.start { floor.max(NEXT_OPERATION) } else { floor };
        let latency = (gap.end - until).min(floor);
        charge(of_gpu(Cause::LaunchLatency), until, latency);
        // Asked for, and nothing ran: it waited for something that is no operation of this GPU.
        let rest = gap.end - until - latency;
        let order = (rest > 0).then(|| self.order(gap, call)).flatten();
        let is_turn = self.changes_context(gap) || rest >= TURN && self.facts.takes_turns();
        let beside = of_gpu(if is_turn { Cause::TimeSlicing } else { Cause::Dependency });
        charge(order.unwrap_or(beside), until + latency, rest);
        match gap.last.is_none() {
            true => charge(of_gpu(Cause::StartUp), gap.start, until - gap.start),
            false => self.thread(charges, &Path::of_idle(self.facts.thread(call)), (gap.start, until)),
        }
    }

    /// Whether the GPU went from one context's work to another's, which runs on it by turns: without MPS about 130 µs (H200, two processes
    /// of cuBLAS norms).
    fn changes_context(&self, gap: &Gap) -> bool {
        let trace = self.facts.trace;
        let context = |op: OpId| {
            let stream = op.some().and_then(|op| trace.ops.stream[op.index()].some())?;
            trace.streams.context[stream.index()].some()
        };
        let contexts = [gap.last, gap.next].map(context);
        contexts[0].is_some() && contexts[1].is_some() && contexts[0] != contexts[1]
    }

    /// The root of a wait for an event or a host function: the call that put it before an operation in its stream. The operation must not
    /// come long after that in other ways: it is the next one in its stream.
    fn order(&self, gap: &Gap, call: CallId) -> Option<Root> {
        let (facts, trace) = (self.facts, self.facts.trace);
        let order = facts.orders(call)?;
        let is_next = gap.last.some().is_some_and(|last| {
            let same = trace.ops.stream[last.index()] == trace.ops.stream[gap.next.index()];
            let before = facts.outermost(trace.ops.call[last.index()]).some();
            same && before.is_some_and(|before| facts.start(before) < facts.start(order))
        });
        let process = trace.process_of_thread(facts.thread(call));
        let culprit = Culprit::Call(process, trace.calls.name[order.index()], facts.own_stack(order));
        is_next.then(|| Root::new(Cause::Dependency, culprit))
    }

    /// Charges a cause with `ns` of the time for which a kernel ran, and the kernel's name with it.
    pub fn kernel(&self, charges: &mut Charges, cause: Cause, op: OpId, ns: Ns) {
        let (facts, ops) = (self.facts, &self.facts.trace.ops);
        let call = facts.outermost(ops.call[op.index()]).some();
        let path = call.map(|call| Path::of(facts.thread(call)));
        let row = charges.charge(path.as_ref(), self.of_kernel(cause, op), ops.start[op.index()], ns);
        if let (Some(row), Some(call)) = (row, call) {
            charges.is_of_call(row, call, ns);
        }
    }

    /// The root of a time that is due to a kernel.
    pub fn of_kernel(&self, cause: Cause, op: OpId) -> Root {
        let (facts, ops) = (self.facts, &self.facts.trace.ops);
        let call = facts.outermost(ops.call[op.index()]).some();
        let stack = call.map_or(StackId::NONE, |call| facts.own_stack(call));
        let process = facts.trace.process_of_stream(ops.stream[op.index()]);
        let root = Root::new(cause, Culprit::Call(process, ops.name[op.index()], stack));
        root.selected(call.is_none_or(|call| facts.is_chosen_operation(op, call)))
    }

    /// Charges a gap that ended when a page migrated: to what the thread did that must have touched it, if that was no call.
    fn migration(&self, charges: &mut Charges, root: Root, gap: &Gap) {
        let Some(touching) = self.only_thread(gap.next).map(Path::of) else {
            charges.charge(None, root, gap.start, gap.length());
            return;
        };
        self.activity.walk(touching.thread, gap.start, gap.end, |segment| {
            let site = || Culprit::Site(self.sites.of(self.outside, touching.thread, &segment));
            let is_outside = matches!(segment.doing, Doing::Outside(_));
            let culprit = if is_outside { site() } else { root.culprit };
            let root = Root { culprit, ..root };
            let row = charges.charge(Some(&touching), root, segment.start, segment.length());
            let seen = self.sites.samples(touching.thread, segment.start, segment.end);
            for seen in seen.iter().filter(|seen| is_outside && !seen.asleep) {
                if let (Some(row), Some(spot)) = (row, seen.spot) {
                    charges.see(row, spot, seen.weight);
                }
            }
        });
    }

    /// The thread of an operation's process that makes calls, if it is the only one.
    fn only_thread(&self, op: OpId) -> Option<ThreadId> {
        let trace = self.facts.trace;
        let process = trace.process_of_stream(trace.ops.stream[op.index()]);
        let calls = |thread: &ThreadId| !self.facts.calls_by_thread()[thread.index()].is_empty();
        let mut of_process = trace.threads.ids().filter(|thread| trace.process_of_thread(*thread) == process);
        let first = of_process.by_ref().find(calls)?;
        of_process.all(|thread| !calls(&thread)).then_some(first)
    }

    /// Whether an operation moves unified memory that somebody touched: no call asked for it.
    pub fn is_migration(&self, op: OpId) -> bool {
        let (ops, at) = (&self.facts.trace.ops, op.index());
        let is_unified =
            matches!(ops.copy[at], CopyKind::UnifiedHtoD | CopyKind::UnifiedDtoH | CopyKind::UnifiedDtoD);
        ops.kind[at] == OpKind::Copy && is_unified && ops.call[at].is_none()
    }

    /// Divides the time `[from, to)` of the last thread of a path among the roots of what it did.
    pub fn thread(&self, charges: &mut Charges, path: &Path<'_>, (from, to): (Ns, Ns)) {
        self.activity.walk(path.thread, from, to, |segment| match segment.doing {
            Doing::Lost(_) | Doing::Waiting(_) => self.waiting(charges, path, segment),
            Doing::Working(_) => self.alone(charges, path, &segment),
            Doing::Outside(_) => self.outside(charges, path, &segment, self.contended(path, &segment)),
        });
    }

    /// The root of a thread's own work while a GPU is idle, if others wait for a lock that it holds: without that they would ask for work.
    fn contended(&self, path: &Path<'_>, segment: &Segment) -> Option<Root> {
        let before = self.activity.call_before(path.thread, segment.start).some();
        let since = before.map_or(Ns::MIN, |call| self.facts.end(call));
        let wait = self.contended.held_in(path.thread, segment, since).filter(|_| path.of_idle)?;
        let waits = &self.facts.trace.waits;
        let stack = waits.releaser_stack[wait.index()].some().or(waits.holder_stack[wait.index()].some());
        Some(self.wait(path, wait, stack.unwrap_or(StackId::NONE)))
    }

    /// Divides a segment of the last thread of a path among the causes of what it did itself: a wait is due to the wait.
    pub fn alone(&self, charges: &mut Charges, path: &Path<'_>, segment: &Segment) {
        match segment.doing {
            Doing::Lost(part) => self.awake(charges, path, segment, self.part(path, part)),
            Doing::Waiting(wait) => {
                let root = self.wait(path, wait, StackId::NONE);
                charges.charge(Some(path), root, segment.start, segment.length());
            }
            Doing::Working(call) => self.working(charges, path, segment, call),
            Doing::Outside(_) => self.outside(charges, path, segment, None),
        }
    }

    /// Divides a segment in a call that no rule explains.
    fn working(&self, charges: &mut Charges, path: &Path<'_>, segment: &Segment, call: CallId) {
        let (trace, cause) = (self.facts.trace, passes::of_rest(self.facts, call));
        let process = trace.process_of_thread(path.thread);
        let stack = self.facts.own_stack(call);
        let root = Root::new(cause, Culprit::Call(process, trace.calls.name[call.index()], stack));
        let is_selected = path.selects(|| self.facts.is_chosen_at_any_time(Stretch::Call(call)));
        self.awake(charges, path, segment, root.selected(is_selected));
    }

    /// Charges a root with a segment in a call, less the time for which the thread was ready without a processor: by the
    /// scheduler's numbers, wherever in the call.
    fn awake(&self, charges: &mut Charges, path: &Path<'_>, segment: &Segment, root: Root) {
        let is_sync = matches!(root.cause, Cause::ExplicitSync | Cause::HiddenSync);
        let ready = if self.activity.blocks(segment.doing) {
            0
        } else if is_sync && path.of_idle {
            // A thread that polls for a GPU that is idle already is not on a processor.
            self.outside.ready_in_sync(path.thread, segment)
        } else {
            self.outside.ready_in_call(path.thread, segment)
        };
        let no_cpu = Root { cause: Cause::NoCpu, ..root };
        charges.charge(Some(path), no_cpu, segment.start, ready);
        let row = charges.charge(Some(path), root, segment.start + ready, segment.length() - ready);
        if let (Some(row), Doing::Working(call)) = (row, segment.doing) {
            charges.count_call(row, call, segment.length() - ready);
        }
    }

    /// Divides a wait of the last thread of a path among the roots of what it waited for.
    fn waiting(&self, charges: &mut Charges, path: &Path<'_>, segment: Segment) {
        let leaf = |stack: StackId| match segment.doing {
            Doing::Lost(part) => Some(self.part(path, part)),
            Doing::Waiting(wait) => Some(self.wait(path, wait, stack)),
            Doing::Working(_) | Doing::Outside(_) => None,
        };
        let mut from = segment.start;
        for Held { by, until, stack } in self.holders(&segment) {
            let Some(leaf) = leaf(stack) else { return self.alone(charges, path, &segment) };
            let until = until.clamp(from, segment.end);
            match by.some().and_then(|holder| path.to(holder, leaf)) {
                Some(next) if self.is_for_work(&segment) => self.thread(charges, &next, (from, until)),
                Some(next) => self.held(charges, &next, (from, until), leaf),
                None => {
                    let part = Segment { start: from, end: until, ..segment };
                    self.awake(charges, path, &part, leaf);
                }
            }
            from = until;
        }
        // Between the release and the acquisition nobody held it.
        let [.., Held { stack, .. }] = self.holders(&segment);
        if let Some(leaf) = leaf(stack) {
            charges.charge(Some(path), leaf, from, segment.end - from);
        }
    }

    /// Whether a wait is for what another thread does.
    fn is_for_work(&self, segment: &Segment) -> bool {
        let Doing::Waiting(wait) = segment.doing else { return false };
        is_for_work(self.facts.trace.waits.kind[wait.index()])
    }

    /// Divides the time for which the last thread of a path held a lock that another thread waited for. What a holder does
    /// itself, in a call or outside, it would do anyway: that others wait for it is due to the lock, the `leaf`.
    fn held(&self, charges: &mut Charges, path: &Path<'_>, (from, to): (Ns, Ns), leaf: Root) {
        self.activity.walk(path.thread, from, to, |held| match held.doing {
            Doing::Waiting(_) => self.waiting(charges, path, held),
            Doing::Lost(part) if self.activity.part(part).is_lock => self.waiting(charges, path, held),
            Doing::Lost(_) | Doing::Working(_) => {
                charges.charge(Some(path), self.held_in_call(path, &held, leaf), held.start, held.length());
            }
            Doing::Outside(_) => self.outside(charges, path, &held, Some(leaf)),
        });
    }

    /// A lock's root with the place of the call that its holder is in, if that is known.
    fn held_in_call(&self, path: &Path<'_>, held: &Segment, leaf: Root) -> Root {
        let call = self.activity.call_at(path.thread, held.start);
        let stack = call.some().and_then(|call| self.facts.own_stack(call).some());
        match (leaf.culprit, stack.and_then(|stack| self.sites.of_stack(stack))) {
            (Culprit::Lock(process, lock, _), Some(spot)) => {
                Root { culprit: Culprit::Lock(process, lock, Some(spot)), ..leaf }
            }
            _ => leaf,
        }
    }

    /// The root of a part of a call for which nobody else is to blame.
    fn part(&self, path: &Path<'_>, part: u32) -> Root {
        let part = self.activity.part(part);
        Root::new(part.cause, Culprit::Part(part.key)).selected(path.selects(|| part.is_selected))
    }

    /// The root of a wait for which nobody else is to blame; `stack` is where the holder was. Where nobody knows who ended the wait,
    /// the waiter's own place tells most.
    fn wait(&self, path: &Path<'_>, wait: WaitId, stack: StackId) -> Root {
        let (trace, at) = (self.facts.trace, wait.index());
        let is_known = trace.waits.holder[at].is_some() || trace.waits.releaser[at].is_some();
        let is_known = is_known && !self.collects(wait);
        let stack = if is_known { stack } else { trace.waits.stack[at] };
        let spot = stack.some().and_then(|stack| self.sites.of_stack(stack));
        let lock = Culprit::Lock(trace.process_of_thread(path.thread), trace.waits.lock[at], spot);
        // A library's function that waits for others says what for.
        let work = spot.filter(|_| !is_known).and_then(|spot| self.sites.mark(spot));
        let work = work.filter(|mark| !mark.is_sleep()).map(Mark::cause);
        let of_program = |cause| {
            let times = (trace.waits.start[at], trace.waits.end[at]);
            Root::new(cause, lock).selected(path.selects(|| self.facts.is_chosen_time(path.thread, times)))
        };
        match trace.waits.layer[at] {
            LockLayer::Interpreter => of_program(Cause::Gil),
            LockLayer::Program => match (work, spot) {
                (Some(cause), Some(spot)) => {
                    let process = trace.process_of_thread(path.thread);
                    Root { culprit: Culprit::Spot(process, spot), ..of_program(cause) }
                }
                _ => of_program(Cause::Lock),
            },
            LockLayer::Unknown | LockLayer::Driver | LockLayer::Library => {
                let call = self.facts.outermost(trace.waits.call[at]);
                let stretch = call.some().map_or(Stretch::Wait(wait), Stretch::Call);
                let reason = recorded_waits::reason(self.facts, stretch, wait);
                let root = Root::new(reason.cause, Culprit::Part(Key::of(self.facts, stretch, &reason)));
                root.selected(path.selects(|| self.facts.is_chosen_at_any_time(stretch)))
            }
        }
    }

    /// Whether a thread waits until garbage is collected: which thread wakes it says nothing more.
    fn collects(&self, wait: WaitId) -> bool {
        let spot =
            self.facts.trace.waits.stack[wait.index()].some().and_then(|stack| self.sites.of_stack(stack));
        let mark = spot.and_then(|spot| self.sites.mark(spot));
        mark.is_some_and(|mark| mark.cause() == Cause::GarbageCollection)
    }

    /// The threads that a wait was for, in order.
    fn holders(&self, segment: &Segment) -> [Held; 2] {
        let thread = |holder: Holder| match holder {
            Holder::Call(call) => self.facts.thread(call),
            Holder::Thread(thread) => thread,
            Holder::Nobody => ThreadId::NONE,
        };
        match segment.doing {
            Doing::Lost(part) => {
                let part = self.activity.part(part);
                let proven = part.confidence != Confidence::Possible;
                let by = if proven { thread(part.holder) } else { ThreadId::NONE };
                [Held { by, until: segment.end, stack: StackId::NONE }; 2]
            }
            Doing::Waiting(wait) if !self.collects(wait) => {
                let wait = self.facts.trace.waits.row(wait);
                let free = wait.end.saturating_sub(wait.handoff).max(wait.start);
                let first = Held { by: wait.holder, until: free, stack: wait.holder_stack };
                let last = Held { by: wait.releaser, until: free, stack: wait.releaser_stack };
                match wait.holder.some() {
                    // Of those between the first and the last nothing is known.
                    Some(holder) if wait.releaser.is_some() && wait.releaser != holder => {
                        [Held { until: wait.start + (free - wait.start) / 2, ..first }, last]
                    }
                    Some(_) => [first; 2],
                    None => [last; 2],
                }
            }
            Doing::Waiting(_) | Doing::Working(_) | Doing::Outside(_) => {
                [Held { by: ThreadId::NONE, until: segment.end, stack: StackId::NONE }; 2]
            }
        }
    }

    /// The root of what a thread does outside calls while it captures a graph, by the call that began the capture.
    fn captured(&self, begin: CallId) -> Root {
        let (process, name) = (self.facts.process(begin), self.facts.trace.calls.name[begin.index()]);
        Root::new(Cause::ObjectChurn, Culprit::Call(process, name, self.facts.own_stack(begin)))
    }

    /// The cause of a thread's sleep in a pause, by the system call that it is in.
    fn asleep(&self, pause: &Pause) -> Cause {
        match self.facts.trace.text(pause.call) {
            _ if is_demand(self.facts.trace, pause) => Cause::NoDemand,
            call if WRITES.contains(&call) => Cause::FileWriting,
            call if READS.contains(&call) => Cause::FileReading,
            _ => Cause::Blocked,
        }
    }

    /// Divides a segment outside calls. If the thread held a lock that others waited for, its work is due to the lock.
    fn outside(&self, charges: &mut Charges, path: &Path<'_>, segment: &Segment, lock: Option<Root>) {
        let pause = self.outside.pause(path.thread, segment);
        let shares = self.outside.shares(path.thread, segment);
        let site = self.sites.of(self.outside, path.thread, segment);
        let own = match lock.map(|lock| lock.culprit) {
            Some(Culprit::Lock(_, lock, spot)) => Culprit::Held(lock, site, spot),
            Some(_) | None => Culprit::Site(site),
        };
        let times = (segment.start, segment.end);
        let is_selected = match lock {
            Some(lock) => lock.is_selected,
            None => path.selects(|| self.facts.is_chosen_time(path.thread, times)),
        };
        let root = |cause| Root::new(cause, own).selected(is_selected);
        let working = |cause| match lock {
            Some(lock) if matches!(own, Culprit::Held(..)) => root(lock.cause),
            Some(lock) => lock,
            None => root(cause),
        };
        let asleep = pause.map_or(Cause::Blocked, |pause| self.asleep(pause));
        let start = segment.start;
        let slept = charges.charge(Some(path), root(asleep), start, shares.blocked);
        let start = start + shares.blocked;
        charges.charge(Some(path), root(Cause::NoCpu), start, shares.runnable);
        let start = start + shares.runnable;
        charges.charge(Some(path), root(Cause::Gil), start, shares.locked);
        let start = start + shares.locked;
        let builds = pause.is_some_and(|pause| self.sites.is_build(self.facts.trace, site, pause));
        let work = if builds { Cause::KernelBuild } else { Cause::HostCode };
        if let Some(begin) = self.facts.captures_anew(path.thread, segment.start) {
            let root = self.captured(begin).selected(is_selected);
            let ns = shares.running + shares.unknown;
            let row = charges.charge(Some(path), root, start, ns);
            return row.into_iter().for_each(|row| charges.count_call(row, begin, ns));
        }
        let worked = charges.charge(Some(path), working(work), start, shares.running);
        let start = start + shares.running;
        let unknown = charges.charge(Some(path), working(Cause::NotRecorded), start, shares.unknown);
        if let (Doing::Outside(next), Some(row)) = (segment.doing, worked.or(unknown))
            && pause.is_none()
            && next.is_some()
        {
            charges.is_of_call(row, next, segment.length());
        }
        if pause.is_some_and(|pause| pause.start < segment.start || segment.end < pause.end) {
            let parts = [(slept, shares.blocked), (worked, shares.running)];
            parts.into_iter().for_each(|(row, ns)| row.into_iter().for_each(|row| charges.is_part(row, ns)));
        }
        if let Some(row) = slept {
            let calls = self.sites.slept(site, path.thread, times);
            calls.for_each(|(spot, weight)| charges.see(row, spot, weight));
        }
        for seen in self.sites.samples(path.thread, segment.start, segment.end) {
            let row = if seen.asleep { slept.or(worked) } else { worked.or(slept) };
            if let (Some(row), Some(spot)) = (row.or(unknown), seen.spot) {
                charges.see(row, spot, seen.weight);
            }
        }
    }
}

/// The system calls that write to files alone, or remove them; of others the recorder says what they are on.
const WRITES: [&str; 14] = [
    "open(writing)",
    "openat(writing)",
    "write(file)",
    "writev(file)",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "pwrite64",
    "pwritev",
    "msync",
    "fallocate",
    "ftruncate",
    "unlink",
    "unlinkat",
];

/// The system calls that open files, or read from files alone.
const READS: [&str; 9] =
    ["read(file)", "readv(file)", "pread64", "preadv", "open", "openat", "stat", "newfstatat", "getdents64"];

/// A thread that held a lock, or was to do what another one waited for.
#[derive(Clone, Copy)]
struct Held {
    by: ThreadId,
    until: Ns,
    /// Where it was.
    stack: StackId,
}
