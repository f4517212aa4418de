//! Locks that are made of a flag, a mutex and two conditions, as Python's global interpreter lock (GIL) is: who waits,
//! who holds it, who released it.
//!
//! Such a lock has no function of its own in the C library, but each step of it is one call: a thread that finds the
//! flag set waits for the condition, again and again if the wait times out; one that sets the flag signals the other
//! condition (`switch`); one that clears it signals the condition. All of that happens while it holds the mutex, so that
//! what is noted here of a lock is protected by the lock's own mutex.
//!
//! [`crate::Hooks::recognize`] says whether a condition is such a lock's, the first time that a thread waits for it: a
//! lock that is never waited for costs a comparison.

use crate::clock::now;
use crate::hooks::{Hooks, hooks};
use crate::lock_kind::{Layer, LockKind, LockMode};
use crate::thread::{self, CallRef, Party, Thread};
use crate::ticks::{Ns, Ticks};
use crate::wait::{Wait, is_long};
use crate::{pending_waits, tally, threads};
use libc::{c_int, pthread_cond_t, pthread_mutex_t};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize};

/// Most locks known at once; further ones are not watched. Python has one for each interpreter.
const MOST: usize = 64;

/// Where the mutex lies behind the condition, bytes (`struct _gil_runtime_state`).
const MUTEX: usize = size_of::<pthread_cond_t>();
/// Where the second condition lies.
const SWITCH: usize = MUTEX + size_of::<pthread_mutex_t>();

/// Conditions that were refused, by address: asked about again after 2²⁸ ticks, a tenth of a second.
static REFUSED: [AtomicUsize; 16] = [const { AtomicUsize::new(0) }; 16];
const REFUSED_FOR: u32 = 28;

/// A lock, in one cache line: it goes from holder to holder, with the lock's own. Written by threads that hold its mutex.
#[repr(C, align(64))]
pub struct Gil {
    /// 0 while nobody holds it, or it is not known who does.
    holder: AtomicU32,
    /// Its place among the threads.
    holder_at: AtomicU32,
    waiters: AtomicU32,
    /// Thread that released it last while a thread waited.
    releaser: AtomicU32,
    releaser_function: AtomicU32,
    releaser_since: AtomicI64,
    /// When that was.
    released: AtomicI64,
    /// The number of the releaser's place.
    place: AtomicU64,
    /// Counts the times that it was acquired.
    turn: AtomicU64,
    /// When a thread began to wait while no other did.
    since: AtomicI64,
}

const _: () = assert!(size_of::<Gil>() == 64);

static GILS: [Gil; MOST] = [const {
    Gil {
        holder: AtomicU32::new(0),
        holder_at: AtomicU32::new(0),
        waiters: AtomicU32::new(0),
        releaser: AtomicU32::new(0),
        releaser_function: AtomicU32::new(0),
        releaser_since: AtomicI64::new(0),
        released: AtomicI64::new(0),
        place: AtomicU64::new(0),
        turn: AtomicU64::new(0),
        since: AtomicI64::new(0),
    }
}; MOST];

/// Which locks there are. Apart from them: each function of the interpreter's locks looks here.
#[repr(align(64))]
struct Conditions {
    /// Locks known so far, those that are gone included.
    count: AtomicUsize,
    /// The condition of each; 0 where there is none.
    addresses: [AtomicUsize; MOST],
}

static CONDITIONS: Conditions =
    Conditions { count: AtomicUsize::new(0), addresses: [const { AtomicUsize::new(0) }; MOST] };

impl Conditions {
    fn addresses(&self) -> &[AtomicUsize] {
        &self.addresses[..self.count.load(Acquire).min(MOST)]
    }
}

/// A thread's own wait, and what it has to do once it releases the mutex.
#[repr(align(128))]
struct GilWait {
    /// The condition of the lock that it waits for; 0 while it waits for none.
    condition: AtomicUsize,
    start: AtomicI64,
    turn: AtomicU64,
    holder: AtomicU32,
    holder_function: AtomicU32,
    holder_since: AtomicI64,
    holder_place: AtomicU64,
    examined: AtomicBool,
    /// Number of its own place, kept before it may wait.
    place: AtomicU64,
    /// Number of a place that it has promised.
    owed: AtomicU64,
}

