//! The lock functions that watched libraries call instead of the C library's.
//!
//! Each tries first: a lock that is free costs a note in the thread's own memory. A thread that finds a lock held waits
//! as before, between two looks at the clock. The result is the C library's.

use crate::clock::now;
use crate::contended_locks::{self, ContendedLock};
use crate::lock_kind::{Layer, LockKind, LockMode};
use crate::thread::{Party, Thread};
use crate::wait::Wait;
use crate::{pending_waits, threads};
use libc::{
    CLOCK_MONOTONIC, CLOCK_REALTIME, EBUSY, EINVAL, ENOTRECOVERABLE, EOWNERDEAD, ETIMEDOUT, FUTEX_TID_MASK,
    c_int, c_void, clockid_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, pthread_t, sem_t, timespec,
};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// `pthread_spinlock_t`
pub type Spin = c_int;

/// Functions of the C library that the `libc` crate does not declare, or not as functions that
/// unwind: a thread that is cancelled while it waits for a condition leaves through the wait.
pub(crate) mod real {
    use super::*;
    pub use crate::glibc_compat::{
        pthread_clockjoin_np, pthread_cond_clockwait, pthread_mutex_clocklock, pthread_rwlock_clockrdlock,
        pthread_rwlock_clockwrlock, sem_clockwait,
    };

    unsafe extern "C-unwind" {
        pub fn pthread_cond_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int;
        pub fn pthread_cond_timedwait(
            condition: *mut pthread_cond_t,
            mutex: *mut pthread_mutex_t,
            until: *const timespec,
        ) -> c_int;
        pub fn sem_wait(semaphore: *mut sem_t) -> c_int;
        pub fn sem_timedwait(semaphore: *mut sem_t, until: *const timespec) -> c_int;
        pub fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int;
        pub fn pthread_timedjoin_np(
            thread: pthread_t,
            result: *mut *mut c_void,
            until: *const timespec,
        ) -> c_int;
    }

    unsafe extern "C" {
        pub fn pthread_spin_lock(lock: *mut Spin) -> c_int;
        pub fn pthread_spin_trylock(lock: *mut Spin) -> c_int;
        pub fn pthread_spin_unlock(lock: *mut Spin) -> c_int;
        pub fn pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, until: *const timespec) -> c_int;
        pub fn pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, until: *const timespec) -> c_int;
    }
}

/// Whether a result means that the caller holds the lock.
pub(crate) fn got(result: c_int) -> bool {
    matches!(result, 0 | EOWNERDEAD)
}

/// Acquires a lock by `attempt`, or where it is held by `wait`. Where the C library looks at the arguments of
/// a wait before it tries, and finds fault with them, `attempt` is an error: `wait` says which.
#[inline]
fn take(
    site: usize,
    lock: usize,
    how: (LockKind, LockMode),
    attempt: impl FnOnce() -> c_int,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    let result = match attempt() {
        EBUSY => waited(site, lock, how, wait),
        result if got(result) => result,
        // An error of the attempt may be another's of the wait: EDEADLK, EAGAIN, EINVAL.
        _ => wait(),
    };
    if got(result) {
        hold(lock, how);
    }
    result
}

/// Notes that the thread holds a lock, unless the lock itself has its holder (see [`holders`]).
#[inline]
pub(crate) fn hold(lock: usize, (kind, mode): (LockKind, LockMode)) {
    if (kind == LockKind::Spin || mode == LockMode::Shared)
        && let Some(thread) = Thread::current()
    {
        thread.hold(lock, mode);
    }
}

/// Waits for a lock that was found held. While the thread holds it others may wait, so the wait is recorded after the
/// thread released it.
#[cold]
#[inline(never)]
fn waited(
    site: usize,
    lock: usize,
    (kind, mode): (LockKind, LockMode),
    wait: impl FnOnce() -> c_int,
) -> c_int {
    let Some(thread) = Thread::current() else { return wait() };
    let start = now();
    let place = contended_locks::find_or_add(lock);
    place.inspect(|place| place.enter());
    let (holder, holders) = holders(thread, lock, kind);
    let result = wait();
    // Any other error came at once: nothing was waited for.
    if got(result) || result == ETIMEDOUT {
        let end = now();
        let releaser = place.filter(|_| got(result)).map_or(Party::default(), ContendedLock::releaser);
        let (call, site) = (thread.call(), site as u32);
        let layer = Layer::Listed;
        let wait =
            Wait { start, end, lock, kind, mode, layer, site, call, holders, holder, releaser, ..Wait::NONE };
        pending_waits::add(thread, &wait);
    }
    place.inspect(|place| place.leave());
    if !got(result) || mode == LockMode::Shared {
        pending_waits::record(thread);
    }
    result
}

