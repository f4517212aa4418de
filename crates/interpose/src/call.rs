//! A call of a wrapped function: it passes to the driver's, and to the hooks where calls are recorded.

use crate::clock::now;
use crate::hooks::{Hooks, Span, hooks};
use crate::process_state::{self, is_recording};
use crate::thread::{CallRef, OuterCall, Thread};
use crate::ticks::Ticks;
use crate::wrapped_function::{Arguments, Entry, WrappedFunction};
use libc::{c_int, c_void};
use std::sync::atomic::Ordering::Relaxed;

/// Calls the driver's function, and the hook afterwards.
///
/// # Safety
///
/// `args` are what the caller of `wrapped` gave.
#[inline]
pub(crate) unsafe fn run(wrapped: &'static WrappedFunction, args: &Arguments) -> usize {
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
pub(crate) struct BegunCall {
    pub thread: &'static Thread,
    pub hooks: &'static Hooks,
    /// The call it is made in.
    outer: OuterCall,
    start: Ticks,
}

impl BegunCall {
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
pub(crate) fn begin(wrapped: &'static WrappedFunction) -> Option<BegunCall> {
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
    Some(BegunCall { thread, hooks, outer, start })
}

/// Whether calls are recorded from now on.
#[cold]
#[inline(never)]
fn awakes() -> bool {
    process_state::begin_anew();
    is_recording() || hooks().is_some_and(|hooks| (hooks.idle)())
}

#[cold]
#[inline(never)]
fn first(thread: &'static Thread, hooks: &Hooks, wrapped: &WrappedFunction) -> u32 {
    let name = (hooks.name)(thread, wrapped.number());
    wrapped.set_name(name);
    name
}
