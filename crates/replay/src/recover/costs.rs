//! Costs of each call by itself, and its waits besides: for the device, and for calls of other threads.

use crate::arithmetic::median;
use crate::recover::lost::{Behind, ForQueue, Lost};
use rustc_hash::{FxHashMap, FxHashSet};
use sim::{Calls as Rules, Locks, Model, Rule, Until, Use};
use std::sync::Arc;
use trace::{CallId, LockKind, LockMode, MemoryKind, Ns, OpId, ProcessId, StreamId, SyncKind, Trace};
use waits::{CHANCE, CallOrder, Class, Convoys, Index, Mutex, StreamEnds};

/// So many waits show how long a lock takes to pass from one thread to the next.
const ENOUGH: usize = 30;

/// A synchronization longer than this waited for something, ns.
const LONG: Ns = 20_000;

/// The costs of one outermost call, ns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cost {
    /// Before it waits behind others.
    pub before: Ns,
    /// From then on until it takes effect.
    pub held: Ns,
    /// After its effect and its wait.
    pub after: Ns,
    /// From the end of what it waited for until it went on, beyond `after`.
    pub notice: Ns,
    /// Operations that it waits for.
    pub waits: Awaits,
    /// When it took effect in the trace.
    pub effect: Ns,
    /// When what it waits for was done in the trace; its effect if it waits for nothing.
    pub done: Ns,
    /// The calls that it waits behind, and how long it takes to go on after each.
    pub behind: Vec<(CallId, Ns)>,
    /// When it releases calls behind it, if there are any.
    pub holds: Option<Until>,
    /// How it acquires its context's lock; not at all if nobody waits for it.
    pub locks: Locks,
    /// Whether it copies pageable memory.
    pageable: bool,
}

/// Operations that a call waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Awaits {
    #[default]
    Nothing,
    /// The operations that it issues.
    Own,
    /// These operations, issued before.
    Ops(Vec<OpId>),
}

/// The costs of all outermost calls.
pub(crate) struct Costs<'a> {
    index: &'a Index<'a>,
    /// By call; `None` of calls within others.
    of: Vec<Option<Cost>>,
    /// Streams for which calls need their context's lock exclusively.
    pub exclusive: FxHashSet<StreamId>,
    /// Calls that wait for the mutex of their stream's hardware queue.
    pub behind_queues: Arc<FxHashMap<CallId, ForQueue>>,
    /// From the release of a context's lock until a thread that slept has it, ns, where the model says who waits for it.
    pub handover: Option<Ns>,
    /// From the end of a launch in a convoy until a thread that slept has its mutex, ns: by how much launches seem to hold it longer than they
    /// take; 33 µs with seed 004's ten GPUs, none on an H200.
    pub mutex_handover: Ns,
    /// From a pageable copy's release of the mutex of its direction until a thread that slept has it, ns, where the trace shows that.
    pub wake_of_copies: Option<Ns>,
}

impl<'a> Costs<'a> {
    /// The model's locks take what the trace's own took.
    pub fn fit(&self, model: &mut Model) {
        let locks = &mut model.locks;
        // All else is part of the time for which a launch seems to hold the mutex.
        (locks.mutex.handover_ns, locks.mutex.waiter_ns) = (self.mutex_handover, 0);
        locks.context.handover_ns = self.handover.unwrap_or(locks.context.handover_ns);
        if let (Some(lock), Some(wake)) = (&mut locks.copies, self.wake_of_copies) {
            lock.wake_ns = wake;
        }
    }

