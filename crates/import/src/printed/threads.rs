//! Infers the threads of calls that name none.
//!
//! Calls of one thread never overlap, except that a driver call may lie within a runtime call. So a call belongs to the
//! idle thread whose last call ended most recently; if every thread is busy, there must be another one. Two calls at
//! one time are certainly from two threads; consecutive calls may be from several.

use std::collections::{BTreeMap, BTreeSet};
use trace::Ns;

/// A printed call.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrintedCall {
    pub(super) start: Ns,
    pub(super) end: Ns,
    /// The largest rounding error of the printed start, ns.
    pub(super) start_half: Ns,
    /// The largest rounding error of the printed duration, ns.
    pub(super) duration_half: Ns,
    /// Whether it is a driver call, which may lie within a runtime call.
    pub(super) driver: bool,
}

/// How many open runtime calls are checked for containing a driver call. Listings that people read do not have more
/// threads in open calls.
const OPEN: usize = 16;

/// An inferred thread.
struct Thread {
    /// When its last call ended.
    end: Ns,
    /// The largest rounding error of that end, ns.
    half: Ns,
    /// Its last runtime call.
    outer: (Ns, Ns),
    /// When the last call within that one ended.
    inner_end: Ns,
}

/// Returns the thread of each call, numbered from 0, and moves starts by up to their rounding error, so that the calls
/// of a thread do not overlap.
pub(super) fn infer(calls: &mut [PrintedCall]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..calls.len()).collect();
    order.sort_by_key(|at| calls[*at].start);
    let mut known = ThreadsSoFar::default();
    let mut threads = vec![0; calls.len()];
    for at in order {
        let call = &mut calls[at];
        let nested = if call.driver { known.around(call) } else { None };
        threads[at] = match nested.or_else(|| known.idle(call)) {
            Some(thread) => thread,
            None => known.another(call),
        };
    }
    threads
}

#[derive(Default)]
struct ThreadsSoFar {
    threads: Vec<Thread>,
    /// Ends of the threads' last calls.
    ends: BTreeSet<(Ns, usize)>,
    /// The threads' last runtime calls, by their start.
    open: BTreeMap<(Ns, usize), Ns>,
    /// The largest rounding error of any end, ns.
    half: Ns,
}

impl ThreadsSoFar {
    /// The thread whose last runtime call contains this call.
    fn around(&mut self, call: &mut PrintedCall) -> Option<usize> {
        let reach = call.end.saturating_sub(call.start_half).saturating_sub(call.duration_half);
        let begun = self.open.range(..=(call.start, usize::MAX)).rev().take(OPEN);
        let holds = |(&(start, thread), &end): (&(Ns, usize), &Ns)| {
            let of = &self.threads[thread];
            let within = start <= call.start && reach <= end.saturating_add(of.half);
            (within && call.start < end && of.inner_end <= call.start).then_some((thread, end))
        };
        let (thread, end) = { begun }.find_map(holds)?;
        call.end = call.end.min(end).max(call.start);
        self.threads[thread].inner_end = call.end;
        Some(thread)
    }

    /// The thread whose last call ended last before this call starts, within the rounding errors.
    fn idle(&mut self, call: &mut PrintedCall) -> Option<usize> {
        let latest = call.start.saturating_add(call.start_half).saturating_add(self.half);
        let mut before = self.ends.range(..=(latest, usize::MAX)).rev();
        let is_over = |thread: &Thread| {
            thread.end.saturating_sub(thread.half) <= call.start.saturating_add(call.start_half)
        };
        let thread = before.find(|(_, thread)| is_over(&self.threads[*thread]))?.1;
        // Rounding hides which call was first; a thread's calls do not overlap.
        let hidden = self.threads[thread].end.saturating_sub(call.start).max(0);
        call.start += hidden;
        call.end += hidden;
        self.take(thread, call);
        Some(thread)
    }

    fn another(&mut self, call: &PrintedCall) -> usize {
        self.threads.push(Thread { end: Ns::MIN, half: 0, outer: (Ns::MIN, Ns::MIN), inner_end: Ns::MIN });
        let thread = self.threads.len() - 1;
        self.take(thread, call);
        thread
    }

    /// Makes the call the thread's last.
    fn take(&mut self, thread: usize, call: &PrintedCall) {
        let of = &mut self.threads[thread];
        self.ends.remove(&(of.end, thread));
        self.open.remove(&(of.outer.0, thread));
        (of.end, of.half) = (call.end, call.start_half.saturating_add(call.duration_half));
        self.half = self.half.max(of.half);
        self.ends.insert((of.end, thread));
        if !call.driver {
            (of.outer, of.inner_end) = ((call.start, call.end), Ns::MIN);
            self.open.insert((call.start, thread), call.end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(start: Ns, duration: Ns) -> PrintedCall {
        PrintedCall { start, end: start + duration, start_half: 0, duration_half: 0, driver: false }
    }

    fn threads(calls: &[PrintedCall]) -> Vec<usize> {
        infer(&mut calls.to_vec())
    }

    #[test]
    fn a_call_belongs_to_the_thread_whose_call_ended_last() {
        let calls = [call(0, 10), call(5, 20), call(12, 3), call(26, 4), call(40, 1)];
        // Thread 0 is done at 15, thread 1 at 25, so what begins at 26 is thread 1's.
        assert_eq!(threads(&calls), [0, 1, 0, 1, 1]);
        assert_eq!(threads(&[call(0, 10), call(10, 10)]), [0, 0]);
        assert_eq!(threads(&[call(0, 10), call(9, 10)]), [0, 1]);
        assert_eq!(threads(&[call(26, 4), call(0, 10), call(5, 20)]), [1, 0, 1], "in any order");
    }

    #[test]
    fn rounding_makes_no_thread_and_hides_no_second_one() {
        let rounded = |start, duration| PrintedCall { start_half: 50, ..call(start, duration) };
        let mut calls = [rounded(1000, 230), rounded(1200, 17), rounded(1300, 5)];
        assert_eq!(infer(&mut calls), [0, 0, 0]);
        assert_eq!(calls.map(|call| (call.start, call.end)), [(1000, 1230), (1230, 1247), (1300, 1305)]);
        assert_eq!(threads(&[rounded(1000, 301), rounded(1200, 17)]), [0, 1], "one more than both may hide");
    }

    #[test]
    fn calls_of_the_driver_lie_within_those_of_the_runtime() {
        let driver = |start, duration| PrintedCall { driver: true, ..call(start, duration) };
        assert_eq!(threads(&[call(0, 100), driver(10, 20), driver(30, 70), call(100, 5)]), [0, 0, 0, 0]);
        assert_eq!(threads(&[call(0, 100), driver(10, 20), driver(20, 30)]), [0, 0, 1], "two at once");
        assert_eq!(threads(&[call(0, 100), driver(90, 20)]), [0, 1], "outlives the call around it");
        assert_eq!(threads(&[driver(0, 100), call(10, 5)]), [0, 1], "and not the other way round");
        assert_eq!(threads(&[call(0, 100), call(50, 100), driver(60, 10)]), [0, 1, 1], "the later one's");
    }

    #[test]
    fn extreme_times_do_not_overflow() {
        let far = PrintedCall { start_half: Ns::MAX, duration_half: Ns::MAX, ..call(1 << 59, 1 << 59) };
        assert_eq!(threads(&[far, far, far]).len(), 3);
    }
}
