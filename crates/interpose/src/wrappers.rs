//! Wrappers of the driver's entry points, and which function a program gets instead of which.

use crate::call::run;
use crate::function::Launch;
use crate::hooks::hooks;
use crate::recorded_functions::{self, Query};
use crate::wrapped_function::{Entry, WrappedFunction};
use crate::{launches, queries};
use libc::{c_char, c_int, c_void};
use std::ffi::CStr;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicPtr, AtomicUsize};

/// Most functions that can be wrapped.
const MOST: usize = 768;

static WRAPPED: [WrappedFunction; MOST] = [const { WrappedFunction::new() }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Function that a program gets for one of the driver: a wrapper that records its calls where they are worth it, else
/// the function itself. The wrapper of `cuGetProcAddress` wraps what that returns.
///
/// # Safety
///
/// `real` is null, or the driver's or the runtime's function of that name, or one that stands for it: its arguments are
/// integers and pointers, and it stays loaded.
pub unsafe fn wrap(name: &CStr, real: *mut c_void) -> *mut c_void {
    let name = recorded_functions::known_as(name);
    let bytes = name.to_bytes();
    if real.is_null() {
        return real;
    }
    if bytes.starts_with(b"cuGetProcAddress") {
        return look_up(real);
    }
    // A library may answer its own look-ups with what it was handed out itself.
    if !recorded_functions::is_interesting(bytes) || is_thunk(real) {
        return real;
    }
    let known = &WRAPPED[..COUNT.load(Acquire).min(MOST)];
    let known = known.iter().position(|wrapped| wrapped.real() == real).and_then(thunk_of);
    let known = known.or_else(|| launches::thunk_of(real)).or_else(|| queries::thunk_of(real));
    known.or_else(|| add(name, real)).unwrap_or(real)
}

/// Whether a function is a wrapper.
fn is_thunk(function: *mut c_void) -> bool {
    let is_call = || THUNKS.iter().any(|thunk| *thunk as *mut c_void == function);
    launches::is_thunk(function) || queries::real_of(function).is_some() || is_call()
}

/// The driver's function that a wrapper stands for; any other function as it is. A tool's own calls are no calls of the
/// program.
pub fn unwrapped(function: *mut c_void) -> *mut c_void {
    let at = THUNKS.iter().position(|thunk| *thunk as *mut c_void == function);
    let real = at.and_then(|at| WRAPPED.get(at)).map(WrappedFunction::real);
    real.or_else(|| queries::real_of(function)).or_else(|| launches::real_of(function)).unwrap_or(function)
}

/// The number of the function that a wrapper stands for, as [`crate::Hooks::number`] gave it.
pub fn wrapped_number(function: *mut c_void) -> Option<u32> {
    let at = THUNKS.iter().position(|thunk| *thunk as *mut c_void == function);
    let number = at.and_then(|at| WRAPPED.get(at)).map(WrappedFunction::number);
    number.or_else(|| queries::number_of(function)).or_else(|| launches::number_of(function))
}

/// The wrapper in that place.
fn thunk_of(at: usize) -> Option<*mut c_void> {
    THUNKS.get(at).map(|thunk| *thunk as *mut c_void)
}

/// Adds a wrapper of a function. A wrapper itself is never wrapped.
fn add(name: &CStr, real: *mut c_void) -> Option<*mut c_void> {
    let function = (hooks()?.number)(name);
    let query = recorded_functions::query(name.to_bytes());
    if query != Query::No {
        return queries::add(function, query == Query::Checked, real);
    }
    let plain = if function.launch == Launch::Plain { launches::add(function, real) } else { None };
    let thunk = plain.or_else(|| {
        let at = COUNT.fetch_add(1, AcqRel);
        WRAPPED.get(at)?.set(function, real);
        thunk_of(at)
    });
    note_several(function.number);
    thunk
}

/// Notes of the functions of one name that there are several.
fn note_several(number: u32) {
    let known = &WRAPPED[..COUNT.load(Acquire).min(MOST)];
    let all = || known.iter().chain(launches::known()).filter(|wrapped| wrapped.number() == number);
    if all().count() > 1 {
        all().for_each(WrappedFunction::set_one_of_several);
    }
}

/// A function with a number of its own.
///
/// # Safety
///
/// As the driver's function that it stands for.
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
    i: usize,
    j: usize,
    k: usize,
    l: usize,
    m: usize,
    n: usize,
) -> usize {
    // SAFETY: the caller's own words.
    unsafe { run(&WRAPPED[AT], &[a, b, c, d, e, f, g, h, i, j, k, l, m, n]) }
}

macro_rules! thunks {
    ($($row:literal)*) => {
        [$(
            thunk::<{ $row * 16 }>, thunk::<{ $row * 16 + 1 }>, thunk::<{ $row * 16 + 2 }>,
            thunk::<{ $row * 16 + 3 }>, thunk::<{ $row * 16 + 4 }>, thunk::<{ $row * 16 + 5 }>,
            thunk::<{ $row * 16 + 6 }>, thunk::<{ $row * 16 + 7 }>, thunk::<{ $row * 16 + 8 }>,
            thunk::<{ $row * 16 + 9 }>, thunk::<{ $row * 16 + 10 }>, thunk::<{ $row * 16 + 11 }>,
            thunk::<{ $row * 16 + 12 }>, thunk::<{ $row * 16 + 13 }>, thunk::<{ $row * 16 + 14 }>,
            thunk::<{ $row * 16 + 15 }>,
        )*]
    };
}

static THUNKS: [Entry; MOST] = thunks!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23
    24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47
);

/// `cuGetProcAddress` and its second version, which has one argument more.
type LookUp = unsafe extern "C-unwind" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut c_void) -> c_int;

static LOOK_UPS: [AtomicPtr<c_void>; 4] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 4];
static LOOK_UP_HOOKS: [LookUp; 4] =
    [look_up_hook::<0>, look_up_hook::<1>, look_up_hook::<2>, look_up_hook::<3>];

/// Function to hand out for a version of `cuGetProcAddress`.
fn look_up(real: *mut c_void) -> *mut c_void {
    if LOOK_UP_HOOKS.iter().any(|hook| *hook as *mut c_void == real) {
        return real;
    }
    for (known, hook) in LOOK_UPS.iter().zip(LOOK_UP_HOOKS) {
        let before = known.compare_exchange(std::ptr::null_mut(), real, AcqRel, Acquire);
        if before.is_ok() || before == Err(real) {
            return hook as *mut c_void;
        }
    }
    real
}

/// # Safety
///
/// As `cuGetProcAddress`; a caller of the version with four arguments gives no fifth, and the
/// driver's function does not read it.
unsafe extern "C-unwind" fn look_up_hook<const AT: usize>(
    symbol: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: u64,
    status: *mut c_void,
) -> c_int {
    let real = LOOK_UPS[AT].load(Acquire);
    // SAFETY: the hook is handed out only after the driver's function was stored.
    let result =
        unsafe { std::mem::transmute::<*mut c_void, LookUp>(real)(symbol, function, version, flags, status) };
    if result == 0 && !symbol.is_null() && !function.is_null() {
        // SAFETY: the driver took the name as a string and wrote the function's address there.
        unsafe { *function = wrap(CStr::from_ptr(symbol), *function) };
    }
    result
}

/// In a fork's child: functions have no names.
pub fn forget_all() {
    WRAPPED[..COUNT.load(Acquire).min(MOST)].iter().for_each(WrappedFunction::forget_name);
    launches::forget_all();
    queries::forget_all();
}
