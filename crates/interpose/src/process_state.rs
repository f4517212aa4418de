//! State of this process alone: a page that every child finds full of zeros, however it was made (`MADV_WIPEONFORK`,
//! Linux 4.14). Zeros mean that nothing is recorded, nobody is called, and no thread is known: a child touches nothing of its
//! parent, one of `_Fork` or a bare `clone` no more than one of `fork`. It begins anew where it comes to a wrapped call, or
//! calls the loader: most children run another program.
//!
//! A child that has its parent's memory finds no zeros. One of `vfork` runs on its parent's thread, which waits: it is no
//! known thread meanwhile ([`crate::thread_variable`]). One of `clone(CLONE_VM)` runs beside it with the same thread pointer: from
//! then on each thread asks the kernel which process it is of.

use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU64};

/// Bytes of the page: as many as the largest page of any Linux here.
#[cfg(target_arch = "x86_64")]
const PAGE: usize = 4 << 10;
#[cfg(not(target_arch = "x86_64"))]
const PAGE: usize = 64 << 10;

/// Words of the page for the user of this crate, in the cache line of what a call looks at.
pub const PROCESS_WORDS: usize = 5;

/// State that a call looks at, in one cache line.
#[repr(C, align(64))]
pub(crate) struct ProcessState {
    /// Wrapped calls are passed to the hooks.
    pub recording: AtomicBool,
    /// Short launches are recorded ([`crate::set_short_launch`]).
    pub short_recorded: AtomicBool,
    /// Which threads are known: [`NONE`], [`CALLING`] or [`CHECKED`].
    pub threads: AtomicU8,
    /// How far this process is with having its own of everything: [`CHILD`], [`FORKED`], [`BEGINNING`] or [`WHOLE`].
    state: AtomicU8,
    /// Launches that take less, ticks, may go the short way; 0 for none.
    pub short: AtomicI64,
    /// The hooks that are called ([`crate::hooks::hooks`]): modules above this one know their type.
    pub hooks: AtomicPtr<()>,
    /// The user's words.
    words: [AtomicU64; PROCESS_WORDS],
}

const _: () = assert!(size_of::<ProcessState>() == 64);

/// No thread is known.
const NONE: u8 = 0;
/// The calling thread, by its variable.
pub(crate) const CALLING: u8 = 1;
/// The same, if it is of this process.
pub(crate) const CHECKED: u8 = 2;

/// A process that was not prepared, or a child that ran no handler.
const CHILD: u8 = 0;
/// A child that ran its handler.
const FORKED: u8 = 1;
/// A thread forgets what was the parent's.
const BEGINNING: u8 = 2;
const WHOLE: u8 = 3;

#[repr(C, align(4096))]
#[cfg_attr(not(target_arch = "x86_64"), repr(align(65536)))]
struct Page(ProcessState, [u8; PAGE - size_of::<ProcessState>()]);

static PAGE_OF_ZEROS: Page = Page(
    ProcessState {
        recording: AtomicBool::new(false),
        short_recorded: AtomicBool::new(false),
        threads: AtomicU8::new(if cfg!(test) { CALLING } else { NONE }),
        state: AtomicU8::new(CHILD),
        short: AtomicI64::new(0),
        hooks: AtomicPtr::new(null_mut()),
        words: [const { AtomicU64::new(0) }; PROCESS_WORDS],
    },
    [0; PAGE - size_of::<ProcessState>()],
);

/// This process's own.
pub(crate) static PROCESS_STATE: &ProcessState = &PAGE_OF_ZEROS.0;

/// The function that a child runs before its first wrapped call; null while there is nothing.
static BEGIN: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Whether wrapped calls are passed to the hooks.
#[inline]
pub(crate) fn is_recording() -> bool {
    PROCESS_STATE.recording.load(Relaxed)
}

/// Words of the user's own, zeros at first and in every child.
#[inline]
pub fn process_words() -> &'static [AtomicU64; PROCESS_WORDS] {
    &PROCESS_STATE.words
}

/// Has the kernel clear the page in children, and `begin` be called in one that comes to a wrapped call.
pub(crate) fn prepare(begin: fn()) {
    const WIPE_ON_FORK: libc::c_int = 18;
    // SAFETY: a page that lies by itself in memory without a file. Where the kernel is too old it stays as it is.
    unsafe { libc::madvise((&raw const PAGE_OF_ZEROS).cast_mut().cast(), PAGE, WIPE_ON_FORK) };
    BEGIN.store(begin as *mut (), Release);
    whole();
}

/// This process has its own of everything.
pub(crate) fn whole() {
    PROCESS_STATE.threads.store(CALLING, Relaxed);
    PROCESS_STATE.state.store(WHOLE, Release);
}

/// No thread is known from now on.
pub(crate) fn know_no_thread() {
    PROCESS_STATE.threads.store(NONE, Relaxed);
}

/// In a fork's child, as its handler: any thread may begin anew. Where the kernel left the page as it was, this one does so
/// now.
pub(crate) fn forked() {
    if PROCESS_STATE.state.compare_exchange(CHILD, FORKED, AcqRel, Relaxed).is_err() {
        PROCESS_STATE.state.store(FORKED, Release);
        begin_anew();
    }
}

/// A child begins anew if it has not. Other threads of it go on unrecorded meanwhile. One that ran no handler does so on its
/// first thread, whose variable is its parent's: if others come first, they are not recorded.
pub fn begin_anew() {
    if PROCESS_STATE.hooks.load(Relaxed).is_null() {
        begin();
    }
}

#[cold]
fn begin() {
    let (function, state) = (BEGIN.load(Acquire), PROCESS_STATE.state.load(Acquire));
    let may_begin = state == FORKED || state == CHILD && is_first_thread();
    if function.is_null()
        || !may_begin
        || PROCESS_STATE.state.compare_exchange(state, BEGINNING, AcqRel, Relaxed).is_err()
    {
        return;
    }
    // SAFETY: what `prepare` stored there.
    unsafe { std::mem::transmute::<*mut (), fn()>(function)() };
}

/// Whether the calling thread is the one that the process began with.
fn is_first_thread() -> bool {
    // SAFETY: asks for a number.
    std::process::id() == unsafe { libc::syscall(libc::SYS_gettid) } as u32
}

/// A task begins that has this process's memory and is no thread of it.
pub fn share_memory() {
    PROCESS_STATE.threads.store(CHECKED, Relaxed);
}