    /// The costs of all calls.
    pub fn of(index: &'a Index<'a>, model: &Model) -> Costs<'a> {
        let (trace, order) = (index.trace, &index.calls);
        let launch = &model.calls.launch;
        let usual_ns = launch.mutex.then_some(launch.held_ns + model.locks.mutex.handover_ns);
        // Of several contexts, that of a call without operations is unknown.
        let contexts = contexts(trace);
        let has_one_lock = |process: ProcessId| {
            model.locks.context.wake_ns > 0 && contexts.get(&process).is_some_and(|count| *count == 1)
        };
        let lost = || {
            let convoys = Convoys::of(index, usual_ns);
            let acquires = |call: CallId| {
                let process = trace.process_of_thread(trace.calls.thread[call.index()]);
                has_one_lock(process) && acquires_context(index.class(call), true)
            };
            let waiter_acquires =
                |wait: usize| order.outermost(trace.waits.call[wait]).some().is_some_and(acquires);
            let mutex_of = |wait| match is_for_rwlock(trace, wait) && waiter_acquires(wait) {
                true => Mutex::OfConvoy,
                false => convoys.mutex_of(index, wait),
            };
            let lost = Lost::of_calls(index, mutex_of, acquires);
            (convoys, lost)
        };
        let ((convoys, lost), (asked, streams)) =
            rayon::join(lost, || (asked(trace, order), StreamEnds::of(trace, order)));
        let mut of = vec![None; trace.calls.len()];
        for thread in trace.threads.ids() {
            let mut recent = StreamId::NONE;
            let one_lock = has_one_lock(trace.process_of_thread(thread));
            for call in order.of_thread(thread).iter().copied() {
                let ops = index.ops(call);
                let none = Lost::default();
                let lost = lost.get(&call).unwrap_or(&none);
                let asked = asked.get(&call).copied();
                let (streams, rules) = (&streams, &model.calls);
                let class = index.class(call);
                let one = One { trace, streams, rules, one_lock, call, class, ops, lost, asked, recent };
                of[call.index()] = Some(one.cost());
                recent = ops.last().map_or(recent, |op| trace.ops.stream[op.index()]);
            }
        }
        let for_queues = |(call, lost): (&CallId, &Lost)| Some((*call, lost.for_queue()?));
        let behind_queues = Arc::new(lost.iter().filter_map(for_queues).collect());
        let mut costs = Costs {
            index,
            of,
            exclusive: FxHashSet::default(),
            behind_queues,
            handover: None,
            mutex_handover: 0,
            wake_of_copies: None,
        };
        costs.exclusive = costs.exclusive_streams();
        costs.wake_of_copies = costs.wake_of_copies();
        let behind = costs.behind(&lost, model.locks.context.wake_ns == 0);
        costs.hold_mutexes(&convoys);
        costs.release(behind);
        costs
    }

    /// The costs of an outermost call.
    pub fn of_call(&self, call: CallId) -> Option<&Cost> {
        self.of.get(call.some()?.index())?.as_ref()
    }

    /// Calls into the legacy default stream of some programs hold their context's lock exclusively, so that launches into all streams
    /// wait for a pageable copy there (after a kernel of 5 ms, beside a thread with a non-blocking stream: H100 and H200, driver 580,
    /// `account.py`), and launches there for each other (four threads of PyTorch, `serve` of `benches/whatif`: 3,000 such waits on an
    /// H200, none of them in streams of their own). Where that was recorded, all calls into that stream do.
    fn exclusive_streams(&self) -> FxHashSet<StreamId> {
        let waits =
            (0..self.index.trace.waits.len()).filter(|at| self.index.trace.waits.layer[*at].is_cuda());
        let copies = waits.clone().filter_map(|at| self.stream_of_a_copy_waited_for(at));
        let mut streams: FxHashSet<StreamId> = copies.collect();
        let mut launches: FxHashMap<StreamId, usize> = FxHashMap::default();
        for stream in waits.filter_map(|at| self.stream_of_a_launch_that_excludes(at)) {
            *launches.entry(stream).or_default() += 1;
        }
        streams.extend(launches.into_iter().filter(|(_, count)| *count >= ENOUGH).map(|(stream, _)| stream));
        streams
    }

    /// The stream of the pageable copy that a call into another stream waited for, though it needs the lock shared.
    fn stream_of_a_copy_waited_for(&self, at: usize) -> Option<StreamId> {
        let waits = &self.index.trace.waits;
        if waits.mode[at] != LockMode::Shared || waits.end[at] - waits.start[at] < CHANCE {
            return None;
        }
        let [call, copy] =
            [waits.call[at], waits.releaser_call[at]].map(|call| self.index.calls.outermost(call));
        let own = self.stream_of(call)?;
        self.of_call(copy).filter(|copy| copy.pageable)?;
        self.stream_of(copy).filter(|other| *other != own)
    }

    /// The stream of a call that needed the lock exclusively while another call into that stream held it: no copy, beside which all do.
    fn stream_of_a_launch_that_excludes(&self, at: usize) -> Option<StreamId> {
        let waits = &self.index.trace.waits;
        if waits.mode[at] != LockMode::Exclusive || waits.kind[at] != LockKind::RwLock {
            return None;
        }
        let calls = [waits.call[at], waits.holder_call[at], waits.releaser_call[at]];
        let stream_unless_copy = |call: CallId| {
            let call = self.index.calls.outermost(call);
            self.of_call(call).filter(|cost| !cost.pageable)?;
            self.stream_of(call)
        };
        let [own, first, last] = calls.map(stream_unless_copy);
        own.filter(|_| first == own && last == own)
    }

    /// The usual time between a pageable copy's release of the mutex of its direction, before the last part of its call, and the end of a
    /// wait of another one for it. On a machine it may be released still earlier.
    fn wake_of_copies(&self) -> Option<Ns> {
        let waits = &self.index.trace.waits;
        let copy = |call: CallId| self.of_call(self.index.calls.outermost(call)).filter(|cost| cost.pageable);
        let late = |at: usize| {
            let is_mutex = waits.kind[at] == LockKind::Mutex && waits.layer[at].is_cuda();
            let (_, holder) = copy(waits.call[at]).filter(|_| is_mutex).zip(copy(waits.releaser_call[at]))?;
            let end = self.index.trace.calls.end[self.index.calls.outermost(waits.releaser_call[at]).index()];
            Some((waits.end[at] - (end - holder.after)).max(0))
        };
        let times: Vec<Ns> = (0..waits.len()).filter_map(late).collect();
        (times.len() >= ENOUGH).then(|| median(times.into_iter())).flatten()
    }

    /// Each launch of a convoy holds the mutex of its context until it takes effect.
    fn hold_mutexes(&mut self, convoys: &Convoys) {
        let mut beyond = 0;
        for (call, hold) in convoys.holds.iter().copied() {
            if let Some(cost) = &mut self.of[call.index()] {
                let own = cost.before + cost.held + cost.after;
                beyond += hold - own;
                cost.held = hold.min(own);
                cost.before = cost.before.min(own - cost.held);
                cost.after = own - cost.held - cost.before;
                cost.locks.mutex = true;
            }
        }
        self.mutex_handover = (beyond / (convoys.holds.len() as Ns).max(1)).max(0);
    }

    /// The stream of a call's last operation.
    fn stream_of(&self, call: CallId) -> Option<StreamId> {
        let last = self.index.ops(call.some()?).last()?;
        self.index.trace.ops.stream[last.index()].some()
    }

    /// The waits behind calls whose order remains that of the trace. The others are for the lock that a pageable copy holds: the model
    /// knows who waits for it, and in a replay others may meet than did. If nobody waited for such a copy, or if chance decides who is next
    /// (`in_turn` is false), no call acquires that lock.
    fn behind(&mut self, lost: &FxHashMap<CallId, Lost>, in_turn: bool) -> Vec<(CallId, Behind)> {
        let all = lost.iter().flat_map(|(call, lost)| lost.behind.iter().map(|behind| (*call, *behind)));
        let (modelled, behind): (Vec<_>, Vec<_>) =
            all.partition(|(call, of)| match (self.of_call(*call), self.of_call(of.holder)) {
                (Some(waiter), Some(holder)) => waiter.waits_for_copy(holder),
                _ => false,
            });
        let copies =
            modelled.iter().any(|(_, of)| self.of_call(of.holder).is_some_and(|holder| holder.pageable));
        if copies || !in_turn {
            self.handover = self.handover_of(&modelled);
            return behind;
        }
        self.of.iter_mut().flatten().for_each(|cost| cost.locks = Locks::default());
        behind.into_iter().chain(modelled).collect()
    }

    /// The usual time between the return of a launch, which has just released the lock, and the end of a wait behind it.
    fn handover_of(&self, waits: &[(CallId, Behind)]) -> Option<Ns> {
        let launches = waits.iter().filter(|(_, of)| {
            self.of_call(of.holder).is_some_and(|holder| !holder.pageable && holder.waits == Awaits::Nothing)
        });
        let late = |of: &Behind| of.end - self.index.trace.calls.end[of.holder.index()];
        let mut times: Vec<Ns> = launches.map(|(_, of)| late(of)).filter(|ns| *ns > 0).collect();
        let middle = times.len() / 2;
        (times.len() >= ENOUGH).then(|| *times.select_nth_unstable(middle).1)
    }

    /// Finds the moments at which calls release those behind them: that of the longest wait.
    fn release(&mut self, mut behind: Vec<(CallId, Behind)>) {
        behind.sort_by_key(|(call, behind)| {
            (std::cmp::Reverse(behind.end - behind.start), *call, behind.start)
        });
        for (_, Behind { holder, end, .. }) in &behind {
            let cost = self.of[holder.index()].as_mut();
            let Some(cost) = cost.filter(|cost| cost.holds.is_none()) else { continue };
            let moments = moments(self.index.trace, *holder, cost);
            let nearest = moments.into_iter().min_by_key(|(_, at)| (end - at).abs());
            cost.holds = nearest.map(|(until, _)| until);
        }
        behind.sort_by_key(|(call, behind)| (*call, behind.start));
        for (call, Behind { holder, end, .. }) in behind {
            let Some(of) = self.of[holder.index()].as_ref() else { continue };
            let at =
                moments(self.index.trace, holder, of).into_iter().find(|(until, _)| Some(*until) == of.holds);
            let handoff = at.map_or(0, |(_, at)| (end - at).max(0));
            if let Some(cost) = self.of[call.index()].as_mut() {
                cost.behind.push((holder, handoff));
            }
        }
    }
}

