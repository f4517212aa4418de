//! The functions by which the program and its own libraries wait for each other's threads, for those that are watched:
//! locks, conditions, semaphores, barriers, and the ends of threads. The listed libraries have their own functions for
//! locks, and these for the rest.
//!
//! Only waits of threads that make wrapped calls are of interest, so a thread that makes none goes straight to the C
//! library. A thread that ends a wait does so, too, unless a thread that is watched waits there.

use crate::clock::now;
use crate::contended_locks::{self, ContendedLock};
use crate::glibc_layout::{is_last, tid_of};
use crate::hooks::hooks;
use crate::lock_kind::{Layer, LockKind, LockMode};
use crate::locks::{
    self, MUTEX, READ, WRITE, attempt, got, is_clock, is_time, real, replacements, wait_for_condition,
};
use crate::process_state::is_recording;
use crate::thread::{Party, Thread};
use crate::ticks::{Ns, Ticks};
use crate::wait::{Wait, is_long};
use crate::waiters::{self, Ender, WakeCount};
use crate::{gil, pending_waits, tally};
use libc::{
    EBUSY, EINVAL, ETIMEDOUT, c_int, c_void, clockid_t, pthread_barrier_t, pthread_cond_t, pthread_mutex_t,
    pthread_rwlock_t, pthread_t, sem_t, timespec,
};
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

/// The replacements of a library without the interpreter.
pub const PLAIN: usize = 0;
/// The replacements of the library with the interpreter, which knows its GIL.
pub const INTERPRETER: usize = 1;
/// The replacements of a listed library, whose locks are not watched by these.
pub const LISTED: usize = 2;

/// Shorter waits are counted only, ticks; none is recorded or counted before this is set.
static THRESHOLD: AtomicI64 = AtomicI64::new(Ns::MAX);

/// From now on waits of at least so many ticks are recorded.
pub fn set_threshold(ticks: Ticks) {
    THRESHOLD.store(ticks, Relaxed);
}

/// In a fork's child: nothing is recorded yet.
pub fn forget_all() {
    set_threshold(Ns::MAX);
}

/// The calling thread if its waits are recorded.
#[inline]
fn watched() -> Option<&'static Thread> {
    Thread::known().filter(|thread| thread.calls() && is_recording() && THRESHOLD.load(Relaxed) != Ns::MAX)
}

/// Where the calling thread is, after a long wait before which that was not found out. It holds no lock by the wait.
fn late_place(thread: &'static Thread, wait: &Wait) -> u64 {
    let late = hooks().filter(|_| wait.place == 0 && is_long(wait.end - wait.start));
    late.map_or(wait.place, |hooks| (hooks.keep_place)(thread, true))
}

/// A wait that is over: who waited for what, and when.
struct FinishedWait {
    kind: LockKind,
    mode: LockMode,
    lock: usize,
    start: Ticks,
    end: Ticks,
    place: u64,
}

impl FinishedWait {
    /// The wait as it is recorded; `None` for a short one, which is counted.
    fn wait(self, thread: &'static Thread) -> Option<Wait> {
        let FinishedWait { kind, mode, lock, start, end, place } = self;
        if end - start < THRESHOLD.load(Relaxed) {
            tally::add(thread, kind, end - start);
            return None;
        }
        let (layer, call) = (Layer::Program, thread.call());
        Some(Wait { start, end, lock, kind, mode, layer, call, place, ..Wait::NONE })
    }
}

/// Where the calling thread is, kept for the wait that follows.
fn place(thread: &'static Thread) -> u64 {
    hooks().map_or(0, |hooks| (hooks.keep_place)(thread, false))
}

/// Acquires a lock by `attempt`, or where it is held by `wait`: as libraries with a site of their own do.
#[inline]
fn take(
    lock: usize,
    how: (LockKind, LockMode),
    attempt: impl FnOnce() -> c_int,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    let result = match watched() {
        None => wait(),
        Some(thread) => match attempt() {
            EBUSY => take_held(thread, lock, how, wait),
            result if got(result) => result,
            _ => wait(),
        },
    };
    noted(result, lock, how)
}

