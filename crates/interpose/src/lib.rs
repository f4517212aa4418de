//! Watches a process from inside: which thread waits for which lock, which thread holds it, and what the driver's entry
//! points are called with.
//!
//! [`watch`] changes the slots through which a library calls the C library's lock functions. [`wrap`] gives a wrapper of
//! a driver's function: it calls the function and then a hook. [`install`] sets the [`Hooks`]; they run on the thread
//! that waited or called. What runs within a call neither allocates nor locks nor panics.
//!
//! Loaded libraries are read from memory by who holds the [`Loader`]'s list, which waits for no thread:
//!
//! ```
//! let mut owner = Vec::new();
//! if let Some(loader) = interpose::Loader::hold_at_start() {
//!     let malloc = loader.symbol(c"malloc").map_or(0, |function| function.addr());
//!     loader.each_library(&mut |library| {
//!         if library.addresses.contains(&malloc) {
//!             owner = library.name().to_vec();
//!         }
//!     });
//! }
//! assert!(owner.starts_with(b"libc."));
//! ```
//!
//! Code that runs within a call asks a table of our own instead: [`object_around`], [`caller_rule`]. Who holds the list
//! [`renew`]s it.
//!
//! [`SetOnce`] and [`SequenceLock`] are values that threads share without waiting for each other.

mod call;
mod call_state;
mod clock;
mod contended_locks;
mod elf;
mod exports;
mod function;
mod gil;
mod glibc_compat;
mod glibc_layout;
mod hooks;
mod imports;
mod launch_table;
mod launches;
mod library;
mod loader;
mod lock_kind;
mod locks;
mod objects;
mod patch;
mod pending_waits;
mod process_state;
mod program;
mod queries;
mod recorded_functions;
mod registered_frames;
mod sequence_lock;
mod set_once;
mod sites;
mod tally;
mod thread;
mod thread_end;
mod thread_variable;
mod threads;
mod ticks;
mod unwind_table;
mod visited;
mod wait;
mod waiters;
mod wrapped_function;
mod wrappers;

pub use clock::{Moment, moment, now};
pub use exports::wrap_driver;
pub use function::{Function, Launch};
pub use hooks::{CallHook, Hooks, Span, Tally, TallyKind};
pub use imports::{wrap_imports, wrap_late_imports};
pub use launch_table::LaunchThunks;
pub use launches::{LaunchArguments, Launches, set_short_launch};
pub use library::Library;
pub use loader::{Loader, c_library_symbol, program_symbol};
pub use lock_kind::{Layer, LockKind, LockMode};
pub use objects::{unload, unloaded};
pub use process_state::{PROCESS_WORDS, begin_anew, process_words, share_memory};
pub use recorded_functions::wrap_runtime;
pub use registered_frames::{forget as forget_frames, remember as remember_frames};
pub use sequence_lock::SequenceLock;
pub use set_once::SetOnce;
pub use sites::{Site, WatchResult, watch};
pub use thread::{CallRef, MOST as MOST_THREADS, Party, Progress, Room, Thread};
pub use threads::{forbid_system_calls, used as used_places};
pub use ticks::{Ns, Ticks, monotonic};
pub use unwind_table::{Base, CallerRule, Place};
pub use wait::Wait;
pub use wrapped_function::{Arguments, WrappedFunction};
pub use wrappers::{unwrapped, wrap, wrapped_number};

use call_state::CALL_STATE;
use process_state::PROCESS_STATE;
use std::ops::Range;
use std::sync::atomic;
use std::sync::atomic::Ordering::Release;
use std::sync::atomic::{AtomicU32, AtomicU64};

impl<const N: usize> SequenceLock<N> {
    /// Zeros.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> SequenceLock<N> {
        SequenceLock { version: AtomicU32::new(0), words: [const { AtomicU64::new(0) }; N] }
    }
}