impl Cost {
    /// Whether it waits for the context's lock that a pageable copy holds, or that a call waits for which needs it alone because of such a
    /// copy.
    fn waits_for_copy(&self, holder: &Cost) -> bool {
        let enqueue = self.locks.context != Use::None && holder.locks.context != Use::None;
        let alone = |cost: &Cost| cost.locks.staged == Use::Exclusive;
        enqueue && (alone(self) || alone(holder) || (self.pageable && holder.pageable))
    }
}

/// The moments at which a call may let others go on.
fn moments(trace: &Trace, call: CallId, cost: &Cost) -> [(Until, Ns); 3] {
    [(Until::Effect, cost.effect), (Until::Done, cost.done), (Until::Return, trace.calls.end[call.index()])]
}

/// The synchronizations that the trace records, by outermost call.
fn asked(trace: &Trace, order: &CallOrder<'_>) -> FxHashMap<CallId, (SyncKind, StreamId)> {
    let syncs = &trace.syncs;
    let of = |at: usize| Some((order.outermost(syncs.call[at]).some()?, (syncs.kind[at], syncs.stream[at])));
    (0..syncs.len()).filter_map(of).collect()
}

/// One call.
struct One<'a> {
    trace: &'a Trace,
    streams: &'a StreamEnds<'a>,
    rules: &'a Rules,
    /// Whether all calls of a context acquire one lock, and chance decides who is next.
    one_lock: bool,
    call: CallId,
    class: Class,
    ops: &'a [OpId],
    lost: &'a Lost,
    asked: Option<(SyncKind, StreamId)>,
    /// The stream of its thread's last operation before it.
    recent: StreamId,
}