/// Notes that the thread shares a lock, if it is known: others are found by the lock alone.
#[inline]
fn noted(result: c_int, lock: usize, (_, mode): (LockKind, LockMode)) -> c_int {
    if mode == LockMode::Shared
        && got(result)
        && let Some(thread) = Thread::known()
    {
        thread.hold(lock, mode);
    }
    result
}

#[cold]
#[inline(never)]
fn take_held(
    thread: &'static Thread,
    lock: usize,
    (kind, mode): (LockKind, LockMode),
    wait: impl FnOnce() -> c_int,
) -> c_int {
    let place = place(thread);
    let start = now();
    let contended = contended_locks::find_or_add(lock);
    contended.inspect(|contended| contended.enter());
    let (holder, holders) = locks::holders(thread, lock, kind);
    let result = wait();
    if got(result) || result == ETIMEDOUT {
        let end = now();
        let releaser = contended.filter(|_| got(result)).map_or(Party::default(), ContendedLock::releaser);
        if let Some(wait) = (FinishedWait { kind, mode, lock, start, end, place }).wait(thread) {
            pending_waits::add(thread, &Wait { holders, holder, releaser, ..wait });
        }
    }
    contended.inspect(|contended| contended.leave());
    if !got(result) || mode == LockMode::Shared {
        pending_waits::record(thread);
    }
    result
}

/// Releases a mutex by `release`.
#[inline]
fn give_mutex(mutex: usize, release: impl FnOnce() -> c_int) -> c_int {
    if contended_locks::may_know(mutex)
        && let (Some(place), Some(thread)) = (contended_locks::find(mutex), Thread::current())
    {
        place.release(|| thread.party());
    }
    let result = release();
    if let Some(thread) = Thread::known() {
        pending_waits::record(thread);
    }
    result
}

/// Releases a rwlock by `release`.
#[inline]
fn give_rwlock(lock: usize, release: impl FnOnce() -> c_int) -> c_int {
    if let Some(thread) = Thread::known() {
        thread.release(lock);
    }
    give_mutex(lock, release)
}

/// Outcome of a wait.
enum Outcome {
    /// The awaited event happened.
    Met,
    /// It gave up.
    TimedOut,
    /// Nothing was waited for, or a signal handler came.
    Otherwise,
}

fn ended(result: c_int) -> Outcome {
    match result {
        0 => Outcome::Met,
        ETIMEDOUT => Outcome::TimedOut,
        _ => Outcome::Otherwise,
    }
}

/// Like [`ended`], but with an error in errno.
fn ended_by_errno(result: c_int) -> Outcome {
    // SAFETY: errno is the thread's own.
    ended(if result == 0 { 0 } else { unsafe { *libc::__errno_location() } })
}

/// Waits by `wait` for what another thread does; which one, it says at `address` ([`end_waits`]).
#[inline(never)]
fn meet(
    thread: &'static Thread,
    kind: LockKind,
    lock: usize,
    wait: impl FnOnce() -> c_int,
    ended: fn(c_int) -> Outcome,
) -> c_int {
    let place = place(thread);
    let start = now();
    let number = waiters::begin(thread, lock, start);
    let result = wait();
    let end = now();
    let how = ended(result);
    let Some(ender) = waiters::end(thread, number, matches!(how, Outcome::Met)) else { return result };
    let mode = LockMode::Exclusive;
    let long = match how {
        Outcome::Otherwise => None,
        _ => (FinishedWait { kind, mode, lock, start, end, place }).wait(thread),
    };
    if let Some(wait) = long {
        let Ender { party: releaser, at: released, place: releaser_place } = ender.unwrap_or_default();
        let released = if releaser.tid == 0 { 0 } else { released };
        let place = if kind == LockKind::Condition { wait.place } else { late_place(thread, &wait) };
        let wait = Wait { releaser, released, place, releaser_place, ..wait };
        // The thread may hold the condition's mutex.
        pending_waits::add(thread, &wait);
        if kind != LockKind::Condition {
            pending_waits::record(thread);
        }
    }
    result
}

