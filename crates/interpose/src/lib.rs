//! Watches a process from inside: which thread waits for which lock, which thread holds it, and what the driver's entry
//! points are called with.
//!
//! [`watch`] changes the slots through which a library calls the C library's lock functions. [`wrap`] gives a wrapper of
//! a driver's function: it calls the function and then a hook. [`install`] sets the [`Hooks`]; they run on the thread
//! that waited or called. What runs within a call neither allocates nor locks nor panics.
//!
//! Loaded libraries are read from memory, without the loader's locks:
//!
//! ```
//! let malloc = interpose::symbol(c"malloc").expect("the C library has one").addr();
//! let mut owner = Vec::new();
//! interpose::each_library(&mut |library| {
//!     if library.addresses.contains(&malloc) {
//!         owner = library.name().to_vec();
//!     }
//! });
//! assert!(owner.starts_with(b"libc."));
//! ```
//!
//! [`Published`] and [`SequenceLock`] are values that threads share without waiting for each other.

mod calls;
mod clock;
mod contended;
mod current;
mod elf;
mod exports;
mod imports;
mod launches;
mod locks;
mod looked;
mod patch;
mod pending;
mod published;
mod recorded_functions;
mod sequence_lock;
mod sites;
mod thread;
mod unwind_table;
mod wrapped;

pub use calls::wrap;
pub use clock::{Moment, Ns, Ticks, moment, monotonic, now};
pub use exports::wrap_driver;
pub use imports::{wrap_imports, wrap_late_imports};
pub use launches::{LaunchThunks, Launched, Launches, set_short_launch};
pub use published::Published;
pub use recorded_functions::wrap_runtime;
pub use sequence_lock::SequenceLock;
pub use sites::{Watched, watch};
pub use thread::{CallRef, MOST as MOST_THREADS, Party, Progress, Room, Thread};
pub use unwind_table::{Base, CallerRule};
pub use wrapped::{Arguments, Wrapped};

use libc::c_void;
use std::ffi::CStr;
use std::ops::{ControlFlow, Range};
use std::sync::atomic;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

/// What is called when something happens, on the thread to which it happens. A hook runs in the middle of the
/// program's own call: it must not panic, and may acquire locks only through functions that are not watched.
#[derive(Clone, Copy)]
pub struct Hooks {
    /// A thread acquired a lock that it had found held, or gave up.
    pub waited: fn(&'static Thread, &Wait),
    /// A wait of a thread was lost: a signal handler did not return.
    pub wait_lost: fn(&'static Thread),
    /// The name that calls of a function (its number) are noted with. Called until it is not 0, and by
    /// each thread until it notes its calls in a place of its own ([`Thread::note_in`]).
    pub name: fn(&'static Thread, u32) -> u32,
    /// A call that synchronizes with the GPU ([`Function::synchronizes`]) is about to begin: what is done here
    /// costs the program nothing as long as the GPU is busy.
    pub synchronizes: fn(&'static Thread),
    /// A wrapped call is over.
    pub called: Called,
    /// The wrappers of plain launches.
    pub launches: &'static LaunchThunks,
    /// Numbers functions by name, from 1.
    pub number: fn(&CStr) -> Function,
    /// There is no [`Thread`] left for a thread: it is not recorded. Called once for each.
    pub thread_unknown: fn(),
}

/// A function as [`Hooks::number`] gives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Function {
    /// Its number.
    pub number: u32,
    /// Any fact about it, which its calls come with.
    pub shape: u32,
    /// Whether it launches a kernel.
    pub launch: Launch,
    /// Whether it waits for the GPU: [`Hooks::synchronizes`] is called before each of its calls.
    pub synchronizes: bool,
}

/// Whether a function launches a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Launch {
    /// It does not.
    #[default]
    No,
    /// It does, with the arguments of `cuLaunchKernel`. Most calls are of this kind: they have a way of
    /// their own ([`Launches`]).
    Plain,
    /// It does, with other arguments.
    Other,
}

/// A wait for a lock.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// When the lock was found held.
    pub start: Ticks,
    /// When the thread acquired it or gave up.
    pub end: Ticks,
    /// Its address.
    pub lock: usize,
    /// What it is.
    pub kind: LockKind,
    /// The mode that the thread waits for.
    pub mode: LockMode,
    /// The library that waited, by the number that the caller of [`watch`] gave it.
    pub site: u32,
    /// The call the waiter was in.
    pub call: CallRef,
    /// How many threads held it at the start, as far as they are known.
    pub holders: u32,
    /// One of them, one that holds it exclusively if there is one; thread id 0 for unknown.
    pub holder: Party,
    /// The thread that released it last before the waiter acquired it; thread id 0 for unknown.
    pub releaser: Party,
}

/// Kinds of locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockKind {
    /// `pthread_mutex_t`
    Mutex,
    /// `pthread_rwlock_t`
    Rwlock,
    /// `pthread_spinlock_t`
    Spin,
}

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockMode {
    /// By one thread.
    Exclusive,
    /// By any number of threads at once.
    Shared,
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
pub type Called = fn(&'static Thread, &'static Wrapped, &Arguments, Span, i32);

/// The state that every wrapped call reads first; launches read their own cache line.
#[repr(C)]
struct First {
    recording: AtomicBool,
    /// Time is taken from the time-stamp counter.
    counter: AtomicBool,
    hooks: Published<Hooks>,
    launches: launches::State,
}

static FIRST: First = First {
    recording: AtomicBool::new(false),
    counter: AtomicBool::new(false),
    hooks: Published::new(),
    launches: launches::State::new(),
};

impl<const N: usize> SequenceLock<N> {
    /// Zeros.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> SequenceLock<N> {
        SequenceLock { version: AtomicU32::new(0), words: [const { AtomicU64::new(0) }; N] }
    }
}