/// A thread that holds a lock, and how many do. The C library keeps the id of an exclusive holder in the lock itself;
/// shared holders are searched among all threads, which disturbs them.
pub(crate) fn holders(thread: &Thread, lock: usize, kind: LockKind) -> (Party, u32) {
    // `pthread_mutex_t.__data.__owner` and `pthread_rwlock_t.__data.__cur_writer` of glibc.
    let offset = match kind {
        LockKind::Mutex => 8,
        LockKind::Rwlock => 24,
        _ => return threads::holders(lock, thread),
    };
    // SAFETY: within the lock, which the caller of the lock function keeps alive; aligned, since
    // locks are aligned to eight bytes.
    let owner = unsafe { AtomicU32::from_ptr((lock + offset) as *mut u32) };
    match (owner.load(Relaxed), kind) {
        (0, LockKind::Rwlock) => threads::holders(lock, thread),
        // Acquired or released at this moment.
        (0, _) => (Party::default(), 0),
        (tid, _) => (threads::party(tid), 1),
    }
}

/// Whether the C library can wait by that clock.
pub(crate) fn is_clock(clock: clockid_t) -> bool {
    matches!(clock, CLOCK_REALTIME | CLOCK_MONOTONIC)
}

/// Whether a time is valid.
///
/// # Safety
///
/// `until` can be read, as the C library reads it.
pub(crate) unsafe fn is_time(until: *const timespec) -> bool {
    // SAFETY: the caller's promise.
    (0..1_000_000_000).contains(&unsafe { (*until).tv_nsec })
}

/// Tries to acquire a mutex, as [`take`] does first. A robust one is only read: glibc's
/// `pthread_mutex_trylock` of one that is not recoverable acquires it and never releases it, so
/// that the next thread waits for ever instead of getting ENOTRECOVERABLE.
///
/// # Safety
///
/// As `pthread_mutex_trylock`.
#[inline]
pub(crate) unsafe fn attempt(mutex: *mut pthread_mutex_t) -> c_int {
    // `pthread_mutex_t.__data.__kind` of glibc, and its bit of robust mutexes.
    const KIND: usize = 16;
    const ROBUST: u32 = 16;
    // SAFETY: within the mutex, which the caller keeps alive; the kind changes only when it is made.
    let kind = unsafe { AtomicU32::from_ptr(mutex.cast::<u8>().add(KIND).cast()) }.load(Relaxed);
    if kind & ROBUST == 0 {
        // SAFETY: the caller's own argument.
        return unsafe { libc::pthread_mutex_trylock(mutex) };
    }
    // SAFETY: as above.
    unsafe { attempt_robust(mutex) }
}

/// Result that an attempt to acquire a robust mutex would have.
///
/// # Safety
///
/// As `pthread_mutex_trylock`.
#[cold]
#[inline(never)]
unsafe fn attempt_robust(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the first word of a mutex; in robust ones it holds its owner's id.
    let owner = unsafe { AtomicU32::from_ptr(mutex.cast()) }.load(Relaxed) & FUTEX_TID_MASK;
    let own = Thread::current().map_or(0, Thread::tid);
    // Whatever is not EBUSY has the C library asked.
    if owner != 0 && owner != own { EBUSY } else { ENOTRECOVERABLE }
}

/// Notes a lock that was acquired without a wait.
#[inline]
pub(crate) fn tried(result: c_int, lock: usize, how: (LockKind, LockMode)) -> c_int {
    if got(result) {
        hold(lock, how);
    }
    result
}

/// Releases a mutex by `release`.
#[inline]
fn give_mutex(mutex: usize, release: impl FnOnce() -> c_int) -> c_int {
    if contended_locks::may_know(mutex) { give_contended(mutex, release) } else { release() }
}

/// Releases a lock for which a thread may have waited.
#[inline(never)]
fn give_contended(lock: usize, release: impl FnOnce() -> c_int) -> c_int {
    let (Some(place), Some(thread)) = (contended_locks::find(lock), Thread::current()) else {
        return release();
    };
    place.release(|| thread.party());
    let result = release();
    pending_waits::record(thread);
    result
}

/// Releases a lock by `release` that the thread may hold shared.
#[inline]
pub(crate) fn give(lock: usize, release: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = Thread::current() else { return release() };
    // What was not noted is held exclusively. The C library releases such a lock whatever its state is: no failure
    // leaves it held.
    thread.release(lock);
    if contended_locks::may_know(lock) { give_contended(lock, release) } else { release() }
}

/// Waits for a condition by `wait`, which releases the mutex meanwhile. The C library acquires it again within its own
/// wait, so a wait for that is not recorded.
#[inline]
pub(crate) fn wait_for_condition(mutex: usize, wait: impl FnOnce() -> c_int) -> c_int {
    if let (Some(place), Some(thread)) = (contended_locks::find(mutex), Thread::current()) {
        place.release(|| thread.party());
        pending_waits::record(thread);
    }
    wait()
}

pub(crate) const MUTEX: (LockKind, LockMode) = (LockKind::Mutex, LockMode::Exclusive);
pub(crate) const READ: (LockKind, LockMode) = (LockKind::Rwlock, LockMode::Shared);
pub(crate) const WRITE: (LockKind, LockMode) = (LockKind::Rwlock, LockMode::Exclusive);
const SPIN: (LockKind, LockMode) = (LockKind::Spin, LockMode::Exclusive);