/// Ends waits at an address by `end`: where one is known there, it learns who did.
#[inline]
fn end_waits(address: usize, which: WakeCount, end: impl FnOnce() -> c_int) -> c_int {
    if waiters::may_be(address) { end_known_waits(address, which, end) } else { end() }
}

#[inline(never)]
fn end_known_waits(address: usize, which: WakeCount, end: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = Thread::current() else { return end() };
    let at = now();
    let Some(oldest) = waiters::oldest(address, at) else { return end() };
    let hooks = hooks();
    let place = hooks
        .filter(|_| oldest >= THRESHOLD.load(Relaxed))
        .map_or(0, |hooks| (hooks.promise)(thread, is_long(oldest)));
    waiters::leave_name(address, which, &Ender { party: thread.party(), at, place });
    let result = end();
    // Nobody waits for this thread any more.
    if place != 0
        && let Some(hooks) = hooks
    {
        (hooks.give_place)(thread, place);
    }
    result
}

/// Waits for a semaphore by `wait`, where it has to.
#[inline]
fn down(semaphore: *mut sem_t, wait: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = watched() else { return wait() };
    let mut value = 0;
    // SAFETY: the caller of a semaphore's function keeps the semaphore alive; fails for none that is valid.
    unsafe { libc::sem_getvalue(semaphore, &mut value) };
    if value > 0 {
        wait()
    } else {
        meet(thread, LockKind::Semaphore, semaphore as usize, wait, ended_by_errno)
    }
}

/// Waits for a condition by `wait`.
#[inline]
fn meet_condition<const LAYER: usize>(condition: usize, mutex: usize, wait: impl FnOnce() -> c_int) -> c_int {
    wait_for_condition(mutex, || match watched() {
        None => wait(),
        Some(thread) => {
            if LAYER == LISTED {
                // The wait is recorded once the mutex is released, which such a library does in silence unless it is known.
                contended_locks::find_or_add(mutex);
            }
            // The thread keeps one place at a time.
            pending_waits::record(thread);
            meet(thread, LockKind::Condition, condition, wait, ended)
        }
    })
}

/// Like [`meet_condition`], but in a library that may have a GIL.
#[inline]
fn meet_condition_or_gil<const LAYER: usize>(
    condition: usize,
    mutex: usize,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    if LAYER == INTERPRETER
        && let Some(gil) = gil::find_or_ask(condition, mutex)
    {
        return gil.wait(wait);
    }
    meet_condition::<LAYER>(condition, mutex, wait)
}

/// Whether an address is a part of a GIL; then `note` learns which.
#[inline]
fn of_gil<const LAYER: usize>(address: usize) -> Option<(&'static gil::Gil, gil::Part)> {
    if LAYER == INTERPRETER { gil::find(address) } else { None }
}

/// Signals a condition by `signal`.
#[inline]
fn signal<const LAYER: usize>(condition: usize, signal: impl FnOnce() -> c_int) -> c_int {
    match of_gil::<LAYER>(condition) {
        Some((gil, gil::Part::Condition)) => gil.released(signal),
        Some((gil, _)) => {
            gil.acquired();
            signal()
        }
        None => end_waits(condition, WakeCount::One, signal),
    }
}

/// Acquires a mutex by `attempt` or `wait`, which may be that of a GIL: a wait for that is part of the one for the GIL.
#[inline]
fn take_mutex<const LAYER: usize>(
    mutex: usize,
    attempt: impl FnOnce() -> c_int,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    match of_gil::<LAYER>(mutex) {
        Some((gil, gil::Part::Mutex)) => {
            gil.approached();
            wait()
        }
        _ => take(mutex, MUTEX, attempt, wait),
    }
}

