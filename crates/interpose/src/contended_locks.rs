//! Locks that a thread waited for: the thread that releases one notes so.

use crate::thread::{CallRef, Party};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, AtomicUsize};

/// Most different locks, a power of two; the releasers of further ones stay unknown.
const MOST: usize = if cfg!(miri) { 512 } else { 4096 };

/// Places searched for a lock.
const PROBES: usize = 16;

/// A lock that was waited for. A thread that releases it writes only while another one waits: else its cache line
/// would go from holder to holder with the lock.
#[repr(align(64))]
pub struct ContendedLock {
    lock: AtomicUsize,
    waiters: AtomicU32,
    tid: AtomicU32,
    function: AtomicU32,
    since: AtomicI64,
}

static TABLE: [ContendedLock; MOST] = [const {
    ContendedLock {
        lock: AtomicUsize::new(0),
        waiters: AtomicU32::new(0),
        tid: AtomicU32::new(0),
        function: AtomicU32::new(0),
        since: AtomicI64::new(0),
    }
}; MOST];

/// A bit for every eighth place of the table, set once a lock belongs there: mostly the answer of
/// [`may_know`], in one cache line that all threads read.
#[repr(align(64))]
struct Filter([AtomicU64; FILTER]);

const FILTER: usize = MOST / 8 / 64;

static FILTERED: Filter = Filter([const { AtomicU64::new(0) }; FILTER]);

impl Filter {
    #[inline]
    fn bit(lock: usize) -> (usize, u64) {
        let bit = first(lock) / 8;
        (bit / 64, 1 << (bit % 64))
    }

    #[inline]
    fn may_have(&self, lock: usize) -> bool {
        let (word, bit) = Self::bit(lock);
        self.0[word].load(Relaxed) & bit != 0
    }

    fn add(&self, lock: usize) {
        // Once: it would take the cache line away from all threads.
        if !self.may_have(lock) {
            let (word, bit) = Self::bit(lock);
            self.0[word].fetch_or(bit, Relaxed);
        }
    }
}

/// Where the search for a lock starts.
fn first(lock: usize) -> usize {
    (lock >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - MOST.trailing_zeros())
}

/// False where no thread ever waited for the lock.
#[inline]
pub fn may_know(lock: usize) -> bool {
    FILTERED.may_have(lock)
}

/// The lock's place, if a thread ever waited for it.
pub fn find(lock: usize) -> Option<&'static ContendedLock> {
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
pub fn find_or_add(lock: usize) -> Option<&'static ContendedLock> {
    for step in 0..PROBES {
        let place = &TABLE[(first(lock) + step) % MOST];
        let known = match place.lock.load(Acquire) {
            0 => place.lock.compare_exchange(0, lock, AcqRel, Acquire).map_or_else(|known| known, |_| lock),
            known => known,
        };
        if known == lock {
            FILTERED.add(lock);
            return Some(place);
        }
    }
    None
}

impl ContendedLock {
    /// A thread starts to wait. Who released the lock before says nothing of this wait.
    pub fn enter(&self) {
        if self.waiters.fetch_add(1, AcqRel) == 0 {
            self.tid.store(0, Relaxed);
        }
    }

    /// A thread no longer waits.
    pub fn leave(&self) {
        self.waiters.fetch_sub(1, AcqRel);
    }

    /// The thread that released the lock; unknown where it did while the wait began. For the thread that waited, and has
    /// just acquired it.
    #[inline]
    pub fn releaser(&self) -> Party {
        let call = CallRef { function: self.function.load(Relaxed), since: self.since.load(Relaxed) };
        Party { tid: self.tid.load(Relaxed), call }
    }

    /// A thread is about to release the lock.
    #[inline]
    pub fn release(&self, by: impl FnOnce() -> Party) {
        if self.waiters.load(Relaxed) > 0 {
            let Party { tid, call } = by();
            self.function.store(call.function, Relaxed);
            self.since.store(call.since, Relaxed);
            self.tid.store(tid, Relaxed);
        }
    }
}

/// In a fork's child: no thread waits.
pub fn forget_all() {
    for place in &TABLE {
        if place.lock.load(Relaxed) != 0 {
            place.waiters.store(0, Relaxed);
            place.tid.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
