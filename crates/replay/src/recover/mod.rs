//! A trace as recorded steps.

pub(crate) mod costs;
pub(crate) mod delays;
pub(crate) mod layout;
pub(crate) mod lock_waits;
pub(crate) mod lost;
pub(crate) mod model;
pub(crate) mod recovered;
pub(crate) mod sections;
pub(crate) mod works;

use crate::error::Error;
use crate::recover::costs::Costs;
use crate::recover::layout::Places;
use crate::recover::lock_waits::modelled;
use crate::recover::recovered::{Recovered, StepOf};
use crate::recover::sections::Sections;
use crate::recover::works::Works;
use rustc_hash::FxHashMap;
use sim::{CallOf, Model, Recorded, RecordedStep, Rows};
use std::sync::Arc;
use trace::{CallId, Clock, Lost, Ns, OpId, ProcessId, Trace, WaitId};
use waits::{CallOrder, Index, Rounds, Signal, SignalKind, Signals, Waits};

/// Finds out what the program of a trace asked for.
///
/// # Errors
/// The trace does not say how long the GPU worked, or its clocks do not fit.
pub fn recover(trace: &Trace) -> Result<Recovered, Error> {
    recover_on(trace, None)
}

/// Like [`recover`], but on that model of driver, host and device instead of the built-in one whose device is closest to the trace's. What
/// the trace says of its device counts all the same.
///
/// # Errors
/// The errors of [`recover`].
pub fn recover_on(trace: &Trace, model: Option<&Model>) -> Result<Recovered, Error> {
    // Without a process nobody asks for anything.
    if trace.ops.is_empty() || trace.processes.is_empty() {
        let are_lost = trace.meta.lost.reasons.contains_key(Lost::KERNELS);
        return Err(if are_lost { Error::LostOperations } else { Error::NoOperations });
    }
    if trace.meta.clock == Clock::Separate {
        return Err(Error::Clocks);
    }
    let index = Index::of(trace);
    let order = &index.calls;
    let mut model = model::model(trace, model)?;
    // The recorded times of kernels that signal together have this already.
    let signals_together = std::mem::take(&mut model.device.delayed_signals);
    let costs_and_waits = || rayon::join(|| Costs::of(&index, &model), || Waits::of(&index));
    let ((costs, waits), (signals, sections, mut events)) = rayon::join(costs_and_waits, || {
        let signals = Signals::of(trace, order);
        let sections = Sections::of(trace, order, &signals.all);
        let events = by_thread(trace, order, &signals, &sections);
        (signals, sections, events)
    });
    // It is part of the time for which a launch seems to hold the mutex.
    (model.locks.mutex.handover_ns, model.locks.mutex.waiter_ns) = (0, 0);
    model.locks.context.handover_ns = costs.handover.unwrap_or(model.locks.context.handover_ns);
    if let (Some(lock), Some(wake)) = (&mut model.locks.copies, costs.wake_of_copies) {
        lock.wake_ns = wake;
    }
    let works = Works::of(&index, &costs, &waits);
    let places = Places::of(trace, |thread| !events[thread.index()].is_empty());
    let (start, end) = span(trace, order);
    let mut recovered = Recovered {
        recorded: Recorded {
            workload: places.workload.clone(),
            threads: Vec::new(),
            works: works.works(trace, &model, |stream| places.stream(stream)),
            queues: places.queues(&waits.queues),
            exclusive: places.exclusive(&costs.exclusive),
            signals: signals.all.len() as u32,
            locks: sections.handoffs.len() as u32,
            holds: 0,
            behind: Vec::new(),
            awaited: Vec::new(),
        },
        model,
        start,
        end: end - start,
        threads: Vec::new(),
        steps: Arc::default(),
        begins: Arc::default(),
        works: Arc::new(works.places.clone()),
        pieces: FxHashMap::default(),
        aliased: works.aliased(),
        overtaken: Vec::new(),
        behind_queues: costs.behind_queues.clone(),
        modelled: Arc::default(),
        once: 0,
        turns: waits::contexts_take_turns(trace),
        signals_together,
    };
    let mut numbers = FxHashMap::default();
    for (process, thread) in &places.threads {
        let happened = match thread {
            Some(thread) => std::mem::take(&mut events[thread.index()]),
            None => alone(trace, order, &works, *process),
        };
        let recorded = &mut recovered.recorded;
        // Most of what happens has a pause before it.
        let most = 2 * happened.len();
        let mut writer = Writer {
            trace,
            costs: &costs,
            works: &works,
            signals: &signals.all,
            sections: &sections,
            loops: thread.and_then(|thread| signals.loops.get(&thread)),
            recorded,
            numbers: &mut numbers,
            handoff_ns: recovered.model.host.handoff_ns,
            now: start,
            steps: Vec::with_capacity(most),
            of: Vec::with_capacity(most),
            begins: Vec::with_capacity(most + 1),
        };
        happened.into_iter().for_each(|(_, what)| writer.add(what));
        let Writer { now, steps, of, mut begins, .. } = writer;
        begins.push(now);
        begins.iter_mut().for_each(|at| *at -= start);
        recovered.threads.push(*thread);
        Arc::make_mut(&mut recovered.begins).push(begins);
        recovered.recorded.threads.push(steps);
        Arc::make_mut(&mut recovered.steps).push(of);
    }
    recovered.recorded.holds = numbers.len() as u32;
    recovered.modelled = Arc::new(modelled(trace, order, &recovered));
    Ok(recovered)
}

