//! Waits and queries too short to be recorded: counted and summed, by thread and kind.

use crate::thread::{self, Thread};
use crate::{LockKind, Span, Ticks, hooks, is_recording};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, AtomicUsize};

/// Kinds of locks.
const KINDS: usize = LockKind::ALL.len();

/// Most different queries. The driver has 50 that are counted, the runtime as many.
const QUERIES: usize = 120;

/// So many waits of a kind are passed on at once: a process that is killed loses at most so many less one.
const BATCH: u64 = 256;
/// Like [`BATCH`], but of queries.
const QUERY_BATCH: u64 = 4096;

/// Of so many calls of a query by a thread, the first is timed: to read the clock twice takes longer than most queries.
const TIMED: u64 = 64;

/// Kind of waits or queries that are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// Waits for a lock of that kind.
    Wait(LockKind),
    /// Calls of the query with that number, as [`crate::Hooks::number`] gave it.
    Query(u32),
}

/// How many there were.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tallied {
    /// All of them.
    pub count: u64,
    /// The timed ones among them.
    pub timed: u64,
    /// How long those took together.
    pub time: Ticks,
}

/// The waits for one kind of lock since they were last passed on.
struct Short {
    count: AtomicU64,
    time: AtomicI64,
}

static SHORT: [[Short; KINDS]; thread::MOST] =
    [const { [const { Short { count: AtomicU64::new(0), time: AtomicI64::new(0) } }; KINDS] }; thread::MOST];

/// The calls of one query by one thread. Only the thread adds to them; who passes them on keeps what was passed on.
struct Asked {
    count: AtomicU64,
    timed: AtomicU64,
    time: AtomicI64,
    passed: [AtomicU64; 3],
}

impl Asked {
    const fn new() -> Asked {
        Asked {
            count: AtomicU64::new(0),
            timed: AtomicU64::new(0),
            time: AtomicI64::new(0),
            passed: [const { AtomicU64::new(0) }; 3],
        }
    }

    /// Calls since this was last asked.
    fn take(&self) -> Tallied {
        let all =
            [self.count.load(Relaxed), self.timed.load(Relaxed), self.time.load(Relaxed).cast_unsigned()];
        let [count, timed, time] =
            std::array::from_fn(|at| all[at].wrapping_sub(self.passed[at].swap(all[at], Relaxed)));
        Tallied { count, timed, time: time.cast_signed() }
    }

    fn forget(&self) {
        let Asked { count, timed, time, passed } = self;
        // Mostly there is nothing, in pages that a fork's child would have to be given.
        if count.load(Relaxed) != 0 || passed.iter().any(|number| number.load(Relaxed) != 0) {
            [count, timed].into_iter().chain(passed).for_each(|number| number.store(0, Relaxed));
            time.store(0, Relaxed);
        }
    }
}

static ASKED: [[Asked; QUERIES]; thread::MOST] = [const { [const { Asked::new() }; QUERIES] }; thread::MOST];

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

/// How a call of a query is looked at.
pub enum Look {
    /// Not at all: it is part of a call, or nothing is recorded.
    Away,
    /// It was counted.
    Counted(&'static Thread),
    /// It is to be timed.
    Close,
}

/// A query is about to be called. Programs ask all the time: one call in [`TIMED`] is timed.
#[inline]
pub fn look(query: usize) -> Look {
    if !is_recording() {
        return Look::Away;
    }
    let Some(thread) = Thread::known() else { return Look::Close };
    if thread.function() != 0 {
        return Look::Away;
    }
    let Some(asked) = ASKED[thread.place()].get(query) else { return Look::Away };
    let count = asked.count.load(Relaxed);
    if count % TIMED == 0 {
        return Look::Close;
    }
    asked.count.store(count + 1, Relaxed);
    if count % QUERY_BATCH == QUERY_BATCH - 1 {
        pass_on_query(thread, query);
    }
    Look::Counted(thread)
}

/// Counts a query that was timed; false where it is worth a record: it was long, or failed.
pub fn add_query_time(thread: &'static Thread, query: usize, Span { start, end }: Span, result: i32) -> bool {
    let is_short = end - start < SHORT_QUERY.load(Relaxed) && result == 0;
    if is_short && let Some(asked) = ASKED[thread.place()].get(query) {
        asked.count.store(asked.count.load(Relaxed) + 1, Relaxed);
        asked.timed.store(asked.timed.load(Relaxed) + 1, Relaxed);
        asked.time.store(asked.time.load(Relaxed) + (end - start), Relaxed);
    }
    is_short
}

/// Counts a wait of the calling thread that took so long, while calls are recorded.
pub fn add(thread: &'static Thread, kind: LockKind, time: Ticks) {
    if !is_recording() {
        return;
    }
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
    tell(of, Counted::Wait(kind), Tallied { count, timed: count, time });
}

#[cold]
#[inline(never)]
fn pass_on_query(of: &'static Thread, query: usize) {
    if let (Some(asked), Some(function)) = (ASKED[of.place()].get(query), FUNCTIONS.get(query)) {
        tell(of, Counted::Query(function.load(Relaxed)), asked.take());
    }
}

fn tell(of: &'static Thread, counted: Counted, tallied: Tallied) {
    if tallied.count > 0
        && let Some(hooks) = hooks()
    {
        (hooks.tallied)(of, counted, tallied);
    }
}

fn pass_all_on(thread: &'static Thread) {
    LockKind::ALL.into_iter().for_each(|kind| pass_on(thread, kind));
    (0..queries()).for_each(|query| pass_on_query(thread, query));
}

/// Passes on what is left of a thread: it ends, and another may get its place.
pub fn ended(thread: &'static Thread) {
    pass_all_on(thread);
    ASKED[thread.place()].iter().for_each(Asked::forget);
}

/// Passes on what is left of all threads: the process ends.
pub fn flush() {
    thread::each(&mut pass_all_on);
}

/// In a fork's child: the parent counts its own.
pub fn forget_all() {
    thread::each(&mut |thread| {
        for short in &SHORT[thread.place()] {
            short.count.store(0, Relaxed);
            short.time.store(0, Relaxed);
        }
        ASKED[thread.place()].iter().for_each(Asked::forget);
    });
}