static WAITS: [GilWait; thread::MOST] = [const {
    GilWait {
        condition: AtomicUsize::new(0),
        start: AtomicI64::new(0),
        turn: AtomicU64::new(0),
        holder: AtomicU32::new(0),
        holder_function: AtomicU32::new(0),
        holder_since: AtomicI64::new(0),
        holder_place: AtomicU64::new(0),
        examined: AtomicBool::new(false),
        place: AtomicU64::new(0),
        owed: AtomicU64::new(0),
    }
}; thread::MOST];

/// Shorter waits are counted only, ticks; none is recorded or counted before this is set.
static THRESHOLD: AtomicI64 = AtomicI64::new(Ns::MAX);

/// From now on waits of at least so many ticks are recorded.
pub fn set_threshold(ticks: Ticks) {
    THRESHOLD.store(ticks, Relaxed);
}

/// Which part of a lock an address is.
#[derive(Clone, Copy)]
pub enum Part {
    /// The condition by which threads wait for it.
    Condition,
    /// The mutex.
    Mutex,
    /// The condition by which the thread that released it waits for the next.
    Switch,
}

/// The lock that an address is a part of, if it is known.
#[inline]
pub fn find(address: usize) -> Option<(&'static Gil, Part)> {
    for (condition, gil) in CONDITIONS.addresses().iter().zip(&GILS) {
        match address.wrapping_sub(condition.load(Relaxed)) {
            0 => return Some((gil, Part::Condition)),
            MUTEX => return Some((gil, Part::Mutex)),
            SWITCH => return Some((gil, Part::Switch)),
            _ => {}
        }
    }
    None
}

/// The lock that a thread is about to wait for; `None` where it is no such lock. The caller holds the mutex.
pub fn find_or_ask(condition: usize, mutex: usize) -> Option<&'static Gil> {
    if mutex.wrapping_sub(condition) != MUTEX {
        return None;
    }
    match find(condition) {
        Some((gil, Part::Condition)) => Some(gil),
        _ => ask(condition),
    }
}

#[cold]
#[inline(never)]
fn ask(condition: usize) -> Option<&'static Gil> {
    let refused = &REFUSED[condition / 8 % REFUSED.len()];
    let refusal = condition.wrapping_add((now() >> REFUSED_FOR) as usize);
    if refused.load(Relaxed) == refusal {
        return None;
    }
    let Some(holder) = hooks().and_then(|hooks| (hooks.recognize)(condition)) else {
        refused.store(refusal, Relaxed);
        return None;
    };
    let is_free = |known: &AtomicUsize| known.compare_exchange(0, condition, AcqRel, Relaxed).is_ok();
    let at = CONDITIONS.addresses.iter().position(is_free)?;
    let gil = &GILS[at];
    gil.holder.store(holder, Relaxed);
    gil.waiters.store(0, Relaxed);
    gil.released.store(0, Relaxed);
    CONDITIONS.count.fetch_max(at + 1, Release);
    Some(gil)
}

impl GilWait {
    /// The number of the thread's own place; after a long wait it is looked for now if it is not known.
    fn place_after(&self, thread: &'static Thread, waited: Ticks) -> u64 {
        let place = self.place.load(Relaxed);
        let late = hooks().filter(|_| place == 0 && is_long(waited));
        late.map_or(place, |hooks| (hooks.keep_place)(thread, true))
    }

    fn of(thread: &Thread) -> &'static GilWait {
        &WAITS[thread.place()]
    }
}

