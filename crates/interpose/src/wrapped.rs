//! A function of the driver that is wrapped, and a call of it.
//!
//! The driver's functions take integers and pointers only, so one kind of wrapper serves
//! all of them: it passes on as many words as the longest takes. Words that a shorter
//! function does not take are whatever lies in the registers and on the caller's stack.

use crate::thread::{CallRef, Outer, Thread};
use crate::{Function, Hooks, Launch, Span, Ticks, hooks, is_recording, now, own};
use libc::{c_int, c_void};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};

/// Words passed on: `cuLaunchKernel` takes 11, the longest of others 13.
pub const ARGUMENTS: usize = 14;

/// The arguments of a wrapped call; those beyond what the function takes mean nothing.
pub type Arguments = [usize; ARGUMENTS];

/// It may unwind: a thread can be cancelled inside a call, which is in the driver's own waits. A result is passed on as a
/// word: some queries return an address.
pub(crate) type Entry = unsafe extern "C-unwind" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> usize;

/// A function of the driver that is wrapped.
#[repr(align(32))]
pub struct Wrapped {
    /// The driver's function.
    real: AtomicPtr<c_void>,
    number: AtomicU32,
    shape: AtomicU32,
    /// 1 when it launches a kernel, else 0.
    launches: AtomicU32,
    name: AtomicU32,
    /// Its number among the queries plus one, 0 for no query.
    query: AtomicU32,
    synchronizes: AtomicBool,
    /// It returns whether it succeeded.
    is_checked: AtomicBool,
    /// Another wrapped function has the same name: one of a library between program and driver, which calls the driver's.
    is_one_of_several: AtomicBool,
}

impl Wrapped {
    /// None yet.
    pub(crate) const fn new() -> Wrapped {
        Wrapped {
            real: AtomicPtr::new(std::ptr::null_mut()),
            number: AtomicU32::new(0),
            launches: AtomicU32::new(0),
            shape: AtomicU32::new(0),
            name: AtomicU32::new(0),
            query: AtomicU32::new(0),
            synchronizes: AtomicBool::new(false),
            is_checked: AtomicBool::new(true),
            is_one_of_several: AtomicBool::new(false),
        }
    }

    /// The driver's function; null for none yet.
    #[inline]
    pub(crate) fn real(&self) -> *mut c_void {
        self.real.load(Acquire)
    }

    /// Makes it stand for a function. Only then may a thunk of it be handed out.
    pub(crate) fn set(&self, Function { number, shape, launch, synchronizes }: Function, real: *mut c_void) {
        self.number.store(number, Relaxed);
        self.shape.store(shape, Relaxed);
        self.launches.store((launch != Launch::No).into(), Relaxed);
        self.synchronizes.store(synchronizes, Relaxed);
        self.real.store(real, Release);
    }

    /// Like [`Wrapped::set`], but of the query with that number.
    pub(crate) fn set_query(&self, function: Function, query: usize, is_checked: bool, real: *mut c_void) {
        self.query.store(query as u32 + 1, Relaxed);
        self.is_checked.store(is_checked, Relaxed);
        self.set(function, real);
    }

    /// Another wrapped function has its name.
    pub(crate) fn set_one_of_several(&self) {
        self.is_one_of_several.store(true, Relaxed);
    }

    /// In a fork's child: it has no name.
    pub(crate) fn forget_name(&self) {
        self.name.store(0, Relaxed);
    }

    /// Its number, as [`Hooks::number`] gave it.
    #[inline]
    pub fn number(&self) -> u32 {
        self.number.load(Relaxed)
    }

    /// Whether a call of it succeeded, by what it returned: 0, or the error.
    #[inline]
    pub(crate) fn code(&self, result: usize) -> c_int {
        if self.is_checked.load(Relaxed) { result as c_int } else { 0 }
    }

    /// Its number among the queries.
    #[inline]
    pub(crate) fn query(&self) -> Option<usize> {
        (self.query.load(Relaxed) as usize).checked_sub(1)
    }

    /// Its [`Function::shape`].
    #[inline]
    pub fn shape(&self) -> u32 {
        self.shape.load(Relaxed)
    }

    /// Its name for this process, once [`Hooks::name`] gave one.
    #[inline]
    pub fn name(&self) -> u32 {
        self.name.load(Relaxed)
    }
}

/// Calls the driver's function, and the hook afterwards.
///
/// # Safety
///
/// `args` are what the caller of `wrapped` gave.
#[inline]
pub(crate) unsafe fn run(wrapped: &'static Wrapped, args: &Arguments) -> usize {
    // SAFETY: a function of the driver with integer and pointer arguments, of which it takes the first
    // ones; a thunk is handed out only after `real` was stored.
    let real = unsafe { std::mem::transmute::<*mut c_void, Entry>(wrapped.real()) };
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = *args;
    // SAFETY: as above.
    let call = || unsafe { real(a, b, c, d, e, f, g, h, i, j, k, l, m, n) };
    let begun = begin(wrapped);
    let result = call();
    if let Some(begun) = begun {
        (begun.hooks.called)(begun.thread, wrapped, args, begun.end(), result as c_int);
    }
    result
}

/// A call that is recorded.
pub(crate) struct Begun {
    pub thread: &'static Thread,
    pub hooks: &'static Hooks,
    /// The call it is made in.
    outer: Outer,
    start: Ticks,
}

impl Begun {
    /// The call is over.
    #[inline]
    pub fn end(&self) -> Span {
        let end = now();
        self.thread.leave_to(self.outer);
        Span { start: self.start, end }
    }
}

/// A wrapped call begins; `None` where it is not recorded. A part of its caller, so that calls within it are further down the
/// stack ([`Thread::function`]).
#[inline(always)]
pub(crate) fn begin(wrapped: &'static Wrapped) -> Option<Begun> {
    if !is_recording() && !awakes() {
        return None;
    }
    let (thread, hooks) = (Thread::current()?, hooks()?);
    let name = match wrapped.name() {
        name if name != 0 && !thread.is_unplaced() => name,
        _ => first(thread, hooks, wrapped),
    };
    // A library wraps this function under the same name, and calls it: that is one call. Otherwise a signal handler made it.
    // A query is a part of the call that makes it.
    let outer = thread.function();
    let is_same = outer == name && wrapped.is_one_of_several.load(Relaxed);
    if outer != 0 && (is_same || wrapped.query().is_some()) {
        return None;
    }
    if wrapped.synchronizes.load(Relaxed) {
        (hooks.synchronizes)(thread);
    }
    let start = now();
    let call = CallRef { function: name, since: start };
    let outer = match wrapped.query() {
        Some(_) => thread.enter_query(call),
        None => thread.enter(call, wrapped.launches.load(Relaxed)),
    };
    Some(Begun { thread, hooks, outer, start })
}

/// Whether calls are recorded from now on.
#[cold]
#[inline(never)]
fn awakes() -> bool {
    own::begin_anew();
    is_recording() || hooks().is_some_and(|hooks| (hooks.idle)())
}

#[cold]
#[inline(never)]
fn first(thread: &'static Thread, hooks: &Hooks, wrapped: &Wrapped) -> u32 {
    let name = (hooks.name)(thread, wrapped.number());
    wrapped.name.store(name, Relaxed);
    name
}
