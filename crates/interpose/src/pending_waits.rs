//! Waits of a thread that are over and not recorded yet: the thread may still hold the lock.
//!
//! A signal handler may run between any two instructions and wait for locks itself. So nobody has a reference to a
//! kept wait: a place belongs to the code that moved it from FREE to BUSY, and a handler that finds no free place
//! records its wait at once.

use crate::hooks::hooks;
use crate::thread::{self, Thread};
use crate::threads;
use crate::wait::Wait;
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU8, compiler_fence};

/// Most waits kept: locks that are waited for one within the other.
const MOST: usize = 4;

/// States of a place.
const FREE: u8 = 0;
/// It is being filled or emptied, by the code that made it so.
const BUSY: u8 = 1;
const FILLED: u8 = 2;

/// The waits of one thread.
struct PendingWaits {
    /// How many places are not free: mostly the answer of [`record`], in one load.
    count: AtomicU8,
    places: [Slot; MOST],
}

/// Room for a wait. Zeros while it is free: other values would lie in the library's file.
struct Slot {
    state: AtomicU8,
    wait: UnsafeCell<Wait>,
}

// SAFETY: only the thread at the same place of the known ones uses it, and of it only the code that made `state` BUSY.
unsafe impl Sync for Slot {}

static PENDING: [PendingWaits; thread::MOST] = [const { PendingWaits::new() }; thread::MOST];

impl Slot {
    /// Changes the state, unless it is another than `from`. A handler runs to its end before the code that it
    /// interrupted goes on, so a load and a store are one step for both if the state is BUSY in between.
    fn change(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Relaxed, Relaxed).is_ok()
    }

    /// Keeps a wait, if the place is free.
    fn put(&self, wait: &Wait) -> bool {
        if !self.change(FREE, BUSY) {
            return false;
        }
        compiler_fence(SeqCst);
        // SAFETY: the place is BUSY by this call: no other code touches the wait until the state changes.
        unsafe { self.wait.get().write(*wait) };
        compiler_fence(SeqCst);
        self.state.store(FILLED, Relaxed);
        true
    }

    /// Takes the wait out, if there is one.
    fn take(&self) -> Option<Wait> {
        if !self.change(FILLED, BUSY) {
            return None;
        }
        compiler_fence(SeqCst);
        // SAFETY: the place is BUSY by this call, as above, and was FILLED: a wait was written there.
        let wait = unsafe { self.wait.get().read() };
        compiler_fence(SeqCst);
        self.state.store(FREE, Relaxed);
        Some(wait)
    }
}

impl PendingWaits {
    const fn new() -> PendingWaits {
        let places = [const { Slot { state: AtomicU8::new(FREE), wait: UnsafeCell::new(Wait::NONE) } }; MOST];
        PendingWaits { count: AtomicU8::new(0), places }
    }

    /// Keeps a wait; false without room.
    fn add(&self, wait: &Wait) -> bool {
        // Counted first: a handler in between looks for it in vain, and the next `record` finds it.
        self.count.fetch_add(1, Relaxed);
        compiler_fence(SeqCst);
        let kept = self.places.iter().any(|place| place.put(wait));
        if !kept {
            self.count.fetch_sub(1, Relaxed);
        }
        kept
    }

    /// Takes all waits out, the last first, and passes each to `record` once it is out.
    fn drain(&self, mut record: impl FnMut(&Wait)) {
        for place in self.places.iter().rev() {
            if let Some(wait) = place.take() {
                self.count.fetch_sub(1, Relaxed);
                record(&wait);
            }
        }
    }

    /// Frees all places; how many were left in the middle of a change, by a handler that did not return (`longjmp`).
    fn reset(&self) -> usize {
        self.count.store(0, Relaxed);
        self.places.iter().filter(|place| place.state.swap(FREE, Relaxed) != FREE).count()
    }
}

/// Keeps a wait until [`record`]; records it at once when there are too many.
pub fn add(thread: &'static Thread, wait: &Wait) {
    if !PENDING[thread.place()].add(wait) {
        record_one(thread, wait);
    }
}