/// Arrives at a barrier by `arrive`.
///
/// # Safety
///
/// As `pthread_barrier_wait`.
#[inline]
unsafe fn arrive(barrier: *mut pthread_barrier_t, arrive: impl FnOnce() -> c_int) -> c_int {
    let address = barrier as usize;
    // SAFETY: the caller's promise.
    if waiters::may_be(address) && unsafe { is_last(barrier) } {
        return end_waits(address, WakeCount::All, arrive);
    }
    match watched() {
        None => arrive(),
        Some(thread) => meet(thread, LockKind::Barrier, address, arrive, |result| match result {
            // `PTHREAD_BARRIER_SERIAL_THREAD`
            -1 => Outcome::Met,
            result => ended(result),
        }),
    }
}

/// Waits for the end of a thread by `wait`.
#[inline]
fn join(of: pthread_t, wait: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = watched() else { return wait() };
    join_watched(thread, of, wait)
}

#[inline(never)]
fn join_watched(thread: &'static Thread, of: pthread_t, wait: impl FnOnce() -> c_int) -> c_int {
    let tid = tid_of(of);
    let place = place(thread);
    let (kind, mode, lock, start) = (LockKind::Join, LockMode::Exclusive, of as usize, now());
    let result = wait();
    let end = now();
    let met = matches!(ended(result), Outcome::Met);
    if (met || result == ETIMEDOUT)
        && let Some(wait) = (FinishedWait { kind, mode, lock, start, end, place }).wait(thread)
    {
        let releaser = if met { Party { tid, ..Party::default() } } else { Party::default() };
        let place = late_place(thread, &wait);
        pending_waits::add(thread, &Wait { releaser, place, ..wait });
        pending_waits::record(thread);
    }
    result
}