/// When the first and the last thing happened.
fn span(trace: &Trace, order: &CallOrder<'_>) -> (Ns, Ns) {
    let ops = &trace.ops;
    let of_calls = order.span();
    let start =
        of_calls.map(|span| span.0).into_iter().chain(ops.start.iter().copied().min()).min().unwrap_or(0);
    let end =
        of_calls.map(|span| span.1).into_iter().chain(ops.end.iter().copied().max()).max().unwrap_or(start);
    (start, end)
}

/// Action of a thread, or event that concerns it.
#[derive(Clone, Copy)]
enum Happened {
    Call(CallId),
    /// For a signal: a row of [`Signals::all`].
    Waits(u32),
    GivesUp(WaitId, u32),
    Posts(u32),
    Takes(Ns, u32),
    Issues(OpId),
}

/// Events of each thread, in order: what ends another thread's wait comes before what begins at the same time.
fn by_thread(
    trace: &Trace,
    order: &CallOrder<'_>,
    signals: &Signals,
    sections: &Sections,
) -> Vec<Vec<((Ns, u8), Happened)>> {
    let mut events: Vec<Vec<((Ns, u8), Happened)>> = vec![Vec::new(); trace.threads.len()];
    for thread in trace.threads.ids() {
        let call = |call: &CallId| ((trace.calls.start[call.index()], 2), Happened::Call(*call));
        events[thread.index()].extend(order.of_thread(thread).iter().map(call));
    }
    for (number, signal) in (0..).zip(&signals.all) {
        events[signal.waiter.index()].push(((signal.start, 1), Happened::Waits(number)));
        events[signal.by.index()].push(((signal.at, 0), Happened::Posts(number)));
    }
    for (wait, number) in &signals.given_up {
        let at = wait.index();
        let event = ((trace.waits.start[at], 1), Happened::GivesUp(*wait, *number));
        events[trace.waits.thread[at].index()].push(event);
    }
    for (thread, at, lock) in &sections.taken {
        events[thread.index()].push(((*at, 1), Happened::Takes(*at, *lock)));
    }
    events.iter_mut().for_each(|events| events.sort_by_key(|(at, _)| *at));
    events
}

/// The operations of a process whose calls are not known.
fn alone(
    trace: &Trace,
    order: &CallOrder<'_>,
    works: &Works,
    process: ProcessId,
) -> Vec<((Ns, u8), Happened)> {
    let ops = &trace.ops;
    let mine = |op: &OpId| {
        let of = trace.process_of_stream(ops.stream[op.index()]).some().map_or(0, ProcessId::index);
        of == process.index() && order.outermost(ops.call[op.index()]).is_none()
    };
    let mut found: Vec<OpId> = ops.ids().filter(mine).collect();
    found.sort_by_key(|op| (works.delays.issued[op.index()], ops.start[op.index()], *op));
    found.into_iter().map(|op| ((works.delays.issued[op.index()], 0), Happened::Issues(op))).collect()
}

/// Writes the steps of one thread.
struct Writer<'a> {
    trace: &'a Trace,
    costs: &'a Costs<'a>,
    works: &'a Works,
    signals: &'a [Signal],
    sections: &'a Sections,
    recorded: &'a mut Recorded,
    /// The numbers of calls that others wait behind.
    numbers: &'a mut FxHashMap<CallId, u32>,
    /// How long after the release of a lock a thread goes on that waited for it, where no wait of the trace says.
    handoff_ns: Ns,
    /// Where the thread looks whether it is to end, and the signal by which it is told.
    loops: Option<&'a (u32, Rounds)>,
    /// Time in the trace at which the written steps end.
    now: Ns,
    steps: Vec<RecordedStep>,
    of: Vec<StepOf>,
    begins: Vec<Ns>,
}

