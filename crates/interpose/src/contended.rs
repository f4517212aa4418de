//! Locks that somebody waited for: whoever lets go of one says so while others wait.

use crate::thread::{CallRef, Party};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicUsize};

/// Most different locks, a power of two; the releasers of further ones stay unknown.
const MOST: usize = 4096;

/// Places looked at for a lock.
const PROBES: usize = 16;

/// A lock that was waited for. In a cache line of its own, which only those who wait for it share.
#[repr(align(64))]
pub struct Contended {
    lock: AtomicUsize,
    waiters: AtomicU32,
    tid: AtomicU32,
    function: AtomicU32,
    since: AtomicI64,
}

static TABLE: [Contended; MOST] = [const {
    Contended {
        lock: AtomicUsize::new(0),
        waiters: AtomicU32::new(0),
        tid: AtomicU32::new(0),
        function: AtomicU32::new(0),
        since: AtomicI64::new(0),
    }
}; MOST];

/// Where the search for a lock starts.
fn first(lock: usize) -> usize {
    (lock >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - MOST.trailing_zeros())
}

/// The lock's place, if anybody ever waited for it.
#[inline]
pub fn find(lock: usize) -> Option<&'static Contended> {
    for step in 0..PROBES {
        let place = &TABLE[(first(lock) + step) % MOST];
        match place.lock.load(Acquire) {
            0 => return None,
            known if known == lock => return Some(place),
            _ => {}
        }
    }
    None
}

/// The lock's place, made now if there is none.
pub fn find_or_add(lock: usize) -> Option<&'static Contended> {
    for step in 0..PROBES {
        let place = &TABLE[(first(lock) + step) % MOST];
        let known = match place.lock.compare_exchange(0, lock, AcqRel, Acquire) {
            Ok(_) => lock,
            Err(known) => known,
        };
        if known == lock {
            return Some(place);
        }
    }
    None
}

impl Contended {
    /// A thread starts to wait.
    pub fn enter(&self) {
        self.waiters.fetch_add(1, AcqRel);
    }

    /// A thread waits no longer; who let go last.
    pub fn leave(&self) -> Party {
        self.waiters.fetch_sub(1, AcqRel);
        let call = CallRef { function: self.function.load(Relaxed), since: self.since.load(Relaxed) };
        Party { tid: self.tid.load(Acquire), call }
    }

    /// The lock is about to be let go of.
    #[inline]
    pub fn release(&self, by: impl FnOnce() -> Party) {
        if self.waiters.load(Acquire) > 0 {
            let Party { tid, call } = by();
            self.function.store(call.function, Relaxed);
            self.since.store(call.since, Relaxed);
            self.tid.store(tid, Release);
        }
    }
}

/// In a fork's child: nobody waits.
pub fn forget_all() {
    for place in &TABLE {
        if place.lock.load(Relaxed) != 0 {
            place.waiters.store(0, Relaxed);
            place.tid.store(0, Relaxed);
        }
    }
}