replacements! {
    pthread_mutex_lock(mutex: *mut pthread_mutex_t) = |LAYER| take_mutex::<LAYER>(
        mutex as usize,
        || attempt(mutex),
        || libc::pthread_mutex_lock(mutex),
    );
    pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, until: *const timespec) = |LAYER| take_mutex::<LAYER>(
        mutex as usize,
        || attempt(mutex),
        || libc::pthread_mutex_timedlock(mutex, until),
    );
    pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec) = |LAYER|
        take_mutex::<LAYER>(
            mutex as usize,
            || if is_clock(clock) { attempt(mutex) } else { EINVAL },
            || real::pthread_mutex_clocklock(mutex, clock, until),
        );
    pthread_mutex_unlock(mutex: *mut pthread_mutex_t) = |LAYER| match of_gil::<LAYER>(mutex as usize) {
        Some((gil, gil::Part::Mutex)) => gil.unlock(|| libc::pthread_mutex_unlock(mutex)),
        _ => give_mutex(mutex as usize, || libc::pthread_mutex_unlock(mutex)),
    };

    pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t) = |_LAYER| take(
        lock as usize, READ,
        || libc::pthread_rwlock_tryrdlock(lock),
        || libc::pthread_rwlock_rdlock(lock),
    );
    pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, until: *const timespec) = |_LAYER| take(
        lock as usize, READ,
        || if is_time(until) { libc::pthread_rwlock_tryrdlock(lock) } else { EINVAL },
        || real::pthread_rwlock_timedrdlock(lock, until),
    );
    pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec) = |_LAYER| take(
        lock as usize, READ,
        || if is_clock(clock) && is_time(until) { libc::pthread_rwlock_tryrdlock(lock) } else { EINVAL },
        || real::pthread_rwlock_clockrdlock(lock, clock, until),
    );
    pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) = |_LAYER|
        noted(libc::pthread_rwlock_tryrdlock(lock), lock as usize, READ);
    pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t) = |_LAYER| take(
        lock as usize, WRITE,
        || libc::pthread_rwlock_trywrlock(lock),
        || libc::pthread_rwlock_wrlock(lock),
    );
    pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, until: *const timespec) = |_LAYER| take(
        lock as usize, WRITE,
        || if is_time(until) { libc::pthread_rwlock_trywrlock(lock) } else { EINVAL },
        || real::pthread_rwlock_timedwrlock(lock, until),
    );
    pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec) = |_LAYER| take(
        lock as usize, WRITE,
        || if is_clock(clock) && is_time(until) { libc::pthread_rwlock_trywrlock(lock) } else { EINVAL },
        || real::pthread_rwlock_clockwrlock(lock, clock, until),
    );
    pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) = |_LAYER|
        give_rwlock(lock as usize, || libc::pthread_rwlock_unlock(lock));

    pthread_cond_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) = |LAYER|
        match of_gil::<LAYER>(condition as usize) {
            // The thread that released the GIL looks that another one acquires it.
            Some(_) => real::pthread_cond_wait(condition, mutex),
            None => meet_condition::<LAYER>(
                condition as usize, mutex as usize,
                || real::pthread_cond_wait(condition, mutex),
            ),
        };
    pthread_cond_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec) = |LAYER|
        meet_condition_or_gil::<LAYER>(
            condition as usize, mutex as usize,
            || real::pthread_cond_timedwait(condition, mutex, until),
        );
    pthread_cond_clockwait(
        condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec
    ) = |LAYER| meet_condition::<LAYER>(
        condition as usize, mutex as usize,
        || real::pthread_cond_clockwait(condition, mutex, clock, until),
    );
    pthread_cond_signal(condition: *mut pthread_cond_t) = |LAYER|
        signal::<LAYER>(condition as usize, || libc::pthread_cond_signal(condition));
    pthread_cond_broadcast(condition: *mut pthread_cond_t) = |_LAYER|
        end_waits(condition as usize, WakeCount::All, || libc::pthread_cond_broadcast(condition));
    pthread_cond_init(condition: *mut pthread_cond_t, attributes: *const libc::pthread_condattr_t) = |LAYER| {
        forget_gil::<LAYER>(condition as usize);
        libc::pthread_cond_init(condition, attributes)
    };
    pthread_cond_destroy(condition: *mut pthread_cond_t) = |LAYER| {
        forget_gil::<LAYER>(condition as usize);
        libc::pthread_cond_destroy(condition)
    };

    sem_wait(semaphore: *mut sem_t) = |_LAYER| down(semaphore, || real::sem_wait(semaphore));
    sem_timedwait(semaphore: *mut sem_t, until: *const timespec) = |_LAYER|
        down(semaphore, || real::sem_timedwait(semaphore, until));
    sem_clockwait(semaphore: *mut sem_t, clock: clockid_t, until: *const timespec) = |_LAYER|
        down(semaphore, || real::sem_clockwait(semaphore, clock, until));
    sem_post(semaphore: *mut sem_t) = |_LAYER|
        end_waits(semaphore as usize, WakeCount::One, || libc::sem_post(semaphore));

    pthread_barrier_wait(barrier: *mut pthread_barrier_t) = |_LAYER|
        arrive(barrier, || libc::pthread_barrier_wait(barrier));

    pthread_join(of: pthread_t, result: *mut *mut c_void) = |_LAYER| join(of, || real::pthread_join(of, result));
    pthread_timedjoin_np(of: pthread_t, result: *mut *mut c_void, until: *const timespec) = |_LAYER|
        join(of, || real::pthread_timedjoin_np(of, result, until));
    pthread_clockjoin_np(of: pthread_t, result: *mut *mut c_void, clock: clockid_t, until: *const timespec) = |_LAYER|
        join(of, || real::pthread_clockjoin_np(of, result, clock, until));
}

/// A condition is made or destroyed: it is no known GIL's from now on.
#[inline]
fn forget_gil<const LAYER: usize>(condition: usize) {
    if let Some((gil, gil::Part::Condition)) = of_gil::<LAYER>(condition) {
        gil.forget();
    }
}
