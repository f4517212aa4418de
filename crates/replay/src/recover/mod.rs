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
mod writer;

use crate::error::Error;
use crate::recover::costs::Costs;
use crate::recover::layout::Places;
use crate::recover::lock_waits::modelled;
use crate::recover::recovered::Recovered;
use crate::recover::sections::Sections;
use crate::recover::works::Works;
use crate::recover::writer::{Happened, Sources, Writer, Written};
use rustc_hash::FxHashMap;
use sim::{Model, Recorded};
use std::sync::Arc;
use trace::{CallId, Clock, Lost, Ns, OpId, ProcessId, ThreadId, Trace};
use waits::{CallOrder, Index, Signals, Waits};

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
    check(trace)?;
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
    costs.fit(&mut model);
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
    let handoff_ns = recovered.model.host.handoff_ns;
    let from =
        Sources { trace, costs: &costs, works: &works, signals: &signals, sections: &sections, handoff_ns };
    recovered.write(
        &from,
        places.threads.iter().map(|(process, thread)| match thread {
            Some(thread) => (Some(*thread), std::mem::take(&mut events[thread.index()])),
            None => (None, alone(trace, order, &works, *process)),
        }),
    );
    recovered.modelled = Arc::new(modelled(trace, order, &recovered));
    Ok(recovered)
}

/// Refuses a trace of which nothing can be recovered.
fn check(trace: &Trace) -> Result<(), Error> {
    // Without a process nobody asks for anything.
    if trace.ops.is_empty() || trace.processes.is_empty() {
        let are_lost = trace.meta.lost.reasons.contains_key(Lost::KERNELS);
        return Err(if are_lost { Error::LostOperations } else { Error::NoOperations });
    }
    if trace.meta.clock == Clock::Separate {
        return Err(Error::Clocks);
    }
    Ok(())
}

impl Recovered {
    /// Writes the steps of each thread, `None` for operations without a call, from what happened in it.
    fn write(
        &mut self,
        from: &Sources<'_>,
        threads: impl Iterator<Item = (Option<ThreadId>, Vec<((Ns, u8), Happened)>)>,
    ) {
        let mut numbers = FxHashMap::default();
        for (thread, happened) in threads {
            let writer = Writer::new(from, &mut self.recorded, &mut numbers, (thread, self.start));
            let Written { steps, of, mut begins } = writer.write(happened.into_iter().map(|(_, what)| what));
            begins.iter_mut().for_each(|at| *at -= self.start);
            self.threads.push(thread);
            Arc::make_mut(&mut self.begins).push(begins);
            self.recorded.threads.push(steps);
            Arc::make_mut(&mut self.steps).push(of);
        }
        self.recorded.holds = numbers.len() as u32;
    }
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
