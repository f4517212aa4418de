//! Waits and queries too short to be recorded: counted and summed, by thread and kind.

use crate::hooks::{Span, Tally, TallyKind, hooks};
use crate::lock_kind::LockKind;
use crate::process_state::is_recording;
use crate::thread::{self, Thread};
use crate::threads;
use crate::ticks::Ticks;
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

/// The waits for one kind of lock since they were last passed on.
struct ShortWaits {
    count: AtomicU64,
    time: AtomicI64,
}

static SHORT_WAITS: [[ShortWaits; KINDS]; thread::MOST] =
    [const { [const { ShortWaits { count: AtomicU64::new(0), time: AtomicI64::new(0) } }; KINDS] };
        thread::MOST];

/// The calls of one query by one thread. Only the thread adds to them; who passes them on keeps what was passed on.
struct QueryCount {
    count: AtomicU64,
    timed: AtomicU64,
    time: AtomicI64,
    passed: [AtomicU64; 3],
}

impl QueryCount {
    const fn new() -> QueryCount {
        QueryCount {
            count: AtomicU64::new(0),
            timed: AtomicU64::new(0),
            time: AtomicI64::new(0),
            passed: [const { AtomicU64::new(0) }; 3],
        }
    }

    /// Calls since this was last asked.
    fn take(&self) -> Tally {
        let all =
            [self.count.load(Relaxed), self.timed.load(Relaxed), self.time.load(Relaxed).cast_unsigned()];
        let [count, timed, time] =
            std::array::from_fn(|at| all[at].wrapping_sub(self.passed[at].swap(all[at], Relaxed)));
        Tally { count, timed, time: time.cast_signed() }
    }

    fn forget(&self) {
        let QueryCount { count, timed, time, passed } = self;
        // Mostly there is nothing, in pages that a fork's child would have to be given.
        if count.load(Relaxed) != 0 || passed.iter().any(|number| number.load(Relaxed) != 0) {
            [count, timed].into_iter().chain(passed).for_each(|number| number.store(0, Relaxed));
            time.store(0, Relaxed);
        }
    }
}

static QUERY_COUNTS: [[QueryCount; QUERIES]; thread::MOST] =
    [const { [const { QueryCount::new() }; QUERIES] }; thread::MOST];

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
pub enum QueryPath {
    /// Not at all: it is part of a call, or nothing is recorded.
    Unrecorded,
    /// It was counted.
    Counted(&'static Thread),
    /// It is to be timed.
    Timed,
}

/// A query is about to be called. Programs ask all the time: one call in [`TIMED`] is timed.
#[inline]
pub fn begin_query(query: usize) -> QueryPath {
    if !is_recording() {
        return QueryPath::Unrecorded;
    }
    let Some(thread) = Thread::known() else { return QueryPath::Timed };
    if thread.function() != 0 {
        return QueryPath::Unrecorded;
    }
    let Some(counts) = QUERY_COUNTS[thread.place()].get(query) else { return QueryPath::Unrecorded };
    let count = counts.count.load(Relaxed);
    if count % TIMED == 0 {
        return QueryPath::Timed;
    }
    counts.count.store(count + 1, Relaxed);
    if count % QUERY_BATCH == QUERY_BATCH - 1 {
        pass_on_query(thread, query);
    }
    QueryPath::Counted(thread)
}

/// Counts a query that was timed; false where it is worth a record: it was long, or failed.
pub fn add_query_time(thread: &'static Thread, query: usize, Span { start, end }: Span, result: i32) -> bool {
    let is_short = end - start < SHORT_QUERY.load(Relaxed) && result == 0;
    if is_short && let Some(counts) = QUERY_COUNTS[thread.place()].get(query) {
        counts.count.store(counts.count.load(Relaxed) + 1, Relaxed);
        counts.timed.store(counts.timed.load(Relaxed) + 1, Relaxed);
        counts.time.store(counts.time.load(Relaxed) + (end - start), Relaxed);
    }
    is_short
}

/// Counts a wait of the calling thread that took so long, while calls are recorded.
pub fn add(thread: &'static Thread, kind: LockKind, time: Ticks) {
    if !is_recording() {
        return;
    }
    let short = &SHORT_WAITS[thread.place()][kind as usize];
    // Also other threads take from these: when the process ends.
    short.time.fetch_add(time, Relaxed);
    if short.count.fetch_add(1, Relaxed) + 1 >= BATCH {
        pass_on(thread, kind);
    }
}

#[cold]
#[inline(never)]
fn pass_on(of: &'static Thread, kind: LockKind) {
    let short = &SHORT_WAITS[of.place()][kind as usize];
    let (count, time) = (short.count.swap(0, Relaxed), short.time.swap(0, Relaxed));
    tell(of, TallyKind::Wait(kind), Tally { count, timed: count, time });
}

#[cold]
#[inline(never)]
fn pass_on_query(of: &'static Thread, query: usize) {
    if let (Some(counts), Some(function)) = (QUERY_COUNTS[of.place()].get(query), FUNCTIONS.get(query)) {
        tell(of, TallyKind::Query(function.load(Relaxed)), counts.take());
    }
}

fn tell(of: &'static Thread, kind: TallyKind, tally: Tally) {
    if tally.count > 0
        && let Some(hooks) = hooks()
    {
        (hooks.tallied)(of, kind, tally);
    }
}

fn pass_all_on(thread: &'static Thread) {
    LockKind::ALL.into_iter().for_each(|kind| pass_on(thread, kind));
    (0..queries()).for_each(|query| pass_on_query(thread, query));
}

/// Passes on what is left of a thread: it ends, and another may get its place.
pub fn ended(thread: &'static Thread) {
    pass_all_on(thread);
    QUERY_COUNTS[thread.place()].iter().for_each(QueryCount::forget);
}

/// Passes on what is left of all threads: the process ends.
pub fn flush() {
    threads::each(&mut pass_all_on);
}

/// In a fork's child: the parent counts its own.
pub fn forget_all() {
    threads::each(&mut |thread| {
        for short in &SHORT_WAITS[thread.place()] {
            short.count.store(0, Relaxed);
            short.time.store(0, Relaxed);
        }
        QUERY_COUNTS[thread.place()].iter().for_each(QueryCount::forget);
    });
}