impl Gil {
    /// Its condition; 0 once that is gone.
    fn condition(&self) -> &'static AtomicUsize {
        let at = (std::ptr::from_ref(self).addr() - GILS.as_ptr().addr()) / size_of::<Gil>();
        &CONDITIONS.addresses[at % MOST]
    }

    /// A thread is about to acquire the mutex: where it is, is kept for the wait that follows if another thread holds
    /// the lock. Here the thread holds neither.
    #[inline]
    pub fn approached(&self) {
        let holder = self.holder.load(Relaxed);
        if holder == 0 {
            return;
        }
        if let (Some(thread), Some(hooks)) = (Thread::current(), hooks())
            && thread.tid() != holder
        {
            approached_held(thread, hooks);
        }
    }

    /// A thread waits for the condition, by `wait`: the lock is held.
    pub fn wait(&self, wait: impl FnOnce() -> c_int) -> c_int {
        if let Some(thread) = Thread::current() {
            let state = GilWait::of(thread);
            if state.condition.load(Relaxed) == self.condition().load(Relaxed) {
                self.look(thread, state);
            } else {
                leave(state);
                self.begin(state);
            }
        }
        wait()
    }

    fn begin(&self, state: &GilWait) {
        let start = now();
        let holder = self.holder.load(Relaxed);
        let holder = match holder {
            0 => Party::default(),
            tid => threads::party_at(self.holder_at.load(Relaxed) as usize, tid),
        };
        state.start.store(start, Relaxed);
        state.turn.store(self.turn.load(Relaxed), Relaxed);
        state.holder.store(holder.tid, Relaxed);
        state.holder_function.store(holder.call.function, Relaxed);
        state.holder_since.store(holder.call.since, Relaxed);
        state.holder_place.store(0, Relaxed);
        state.examined.store(false, Relaxed);
        state.condition.store(self.condition().load(Relaxed), Relaxed);
        if self.waiters.fetch_add(1, Relaxed) == 0 {
            self.since.store(start, Relaxed);
        }
    }

    /// The wait timed out, or another thread was faster: the first time after a long wait, where the holder is, if it holds
    /// the lock since the wait began, and where the thread itself is, unless that is known.
    #[cold]
    fn look(&self, thread: &'static Thread, state: &GilWait) {
        // The thread holds the mutex, for which others may wait.
        if state.examined.load(Relaxed) || !is_long(now() - state.start.load(Relaxed)) {
            return;
        }
        state.examined.store(true, Relaxed);
        let Some(hooks) = hooks() else { return };
        let (holder, turn) = (state.holder.load(Relaxed), state.turn.load(Relaxed));
        if holder != 0 && (holder, turn) == (self.holder.load(Relaxed), self.turn.load(Relaxed)) {
            let place = (hooks.holder_place)(thread, self.condition().load(Relaxed), holder);
            state.holder_place.store(place, Relaxed);
        }
        if state.place.load(Relaxed) == 0 {
            state.place.store((hooks.keep_place)(thread, true), Relaxed);
        }
    }

    /// A thread acquired the lock.
    #[inline]
    pub fn acquired(&self) {
        let Some(thread) = Thread::current() else { return self.holder.store(0, Relaxed) };
        self.holder.store(thread.tid(), Relaxed);
        self.holder_at.store(thread.place() as u32, Relaxed);
        self.turn.store(self.turn.load(Relaxed) + 1, Relaxed);
        let state = GilWait::of(thread);
        if state.condition.load(Relaxed) != 0 {
            self.waited(thread, state);
        }
        // It is for this approach alone.
        state.place.store(0, Relaxed);
    }

    /// A thread acquired the lock after a wait, which is recorded once it has released it.
    #[inline(never)]
    fn waited(&self, thread: &'static Thread, state: &GilWait) {
        let lock = self.condition().load(Relaxed);
        let is_it = state.condition.load(Relaxed) == lock;
        leave(state);
        if !is_it {
            return;
        }
        let (start, end) = (state.start.load(Relaxed), now());
        match THRESHOLD.load(Relaxed) {
            // Nothing is recorded.
            Ns::MAX => return,
            threshold if end - start < threshold => return tally::add(thread, LockKind::Gil, end - start),
            _ => {}
        }
        let released = self.released.load(Relaxed);
        // Else by a thread that is not known.
        let known = (start..=end).contains(&released);
        let party = |tid: &AtomicU32, function: &AtomicU32, since: &AtomicI64| Party {
            tid: tid.load(Relaxed),
            call: CallRef { function: function.load(Relaxed), since: since.load(Relaxed) },
        };
        let holder = party(&state.holder, &state.holder_function, &state.holder_since);
        let releaser = party(&self.releaser, &self.releaser_function, &self.releaser_since);
        let wait = Wait {
            start,
            end,
            lock,
            kind: LockKind::Gil,
            mode: LockMode::Exclusive,
            layer: Layer::Interpreter,
            site: 0,
            call: thread.call(),
            holders: u32::from(holder.tid != 0),
            holder,
            releaser: if known { releaser } else { Party::default() },
            released: if known { released } else { 0 },
            place: state.place_after(thread, end - start),
            holder_place: state.holder_place.load(Relaxed),
            releaser_place: if known { self.place.load(Relaxed) } else { 0 },
        };
        pending_waits::add(thread, &wait);
    }

    /// A thread released the lock, and says so by `signal`. What is noted of that is noted meanwhile: a thread that waits
    /// has to wake up first, and to acquire the mutex.
    #[inline]
    pub fn released(&self, signal: impl FnOnce() -> c_int) -> c_int {
        self.holder.store(0, Relaxed);
        if self.waiters.load(Relaxed) == 0 {
            return signal();
        }
        let at = now();
        let result = signal();
        self.released_to_waiter(at);
        result
    }

    #[inline(never)]
    fn released_to_waiter(&self, at: Ticks) {
        let Some(thread) = Thread::current() else { return self.released.store(0, Relaxed) };
        let Party { tid, call } = thread.party();
        self.releaser.store(tid, Relaxed);
        self.releaser_function.store(call.function, Relaxed);
        self.releaser_since.store(call.since, Relaxed);
        self.released.store(at, Relaxed);
        let waited = at - self.since.load(Relaxed);
        let is_recorded = waited >= THRESHOLD.load(Relaxed);
        let place =
            hooks().filter(|_| is_recorded).map_or(0, |hooks| (hooks.promise)(thread, is_long(waited)));
        self.place.store(place, Relaxed);
        GilWait::of(thread).owed.store(place, Relaxed);
    }

    /// A thread releases the mutex by `unlock`. Where it released the lock before, it has time now for all that the
    /// thread that waited must not wait for.
    #[inline]
    pub fn unlock(&self, unlock: impl FnOnce() -> c_int) -> c_int {
        let holder = self.holder.load(Relaxed);
        let result = unlock();
        if let Some(thread) = Thread::known()
            && thread.tid() != holder
        {
            after_release(thread);
        }
        result
    }

    /// The condition is destroyed, or made anew.
    pub fn forget(&self) {
        self.condition().store(0, Release);
    }
}

