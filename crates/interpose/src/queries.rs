//! Wrappers of queries: functions that answer at once.
//!
//! Programs ask all the time: PyTorch five times a launch. So a query passes through little code, and few words of it:
//! the longest query takes seven (`cuStreamGetCaptureInfo_v3`). Most are only counted; one in many is timed.

use crate::call::{BegunCall, begin};
use crate::function::Function;
use crate::hooks::Span;
use crate::tally::{self, QueryPath};
use crate::thread::{CallRef, Thread};
use crate::wrapped_function::{ARGUMENTS, Arguments, WrappedFunction};
use libc::{c_int, c_void};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// Most queries that are wrapped. The driver has 50, the runtime as many, and there may be several copies of it.
const MOST: usize = 256;

/// Words passed on.
const WORDS: usize = 8;

type Words = [usize; WORDS];

/// Like [`crate::wrapped_function::Entry`], but of a query.
type QueryEntry =
    unsafe extern "C-unwind" fn(usize, usize, usize, usize, usize, usize, usize, usize) -> usize;

static WRAPPED: [WrappedFunction; MOST] = [const { WrappedFunction::new() }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Adds a wrapper of a query, which returns whether it succeeded or not; `None` when there are too many.
pub fn add(function: Function, is_checked: bool, real: *mut c_void) -> Option<*mut c_void> {
    let query = tally::add_query(function.number)?;
    let at = COUNT.fetch_add(1, AcqRel);
    WRAPPED.get(at)?.set_query(function, query, is_checked, real);
    thunk_at(at)
}

/// The wrapper of a function.
pub fn thunk_of(real: *mut c_void) -> Option<*mut c_void> {
    known().iter().position(|wrapped| wrapped.real() == real).and_then(thunk_at)
}

/// The query that a wrapper stands for.
pub fn real_of(thunk: *mut c_void) -> Option<*mut c_void> {
    of(thunk).map(WrappedFunction::real)
}

/// Its number.
pub fn number_of(thunk: *mut c_void) -> Option<u32> {
    of(thunk).map(WrappedFunction::number)
}

fn of(thunk: *mut c_void) -> Option<&'static WrappedFunction> {
    let at = THUNKS.iter().position(|known| *known as *mut c_void == thunk)?;
    WRAPPED.get(at)
}

/// In a fork's child: functions have no names.
pub fn forget_all() {
    known().iter().for_each(WrappedFunction::forget_name);
}

fn known() -> &'static [WrappedFunction] {
    &WRAPPED[..COUNT.load(Acquire).min(MOST)]
}

fn thunk_at(at: usize) -> Option<*mut c_void> {
    THUNKS.get(at).map(|thunk| *thunk as *mut c_void)
}

/// # Safety
///
/// As the query that it stands for.
#[allow(clippy::too_many_arguments)]
unsafe extern "C-unwind" fn thunk<const AT: usize>(
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
    g: usize,
    h: usize,
) -> usize {
    let wrapped = &WRAPPED[AT];
    // SAFETY: the caller's own words.
    let call = || unsafe { real(wrapped)(a, b, c, d, e, f, g, h) };
    match wrapped.query().map_or(QueryPath::Unrecorded, tally::begin_query) {
        QueryPath::Unrecorded => call(),
        QueryPath::Counted(thread) => {
            // Queries that it makes are a part of it.
            let outer = thread.enter_query(CallRef { function: wrapped.name(), since: 0 });
            let result = call();
            thread.leave_to(outer);
            if wrapped.code(result) != 0 {
                failed(wrapped, &[a, b, c, d, e, f, g, h], result);
            }
            result
        }
        // SAFETY: the caller's own words.
        QueryPath::Timed => unsafe { timed(wrapped, &[a, b, c, d, e, f, g, h]) },
    }
}

/// The query itself.
#[inline(always)]
fn real(wrapped: &WrappedFunction) -> QueryEntry {
    // SAFETY: a function with integer and pointer arguments, of which it takes the first ones; a thunk is handed out only
    // after it was stored.
    unsafe { std::mem::transmute::<*mut c_void, QueryEntry>(wrapped.real()) }
}

/// Times a query: one that took long is recorded, as is one that failed.
///
/// # Safety
///
/// `words` are what the caller of the query gave.
#[cold]
#[inline(never)]
unsafe fn timed(wrapped: &'static WrappedFunction, words: &Words) -> usize {
    let begun = begin(wrapped);
    let [a, b, c, d, e, f, g, h] = *words;
    // SAFETY: the caller's promise.
    let result = unsafe { real(wrapped)(a, b, c, d, e, f, g, h) };
    if let Some(begun) = begun {
        let (span, code) = (begun.end(), wrapped.code(result));
        if !is_counted(wrapped, begun.thread, span, code) {
            record(&begun, wrapped, words, span, code);
        }
    }
    result
}

/// A query failed that was not timed: it is recorded as it returns.
#[cold]
#[inline(never)]
fn failed(wrapped: &'static WrappedFunction, words: &Words, result: usize) {
    if let Some(begun) = begin(wrapped) {
        record(&begun, wrapped, words, begun.end(), wrapped.code(result));
    }
}

fn record(begun: &BegunCall, wrapped: &'static WrappedFunction, words: &Words, span: Span, code: c_int) {
    let mut args: Arguments = [0; ARGUMENTS];
    args[..WORDS].copy_from_slice(words);
    begun.thread.count_call();
    (begun.hooks.called)(begun.thread, wrapped, &args, span, code);
}

/// Whether a query that is over was short, and is counted.
fn is_counted(wrapped: &WrappedFunction, thread: &'static Thread, span: Span, code: c_int) -> bool {
    wrapped.query().is_some_and(|query| tally::add_query_time(thread, query, span, code))
}

macro_rules! thunks {
    ($($row:literal)*) => {
        [$(
            thunk::<{ $row * 8 }>, thunk::<{ $row * 8 + 1 }>, thunk::<{ $row * 8 + 2 }>, thunk::<{ $row * 8 + 3 }>,
            thunk::<{ $row * 8 + 4 }>, thunk::<{ $row * 8 + 5 }>, thunk::<{ $row * 8 + 6 }>, thunk::<{ $row * 8 + 7 }>,
        )*]
    };
}

static THUNKS: [QueryEntry; MOST] = thunks!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
);
