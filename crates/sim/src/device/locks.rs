//! A lock, and how it passes from thread to thread.

use crate::Lock as Rule;
use crate::chance::Chance;
use std::collections::VecDeque;

/// The locks, in the order in which a call acquires them. Each context has its own, except of the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Pageable copies to the device hold it until they complete.
    CopyIn,
    /// Pageable copies to the host hold it until they complete.
    CopyOut,
    /// The reader-writer lock.
    Context,
    /// The launch mutex.
    Launch,
    /// Held while any process allocates or frees memory of a device; there is one for all contexts.
    Memory,
}

impl Kind {
    pub(crate) const COUNT: usize = 5;
    pub(crate) const ALL: [Kind; Kind::COUNT] =
        [Kind::CopyIn, Kind::CopyOut, Kind::Context, Kind::Launch, Kind::Memory];

    /// Its row, from the context's row and the number of contexts.
    pub(crate) fn row(self, context: u32, contexts: u32) -> u32 {
        self as u32 * contexts + context
    }

    pub(crate) fn of_row(row: u32, contexts: u32) -> Kind {
        Kind::ALL[(row / contexts) as usize]
    }
}

/// A present or former holder of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub thread: u32,
    /// The row of the call it is in.
    pub call: u32,
}

/// A thread that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub who: Holder,
    pub exclusive: bool,
    /// Whether it held the lock recently.
    pub recent: bool,
    /// Number of times that it was woken too late, or passed over.
    pub late: u32,
}

/// A lock with shared and exclusive mode.
pub(crate) struct Lock {
    rule: Rule,
    /// Whether it is held exclusively.
    alone: bool,
    /// The holders, longest first.
    pub holders: Vec<Holder>,
    /// The waiters, longest first, without those that were woken and have not tried yet.
    waiters: VecDeque<Waiter>,
    /// The thread that released it last.
    pub releaser: Option<Holder>,
}

/// Effect of a release on a thread that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// It acquires the lock after so many ns.
    Granted(u32, i64),
    /// It wakes up and tries after so many ns.
    Wakes(Waiter, i64),
}

impl Lock {
    pub(crate) fn new(rule: &Rule) -> Lock {
        Lock {
            rule: rule.clone(),
            alone: false,
            holders: Vec::new(),
            waiters: VecDeque::new(),
            releaser: None,
        }
    }

    /// Acquires the lock, or waits for it.
    pub(crate) fn take(&mut self, waiter: Waiter) -> bool {
        let first = self.barges() || self.waiters.is_empty();
        let taken = first && self.lets_in(waiter.exclusive);
        match taken {
            true => self.enter(waiter),
            false => self.waiters.push_back(waiter),
        }
        taken
    }

    /// Whether a thread may acquire the lock while others wait for it.
    fn barges(&self) -> bool {
        self.rule.wake_ns > 0
    }

    fn lets_in(&self, exclusive: bool) -> bool {
        self.holders.is_empty() || (!exclusive && !self.alone)
    }

    fn enter(&mut self, waiter: Waiter) {
        self.alone = waiter.exclusive;
        self.holders.push(waiter.who);
    }

    /// Moves the first waiter that is not passed over to the front, if there is one.
    fn pass_over(&mut self) {
        let patience = self.rule.patience;
        let goes = |waiter: &Waiter| waiter.recent || waiter.late >= patience;
        let Some(at) = self.waiters.iter().position(goes).filter(|at| *at > 0) else { return };
        self.waiters.iter_mut().take(at).for_each(|waiter| waiter.late += 1);
        let first = self.waiters.remove(at);
        first.into_iter().for_each(|waiter| self.waiters.push_front(waiter));
    }

    /// The time after a release during which a thread counts as a recent holder, ns; `None` if always.
    pub(crate) fn recent_ns(&self) -> Option<i64> {
        Some(self.rule.recent_ns).filter(|ns| *ns > 0)
    }

