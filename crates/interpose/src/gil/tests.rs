//! Waiters and holders of locks that are made as Python's.

use super::*;
use std::sync::{Condvar, LockResult, Mutex, PoisonError};

/// A guard, poisoned or not.
fn own<T>(guard: LockResult<T>) -> T {
    guard.unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` in threads, each with a place of its own, which end.
fn in_threads(count: usize, work: impl Fn(&'static Thread) + Sync) {
    std::thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                let thread = Thread::current();
                assert!(thread.is_some(), "there is room");
                if let Some(thread) = thread {
                    work(thread);
                    ended(thread);
                    thread.leave();
                    thread.end();
                }
            });
        }
    });
}

/// A lock as Python's, at an address of its own.
struct TestLock {
    gil: &'static Gil,
    address: usize,
    locked: Mutex<bool>,
    free: Condvar,
}

impl TestLock {
    fn new(at: usize, address: usize) -> TestLock {
        CONDITIONS.addresses[at].store(address, Relaxed);
        CONDITIONS.count.fetch_max(at + 1, Release);
        TestLock { gil: &GILS[at], address, locked: Mutex::new(false), free: Condvar::new() }
    }

    fn acquire(&self) {
        let mut locked = Some(own(self.locked.lock()));
        while locked.as_deref() == Some(&true) {
            self.gil.wait(|| {
                locked = locked.take().map(|locked| own(self.free.wait(locked)));
                0
            });
        }
        locked.iter_mut().for_each(|locked| **locked = true);
        self.gil.acquired();
    }

    fn release(&self) {
        let mut locked = own(self.locked.lock());
        *locked = false;
        self.gil.released(|| {
            self.free.notify_one();
            0
        });
        self.gil.unlock(|| {
            drop(locked);
            0
        });
    }
}

#[test]
fn parts_of_a_lock_are_found_and_nothing_else() {
    let like = TestLock::new(0, 0x10_0000);
    assert!(matches!(find(like.address), Some((_, Part::Condition))));
    assert!(matches!(find(like.address + MUTEX), Some((_, Part::Mutex))));
    assert!(matches!(find(like.address + SWITCH), Some((_, Part::Switch))));
    for other in [like.address + 8, like.address - MUTEX, like.address + SWITCH + 8, 8] {
        assert!(find(other).is_none(), "{other:x}");
    }
    // Nobody says that these are locks: the wrong distance, and the right one.
    assert!(find_or_ask(0x20_0000, 0x20_0000 + 40).is_none());
    assert!(find_or_ask(0x20_0000, 0x20_0000 + MUTEX).is_none());
    like.gil.forget();
    assert!(find(like.address).is_none());
}

#[test]
fn waiters_come_and_go_with_their_threads() {
    let like = TestLock::new(1, 0x30_0000);
    let rounds = if cfg!(miri) { 20 } else { 500 };
    let take_turns = |thread: &'static Thread| {
        for _ in 0..rounds {
            like.acquire();
            assert_eq!(like.gil.holder.load(Relaxed), thread.tid());
            std::thread::yield_now();
            like.release();
        }
    };
    in_threads(3, take_turns);
    assert_eq!((like.gil.waiters.load(Relaxed), like.gil.holder.load(Relaxed)), (0, 0));
    assert_eq!(like.gil.turn.load(Relaxed), 3 * rounds);
    like.gil.forget();
}

#[test]
fn a_thread_that_ends_in_a_wait_no_longer_waits() {
    let like = TestLock::new(2, 0x40_0000);
    in_threads(1, |_| {
        like.gil.wait(|| 0);
        assert_eq!(like.gil.waiters.load(Relaxed), 1);
        // It timed out, and waits again: that is the same wait.
        like.gil.wait(|| 0);
        assert_eq!(like.gil.waiters.load(Relaxed), 1);
    });
    assert_eq!(like.gil.waiters.load(Relaxed), 0);
    like.gil.forget();
}
