//! Time that calls lost to others: waits for locks that other calls held.

use rustc_hash::FxHashMap;
use trace::{CallId, Ns};
use waits::{AwaitedByCall, CHANCE, Index, Mutex, Mutexes};

/// Calls from this time on are looked at one by one, ns.
const SLOW: Ns = 100_000;

/// Time that an outermost call lost to others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lost {
    /// The time in which others kept it from its effect, ns.
    pub ns: Ns,
    pub behind: Vec<Behind>,
    /// When it began to wait for another call, and when the last of these waits ended, ns.
    pub first: Option<Ns>,
    until: Ns,
    /// Whether it waited for the device.
    pub waits: bool,
    /// Whether it waited for the mutex of a convoy.
    in_convoy: bool,
    /// If it waited for the mutex of a hardware queue: how much of that is part of its own cost, ns.
    for_queue: Option<Ns>,
    /// Whether it waited for calls that hold something else than the mutex of a hardware queue or of a convoy.
    others: bool,
    /// Whether others passed it over: [`Mutexes::passed_over`].
    passed_over: bool,
}

/// The waits of a call for the mutex of its stream's hardware queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct ForQueue {
    /// How much of them is part of its own cost, ns.
    pub own: Ns,
    /// Whether it also waits for calls that hold something else.
    pub others: bool,
}

/// A wait for a call of another thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behind {
    pub holder: CallId,
    pub start: Ns,
    pub end: Ns,
}

impl Lost {
    /// Of each outermost call that lost anything: recorded waits for CUDA's locks, and of slow calls what `explain` found. `mutex_of`:
    /// which mutex a wait is for. `acquires`: whether a call acquires the one lock of its context, for which the replay makes all waits.
    pub fn of_calls(
        index: &Index<'_>,
        mutex_of: impl Fn(usize) -> Mutex,
        acquires: impl Fn(CallId) -> bool,
    ) -> FxHashMap<CallId, Lost> {
        let mut found = in_recorded_waits(index, mutex_of);
        let mut parts: FxHashMap<CallId, Lost> = FxHashMap::default();
        for share in explain::call_parts(index.trace, SLOW) {
            let of = parts.entry(share.call).or_default();
            let holder = index.calls.outermost(share.holder);
            let (start, end) = (share.start, share.end);
            match share.cause.awaited_by_call() {
                AwaitedByCall::Call if holder.is_some() && acquires(share.call) && acquires(holder) => {
                    of.add_in_convoy(start, end);
                }
                AwaitedByCall::Call if holder.is_some() => of.add(Behind { holder, start, end }),
                // The queue's depth is the model's.
                AwaitedByCall::Queue => of.ns += end - start,
                AwaitedByCall::Device => of.waits = true,
                AwaitedByCall::Call | AwaitedByCall::Copies | AwaitedByCall::Nothing => {}
            }
        }
        for (call, of_slow) in parts {
            let recorded = found.entry(call).or_default();
            recorded.waits = of_slow.waits;
            let (for_queue, others) = (recorded.for_queue, recorded.others);
            // `explain` knows those that held a lock between the first and the last one.
            if !recorded.in_convoy && !recorded.passed_over && recorded.behind.len() <= of_slow.behind.len() {
                *recorded = Lost { for_queue, others, ..of_slow };
            }
        }
        found
    }

    /// Its waits for the mutex of its stream's hardware queue, if there are any.
    pub fn for_queue(&self) -> Option<ForQueue> {
        self.for_queue.map(|own| ForQueue { own, others: self.others })
    }

    /// Adds a wait for a call, unless it is chance.
    fn add(&mut self, behind: Behind) {
        if behind.end - behind.start < CHANCE {
            return;
        }
        let from = self.until.max(behind.start);
        self.ns += (behind.end - from).max(0);
        self.until = self.until.max(behind.end);
        self.first = Some(self.first.map_or(behind.start, |first| first.min(behind.start)));
        self.behind.push(behind);
    }

    /// Adds a wait for the mutex of a hardware queue. What is `own` remains part of the call's cost, unless it is `chance`, and the call waits
    /// for the mutex of a convoy in the replay.
    fn add_for_queue(&mut self, start: Ns, end: Ns, own: bool, chance: bool) {
        let of_cost = self.for_queue.get_or_insert_default();
        match (own, chance) {
            (_, true) => self.add_in_convoy(start, end),
            (true, false) => *of_cost += end - start,
            (false, false) => {}
        }
    }

    /// Adds a wait for the mutex of a convoy, however short: who waits for whom, the replay finds anew.
    fn add_in_convoy(&mut self, start: Ns, end: Ns) {
        self.ns += end - start;
        self.first = Some(self.first.map_or(start, |first| first.min(start)));
        self.in_convoy = true;
    }
}

/// Of each outermost call that waited for one of CUDA's locks, what that lost.
fn in_recorded_waits(index: &Index<'_>, mutex_of: impl Fn(usize) -> Mutex) -> FxHashMap<CallId, Lost> {
    let mut found: FxHashMap<CallId, Lost> = FxHashMap::default();
    let (trace, waits) = (index.trace, &index.trace.waits);
    let mutexes = Mutexes::of(index);
    for at in 0..waits.len() {
        let Some(call) = index.calls.outermost(waits.call[at]).some().filter(|_| waits.layer[at].is_cuda())
        else {
            continue;
        };
        let (start, end, mutex) = (waits.start[at], waits.end[at], mutex_of(at));
        if mutex == Mutex::OfConvoy {
            found.entry(call).or_default().add_in_convoy(start, end);
            continue;
        }
        // The first holder, then the last one: others between them are not known.
        let [first, last] =
            [waits.holder_call[at], waits.releaser_call[at]].map(|holder| index.calls.outermost(holder));
        let known = |holder: CallId| holder.is_some() && holder != call;
        let is_known = known(first) || known(last);
        let passed_over = is_known && mutexes.passed_over(at, first, last);
        if let Mutex::OfQueue { in_convoy } = mutex {
            let is_short = end - start < CHANCE;
            let is_own = !is_known || passed_over || is_short;
            found.entry(call).or_default().add_for_queue(start, end, is_own, in_convoy && is_short);
        }
        let of = found.entry(call).or_default();
        if passed_over {
            of.passed_over = true;
            continue;
        }
        of.others |= is_known && mutex == Mutex::Other && end - start >= CHANCE;
        if known(first) && first != last {
            let over = trace.calls.end[first.index()].clamp(start, end);
            of.add(Behind { holder: first, start, end: if known(last) { over } else { end } });
        }
        if known(last) {
            of.add(Behind { holder: last, start, end });
        }
    }
    found
}