/// Declares the replacements of functions: what they take and what they do. `SITE` numbers the
/// library that calls.
macro_rules! replacements {
    ($($name:ident ($($argument:ident: $type:ty),*) = |$site:ident| $body:expr;)*) => {
        /// The functions that one library gets.
        pub struct Replacements {
            $(pub $name: unsafe extern "C-unwind" fn($($type),*) -> c_int,)*
        }

        impl Replacements {
            /// Replacements of the library with number `SITE`.
            pub const fn of<const SITE: usize>() -> Replacements {
                Replacements { $($name: $name::<SITE>,)* }
            }

            /// The replacement of a function by its name.
            pub fn find(&self, name: &[u8]) -> Option<*mut libc::c_void> {
                match name {
                    $(name if name == stringify!($name).as_bytes() => Some(self.$name as *mut libc::c_void),)*
                    _ => None,
                }
            }
        }

        $(
            /// # Safety
            ///
            /// As the C library's function of that name.
            unsafe extern "C-unwind" fn $name<const $site: usize>($($argument: $type),*) -> c_int {
                // SAFETY: passes on what the caller gave, to the C library's functions for it.
                unsafe { $body }
            }
        )*
    };
}

pub(crate) use replacements;

replacements! {
    pthread_mutex_lock(mutex: *mut pthread_mutex_t) = |SITE| take(
        SITE, mutex as usize, MUTEX,
        || attempt(mutex),
        || libc::pthread_mutex_lock(mutex),
    );
    pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, until: *const timespec) = |SITE| take(
        SITE, mutex as usize, MUTEX,
        || attempt(mutex),
        || libc::pthread_mutex_timedlock(mutex, until),
    );
    pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec) = |SITE| take(
        SITE, mutex as usize, MUTEX,
        || if is_clock(clock) { attempt(mutex) } else { EINVAL },
        || real::pthread_mutex_clocklock(mutex, clock, until),
    );
    pthread_mutex_trylock(mutex: *mut pthread_mutex_t) = |_SITE|
        tried(libc::pthread_mutex_trylock(mutex), mutex as usize, MUTEX);
    pthread_mutex_unlock(mutex: *mut pthread_mutex_t) = |_SITE|
        give_mutex(mutex as usize, || libc::pthread_mutex_unlock(mutex));

    pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t) = |SITE| take(
        SITE, lock as usize, READ,
        || libc::pthread_rwlock_tryrdlock(lock),
        || libc::pthread_rwlock_rdlock(lock),
    );
    pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, until: *const timespec) = |SITE| take(
        SITE, lock as usize, READ,
        || if is_time(until) { libc::pthread_rwlock_tryrdlock(lock) } else { EINVAL },
        || real::pthread_rwlock_timedrdlock(lock, until),
    );
    pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec) = |SITE| take(
        SITE, lock as usize, READ,
        || if is_clock(clock) && is_time(until) { libc::pthread_rwlock_tryrdlock(lock) } else { EINVAL },
        || real::pthread_rwlock_clockrdlock(lock, clock, until),
    );
    pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) = |_SITE|
        tried(libc::pthread_rwlock_tryrdlock(lock), lock as usize, READ);
    pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t) = |SITE| take(
        SITE, lock as usize, WRITE,
        || libc::pthread_rwlock_trywrlock(lock),
        || libc::pthread_rwlock_wrlock(lock),
    );
    pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, until: *const timespec) = |SITE| take(
        SITE, lock as usize, WRITE,
        || if is_time(until) { libc::pthread_rwlock_trywrlock(lock) } else { EINVAL },
        || real::pthread_rwlock_timedwrlock(lock, until),
    );
    pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec) = |SITE| take(
        SITE, lock as usize, WRITE,
        || if is_clock(clock) && is_time(until) { libc::pthread_rwlock_trywrlock(lock) } else { EINVAL },
        || real::pthread_rwlock_clockwrlock(lock, clock, until),
    );
    pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t) = |_SITE|
        tried(libc::pthread_rwlock_trywrlock(lock), lock as usize, WRITE);
    pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) = |_SITE|
        give(lock as usize, || libc::pthread_rwlock_unlock(lock));

    pthread_spin_lock(lock: *mut Spin) = |SITE| take(
        SITE, lock as usize, SPIN,
        || real::pthread_spin_trylock(lock),
        || real::pthread_spin_lock(lock),
    );
    pthread_spin_trylock(lock: *mut Spin) = |_SITE|
        tried(real::pthread_spin_trylock(lock), lock as usize, SPIN);
    pthread_spin_unlock(lock: *mut Spin) = |_SITE|
        give(lock as usize, || real::pthread_spin_unlock(lock));

    pthread_cond_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) = |_SITE|
        wait_for_condition(mutex as usize, || real::pthread_cond_wait(condition, mutex));
    pthread_cond_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec) = |_SITE|
        wait_for_condition(mutex as usize, || real::pthread_cond_timedwait(condition, mutex, until));
    pthread_cond_clockwait(
        condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec
    ) = |_SITE| wait_for_condition(mutex as usize, || real::pthread_cond_clockwait(condition, mutex, clock, until));
}
