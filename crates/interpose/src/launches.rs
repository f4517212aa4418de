//! Wrappers of the driver's plain launches.
//!
//! Most calls are such launches, and a launch takes two or three microseconds, of which few may be the
//! recorder's. By then the driver has used most of the nearest caches for itself: what a launch costs
//! more is the code and the data that have to come back. So a launch whose record is as brief as most
//! takes a short way, through little code and few cache lines. Others take the way of all calls.

use crate::call::run;
use crate::call_state::CALL_STATE;
use crate::function::Function;
use crate::hooks::{Span, hooks};
use crate::launch_table::{LaunchKernel, LaunchTable, LaunchThunks, MOST};
use crate::process_state::PROCESS_STATE;
use crate::thread::{OuterCall, Progress, Thread};
use crate::ticks::{Ticks, counter};
use crate::wrapped_function::{Arguments, WrappedFunction};
use libc::{c_int, c_void};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// Called for plain launches that are over. All of it is known at compile time: what a hook does with a launch is part
/// of the wrapper.
pub trait Launches {
    /// A short one: it succeeded, is by a thread that notes its calls in a place of its own ([`Thread::note_in`]), and
    /// took less than [`set_short_launch`] says; of a function that has a name. False where [`Launches::launched`] must be
    /// called, too.
    fn short(
        thread: &'static Thread,
        wrapped: &'static WrappedFunction,
        launch: &LaunchArguments,
        span: Span,
    ) -> bool;

    /// One that began so and was not short, or for which [`Launches::short`] is false.
    fn launched(
        thread: &'static Thread,
        wrapped: &'static WrappedFunction,
        launch: &LaunchArguments,
        span: Span,
        result: i32,
    );
}

/// Stream, grid and block of a launch.
#[derive(Clone, Copy, Debug)]
pub struct LaunchArguments {
    /// Into which stream.
    pub stream: usize,
    /// The grid, then the block, as `cuLaunchKernel` takes them.
    pub grid: [usize; 6],
}

impl LaunchThunks {
    /// Wrappers that call `L`.
    pub const fn of<L: Launches>() -> LaunchThunks {
        LaunchThunks([
            thunk::<L, 0>,
            thunk::<L, 1>,
            thunk::<L, 2>,
            thunk::<L, 3>,
            thunk::<L, 4>,
            thunk::<L, 5>,
        ])
    }
}

/// Launches that take less than so many ticks take the short way where the clock is the processor's own; 0 for none.
/// They are [`Launches::short`] where `recorded` is true, and not passed to [`Launches`] at all where it is false.
pub fn set_short_launch(ticks: i64, recorded: bool) {
    let short = if CALL_STATE.counter.load(Relaxed) { ticks } else { 0 };
    PROCESS_STATE.short_recorded.store(recorded, Relaxed);
    PROCESS_STATE.short.store(short, Relaxed);
}

/// Adds a wrapper of a plain launch; `None` when there are too many.
pub fn add(function: Function, real: *mut c_void) -> Option<*mut c_void> {
    let at = CALL_STATE.launches.count.fetch_add(1, AcqRel);
    CALL_STATE.launches.wrapped.get(at)?.set(function, real);
    thunk_at(at)
}

/// The wrapper of a function.
pub fn thunk_of(real: *mut c_void) -> Option<*mut c_void> {
    known().iter().position(|wrapped| wrapped.real() == real).and_then(thunk_at)
}

/// The launch that a wrapper stands for.
pub fn real_of(thunk: *mut c_void) -> Option<*mut c_void> {
    of(thunk).map(WrappedFunction::real)
}

/// Its number.
pub fn number_of(thunk: *mut c_void) -> Option<u32> {
    of(thunk).map(WrappedFunction::number)
}

fn of(thunk: *mut c_void) -> Option<&'static WrappedFunction> {
    let thunks = &hooks()?.launches.0;
    let at = thunks.iter().position(|known| *known as *mut c_void == thunk)?;
    known().get(at)
}

/// Whether a function is one of them.
pub fn is_thunk(function: *mut c_void) -> bool {
    hooks().is_some_and(|hooks| hooks.launches.0.iter().any(|thunk| *thunk as *mut c_void == function))
}

/// In a fork's child: functions have no names.
pub fn forget_all() {
    known().iter().for_each(WrappedFunction::forget_name);
}

/// The launches that are wrapped.
pub fn known() -> &'static [WrappedFunction] {
    let LaunchTable { count, wrapped, .. } = &CALL_STATE.launches;
    &wrapped[..count.load(Acquire).min(MOST)]
}

fn thunk_at(at: usize) -> Option<*mut c_void> {
    hooks()?.launches.0.get(at).map(|thunk| *thunk as *mut c_void)
}

/// # Safety
///
/// As `cuLaunchKernel`.
#[allow(clippy::too_many_arguments)]
unsafe extern "C-unwind" fn thunk<L: Launches, const AT: usize>(
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
    g: usize,
    h: usize,
    stream: usize,
    j: usize,
    k: usize,
) -> c_int {
    let wrapped = &CALL_STATE.launches.wrapped[AT];
    let Some(begun) = begin(wrapped) else {
        // SAFETY: the caller's own words.
        return unsafe { usual(wrapped, &[a, b, c, d, e, f, g, h, stream, j, k, 0, 0, 0]) };
    };
    // SAFETY: a function of the driver with these arguments; a thunk is handed out only after it was set.
    let real = unsafe { std::mem::transmute::<*mut c_void, LaunchKernel>(wrapped.real()) };
    // SAFETY: the caller's own words.
    let result = unsafe { real(a, b, c, d, e, f, g, h, stream, j, k) };
    let span = begun.end();
    let is_short = result == 0 && span.end - span.start < PROCESS_STATE.short.load(Relaxed);
    let launch = LaunchArguments { stream, grid: [b, c, d, e, f, g] };
    if !is_short
        || PROCESS_STATE.short_recorded.load(Relaxed) && !L::short(begun.thread, wrapped, &launch, span)
    {
        L::launched(begun.thread, wrapped, &launch, span, result);
    }
    result
}

/// A launch that may go the short way.
struct BegunLaunch {
    thread: &'static Thread,
    progress: &'static Progress,
    /// The call it is part of.
    outer: OuterCall,
    start: Ticks,
}

/// A launch begins; `None` when it takes the way of all calls.
#[inline(always)]
fn begin(wrapped: &'static WrappedFunction) -> Option<BegunLaunch> {
    let name = wrapped.name();
    if PROCESS_STATE.short.load(Relaxed) == 0 || name == 0 {
        return None;
    }
    let thread = Thread::known()?;
    let (progress, outer, start) = thread.enter_launch(name)?;
    Some(BegunLaunch { thread, progress, outer, start })
}

impl BegunLaunch {
    /// It is over.
    #[inline(always)]
    fn end(&self) -> Span {
        let end = counter();
        self.thread.leave_launch(self.progress, self.outer);
        Span { start: self.start, end }
    }
}

/// The way of all calls. Apart, so that nothing of it lies within the short way.
///
/// # Safety
///
/// Conditions of [`run`].
#[cold]
#[inline(never)]
unsafe fn usual(wrapped: &'static WrappedFunction, args: &Arguments) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { run(wrapped, args) as c_int }
}