impl One<'_> {
    fn cost(&self) -> Cost {
        let calls = &self.trace.calls;
        let (start, end) = (calls.start[self.call.index()], calls.end[self.call.index()]);
        let class = self.class;
        let (rule, pageable) = (self.rule(class), self.is_pageable());
        let locks = if acquires_context(class, self.one_lock) { Locks::of(rule) } else { Locks::default() };
        let lost = self.lost.ns.clamp(0, end - start);
        let waits = self.waits(class, start, end);
        let done = self.done(&waits).map(|done| done.min(end)).filter(|done| *done > start + lost);
        // An operation that has started has been issued.
        let started = self.ops.first().map_or(end, |op| self.trace.ops.start[op.index()].min(end));
        let Some(done) = done else {
            let first = first_part(end - start - lost, rule).min((started - start - lost).max(0));
            let effect = start + lost + first;
            let [before, held] = self.around_waits(first, rule);
            let after = end - effect;
            return Cost {
                before,
                held,
                after,
                waits,
                effect,
                done: effect,
                locks,
                pageable,
                ..Cost::default()
            };
        };
        let until = if waits == Awaits::Own { started.min(done) } else { done };
        let first = (until - start - lost).clamp(0, rule.before_ns + rule.held_ns);
        let after = (end - done).min(rule.after_ns);
        let effect = start + lost + first;
        let [before, held] = self.around_waits(first, rule);
        let notice = end - done - after;
        Cost { before, held, after, notice, waits, effect, done, locks, pageable, ..Cost::default() }
    }

    /// Divides the time before a call's effect into that before it waits for others and that with what it waited for.
    fn around_waits(&self, first: Ns, rule: &Rule) -> [Ns; 2] {
        let start = self.trace.calls.start[self.call.index()];
        let waits = self.lost.first.map(|first| first - start);
        let whole = (rule.before_ns + rule.held_ns).max(1);
        let usual = (i128::from(first) * i128::from(rule.before_ns) / i128::from(whole)) as Ns;
        let before = waits.unwrap_or(usual).clamp(0, first);
        [before, first - before]
    }

    fn name(&self) -> &str {
        self.trace.text(self.trace.calls.name[self.call.index()])
    }

    /// The model's rule that says which part of a call's time comes before its effect.
    fn rule(&self, class: Class) -> &Rule {
        match class {
            Class::Launch => &self.rules.launch,
            Class::Copy { .. } if self.is_pageable() => &self.rules.pageable_copy,
            Class::Copy { .. } => &self.rules.copy,
            Class::Fill => &self.rules.fill,
            Class::Allocate if self.one_lock => &self.rules.allocate,
            Class::Release if self.one_lock => &self.rules.free,
            Class::Create if self.one_lock => &self.rules.stream,
            _ => &self.rules.synchronize,
        }
    }

    fn is_pageable(&self) -> bool {
        let ops = &self.trace.ops;
        let pageable = |op: &OpId| [ops.src[op.index()], ops.dst[op.index()]].contains(&MemoryKind::Pageable);
        self.ops.iter().any(pageable)
    }

    /// Finds the operations that it waits for.
    fn waits(&self, class: Class, start: Ns, end: Ns) -> Awaits {
        let process = self.trace.process_of_thread(self.trace.calls.thread[self.call.index()]);
        let context = self.trace.context_of_stream(self.recent);
        let all = || Awaits::Ops(self.streams.last_of_all(context, process, start, end));
        let of_stream = |stream: StreamId| self.streams.last(stream, start, end);
        let is_free = matches!(class, Class::Release) && !self.name().contains("Host");
        let frees = is_free && end - start >= least_free(&self.rules.free);
        match (class, self.asked) {
            (Class::Copy { .. } | Class::Fill, _) => self.own(class, end),
            (Class::Launch, _) => Awaits::Nothing,
            (_, Some((SyncKind::Stream | SyncKind::Event, stream))) if stream.is_some() => {
                Awaits::Ops(of_stream(stream).into_iter().collect())
            }
            (Class::Sync, _) if ["Event", "Stream"].iter().any(|what| self.name().contains(what)) => {
                // The trace does not say for which: the thread's own, unless another one's end fits better.
                let ended = |op: &OpId| self.trace.ops.end[op.index()] > start;
                let any = || {
                    self.streams.last_of_any(process, start, end).filter(|op| end - start > LONG && ended(op))
                };
                let own = of_stream(self.recent);
                Awaits::Ops(own.filter(ended).or_else(any).or(own).into_iter().collect())
            }
            (Class::Sync, _) => all(),
            _ if frees || self.lost.waits => all(),
            _ => Awaits::Nothing,
        }
    }

    /// A copy that returns after its end waits for it, unless its name says otherwise.
    fn own(&self, class: Class, end: Ns) -> Awaits {
        let done = self.ops.iter().map(|op| self.trace.ops.end[op.index()]).max();
        let may = class == Class::Copy { blocking: true } || self.is_pageable() || self.lost.waits;
        match done {
            Some(done) if may && done <= end => Awaits::Own,
            _ => Awaits::Nothing,
        }
    }

    /// When what it waits for was done.
    fn done(&self, waits: &Awaits) -> Option<Ns> {
        let ops = match waits {
            Awaits::Nothing => &[][..],
            Awaits::Own => self.ops,
            Awaits::Ops(ops) => ops,
        };
        ops.iter().map(|op| self.trace.ops.end[op.index()]).max()
    }
}

