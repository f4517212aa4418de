//! Waits too short to be recorded: counted and summed, by thread and kind.

use crate::thread::{self, Thread};
use crate::{LockKind, Ticks, hooks};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI64, AtomicU64};

/// Kinds of locks.
const KINDS: usize = LockKind::ALL.len();

/// So many waits of a kind are passed on at once: a process that is killed loses at most so many less one.
const BATCH: u64 = 256;

/// The short waits of one kind since they were last passed on.
struct Short {
    count: AtomicU64,
    time: AtomicI64,
}

static SHORT: [[Short; KINDS]; thread::MOST] =
    [const { [const { Short { count: AtomicU64::new(0), time: AtomicI64::new(0) } }; KINDS] }; thread::MOST];

/// Counts a wait of the calling thread that took so long.
pub fn add(thread: &'static Thread, kind: LockKind, time: Ticks) {
    let short = &SHORT[thread.place()][kind as usize];
    // Also other threads take from these: when the process ends.
    short.time.fetch_add(time, Relaxed);
    if short.count.fetch_add(1, Relaxed) + 1 >= BATCH {
        pass_on(thread, kind);
    }
}

#[cold]
#[inline(never)]
fn pass_on(of: &'static Thread, kind: LockKind) {
    let short = &SHORT[of.place()][kind as usize];
    let (count, time) = (short.count.swap(0, Relaxed), short.time.swap(0, Relaxed));
    if count > 0
        && let Some(hooks) = hooks()
    {
        (hooks.tallied)(of, kind, count, time);
    }
}

/// Passes on what is left of a thread: it ends.
pub fn ended(thread: &'static Thread) {
    LockKind::ALL.into_iter().for_each(|kind| pass_on(thread, kind));
}

/// Passes on what is left of all threads: the process ends.
pub fn flush() {
    thread::each(&mut ended);
}

/// In a fork's child: the parent counts its waits.
pub fn forget_all() {
    thread::each(&mut |thread| {
        for short in &SHORT[thread.place()] {
            short.count.store(0, Relaxed);
            short.time.store(0, Relaxed);
        }
    });
}
