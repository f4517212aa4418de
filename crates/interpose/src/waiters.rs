//! Objects that threads wait for at this moment, so that the thread that ends a wait can leave its name: the one that
//! signals a condition, posts a semaphore, or is the last to arrive at a barrier.
//!
//! A thread waits for one thing at a time, so each has one place. Who ends waits looks at one counter: mostly nobody
//! waits there. A name is left before the wait ends, and taken by the thread that waited: nobody waits for another here.

use crate::sequence_lock::SequenceLock;
use crate::thread::{self, CallRef, Party, Thread};
use crate::threads;
use crate::ticks::Ticks;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, AtomicUsize};

/// Counters of waiters by address, a power of two.
const BUCKETS: usize = if cfg!(miri) { 16 } else { 1024 };

/// How many threads wait at the addresses that belong here, and the place of the last one that came, plus one.
struct Bucket {
    count: AtomicU32,
    last: AtomicU32,
}

static BUCKET: [Bucket; BUCKETS] =
    [const { Bucket { count: AtomicU32::new(0), last: AtomicU32::new(0) } }; BUCKETS];

/// Current wait of one thread.
#[repr(align(128))]
struct Waiter {
    /// 0 while it does not wait.
    address: AtomicUsize,
    since: AtomicI64,
    /// The number of its wait.
    wait: AtomicU64,
    /// The number of the wait that a thread ended, or is about to.
    ended: AtomicU64,
    /// Thread that ended the wait: number of the wait, thread and place's number, call, times.
    ender: SequenceLock<6>,
}

static WAITERS: [Waiter; thread::MOST] = [const {
    Waiter {
        address: AtomicUsize::new(0),
        since: AtomicI64::new(0),
        wait: AtomicU64::new(0),
        ended: AtomicU64::new(0),
        ender: SequenceLock::new(),
    }
}; thread::MOST];

/// The thread that ended a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ender {
    /// The thread, in its call.
    pub party: Party,
    /// When it did.
    pub at: Ticks,
    /// Number of the place where it was; 0 for unknown.
    pub place: u64,
}

/// How many of the waits at an address a thread ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WakeCount {
    /// The oldest one.
    One,
    /// All.
    All,
}

fn bucket(address: usize) -> &'static Bucket {
    let mixed = (address >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &BUCKET[mixed >> (usize::BITS - BUCKETS.trailing_zeros())]
}

/// False where no thread waits at an address.
#[inline]
pub fn may_be(address: usize) -> bool {
    bucket(address).count.load(Relaxed) > 0
}

/// The calling thread is about to wait; the number of its wait, for [`end`].
pub fn begin(thread: &Thread, address: usize, since: Ticks) -> u64 {
    let own = &WAITERS[thread.place()];
    // One within a signal handler that interrupted another, or after one that a cancellation or jump left.
    leave(own);
    let wait = own.wait.load(Relaxed) + 1;
    own.wait.store(wait, Relaxed);
    own.since.store(since, Relaxed);
    own.address.store(address, Release);
    let bucket = bucket(address);
    bucket.last.store(thread.place() as u32 + 1, Relaxed);
    bucket.count.fetch_add(1, SeqCst);
    wait
}

/// The calling thread no longer waits: by whom the wait was ended, if it was `met` and a thread said so.
/// `None` when another wait of the thread came in between: a signal handler's.
pub fn end(thread: &Thread, wait: u64, met: bool) -> Option<Option<Ender>> {
    let own = &WAITERS[thread.place()];
    let (address, since) = (own.address.load(Relaxed), own.since.load(Relaxed));
    if own.wait.load(Relaxed) != wait || address == 0 {
        return None;
    }
    let ender = if met { own.taken(wait).or_else(|| taken_over(own, address, since)) } else { None };
    leave(own);
    Some(ender)
}

fn leave(own: &Waiter) {
    let address = own.address.swap(0, AcqRel);
    if address != 0 {
        bucket(address).count.fetch_sub(1, AcqRel);
    }
}

impl Waiter {
    /// Takes what was left for a wait, if anything was.
    fn taken(&self, wait: u64) -> Option<Ender> {
        let [of, who, function, since, at, place] = self.ender.read()?;
        let is_it = of == wait && self.ended.compare_exchange(wait, 0, AcqRel, Relaxed).is_ok();
        let call = CallRef { function: function as u32, since: since.cast_signed() };
        let party = Party { tid: who as u32, call };
        is_it.then_some(Ender { party, at: at.cast_signed(), place })
    }