    /// Releases it, and puts what that does into `next`.
    pub(crate) fn release(&mut self, thread: u32, next: &mut Vec<Next>, chance: &mut Chance) {
        let Some(at) = self.holders.iter().position(|holder| holder.thread == thread) else { return };
        self.releaser = Some(self.holders.remove(at));
        if self.waiters.is_empty() {
            return;
        }
        if self.barges() && self.waiters.front().is_some_and(|first| first.late < self.rule.patience) {
            let first = self.waiters.pop_front();
            let wake = self.rule.wake_ns + chance.up_to(self.rule.wake_spread_ns);
            next.extend(first.map(|waiter| Next::Wakes(waiter, wake)));
            return;
        }
        self.pass_over();
        let others = (self.waiters.len() as u32 - 1).min(self.rule.most_waiters);
        let handover = self.rule.wake_ns + self.rule.handover_ns + self.rule.waiter_ns * i64::from(others);
        while let Some(waiter) = self.waiters.front().copied() {
            if !self.lets_in(waiter.exclusive) {
                break;
            }
            self.waiters.pop_front();
            self.enter(waiter);
            next.push(Next::Granted(waiter.who.thread, handover));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(wake_ns: i64) -> Lock {
        let rule = Rule {
            wake_ns,
            wake_spread_ns: 0,
            patience: 1,
            recent_ns: 0,
            handover_ns: 10,
            waiter_ns: 1,
            most_waiters: 2,
        };
        Lock::new(&rule)
    }

    fn waiter(thread: u32, exclusive: bool) -> Waiter {
        Waiter { who: Holder { thread, call: 0 }, exclusive, recent: true, late: 0 }
    }

    fn released(lock: &mut Lock, thread: u32) -> Vec<String> {
        let mut next = Vec::new();
        lock.release(thread, &mut next, &mut Chance::new(0));
        let said = |next: &Next| match next {
            Next::Granted(thread, ns) => format!("{thread} has it in {ns}"),
            Next::Wakes(waiter, ns) => format!("{} wakes in {ns}", waiter.who.thread),
        };
        next.iter().map(said).collect()
    }

    #[test]
    fn a_lock_goes_to_the_longest_waiter_and_to_all_readers_together() {
        let mut lock = lock(0);
        assert!(lock.take(waiter(0, false)));
        assert!(lock.take(waiter(1, false)), "readers share");
        assert!(!lock.take(waiter(2, true)));
        assert!(!lock.take(waiter(3, false)), "a reader does not pass a writer that waits");
        assert!(!lock.take(waiter(4, false)));
        assert!(released(&mut lock, 0).is_empty());
        assert_eq!(released(&mut lock, 1), ["2 has it in 12"]);
        assert_eq!(released(&mut lock, 2), ["3 has it in 11", "4 has it in 11"]);
    }

    #[test]
    fn a_former_holder_is_passed_over_a_limited_number_of_times() {
        let mut lock = lock(0);
        let long_ago = |thread| Waiter { recent: false, ..waiter(thread, true) };
        assert!(lock.take(waiter(0, true)));
        assert!(!lock.take(long_ago(1)));
        assert!(!lock.take(waiter(2, true)));
        assert!(!lock.take(waiter(3, true)));
        assert_eq!(released(&mut lock, 0), ["2 has it in 12"]);
        assert_eq!(released(&mut lock, 2), ["1 has it in 11"], "it was passed over once");
        assert!(!lock.take(long_ago(4)));
        assert_eq!(released(&mut lock, 1), ["3 has it in 11"]);
        assert_eq!(released(&mut lock, 3), ["4 has it in 10"], "no other thread waits");
    }

    #[test]
    fn a_lock_is_acquired_before_the_woken_thread_is_awake() {
        let mut lock = lock(50);
        assert!(lock.take(waiter(0, true)));
        assert!(!lock.take(waiter(1, true)));
        assert!(!lock.take(waiter(2, true)));
        assert_eq!(released(&mut lock, 0), ["1 wakes in 50"]);
        assert!(lock.take(waiter(0, true)), "it is free");
        assert!(!lock.take(Waiter { late: 1, ..waiter(1, true) }), "woken too late, and now the last");
        assert_eq!(released(&mut lock, 0), ["2 wakes in 50"]);
        assert!(lock.take(waiter(2, true)));
        assert_eq!(released(&mut lock, 2), ["1 has it in 60"], "it has been patient");
    }
}
