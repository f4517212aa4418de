//! A function of the driver that is wrapped.
//!
//! The driver's functions take integers and pointers only, so one kind of wrapper serves
//! all of them: it passes on as many words as the longest takes. Words that a shorter
//! function does not take are whatever lies in the registers and on the caller's stack.

use crate::function::{Function, Launch};
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
pub struct WrappedFunction {
    /// The driver's function.
    real: AtomicPtr<c_void>,
    number: AtomicU32,
    shape: AtomicU32,
    /// 1 when it launches a kernel, else 0.
    pub(crate) launches: AtomicU32,
    name: AtomicU32,
    /// Its number among the queries plus one, 0 for no query.
    query: AtomicU32,
    pub(crate) synchronizes: AtomicBool,
    /// It returns whether it succeeded.
    is_checked: AtomicBool,
    /// Another wrapped function has the same name: one of a library between program and driver, which calls the driver's.
    pub(crate) is_one_of_several: AtomicBool,
}

impl WrappedFunction {
    /// None yet.
    pub(crate) const fn new() -> WrappedFunction {
        WrappedFunction {
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

    /// Like [`WrappedFunction::set`], but of the query with that number.
    pub(crate) fn set_query(&self, function: Function, query: usize, is_checked: bool, real: *mut c_void) {
        self.query.store(query as u32 + 1, Relaxed);
        self.is_checked.store(is_checked, Relaxed);
        self.set(function, real);
    }

    /// Another wrapped function has its name.
    pub(crate) fn set_one_of_several(&self) {
        self.is_one_of_several.store(true, Relaxed);
    }

    /// Its name from now on.
    pub(crate) fn set_name(&self, name: u32) {
        self.name.store(name, Relaxed);
    }

    /// In a fork's child: it has no name.
    pub(crate) fn forget_name(&self) {
        self.set_name(0);
    }

    /// Its number, as [`Hooks::number`](crate::Hooks::number) gave it.
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

    /// Its name for this process, once [`Hooks::name`](crate::Hooks::name) gave one.
    #[inline]
    pub fn name(&self) -> u32 {
        self.name.load(Relaxed)
    }
}