/// Installs the hooks, once a process; false when there are some already. `begin` runs in a child before its first wrapped
/// call: it is to [`forget`] what was its parent's, then say that it has [`begun`].
pub fn install(hooks: Hooks, begin: fn()) -> bool {
    clock::choose();
    threads::prepare(thread_end::ended);
    process_state::prepare(begin);
    CALL_STATE.hooks.set(hooks) && hooks::call(CALL_STATE.hooks.get())
}

/// Whether wrapped calls are passed to the hooks.
pub fn set_recording(on: bool) {
    if !on {
        set_short_launch(0, true);
    }
    PROCESS_STATE.recording.store(on, Release);
}

/// From now on nothing is recorded and no thread known, for good: calls come to [`Hooks::idle`] alone.
pub fn stop() {
    set_recording(false);
    process_state::know_no_thread();
}

/// In a fork's child, as its handler, before anything else: what other threads held is free, and the child begins anew when it
/// comes to a wrapped call.
///
/// # Safety
///
/// The caller is the only thread of a fork's child.
pub unsafe fn forked() {
    // Its place is its parent's.
    thread::leave();
    // SAFETY: the caller's promise.
    unsafe { loader::forget_all() };
    objects::forget_all();
    process_state::forked();
}

/// A child begins anew: nothing of what is known is its own.
///
/// # Safety
///
/// [`install`]'s `begin`, and called by it alone: no thread of the child is known, and none else is here.
pub unsafe fn forget() {
    // Those know threads by their places.
    tally::forget_all();
    waiters::forget_all();
    gil::forget_all();
    // SAFETY: the caller's promise.
    unsafe {
        pending_waits::forget_all();
        threads::forget_all();
        loader::forget_all();
    }
    objects::forget_all();
    imports::forget_all();
    contended_locks::forget_all();
    wrappers::forget_all();
    sites::forget_all();
    program::forget_all();
}

/// The child has its own of everything from now on.
pub fn begun() {
    process_state::whole();
    hooks::call(CALL_STATE.hooks.get());
}

/// From now on waits of threads are recorded that take at least so many ticks: those for Python's GIL, and those of
/// threads that make wrapped calls for locks of the program. Shorter ones are counted. From `long` on the place of a wait
/// is worth more.
pub fn set_wait_thresholds(gil: Ticks, program: Ticks, long: Ticks) {
    wait::set_long(long);
    gil::set_threshold(gil);
    program::set_threshold(program);
}

/// From now on queries are recorded that take at least so many ticks. Shorter ones are counted.
pub fn set_query_threshold(ticks: Ticks) {
    tally::set_query_threshold(ticks);
}

/// Passes on what was kept back: waits of the calling thread, and counts of all. The process ends.
pub fn flush() {
    if let Some(thread) = Thread::known() {
        pending_waits::record(thread);
    }
    tally::flush();
}

/// Renews the table of objects if libraries came or went since it was made; whether any did.
pub fn renew(loader: &Loader) -> bool {
    objects::renew(loader)
}

/// Changes whenever code may have gone that [`caller_rule`] found: another may be at its addresses. `None` while it goes.
pub fn code_epoch() -> Option<u64> {
    let (_, unloaded) = objects::counts()?;
    Some(unloaded << 32 | registered_frames::gone() & u64::from(u32::MAX))
}

/// From the first to behind the last address of the library or program that an address lies in, by the table of objects:
/// empty where none is known to; `None` while a library is unloaded.
pub fn object_around(address: usize) -> Option<Range<usize>> {
    objects::range_around(address)
}

/// Where the caller of the function at an address is found, by the unwind table of the library or program that it
/// lies in.
///
/// # Safety
///
/// The function is one that the calling thread is in: so its library stays loaded meanwhile.
pub unsafe fn caller_rule(address: usize) -> Option<CallerRule> {
    let Some(table) = objects::unwind_table(address) else {
        // SAFETY: the caller's promise.
        return unsafe { registered_frames::caller_rule(address) };
    };
    // SAFETY: the table of objects has the library that is there: it has none of those that went. The caller promises that
    // it stays.
    unsafe { unwind_table::caller_rule(&table, address) }
}