    /// When what it waits for was ended; `None` where it was not.
    fn ended_at(&self, address: usize) -> Option<(u64, Ticks)> {
        let wait = self.wait.load(Acquire);
        let is_ended = self.address.load(Acquire) == address && self.ended.load(Acquire) == wait;
        let [of, .., at, _] = self.ender.read().filter(|_| is_ended)?;
        (of == wait).then_some((wait, at.cast_signed()))
    }

    /// The number of its wait and when it began, if it waits at an address and nobody ended that.
    fn open(&self, address: usize) -> Option<(u64, Ticks)> {
        let wait = self.wait.load(Acquire);
        let is_open = self.address.load(Acquire) == address && self.ended.load(Acquire) != wait;
        is_open.then(|| (wait, self.since.load(Relaxed)))
    }

    /// Leaves a name; false where another thread did before.
    fn claim(&self, wait: u64, ender: &Ender) -> bool {
        let before = self.ended.load(Acquire);
        if before == wait || self.ended.compare_exchange(before, wait, AcqRel, Relaxed).is_err() {
            return false;
        }
        let Ender { party, at, place } = *ender;
        let call = party.call;
        self.ender.write([
            wait,
            party.tid.into(),
            call.function.into(),
            call.since.cast_unsigned(),
            at.cast_unsigned(),
            place,
        ])
    }
}

/// Several threads waited and another one's wait was marked as ended: which one goes on, the kernel decides. The first
/// name that was left since this wait began is this one's.
fn taken_over(own: &Waiter, address: usize, since: Ticks) -> Option<Ender> {
    if bucket(address).count.load(Relaxed) < 2 {
        return None;
    }
    let others = waiters().filter(|other| !std::ptr::eq(*other, own));
    let ended = others.filter_map(|other| other.ended_at(address).map(|(wait, at)| (at, wait, other)));
    let (_, wait, other) = ended.filter(|(at, ..)| *at >= since).min_by_key(|(at, ..)| *at)?;
    other.taken(wait)
}

fn waiters() -> impl Iterator<Item = &'static Waiter> {
    WAITERS[..threads::used()].iter()
}

/// The only waiter at an address, if the counter says that there is one and it came last.
fn only(address: usize) -> Option<&'static Waiter> {
    let bucket = bucket(address);
    let last = (bucket.last.load(Relaxed) as usize).wrapping_sub(1);
    WAITERS.get(last).filter(|last| bucket.count.load(Acquire) == 1 && last.open(address).is_some())
}

/// How long the oldest wait at an address that nobody ended has lasted; `None` where there is none.
pub fn oldest(address: usize, now: Ticks) -> Option<Ticks> {
    let lasted = |waiter: &Waiter| waiter.open(address).map(|(_, since)| now - since);
    match only(address) {
        Some(only) => lasted(only),
        None => waiters().filter_map(lasted).max(),
    }
}

/// Leaves a name for waits at an address, which the calling thread is about to end.
pub fn leave_name(address: usize, which: WakeCount, ender: &Ender) {
    let claim = |waiter: &Waiter| {
        if let Some((wait, _)) = waiter.open(address) {
            waiter.claim(wait, ender);
        }
    };
    let since = |waiter: &&Waiter| waiter.open(address).map(|(_, since)| since);
    match (only(address), which) {
        (Some(only), _) => claim(only),
        (None, WakeCount::All) => waiters().for_each(claim),
        (None, WakeCount::One) => {
            let open = waiters().filter_map(|waiter| since(&waiter).map(|since| (since, waiter)));
            if let Some((_, oldest)) = open.min_by_key(|(since, _)| *since) {
                claim(oldest);
            }
        }
    }
}

/// A thread ends: it waits for nothing.
pub fn ended(thread: &Thread) {
    leave(&WAITERS[thread.place()]);
}

/// In a fork's child: no other thread waits.
pub fn forget_all() {
    for waiter in waiters() {
        waiter.address.store(0, Relaxed);
        waiter.ender.forked();
    }
    for bucket in BUCKET.iter().filter(|bucket| bucket.count.load(Relaxed) != 0) {
        bucket.count.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests;