/// Installs the hooks, once a process; false when there are some already.
pub fn install(hooks: Hooks) -> bool {
    clock::choose();
    thread::prepare(pending::ended);
    FIRST.hooks.set(hooks)
}

/// Whether wrapped calls are passed to the hooks.
pub fn set_recording(on: bool) {
    if !on {
        set_short_launch(0, true);
    }
    FIRST.recording.store(on, Release);
}

#[inline]
fn is_recording() -> bool {
    FIRST.recording.load(Relaxed)
}

#[inline]
fn hooks() -> Option<&'static Hooks> {
    FIRST.hooks.get()
}

/// In a fork's child, before anything else: its only thread starts afresh.
///
/// # Safety
///
/// The caller is the only thread of a fork's child.
pub unsafe fn forked() {
    // SAFETY: the caller's promise.
    unsafe {
        thread::forget_all();
        pending::forget_all();
        imports::forget_all();
    }
    contended::forget_all();
    calls::forget_all();
    exports::forget_all();
    sites::forget_all();
}

/// How many libraries were loaded and unloaded since the process began.
pub fn loaded() -> (u64, u64) {
    elf::counts()
}

/// From the first to behind the last address of the library or program that an address lies in; empty
/// when it lies in none.
pub fn object_around(address: usize) -> Range<usize> {
    elf::range_around(address)
}

/// Where the caller of the function at an address is found, by the unwind table of the library or program that it
/// lies in.
///
/// # Safety
///
/// The function is one that the calling thread is in: so its library stays loaded meanwhile.
pub unsafe fn caller_rule(address: usize) -> Option<CallerRule> {
    let table = elf::unwind_table(address)?;
    // SAFETY: the loader says where the table lies; the caller promises that it stays.
    unsafe { unwind_table::caller_rule(&table, address) }
}

/// A function or variable that a loaded library or the program makes public. This waits for no thread, not
/// for a thread that is loading a library either: see [`is_loaded`].
pub fn symbol(name: &CStr) -> Option<*mut c_void> {
    elf::symbol(name)
}

/// As [`symbol`], of what is not in the library that an address lies in.
pub fn symbol_outside(name: &CStr, address: usize) -> Option<*mut c_void> {
    elf::symbol_outside(name, address)
}

/// Calls `visit` with the function or variable of that name in each library, and in the program, that makes
/// one public. Waits for no thread, as [`symbol`].
pub fn each_symbol(name: &CStr, visit: &mut dyn FnMut(*mut c_void)) {
    elf::each_symbol(name, visit);
}

/// Whether the library or program that an address lies in is loaded to the end.
pub fn is_loaded(address: usize) -> bool {
    elf::is_loaded(address)
}

/// A loaded library, or the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Library<'a> {
    /// The path of its file; empty for the program.
    pub path: &'a [u8],
    /// Where its file's virtual address 0 is loaded.
    pub base: usize,
    /// From its first address to behind its last.
    pub addresses: Range<usize>,
}

impl<'a> Library<'a> {
    /// The name of its file.
    pub fn name(&self) -> &'a [u8] {
        self.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
    }
}

/// Calls `visit` with the program and each loaded library.
pub fn each_library(visit: &mut dyn FnMut(Library<'_>)) {
    elf::each_object(&mut |object| {
        visit(Library { path: object.path(), base: object.base() as usize, addresses: object.range() });
        ControlFlow::Continue(())
    });
}
