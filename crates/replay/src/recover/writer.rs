//! The steps of a thread, written from what happened in it.

use super::costs::Costs;
use super::recovered::StepOf;
use super::sections::Sections;
use super::works::Works;
use rustc_hash::FxHashMap;
use sim::{CallOf, Recorded, RecordedStep, Rows};
use trace::{CallId, Ns, OpId, ThreadId, Trace, WaitId};
use waits::{Rounds, SignalKind, Signals};

/// Action of a thread, or event that concerns it.
#[derive(Clone, Copy)]
pub(super) enum Happened {
    Call(CallId),
    /// For a signal: a row of [`Signals::all`].
    Waits(u32),
    GivesUp(WaitId, u32),
    Posts(u32),
    Takes(Ns, u32),
    Issues(OpId),
}

/// Sources of the steps.
pub(super) struct Sources<'a> {
    pub trace: &'a Trace,
    pub costs: &'a Costs<'a>,
    pub works: &'a Works,
    pub signals: &'a Signals,
    pub sections: &'a Sections,
    /// How long after the release of a lock a thread goes on that waited for it, where no wait of the trace says.
    pub handoff_ns: Ns,
}

/// The steps of a thread, the origin of each, and when each began and the last one ended, as the trace has it.
#[derive(Default)]
pub(super) struct Written {
    pub steps: Vec<RecordedStep>,
    pub of: Vec<StepOf>,
    pub begins: Vec<Ns>,
}

/// Writes the steps of one thread.
pub(super) struct Writer<'a> {
    from: &'a Sources<'a>,
    recorded: &'a mut Recorded,
    /// The numbers of calls that others wait behind.
    numbers: &'a mut FxHashMap<CallId, u32>,
    /// Where the thread looks whether it is to end, and the signal by which it is told.
    loops: Option<&'a (u32, Rounds)>,
    /// Time in the trace at which the written steps end.
    now: Ns,
    written: Written,
}

impl<'a> Writer<'a> {
    /// A writer for a thread whose steps begin at `start`.
    pub fn new(
        from: &'a Sources<'a>,
        recorded: &'a mut Recorded,
        numbers: &'a mut FxHashMap<CallId, u32>,
        (thread, start): (Option<ThreadId>, Ns),
    ) -> Writer<'a> {
        let loops = thread.and_then(|thread| from.signals.loops.get(&thread));
        Writer { from, recorded, numbers, loops, now: start, written: Written::default() }
    }

    /// Writes what happened, in order.
    pub fn write(mut self, happened: impl ExactSizeIterator<Item = Happened>) -> Written {
        // Most of what happens has a pause before it.
        let most = 2 * happened.len();
        self.written.steps.reserve(most);
        self.written.of.reserve(most);
        self.written.begins.reserve(most + 1);
        happened.for_each(|what| self.add(what));
        self.written.begins.push(self.now);
        self.written
    }

    fn add(&mut self, what: Happened) {
        match what {
            Happened::Call(call) => self.calls(call),
            Happened::Waits(number) => self.waits(number),
            Happened::GivesUp(wait, signal) => self.gives_up(wait, signal),
            Happened::Posts(number) => {
                let signal = &self.from.signals.all[number as usize];
                self.until(signal.at);
                let step = match self.from.sections.acquired[number as usize] {
                    Some((lock, _)) => RecordedStep::Release(lock),
                    None => RecordedStep::Post(number),
                };
                self.push(step, StepOf::Ends(signal.wait));
            }
            Happened::Takes(at, lock) => {
                self.until(at);
                let handoff_ns = self.from.sections.handoffs[lock as usize].unwrap_or(self.from.handoff_ns);
                self.push(RecordedStep::Acquire { lock, handoff_ns }, StepOf::Takes);
            }
            Happened::Issues(op) => {
                self.until(self.from.works.delays.issued[op.index()]);
                let does = self.from.works.alone(op);
                self.push(RecordedStep::Call(CallOf { does, ..CallOf::default() }), StepOf::Issues(op));
            }
        }
    }

    fn calls(&mut self, call: CallId) {
        let calls = &self.from.trace.calls;
        self.until(calls.start[call.index()]);
        let step = RecordedStep::Call(self.call(call));
        self.push(step, StepOf::Call(call));
        self.now = self.now.max(calls.end[call.index()]);
        if let Some((told, Rounds::After(rounds))) = self.loops
            && rounds.binary_search_by_key(&self.now, |call| calls.end[call.index()]).is_ok()
        {
            self.push(RecordedStep::Leave(*told), StepOf::Leaves);
        }
    }

    fn waits(&mut self, number: u32) {
        let signal = &self.from.signals.all[number as usize];
        let of = StepOf::Wait(signal.wait);
        // A thread does nothing before its birth, however long that takes: it begins as long after its parent's moment as it did.
        if signal.kind == SignalKind::Birth {
            self.push(RecordedStep::Await { signal: number, handoff_ns: 0 }, of);
            self.now = self.now.max(signal.at);
            return self.until(signal.end);
        }
        self.until(signal.start);
        // What the thread did meanwhile, in a wait within this one, is over when it ends.
        let handoff_ns = (signal.end - signal.at.max(self.now)).max(0);
        let acquired = self.from.sections.acquired[number as usize];
        let step = match acquired {
            Some((lock, _)) => RecordedStep::Acquire { lock, handoff_ns },
            None => RecordedStep::Await { signal: number, handoff_ns },
        };
        self.push(step, of);
        self.now = self.now.max(signal.end);
        if let Some((lock, false)) = acquired {
            self.push(RecordedStep::Release(lock), StepOf::Ends(signal.wait));
        }
    }

    fn gives_up(&mut self, wait: WaitId, signal: u32) {
        let (waits, at) = (&self.from.trace.waits, wait.index());
        self.until(waits.start[at]);
        let ns = waits.end[at] - self.now;
        if ns > 0 {
            self.push(RecordedStep::GiveUp { signal, ns }, StepOf::Wait(wait));
            self.now += ns;
        }
    }

    fn call(&mut self, call: CallId) -> CallOf {
        let Some(cost) = self.from.costs.of_call(call) else { return CallOf::default() };
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
            does: self.from.works.does(call, cost, &mut self.recorded.awaited),
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
        self.written.steps.push(step);
        self.written.of.push(of);
        self.written.begins.push(self.now);
    }
}
