//! Waits of a thread that are over and not told of yet: it may have the lock still.

use crate::thread::{self, CallRef, Party, Thread};
use crate::{LockKind, LockMode, Wait, hooks};
use libc::c_void;
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicUsize, compiler_fence};

/// Most waits kept: locks that are waited for one within the other.
const MOST: usize = 4;

/// The waits of one thread. A signal handler may come anywhere: `count` grows before a place is
/// filled, and what is told is taken out first.
struct Pending {
    count: AtomicUsize,
    waits: UnsafeCell<[Kept; MOST]>,
}

// SAFETY: only the thread at the same place of the known ones uses it.
unsafe impl Sync for Pending {}

/// Room for a wait. Zeros while it is empty, which an `Option` would not be: all of these would lie in the library's
/// file.
struct Kept {
    is_filled: bool,
    wait: Wait,
}

impl Kept {
    const EMPTY: Kept = Kept { is_filled: false, wait: NONE };

    fn take(&mut self) -> Option<Wait> {
        std::mem::take(&mut self.is_filled).then_some(self.wait)
    }
}

const NONE: Wait = {
    let call = CallRef { function: 0, since: 0 };
    let party = Party { tid: 0, call };
    Wait {
        start: 0,
        end: 0,
        lock: 0,
        kind: LockKind::Mutex,
        mode: LockMode::Exclusive,
        site: 0,
        call,
        holders: 0,
        holder: party,
        releaser: party,
    }
};

static PENDING: [Pending; thread::MOST] =
    [const { Pending { count: AtomicUsize::new(0), waits: UnsafeCell::new([Kept::EMPTY; MOST]) } };
        thread::MOST];

/// Keeps a wait until [`tell`]; tells of it at once when there are too many.
pub fn add(thread: &'static Thread, wait: Wait) {
    let pending = &PENDING[thread.place()];
    let at = pending.count.load(Relaxed);
    if at >= MOST {
        return say(thread, &wait);
    }
    pending.count.store(at + 1, Relaxed);
    compiler_fence(SeqCst);
    // SAFETY: the thread's own, and no reference to it is held while anything else runs.
    let kept = unsafe { &mut (*pending.waits.get())[at] };
    kept.wait = wait;
    compiler_fence(SeqCst);
    kept.is_filled = true;
}

/// Tells of all waits that are kept.
#[inline]
pub fn tell(thread: &'static Thread) {
    if PENDING[thread.place()].count.load(Relaxed) > 0 {
        tell_all(thread);
    }
}

#[cold]
fn tell_all(thread: &'static Thread) {
    let pending = &PENDING[thread.place()];
    while let Some(last) = pending.count.load(Relaxed).checked_sub(1) {
        // SAFETY: as in `add`: it is taken out before a hook runs.
        let wait = unsafe { (*pending.waits.get())[last].take() };
        compiler_fence(SeqCst);
        pending.count.store(last, Relaxed);
        if let Some(wait) = wait {
            say(thread, &wait);
        }
    }
}

/// A thread ends.
///
/// # Safety
/// `thread` is the calling thread's [`Thread`], or null.
pub unsafe extern "C" fn ended(thread: *mut c_void) {
    // SAFETY: the caller's promise; a Thread stays.
    if let Some(thread) = unsafe { thread.cast::<Thread>().as_ref() } {
        tell(thread);
        thread.end();
    }
}

/// In a fork's child: the waits are the parent's to tell.
pub fn forget_all() {
    PENDING
        .iter()
        .filter(|pending| pending.count.load(Relaxed) > 0)
        .for_each(|pending| pending.count.store(0, Relaxed));
}

fn say(thread: &'static Thread, wait: &Wait) {
    if let Some(hooks) = hooks() {
        (hooks.waited)(thread, wait);
    }
}
