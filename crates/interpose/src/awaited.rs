//! What threads wait for at this moment, so that the thread that ends a wait can leave its name: the one that signals a
//! condition, posts a semaphore, or is the last to arrive at a barrier.
//!
//! A thread waits for one thing at a time, so each has one place. Who ends waits looks at one counter: mostly nobody
//! waits there. A name is left before the wait ends, and taken by the thread that waited: nobody waits for another here.

use crate::thread::{self, CallRef, Party, Thread};
use crate::{SequenceLock, Ticks};
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

/// What one thread waits for.
#[repr(align(128))]
struct Waiter {
    /// 0 while it does not wait.
    address: AtomicUsize,
    since: AtomicI64,
    /// The number of its wait.
    wait: AtomicU64,
    /// The number of the wait that a thread ended, or is about to.
    ended: AtomicU64,
    /// Who: number of the wait, thread and place's number, call, times.
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

/// Which waits a thread ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
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
    WAITERS[..thread::used()].iter()
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
pub fn leave_name(address: usize, which: Which, ender: &Ender) {
    let claim = |waiter: &Waiter| {
        if let Some((wait, _)) = waiter.open(address) {
            waiter.claim(wait, ender);
        }
    };
    let since = |waiter: &&Waiter| waiter.open(address).map(|(_, since)| since);
    match (only(address), which) {
        (Some(only), _) => claim(only),
        (None, Which::All) => waiters().for_each(claim),
        (None, Which::One) => {
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
    for bucket in &BUCKET {
        bucket.count.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    fn ender(tid: u32, at: Ticks) -> Ender {
        Ender { party: Party { tid, call: CallRef { function: 3, since: 4 } }, at, place: 9 }
    }

    #[test]
    fn a_name_is_for_one_wait() {
        let thread = Thread::current().expect("there is room");
        let address = 0x1000;
        assert!(!may_be(address));
        let first = begin(thread, address, 10);
        assert!(may_be(address));
        assert_eq!(oldest(address, 25), Some(15));
        leave_name(address, Which::One, &ender(7, 20));
        leave_name(address, Which::One, &ender(8, 21));
        assert_eq!(oldest(address, 25), None, "it is ended");
        assert_eq!(end(thread, first, true), Some(Some(ender(7, 20))), "the first who came");
        let second = begin(thread, address, 30);
        assert_eq!(end(thread, second, true), Some(None), "that was the wait before");
        let third = begin(thread, address, 40);
        leave_name(address, Which::All, &ender(7, 50));
        assert_eq!(end(thread, third, false), Some(None), "it gave up");
        assert!(!may_be(address));
    }

    #[test]
    fn a_handler_that_waits_within_a_wait_is_no_part_of_it() {
        let thread = Thread::current().expect("there is room");
        let outer = begin(thread, 0x2000, 10);
        let inner = begin(thread, 0x2100, 11);
        leave_name(0x2100, Which::One, &ender(5, 12));
        assert_eq!(end(thread, inner, true), Some(Some(ender(5, 12))));
        assert_eq!(end(thread, outer, true), None);
        assert!(!may_be(0x2000));
    }

    #[test]
    fn who_goes_on_takes_the_name_that_was_left_for_another() {
        let address = 0x3000;
        let (first_waits, second_waits, done) = (Barrier::new(2), Barrier::new(2), Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let thread = Thread::current().expect("there is room");
                let wait = begin(thread, address, 10);
                first_waits.wait();
                done.wait();
                assert_eq!(end(thread, wait, true), Some(Some(ender(6, 40))));
                thread.leave();
                thread.end();
            });
            first_waits.wait();
            let waiter = scope.spawn(|| {
                let thread = Thread::current().expect("there is room");
                let wait = begin(thread, address, 20);
                second_waits.wait();
                let ended = end(thread, wait, true);
                thread.leave();
                thread.end();
                ended
            });
            // For the oldest, but the other one goes on.
            leave_name(address, Which::One, &ender(5, 30));
            second_waits.wait();
            assert_eq!(waiter.join().expect("a waiter"), Some(Some(ender(5, 30))));
            leave_name(address, Which::One, &ender(6, 40));
            done.wait();
        });
    }

    /// Whatever threads read at once, a name is whole and is taken once.
    #[test]
    fn names_are_whole() {
        let address = 0x4000;
        let rounds = if cfg!(miri) { 30 } else { 2_000 };
        let taken = std::thread::scope(|scope| {
            let waiters = [(); 2].map(|()| {
                scope.spawn(move || {
                    let thread = Thread::current().expect("there is room");
                    let mut taken = Vec::new();
                    for _ in 0..rounds {
                        let wait = begin(thread, address, 0);
                        std::thread::yield_now();
                        taken.extend(end(thread, wait, true).expect("no handler waits"));
                    }
                    thread.leave();
                    thread.end();
                    taken
                })
            });
            for at in 1..=rounds as i64 {
                leave_name(address, Which::One, &ender(at as u32, at));
            }
            waiters.map(|waiter| waiter.join().expect("a waiter")).concat()
        });
        assert!(taken.iter().all(|found| *found == ender(found.at as u32, found.at)));
        let mut times: Vec<_> = taken.iter().map(|found| found.at).collect();
        times.sort_unstable();
        times.dedup();
        assert_eq!(times.len(), taken.len(), "one name, one wait");
    }
}