/// Another thread holds the lock that a thread is about to want.
#[inline(never)]
fn approached_held(thread: &'static Thread, hooks: &Hooks) {
    let state = GilWait::of(thread);
    // In a wait that timed out, the mutex comes with the condition.
    if THRESHOLD.load(Relaxed) != Ns::MAX {
        state.place.store((hooks.keep_place)(thread, false), Relaxed);
    }
}

#[inline]
fn after_release(thread: &'static Thread) {
    let state = GilWait::of(thread);
    let owed = state.owed.load(Relaxed);
    if owed != 0 {
        state.owed.store(0, Relaxed);
        if let Some(hooks) = hooks() {
            (hooks.give_place)(thread, owed);
        }
    }
    pending_waits::record(thread);
}

/// The thread no longer waits.
fn leave(state: &GilWait) {
    let condition = state.condition.swap(0, Relaxed);
    if condition != 0
        && let Some((gil, Part::Condition)) = find(condition)
    {
        // A lock that is known anew has no waiters of before.
        _ = gil.waiters.fetch_update(Relaxed, Relaxed, |waiters| waiters.checked_sub(1));
    }
}

/// A thread ends: it waits for no lock.
pub fn ended(thread: &Thread) {
    let state = GilWait::of(thread);
    leave(state);
    state.owed.store(0, Relaxed);
    state.place.store(0, Relaxed);
}

/// In a fork's child: its locks are new ones, and nobody waits.
pub fn forget_all() {
    CONDITIONS.addresses().iter().for_each(|condition| condition.store(0, Relaxed));
    CONDITIONS.count.store(0, Relaxed);
    for state in &WAITS[..threads::used()] {
        state.condition.store(0, Relaxed);
        state.owed.store(0, Relaxed);
        state.place.store(0, Relaxed);
    }
    THRESHOLD.store(Ns::MAX, Relaxed);
}

#[cfg(test)]
mod tests;
