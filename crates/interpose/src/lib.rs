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
//! [`Published`] and [`SequenceLock`] are values that threads share without waiting for each other.

mod awaited;
mod calls;
mod clock;
mod contended;
mod current;
mod elf;
mod exports;
mod gil;
mod imports;
mod launches;
mod loader;
mod locks;
mod looked;
mod newer;
mod objects;
mod own;
mod patch;
mod pending;
mod program;
mod published;
mod queries;
mod recorded_functions;
mod registered;
mod sequence_lock;
mod sites;
mod tally;
mod thread;
mod unwind_table;
mod wrapped;

pub use calls::{unwrapped, wrap, wrapped_number};
pub use clock::{Moment, Ns, Ticks, moment, monotonic, now};
pub use exports::wrap_driver;
pub use imports::{wrap_imports, wrap_late_imports};
pub use launches::{LaunchThunks, Launched, Launches, set_short_launch};
pub use loader::{Loader, c_library_symbol, program_symbol};
pub use objects::{unload, unloaded};
pub use own::{OWN_WORDS, begin_anew, own_words, share_memory};
pub use published::Published;
pub use recorded_functions::wrap_runtime;
pub use registered::{forget as forget_frames, remember as remember_frames};
pub use sequence_lock::SequenceLock;
pub use sites::{Site, Watched, watch};
pub use tally::{Counted, Tallied};
pub use thread::{CallRef, MOST as MOST_THREADS, Party, Progress, Room, Thread};
pub use thread::{forbid_system_calls, used as used_places};
pub use unwind_table::{Base, CallerRule, Place};
pub use wrapped::{Arguments, Wrapped};

use own::OWN;
use std::ffi::CStr;
use std::ops::Range;
use std::sync::atomic;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64};