/// Records all waits that are kept.
#[inline]
pub fn record(thread: &'static Thread) {
    if PENDING[thread.place()].count.load(Relaxed) > 0 {
        record_all(thread);
    }
}

#[cold]
#[inline(never)]
fn record_all(thread: &'static Thread) {
    PENDING[thread.place()].drain(|wait| record_one(thread, wait));
}

/// Frees the places of a thread that ends; how many waits are lost.
pub fn clear(thread: &Thread) -> usize {
    PENDING[thread.place()].reset()
}

/// In a fork's child: the parent records the waits.
///
/// # Safety
///
/// No thread of the child is known, as while it begins anew.
pub unsafe fn forget_all() {
    // Those of places that no thread had are not even looked at: each is a page that the child would have to be given.
    for pending in PENDING[..threads::used()].iter().filter(|pending| pending.count.load(Relaxed) > 0) {
        pending.reset();
    }
}

fn record_one(thread: &'static Thread, wait: &Wait) {
    if let Some(hooks) = hooks() {
        (hooks.waited)(thread, wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(lock: usize) -> Wait {
        Wait { lock, ..Wait::NONE }
    }

    fn drained(pending: &PendingWaits) -> Vec<usize> {
        let mut locks = Vec::new();
        pending.drain(|wait| locks.push(wait.lock));
        locks
    }

    #[test]
    fn waits_are_kept_until_they_are_drained() {
        let pending = PendingWaits::new();
        assert!((1..=MOST).all(|lock| pending.add(&wait(lock))));
        assert!(!pending.add(&wait(9)), "no room: the caller records it at once");
        assert_eq!(drained(&pending), [4, 3, 2, 1]);
        assert_eq!((drained(&pending), pending.count.load(Relaxed)), (vec![], 0));
    }

    /// A handler that waits for locks while a wait is being kept: at every point where it can come.
    #[test]
    fn a_handler_overwrites_no_wait_that_it_interrupted() {
        for filled in 0..MOST {
            let pending = PendingWaits::new();
            (0..filled).for_each(|lock| assert!(pending.add(&wait(lock))));
            // The interrupted code has made the next place BUSY.
            pending.count.fetch_add(1, Relaxed);
            assert!(pending.places[filled].change(FREE, BUSY));
            let of_handler: Vec<usize> = (10..10 + MOST).filter(|lock| pending.add(&wait(*lock))).collect();
            assert_eq!(of_handler.len(), MOST - 1 - filled);
            let mut all = drained(&pending);
            all.sort_unstable();
            assert_eq!(all, (0..filled).chain(of_handler).collect::<Vec<_>>());
            // The interrupted code goes on.
            // SAFETY: this test made the place BUSY.
            unsafe { pending.places[filled].wait.get().write(wait(7)) };
            pending.places[filled].state.store(FILLED, Relaxed);
            assert_eq!((drained(&pending), pending.count.load(Relaxed)), (vec![7], 0));
        }
    }

    #[test]
    fn a_handler_drains_no_wait_twice() {
        let pending = PendingWaits::new();
        (1..=MOST).for_each(|lock| assert!(pending.add(&wait(lock))));
        let mut all = Vec::new();
        // A handler comes after each wait that is taken out, and drains, too.
        pending.drain(|wait| {
            all.push(wait.lock);
            pending.drain(|inner| all.push(inner.lock));
            assert!(pending.add(&self::wait(100 + wait.lock)));
        });
        pending.drain(|wait| all.push(wait.lock));
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3, 4, 104, 204]);
        assert_eq!(pending.count.load(Relaxed), 0);
    }

    #[test]
    fn a_wait_that_a_handler_left_unfinished_is_counted() {
        let pending = PendingWaits::new();
        assert!(pending.add(&wait(1)));
        pending.count.fetch_add(1, Relaxed);
        assert!(pending.places[1].change(FREE, BUSY));
        assert_eq!(drained(&pending), [1]);
        assert_eq!(pending.reset(), 1);
        assert!((1..=MOST).all(|lock| pending.add(&wait(lock))));
    }
}
