//! A function of the driver that another stands before, and what the usual call of it comes to.

use crate::thread::{CallRef, Thread};
use crate::{Function, Hooks, Launch, Span, Ticks, hooks, is_recording, now};
use libc::c_void;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32};

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
        }
    }

    /// The driver's function; null for none yet.
    #[inline]
    pub(crate) fn real(&self) -> *mut c_void {
        self.real.load(Acquire)
    }

    /// Makes it stand for a function. Only then may a thunk of it be handed out.
    pub(crate) fn set(&self, Function { number, shape, launch }: Function, real: *mut c_void) {
        self.number.store(number, Relaxed);
        self.shape.store(shape, Relaxed);
        self.launches.store((launch != Launch::No).into(), Relaxed);
        self.real.store(real, Release);
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

/// A call that is told of.
pub(crate) struct Begun {
    pub(crate) thread: &'static Thread,
    pub(crate) hooks: &'static Hooks,
    /// The call it is made in.
    outer: CallRef,
    start: Ticks,
}

impl Begun {
    /// The call is over.
    #[inline]
    pub(crate) fn end(&self) -> Span {
        let end = now();
        self.thread.set_call(self.outer);
        Span { start: self.start, end }
    }
}

/// A wrapped call begins; `None` when it is not to be told of.
#[inline]
pub(crate) fn begin(wrapped: &'static Wrapped) -> Option<Begun> {
    if !is_recording() {
        return None;
    }
    let (thread, hooks) = (Thread::current()?, hooks()?);
    let name = match wrapped.name() {
        name if name != 0 && !thread.is_unplaced() => name,
        _ => first(thread, hooks, wrapped),
    };
    let start = now();
    let outer = thread.enter(CallRef { function: name, since: start }, wrapped.launches.load(Relaxed));
    Some(Begun { thread, hooks, outer, start })
}

#[cold]
#[inline(never)]
fn first(thread: &'static Thread, hooks: &Hooks, wrapped: &Wrapped) -> u32 {
    let name = (hooks.name)(thread, wrapped.number());
    wrapped.name.store(name, Relaxed);
    name
}