/// Time of a call that waits for nothing and frees no block: a shorter one freed nothing, as the `cuMemFree(0)` by which libraries make a
/// context. It waits for nothing, either (0.8 to 1.3 µs, beside other threads' kernels, where a free of 32 MiB takes 212 µs, H200).
fn least_free(rule: &Rule) -> Ns {
    rule.before_ns + rule.held_ns + rule.after_ns
}

/// Whether a replay's calls of a class acquire their context's lock: those that issue operations, and all that do where it is the one lock.
fn acquires_context(class: Class, one_lock: bool) -> bool {
    match class {
        Class::Launch | Class::Copy { .. } | Class::Fill => true,
        Class::Allocate | Class::Release | Class::Create => one_lock,
        _ => false,
    }
}

/// The number of contexts of each process.
fn contexts(trace: &Trace) -> FxHashMap<ProcessId, usize> {
    let mut contexts = FxHashMap::default();
    trace.contexts.process.iter().for_each(|process| *contexts.entry(*process).or_default() += 1);
    contexts
}

/// Whether a recorded wait is for a rwlock of CUDA's: a context has one.
fn is_for_rwlock(trace: &Trace, wait: usize) -> bool {
    trace.waits.layer[wait].is_cuda() && trace.waits.kind[wait] == LockKind::RwLock
}

/// Takes time from parts of a cost, one after the other; returns how much.
pub(crate) fn take<const N: usize>(parts: [&mut Ns; N], ns: Ns) -> Ns {
    let mut rest = ns;
    for part in parts {
        let taken = rest.min(*part);
        (*part, rest) = (*part - taken, rest - taken);
    }
    ns - rest
}

/// The part of a call's own time before its effect, by the proportions of its rule.
fn first_part(own: Ns, rule: &Rule) -> Ns {
    let first = rule.before_ns + rule.held_ns;
    let whole = (first + rule.after_ns).max(1);
    (i128::from(own) * i128::from(first) / i128::from(whole)) as Ns
}
