//! Threads of calls that name none.
//!
//! Calls of one thread never overlap, but that a call of the driver may lie within one of the runtime. So a
//! call goes on where a thread's last call ended, the shortest time ago; only where every thread is busy
//! there must be another one. Two calls at one time are of two threads for certain; calls one after
//! another may be of several.

use std::collections::{BTreeMap, BTreeSet};
use trace::Ns;

/// A call as it was printed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Printed {
    pub(super) start: Ns,
    pub(super) end: Ns,
    /// How far off the printed start may be, ns.
    pub(super) start_half: Ns,
    /// How far off the printed duration may be, ns.
    pub(super) duration_half: Ns,
    /// Whether it is a call of the driver, which may lie within one of the runtime.
    pub(super) driver: bool,
}

/// Of how many calls of the runtime that have not ended it is asked whether a call lies in them. More
/// threads than that do not begin one within another's in a listing that somebody reads.
const OPEN: usize = 16;

/// A thread that was told apart.
struct Thread {
    /// When its last call ended.
    end: Ns,
    /// How far off that end may be.
    half: Ns,
    /// Its last call of the runtime.
    outer: (Ns, Ns),
    /// When the last call within that one ended.
    inner_end: Ns,
}

/// Numbers the thread of each call from 0, and moves starts by what rounding has hidden, so that the calls
/// of a thread do not overlap.
pub(super) fn infer(calls: &mut [Printed]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..calls.len()).collect();
    order.sort_by_key(|at| calls[*at].start);
    let mut known = Known::default();
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
struct Known {
    threads: Vec<Thread>,
    /// Ends of the threads' last calls.
    ends: BTreeSet<(Ns, usize)>,
    /// The threads' last calls of the runtime, by their start.
    open: BTreeMap<(Ns, usize), Ns>,
    /// The most that any end may be off.
    half: Ns,
}

impl Known {
    /// The thread whose last call of the runtime holds this one.
    fn around(&mut self, call: &mut Printed) -> Option<usize> {
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

    /// The thread whose last call ended last before this one starts, as far as the printed digits say.
    fn idle(&mut self, call: &mut Printed) -> Option<usize> {
        let latest = call.start.saturating_add(call.start_half).saturating_add(self.half);
        let mut before = self.ends.range(..=(latest, usize::MAX)).rev();
        let is_over = |thread: &Thread| {
            thread.end.saturating_sub(thread.half) <= call.start.saturating_add(call.start_half)
        };
        let thread = before.find(|(_, thread)| is_over(&self.threads[*thread]))?.1;
        // The digits hide who was first; a thread's calls come one after another.
        let hidden = self.threads[thread].end.saturating_sub(call.start).max(0);
        call.start += hidden;
        call.end += hidden;
        self.take(thread, call);
        Some(thread)
    }

    fn another(&mut self, call: &Printed) -> usize {
        self.threads.push(Thread { end: Ns::MIN, half: 0, outer: (Ns::MIN, Ns::MIN), inner_end: Ns::MIN });
        let thread = self.threads.len() - 1;
        self.take(thread, call);
        thread
    }

    /// The call is the thread's last.
    fn take(&mut self, thread: usize, call: &Printed) {
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

    fn call(start: Ns, duration: Ns) -> Printed {
        Printed { start, end: start + duration, start_half: 0, duration_half: 0, driver: false }
    }

    fn threads(calls: &[Printed]) -> Vec<usize> {
        infer(&mut calls.to_vec())
    }

    #[test]
    fn a_call_goes_on_where_the_last_one_ended() {
        let calls = [call(0, 10), call(5, 20), call(12, 3), call(26, 4), call(40, 1)];
        // Thread 0 is done at 15, thread 1 at 25, so what begins at 26 is thread 1's.
        assert_eq!(threads(&calls), [0, 1, 0, 1, 1]);
        assert_eq!(threads(&[call(0, 10), call(10, 10)]), [0, 0]);
        assert_eq!(threads(&[call(0, 10), call(9, 10)]), [0, 1]);
        assert_eq!(threads(&[call(26, 4), call(0, 10), call(5, 20)]), [1, 0, 1], "in any order");
    }

    #[test]
    fn rounding_makes_no_thread_and_hides_no_second_one() {
        let rounded = |start, duration| Printed { start_half: 50, ..call(start, duration) };
        let mut calls = [rounded(1000, 230), rounded(1200, 17), rounded(1300, 5)];
        assert_eq!(infer(&mut calls), [0, 0, 0]);
        assert_eq!(calls.map(|call| (call.start, call.end)), [(1000, 1230), (1230, 1247), (1300, 1305)]);
        assert_eq!(threads(&[rounded(1000, 301), rounded(1200, 17)]), [0, 1], "one more than both may hide");
    }

    #[test]
    fn calls_of_the_driver_lie_within_those_of_the_runtime() {
        let driver = |start, duration| Printed { driver: true, ..call(start, duration) };
        assert_eq!(threads(&[call(0, 100), driver(10, 20), driver(30, 70), call(100, 5)]), [0, 0, 0, 0]);
        assert_eq!(threads(&[call(0, 100), driver(10, 20), driver(20, 30)]), [0, 0, 1], "two at once");
        assert_eq!(threads(&[call(0, 100), driver(90, 20)]), [0, 1], "outlives the call around it");
        assert_eq!(threads(&[driver(0, 100), call(10, 5)]), [0, 1], "and not the other way round");
        assert_eq!(threads(&[call(0, 100), call(50, 100), driver(60, 10)]), [0, 1, 1], "the later one's");
    }

    #[test]
    fn the_ends_of_time_are_as_good_as_any() {
        let far = Printed { start_half: Ns::MAX, duration_half: Ns::MAX, ..call(1 << 59, 1 << 59) };
        assert_eq!(threads(&[far, far, far]).len(), 3);
    }
}
