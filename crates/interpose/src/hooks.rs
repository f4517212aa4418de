//! Functions of the user of this crate that are called when something happens, and what they get.

use crate::function::Function;
use crate::launch_table::LaunchThunks;
use crate::lock_kind::LockKind;
use crate::process_state::PROCESS_STATE;
use crate::thread::Thread;
use crate::ticks::Ticks;
use crate::wait::Wait;
use crate::wrapped_function::{Arguments, WrappedFunction};
use std::ffi::CStr;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Functions that are called when something happens, on the thread to which it happens. A hook runs in the middle of
/// the program's own call: it must not panic, and may acquire locks only through functions that are not watched.
#[derive(Clone, Copy)]
pub struct Hooks {
    /// A thread acquired a lock that it had found held, or gave up.
    pub waited: fn(&'static Thread, &Wait),
    /// A wait of a thread was lost: a signal handler did not return.
    pub wait_lost: fn(&'static Thread),
    /// So many waits or queries of a thread were too short to be recorded.
    pub tallied: fn(&'static Thread, TallyKind, Tally),
    /// Keeps where the calling thread is, since a wait may follow: the place's number, 0 for none. It is written once a
    /// wait that has the number is [`waited`](Hooks::waited). Places of long waits, as here and below, come first.
    pub keep_place: fn(&'static Thread, bool) -> u64,
    /// A number for the place of the calling thread, which [`give_place`](Hooks::give_place) writes soon; 0 for none.
    pub promise: fn(&'static Thread, bool) -> u64,
    /// Writes where the calling thread is, under the number that was promised. Called when nobody waits for the thread.
    pub give_place: fn(&'static Thread, u64),
    /// Writes where the thread is that holds a lock ([`recognize`](Hooks::recognize)), by its kernel's id; the place's
    /// number, 0 for none. The calling thread holds the lock's mutex.
    pub holder_place: fn(&'static Thread, usize, u32) -> u64,
    /// Whether a condition is the first part of a lock like Python's GIL, and the kernel's id of the thread that holds
    /// it, 0 for unknown.
    pub recognize: fn(usize) -> Option<u32>,
    /// The name that calls of a function (its number) are noted with. Called until it is not 0, and by
    /// each thread until it notes its calls in a place of its own ([`Thread::note_in`]).
    pub name: fn(&'static Thread, u32) -> u32,
    /// A call that synchronizes with the GPU ([`Function::synchronizes`]) is about to begin: what is done here
    /// costs the program nothing as long as the GPU is busy.
    pub synchronizes: fn(&'static Thread),
    /// A wrapped call is over.
    pub called: CallHook,
    /// The wrappers of plain launches.
    pub launches: &'static LaunchThunks,
    /// Numbers functions by name, from 1.
    pub number: fn(&CStr) -> Function,
    /// There is no [`Thread`] left for a thread: it is not recorded. Called once for each.
    pub thread_unknown: fn(),
    /// A thread ended: it makes no calls as this [`Thread`] any more, and notes none in the place that was given.
    pub ended: fn(&'static Thread),
    /// A call begins while calls are not passed to the hooks; whether they are from now on.
    pub idle: fn() -> bool,
}

/// When a wrapped call entered the driver, and when it returned.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Entry.
    pub start: Ticks,
    /// Return.
    pub end: Ticks,
}

/// Called after a wrapped call: the function, its arguments, and what it returned. All of it in registers: most calls
/// are short.
pub type CallHook = fn(&'static Thread, &'static WrappedFunction, &Arguments, Span, i32);

/// Kind of waits or queries that are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TallyKind {
    /// Waits for a lock of that kind.
    Wait(LockKind),
    /// Calls of the query with that number, as [`crate::Hooks::number`] gave it.
    Query(u32),
}

/// How many there were.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tally {
    /// All of them.
    pub count: u64,
    /// The timed ones among them.
    pub timed: u64,
    /// How long those took together.
    pub time: Ticks,
}

/// The hooks; `None` before there are any, and in a child that ran no handler of `fork`.
#[inline]
pub(crate) fn hooks() -> Option<&'static Hooks> {
    // SAFETY: null, or hooks that were given to `call`, which stay.
    unsafe { PROCESS_STATE.hooks.load(Acquire).cast::<Hooks>().as_ref() }
}

/// Has these hooks be called from now on, if there are any; whether there are.
pub(crate) fn call(hooks: Option<&'static Hooks>) -> bool {
    let hooks = hooks.map_or(std::ptr::null_mut(), |hooks| std::ptr::from_ref(hooks).cast_mut());
    PROCESS_STATE.hooks.store(hooks.cast(), Release);
    !hooks.is_null()
}
