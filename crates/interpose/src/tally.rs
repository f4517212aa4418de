//! Waits and queries too short to be recorded: counted and summed, by thread and kind.

use crate::thread::{self, Thread};
use crate::{LockKind, Span, Ticks, hooks};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, AtomicUsize};

/// Kinds of locks.
const KINDS: usize = LockKind::ALL.len();

/// Most different queries. The driver has 50 that are counted, the runtime as many.
const QUERIES: usize = 120;

/// So many of a kind are passed on at once: a process that is killed loses at most so many less one.
const BATCH: u64 = 256;

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// Waits for a lock of that kind.
    Wait(LockKind),
    /// Calls of the query with that number, as [`crate::Hooks::number`] gave it.
    Query(u32),
}

/// Those of one kind since they were last passed on.
struct Short {
    count: AtomicU64,
    time: AtomicI64,
}

/// A thread's: of each kind of lock, then of each query.
type Row = [Short; KINDS + QUERIES];

static SHORT: [Row; thread::MOST] =
    [const { [const { Short { count: AtomicU64::new(0), time: AtomicI64::new(0) } }; KINDS + QUERIES] };
        thread::MOST];

/// The numbers of the queries' functions.
static FUNCTIONS: [AtomicU32; QUERIES] = [const { AtomicU32::new(0) }; QUERIES];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Queries shorter than this are counted, ticks.
static SHORT_QUERY: AtomicI64 = AtomicI64::new(0);

/// Sets from which duration on queries are recorded.
pub fn set_query_threshold(ticks: Ticks) {
    SHORT_QUERY.store(ticks, Relaxed);
}

/// The place of a query among them, by its function's number; `None` when there are too many.
pub fn add_query(function: u32) -> Option<usize> {
    let known = FUNCTIONS[..queries()].iter().position(|known| known.load(Acquire) == function);
    known.or_else(|| {
        let at = COUNT.fetch_add(1, AcqRel);
        FUNCTIONS.get(at)?.store(function, Release);
        Some(at)
    })
}

fn queries() -> usize {
    COUNT.load(Acquire).min(QUERIES)
}

/// Counts a query that is over; false where it is worth a record.
#[inline]
pub fn is_short_query(thread: &'static Thread, query: usize, Span { start, end }: Span, result: i32) -> bool {
    let is_short = end - start < SHORT_QUERY.load(Relaxed) && result == 0;
    if is_short {
        add_at(thread, KINDS + query, end - start);
    }
    is_short
}

/// Counts a wait of the calling thread that took so long.
pub fn add(thread: &'static Thread, kind: LockKind, time: Ticks) {
    add_at(thread, kind as usize, time);
}

#[inline]
fn add_at(thread: &'static Thread, at: usize, time: Ticks) {
    let Some(short) = SHORT[thread.place()].get(at) else { return };
    // Also other threads take from these: when the process ends.
    short.time.fetch_add(time, Relaxed);
    if short.count.fetch_add(1, Relaxed) + 1 >= BATCH {
        pass_on(thread, at);
    }
}

#[cold]
#[inline(never)]
fn pass_on(of: &'static Thread, at: usize) {
    let Some(short) = SHORT[of.place()].get(at) else { return };
    let (count, time) = (short.count.swap(0, Relaxed), short.time.swap(0, Relaxed));
    if count > 0
        && let (Some(hooks), Some(counted)) = (hooks(), counted(at))
    {
        (hooks.tallied)(of, counted, count, time);
    }
}

fn counted(at: usize) -> Option<Counted> {
    let kind = LockKind::ALL.get(at).copied().map(Counted::Wait);
    let query = || FUNCTIONS.get(at - KINDS).map(|function| Counted::Query(function.load(Relaxed)));
    kind.or_else(query)
}

/// Passes on what is left of a thread: it ends.
pub fn ended(thread: &'static Thread) {
    (0..KINDS + queries()).for_each(|at| pass_on(thread, at));
}

/// Passes on what is left of all threads: the process ends.
pub fn flush() {
    thread::each(&mut ended);
}

/// In a fork's child: the parent counts its own.
pub fn forget_all() {
    thread::each(&mut |thread| {
        for short in &SHORT[thread.place()] {
            short.count.store(0, Relaxed);
            short.time.store(0, Relaxed);
        }
    });
}