impl Writer<'_> {
    fn add(&mut self, what: Happened) {
        match what {
            Happened::Call(call) => {
                self.until(self.trace.calls.start[call.index()]);
                let step = RecordedStep::Call(self.call(call));
                self.push(step, StepOf::Call(call));
                self.now = self.now.max(self.trace.calls.end[call.index()]);
                if let Some((told, Rounds::After(calls))) = self.loops
                    && calls
                        .binary_search_by_key(&self.now, |call| self.trace.calls.end[call.index()])
                        .is_ok()
                {
                    self.push(RecordedStep::Leave(*told), StepOf::Leaves);
                }
            }
            Happened::Waits(number) => {
                let signal = &self.signals[number as usize];
                // A thread does nothing before its birth, however long that takes: it begins as long after its parent's moment as it did.
                if signal.kind == SignalKind::Birth {
                    self.push(
                        RecordedStep::Await { signal: number, handoff_ns: 0 },
                        StepOf::Wait(signal.wait),
                    );
                    self.now = self.now.max(signal.at);
                    return self.until(signal.end);
                }
                self.until(signal.start);
                // What the thread did meanwhile, in a wait within this one, is over when it ends.
                let handoff_ns = (signal.end - signal.at.max(self.now)).max(0);
                let of = StepOf::Wait(signal.wait);
                match self.sections.acquired[number as usize] {
                    Some((lock, keeps)) => {
                        self.push(RecordedStep::Acquire { lock, handoff_ns }, of);
                        self.now = self.now.max(signal.end);
                        if !keeps {
                            self.push(RecordedStep::Release(lock), StepOf::Ends(signal.wait));
                        }
                    }
                    None => {
                        self.push(RecordedStep::Await { signal: number, handoff_ns }, of);
                        self.now = self.now.max(signal.end);
                    }
                }
            }
            Happened::GivesUp(wait, signal) => {
                let at = wait.index();
                self.until(self.trace.waits.start[at]);
                let ns = self.trace.waits.end[at] - self.now;
                if ns > 0 {
                    self.push(RecordedStep::GiveUp { signal, ns }, StepOf::Wait(wait));
                    self.now += ns;
                }
            }
            Happened::Posts(number) => {
                let signal = &self.signals[number as usize];
                self.until(signal.at);
                let step = match self.sections.acquired[number as usize] {
                    Some((lock, _)) => RecordedStep::Release(lock),
                    None => RecordedStep::Post(number),
                };
                self.push(step, StepOf::Ends(signal.wait));
            }
            Happened::Takes(at, lock) => {
                self.until(at);
                let handoff_ns = self.sections.handoffs[lock as usize].unwrap_or(self.handoff_ns);
                self.push(RecordedStep::Acquire { lock, handoff_ns }, StepOf::Takes);
            }
            Happened::Issues(op) => {
                self.until(self.works.delays.issued[op.index()]);
                let does = self.works.alone(op);
                self.push(RecordedStep::Call(CallOf { does, ..CallOf::default() }), StepOf::Issues(op));
            }
        }
    }

    fn call(&mut self, call: CallId) -> CallOf {
        let Some(cost) = self.costs.of_call(call) else { return CallOf::default() };
        let first = self.recorded.behind.len() as u32;
        for (holder, handoff) in &cost.behind {
            let number = self.number(*holder);
            self.recorded.behind.push((number, *handoff));
        }
        CallOf {
            before_ns: cost.before,
            held_ns: cost.held,
            after_ns: cost.after,
            notice_ns: cost.notice,
            beside_ns: 0,
            behind: Rows { first, count: cost.behind.len() as u32 },
            holds: cost.holds.map(|until| (self.number(call), until)),
            locks: cost.locks,
            does: self.works.does(call, cost, &mut self.recorded.awaited),
        }
    }

    fn number(&mut self, call: CallId) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(call).or_insert(next)
    }

    /// Time outside of calls until `at`.
    fn until(&mut self, at: Ns) {
        if let Some((told, Rounds::Within(from, until))) = self.loops
            && *from <= self.now
            && self.now < at.min(*until)
        {
            let ns = at.min(*until) - self.now;
            self.push(RecordedStep::HostUntil { signal: *told, ns }, StepOf::Outside);
            self.now += ns;
            self.push(RecordedStep::Leave(*told), StepOf::Leaves);
        }
        if at > self.now {
            self.push(RecordedStep::Host(at - self.now), StepOf::Outside);
            self.now = at;
        }
    }

    fn push(&mut self, step: RecordedStep, of: StepOf) {
        self.steps.push(step);
        self.of.push(of);
        self.begins.push(self.now);
    }
}
