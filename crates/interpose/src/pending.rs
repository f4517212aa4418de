//! Waits of the calling thread that are over and not told of yet: it may have the lock still.

use crate::thread::Thread;
use crate::{Wait, hooks};
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::compiler_fence;

/// Most waits kept: locks that are waited for one within the other.
const MOST: usize = 8;

/// The waits of one thread. A signal handler may come anywhere: `count` grows before a place is
/// filled, and what is told is taken out first.
struct Pending {
    count: usize,
    waits: [Option<Wait>; MOST],
}

thread_local! {
    static PENDING: UnsafeCell<Pending> = const { UnsafeCell::new(Pending { count: 0, waits: [None; MOST] }) };
}

/// Keeps a wait until [`tell`]; tells of it at once when there are too many.
#[inline]
pub fn add(thread: &'static Thread, wait: Wait) {
    // SAFETY: the thread's own, and no reference to it is held while anything else runs; a handler
    // that interrupts this leaves `count` as it was or 0.
    let kept = PENDING.with(|pending| unsafe {
        let pending = &mut *pending.get();
        let at = pending.count;
        let Some(place) = pending.waits.get_mut(at) else { return false };
        pending.count = at + 1;
        compiler_fence(SeqCst);
        *place = Some(wait);
        true
    });
    if !kept {
        say(thread, &wait);
    }
}

/// Tells of all waits that are kept.
#[inline]
pub fn tell(thread: &'static Thread) {
    // SAFETY: as above.
    if PENDING.with(|pending| unsafe { (*pending.get()).count }) > 0 {
        tell_all(thread);
    }
}

#[cold]
fn tell_all(thread: &'static Thread) {
    // SAFETY: as above: each is taken out before a hook runs.
    while let Some(wait) = PENDING.with(|pending| unsafe {
        let pending = &mut *pending.get();
        pending.count = pending.count.checked_sub(1)?;
        compiler_fence(SeqCst);
        Some(pending.waits[pending.count].take())
    }) {
        if let Some(wait) = wait {
            say(thread, &wait);
        }
    }
}

/// In a fork's child: the waits are the parent's to tell.
pub fn forget() {
    // SAFETY: as above.
    PENDING.with(|pending| unsafe { (*pending.get()).count = 0 });
}

fn say(thread: &'static Thread, wait: &Wait) {
    if let Some(hooks) = hooks() {
        (hooks.waited)(thread, wait);
    }
}