/// Functions that are called when something happens, on the thread to which it happens. A hook runs in the middle of
/// the program's own call: it must not panic, and may acquire locks only through functions that are not watched.
#[derive(Clone, Copy)]
pub struct Hooks {
    /// A thread acquired a lock that it had found held, or gave up.
    pub waited: fn(&'static Thread, &Wait),
    /// A wait of a thread was lost: a signal handler did not return.
    pub wait_lost: fn(&'static Thread),
    /// So many waits or queries of a thread were too short to be recorded.
    pub tallied: fn(&'static Thread, Counted, Tallied),
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
    pub called: Called,
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
    /// Kind of the lock.
    pub kind: LockKind,
    /// The mode that the thread waits for.
    pub mode: LockMode,
    /// Layer that the lock belongs to.
    pub layer: Layer,
    /// The library that waited, by the number that the caller of [`watch`] gave it; 0 in other layers than
    /// [`Layer::Listed`].
    pub site: u32,
    /// The call the waiter was in.
    pub call: CallRef,
    /// How many threads held it at the start, as far as they are known.
    pub holders: u32,
    /// One of them, one that holds it exclusively if there is one; thread id 0 for unknown.
    pub holder: Party,
    /// The thread that released it last before the waiter acquired it, or ended the wait; thread id 0 for unknown.
    pub releaser: Party,
    /// When it did; 0 for unknown.
    pub released: Ticks,
    /// Number of the waiter's place, as [`Hooks::keep_place`] gave it; 0 for unknown, as of the following.
    pub place: u64,
    /// Number of the holder's place.
    pub holder_place: u64,
    /// Number of the releaser's place.
    pub releaser_place: u64,
}

impl Wait {
    /// No wait: zeros, so that room for waits takes none in the library's file.
    pub(crate) const NONE: Wait = {
        let call = CallRef { function: 0, since: 0 };
        let party = Party { tid: 0, call };
        Wait {
            start: 0,
            end: 0,
            lock: 0,
            kind: LockKind::Mutex,
            mode: LockMode::Exclusive,
            layer: Layer::Listed,
            site: 0,
            call,
            holders: 0,
            holder: party,
            releaser: party,
            released: 0,
            place: 0,
            holder_place: 0,
            releaser_place: 0,
        }
    };
}

/// Layer that a lock belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layer {
    /// Lock of a library that has a [`Site`] of its own.
    Listed,
    /// Lock of any other library, or of the program.
    Program,
    /// The interpreter's own: Python's GIL.
    Interpreter,
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
    /// Python's GIL
    Gil,
    /// `pthread_cond_t`
    Condition,
    /// `sem_t`
    Semaphore,
    /// `pthread_barrier_t`
    Barrier,
    /// The end of a thread
    Join,
}

impl LockKind {
    /// All of them, in order.
    pub const ALL: [LockKind; 8] = {
        use LockKind::*;
        [Mutex, Rwlock, Spin, Gil, Condition, Semaphore, Barrier, Join]
    };
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

/// State that a call reads besides this process's own ([`own::Own`]).
#[repr(C)]
struct First {
    /// Time is taken from the time-stamp counter.
    counter: AtomicBool,
    hooks: Published<Hooks>,
    launches: launches::State,
}

static FIRST: First =
    First { counter: AtomicBool::new(false), hooks: Published::new(), launches: launches::State::new() };

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
    thread::prepare(pending::ended);
    own::prepare(begin);
    FIRST.hooks.set(hooks) && call_hooks()
}

/// Has the hooks be called.
fn call_hooks() -> bool {
    let hooks = FIRST.hooks.get().map_or(std::ptr::null_mut(), |hooks| std::ptr::from_ref(hooks).cast_mut());
    OWN.hooks.store(hooks, Release);
    !hooks.is_null()
}

/// Whether wrapped calls are passed to the hooks.
pub fn set_recording(on: bool) {
    if !on {
        set_short_launch(0, true);
    }
    OWN.recording.store(on, Release);
}

/// From now on nothing is recorded and no thread known, for good: calls come to [`Hooks::idle`] alone.
pub fn stop() {
    set_recording(false);
    own::know_no_thread();
}

#[inline]
fn is_recording() -> bool {
    OWN.recording.load(Relaxed)
}

/// The hooks; `None` before there are any, and in a child that ran no handler of `fork`.
#[inline]
fn hooks() -> Option<&'static Hooks> {
    // SAFETY: null, or hooks that were published and stay.
    unsafe { OWN.hooks.load(Acquire).as_ref() }
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
    own::forked();
}

/// A child begins anew: nothing of what is known is its own.
///
/// # Safety
///
/// [`install`]'s `begin`, and called by it alone: no thread of the child is known, and none else is here.
pub unsafe fn forget() {
    // Those know threads by their places.
    tally::forget_all();
    awaited::forget_all();
    gil::forget_all();
    // SAFETY: the caller's promise.
    unsafe {
        pending::forget_all();
        thread::forget_all();
        loader::forget_all();
    }
    objects::forget_all();
    imports::forget_all();
    contended::forget_all();
    calls::forget_all();
    sites::forget_all();
    program::forget_all();
}

/// The child has its own of everything from now on.
pub fn begun() {
    own::whole();
    call_hooks();
}

/// From now on waits of threads are recorded that take at least so many ticks: those for Python's GIL, and those of
/// threads that make wrapped calls for locks of the program. Shorter ones are counted. From `long` on the place of a wait
/// is worth more.
pub fn set_wait_thresholds(gil: Ticks, program: Ticks, long: Ticks) {
    LONG_WAIT.store(long, Relaxed);
    gil::set_threshold(gil);
    program::set_threshold(program);
}

/// From now on queries are recorded that take at least so many ticks. Shorter ones are counted.
pub fn set_query_threshold(ticks: Ticks) {
    tally::set_query_threshold(ticks);
}

/// Waits of at least so many ticks are long.
static LONG_WAIT: AtomicI64 = AtomicI64::new(Ns::MAX);

/// Whether a wait of so many ticks is long.
pub(crate) fn is_long(ticks: Ticks) -> bool {
    ticks >= LONG_WAIT.load(Relaxed)
}

/// Passes on what was kept back: waits of the calling thread, and counts of all. The process ends.
pub fn flush() {
    if let Some(thread) = Thread::known() {
        pending::record(thread);
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
    Some(unloaded << 32 | registered::gone() & u64::from(u32::MAX))
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
        return unsafe { registered::caller_rule(address) };
    };
    // SAFETY: the table of objects has the library that is there: it has none of those that went. The caller promises that
    // it stays.
    unsafe { unwind_table::caller_rule(&table, address) }
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
    pub(crate) fn of(object: &elf::Object<'a>) -> Library<'a> {
        Library { path: object.path(), base: object.base() as usize, addresses: object.range() }
    }

    /// The name of its file.
    pub fn name(&self) -> &'a [u8] {
        self.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
    }
}
