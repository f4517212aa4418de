//! The threads that are known: where each has its place, and how a thread gets and leaves one.

use crate::hooks::hooks;
use crate::lock_kind::LockMode;
use crate::process_state::{CALLING, PROCESS_STATE};
use crate::thread::{MOST, PROCESS, PROGRESS, Party, THREADS, TIDS, Thread, is_foreign};
use crate::thread_variable;
use libc::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};

/// Places used so far; those behind were never touched.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Places whose threads ended and that no other thread has yet.
static FREE: AtomicUsize = AtomicUsize::new(0);

/// The key whose destructor runs when a thread ends; plus one, 0 for none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Function that an ending thread calls with its [`Thread`], to [`Thread::end`] it. A cancellation may pass through it.
pub type EndHandler = unsafe extern "C-unwind" fn(*mut c_void);

unsafe extern "C" {
    fn pthread_key_create(key: *mut libc::pthread_key_t, ended: Option<EndHandler>) -> libc::c_int;
}

/// Makes the key, early, while keys are few: a thread's first ones cost no memory.
pub fn prepare(ended: EndHandler) {
    PROCESS.store(std::process::id(), Relaxed);
    let mut key = 0;
    // SAFETY: `ended` stays loaded as long as the process lives, and is called with what `claim` puts there.
    if unsafe { pthread_key_create(&mut key, Some(ended)) } == 0 {
        KEY.store(key + 1, Release);
    }
}

impl Thread {
    /// The calling thread; `None` when too many are known.
    #[inline]
    pub fn current() -> Option<&'static Thread> {
        Thread::known().or_else(claim)
    }

    /// The place is free for another thread.
    pub(crate) fn end(&'static self) {
        self.clear();
        if let Some(hooks) = hooks() {
            (hooks.ended)(self);
        }
        // Whatever the hook did: who gets the place next notes its calls in no place yet.
        self.set_progress(null_mut());
        self.id().store(0, Release);
        FREE.fetch_add(1, Relaxed);
    }
}

/// The program forbade itself system calls.
static NO_CALLS: AtomicBool = AtomicBool::new(false);

/// From now on no system call is made: further threads are not known.
pub fn forbid_system_calls() {
    NO_CALLS.store(true, Relaxed);
}

/// A place for the calling thread: a new one, else one whose thread ended.
#[cold]
fn claim() -> Option<&'static Thread> {
    if thread_variable::is_elsewhere() || PROCESS_STATE.threads.load(Relaxed) != CALLING && is_foreign() {
        return None;
    }
    if NO_CALLS.load(Relaxed) {
        return unknown();
    }
    // SAFETY: asks for a number. The C library has a function for it since glibc 2.30.
    let tid = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
    // Those of threads that ended first: who looks through the places looks at few.
    let thread = if FREE.load(Relaxed) > 0 { claim_free(tid) } else { None };
    let Some(thread) = thread.or_else(|| claim_new(tid)).or_else(|| claim_free(tid)) else {
        return unknown();
    };
    thread_variable::set((&raw const *thread).cast());
    if let Some(key) = KEY.load(Acquire).checked_sub(1) {
        // SAFETY: a key that was made; the value is only compared and passed to `ended`.
        unsafe { libc::pthread_setspecific(key, (&raw const *thread).cast()) };
    }
    Some(thread)
}

/// A place that no thread had before.
fn claim_new(tid: u32) -> Option<&'static Thread> {
    loop {
        let Some(new) = THREADS.get(USED.fetch_add(1, Relaxed)) else {
            USED.store(MOST, Relaxed);
            return None;
        };
        // Another thread that looks for a free place may have found it.
        if new.id().compare_exchange(0, tid, AcqRel, Relaxed).is_ok() {
            return Some(new);
        }
    }
}

/// The place of a thread that ended.
fn claim_free(tid: u32) -> Option<&'static Thread> {
    let free = |id: &AtomicU32| id.compare_exchange(0, tid, AcqRel, Relaxed).is_ok();
    let found = TIDS[..used()].iter().position(free).and_then(|free| THREADS.get(free))?;
    _ = FREE.fetch_update(Relaxed, Relaxed, |free| free.checked_sub(1));
    Some(found)
}

/// There is no place left; reported once a thread.
fn unknown() -> Option<&'static Thread> {
    if !thread_variable::set_unknown()
        && let Some(hooks) = hooks()
    {
        (hooks.thread_unknown)();
    }
    None
}

/// The threads that hold a lock: one of them, one that holds it exclusively if there is one, and how many.
pub fn holders(lock: usize, but: &Thread) -> (Party, u32) {
    let (mut holder, mut count) = (Party::default(), 0);
    for thread in &THREADS[..USED.load(Relaxed).min(MOST)] {
        if thread.tid() == 0 || std::ptr::eq(thread, but) {
            continue;
        }
        if let Some(mode) = thread.holds(lock) {
            count += 1;
            if count == 1 || mode == LockMode::Exclusive {
                holder = thread.party();
            }
        }
    }
    (holder, count)
}

/// How many places of threads were used so far.
pub fn used() -> usize {
    USED.load(Relaxed).min(MOST)
}

/// Calls `visit` with each thread that is known.
pub fn each(visit: &mut dyn FnMut(&'static Thread)) {
    THREADS[..used()].iter().filter(|thread| thread.tid() != 0).for_each(visit);
}

/// Like [`party`], but of a thread that had a place when it was last seen.
pub fn party_at(place: usize, tid: u32) -> Party {
    match THREADS.get(place).filter(|thread| thread.tid() == tid) {
        Some(thread) => {
            // SAFETY: null or what `note_in` was given, which stays.
            let progress = unsafe { PROGRESS[place].load(Acquire).as_ref() }.unwrap_or(&thread.own);
            Party { tid, call: progress.call() }
        }
        None => party(tid),
    }
}

/// The thread with that id, and its current call if that is known.
pub fn party(tid: u32) -> Party {
    let used = ..USED.load(Relaxed).min(MOST);
    let mut known = TIDS[used].iter().zip(&PROGRESS[used]).zip(&THREADS[used]);
    let known = known.find(|((known, _), _)| known.load(Relaxed) == tid);
    let call = known.map(|((_, progress), thread)| {
        // SAFETY: null or what `note_in` was given, which stays.
        unsafe { progress.load(Acquire).as_ref() }.unwrap_or(&thread.own).call()
    });
    Party { tid, call: call.unwrap_or_default() }
}

/// In a fork's child: no thread is known.
///
/// # Safety
///
/// No thread of the child is known, as while it begins anew.
pub unsafe fn forget_all() {
    PROCESS.store(std::process::id(), Relaxed);
    FREE.store(0, Relaxed);
    for thread in &THREADS[..USED.swap(0, Relaxed).min(MOST)] {
        // The place it noted its calls in may be the parent's.
        thread.set_progress(null_mut());
        thread.clear();
        thread.id().store(0, Release);
        // SAFETY: the caller's promise: no other thread looks at it.
        unsafe { *thread.room() = [0; 7] };
    }
    thread_variable::set(null());
    if let Some(key) = KEY.load(Acquire).checked_sub(1) {
        // Its place may be another thread's by the time it ends.
        // SAFETY: a key that was made.
        unsafe { libc::pthread_setspecific(key, null()) };
    }
}

#[cfg(test)]
mod tests;
