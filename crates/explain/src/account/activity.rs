//! Activity of each thread from its first event to its last, without a gap: in calls, in recorded waits, or outside both.

use super::parts::{CallPart, CallParts};
use super::segment::{Doing, Segment};
use crate::facts::Facts;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use trace::{CallId, Ns, ThreadId, Trace, WaitId, partition_point_near};

/// The calls and waits of all threads, in order and apart.
pub(super) struct Activity<'a> {
    facts: &'a Facts<'a>,
    parts: &'a CallParts,
    calls: &'a [Vec<CallId>],
    /// Waits that no part of a call has: those for locks that are not CUDA's, and short ones for CUDA's.
    waits: Vec<Vec<Wait>>,
    /// Where the last walk of each thread began: the next one is mostly near it. Any place is right, a near one is found sooner.
    last: Vec<[AtomicUsize; 2]>,
}

/// The part of a wait that no earlier wait of its thread overlaps.
#[derive(Clone, Copy)]
struct Wait {
    start: Ns,
    end: Ns,
    wait: WaitId,
}

impl<'a> Activity<'a> {
    pub fn new(facts: &'a Facts<'a>, parts: &'a CallParts) -> Activity<'a> {
        let last = facts.trace.threads.ids().map(|_| Default::default()).collect();
        Activity { facts, parts, calls: facts.calls_by_thread(), waits: waits(facts), last }
    }

    /// A part of a slow call that a cause claims.
    pub fn part(&self, part: u32) -> &CallPart {
        self.parts.row(part)
    }

    /// When a slow call waited for locks, in order.
    pub fn locks(&self, call: CallId) -> impl Iterator<Item = (Ns, Ns)> {
        self.parts.of_call(call).iter().filter(|part| part.is_lock).map(|part| (part.start, part.end))
    }

    /// Whether a thread sleeps meanwhile: it waits for a lock or for another thread.
    pub fn blocks(&self, doing: Doing) -> bool {
        match doing {
            Doing::Waiting(_) => true,
            Doing::Lost(part) => self.parts.row(part).is_lock,
            Doing::Working(_) | Doing::Outside(_) => false,
        }
    }

    /// The call that a thread is in at a moment; `NONE` if it is in none.
    pub fn call_at(&self, thread: ThreadId, at: Ns) -> CallId {
        let calls = &self.calls[thread.index()];
        let begun = calls.partition_point(|call| self.facts.start(*call) <= at);
        let last = begun.checked_sub(1).map(|last| calls[last]);
        last.filter(|last| at < self.facts.end(*last)).unwrap_or(CallId::NONE)
    }

    /// The last call of a thread that ended by a time.
    pub fn call_before(&self, thread: ThreadId, time: Ns) -> CallId {
        let calls = &self.calls[thread.index()];
        let count = calls.partition_point(|call| self.facts.end(*call) <= time);
        count.checked_sub(1).map_or(CallId::NONE, |last| calls[last])
    }

    /// Passes each segment of a thread in `[from, to)` to `each`: in order, without gaps.
    pub fn walk(&self, thread: ThreadId, from: Ns, to: Ns, mut each: impl FnMut(Segment)) {
        let (calls, waits) = (&self.calls[thread.index()], &self.waits[thread.index()]);
        let [last_call, last_wait] = &self.last[thread.index()];
        let is_over = |at: usize| self.facts.end(calls[at]) <= from;
        let mut call = partition_point_near(calls.len(), last_call.load(Relaxed), is_over);
        let mut wait = partition_point_near(waits.len(), last_wait.load(Relaxed), |at| waits[at].end <= from);
        last_call.store(call, Relaxed);
        last_wait.store(wait, Relaxed);
        let mut now = from;
        while now < to {
            while calls.get(call).is_some_and(|call| self.facts.end(*call) <= now) {
                call += 1;
            }
            while waits.get(wait).is_some_and(|wait| wait.end <= now) {
                wait += 1;
            }
            let next = calls.get(call).copied().unwrap_or(CallId::NONE);
            let next_start = next.some().map_or(Ns::MAX, |call| self.facts.start(call));
            let waits_from = waits.get(wait).map_or(Ns::MAX, |wait| wait.start);
            let (end, doing) = match waits.get(wait).filter(|wait| wait.start <= now) {
                Some(wait) => (wait.end, Some(Doing::Waiting(wait.wait))),
                None if next_start <= now => (self.facts.end(next).min(waits_from), None),
                None => (next_start.min(waits_from), Some(Doing::Outside(next))),
            };
            let end = end.min(to);
            match doing {
                Some(doing) => each(Segment { start: now, end, doing }),
                None => self.parts.walk(next, now, end, &mut each),
            }
            now = end;
        }
    }
}

fn waits(facts: &Facts<'_>) -> Vec<Vec<Wait>> {
    let mut by_thread = vec![Vec::new(); facts.trace.threads.len()];
    let table = &facts.trace.waits;
    // Waits for CUDA's locks in slow calls are parts of these calls.
    let mut is_part = vec![false; table.len()];
    for wait in facts.slow.iter().flat_map(|call| facts.waits(*call)) {
        is_part[wait.index()] = true;
    }
    for wait in table.ids() {
        let at = wait.index();
        let Some(thread) = table.thread[at].some() else { continue };
        if !is_part[at] && table.start[at] < table.end[at] {
            by_thread[thread.index()].push(Wait { start: table.start[at], end: table.end[at], wait });
        }
    }
    for waits in &mut by_thread {
        waits.sort_by_key(|wait| (wait.start, std::cmp::Reverse(wait.end)));
        let mut done = Ns::MIN;
        waits.retain_mut(|wait| {
            wait.start = wait.start.max(done);
            done = done.max(wait.end);
            wait.start < wait.end
        });
    }
    by_thread
}

/// The time of each thread from its first event to its last, ns; it ends before it begins for a thread without events.
pub(super) fn spans(trace: &Trace) -> Vec<(Ns, Ns)> {
    let mut spans = vec![(Ns::MAX, Ns::MIN); trace.threads.len()];
    let mut widen = |threads: &[ThreadId], starts: &[Ns], ends: &[Ns]| {
        for ((thread, start), end) in threads.iter().zip(starts).zip(ends) {
            if let Some(thread) = thread.some() {
                let span = &mut spans[thread.index()];
                *span = (span.0.min(*start), span.1.max(*end));
            }
        }
    };
    let (calls, waits, ranges, states) = (&trace.calls, &trace.waits, &trace.ranges, &trace.states);
    widen(&calls.thread, &calls.start, &calls.end);
    widen(&waits.thread, &waits.start, &waits.end);
    widen(&ranges.thread, &ranges.start, &ranges.end);
    widen(&states.thread, &states.start, &states.end);
    widen(&trace.samples.thread, &trace.samples.at, &trace.samples.at);
    spans
}
