//! A value that one thread sets once and all read. Nobody waits: a thread that is gone in the middle of setting it,
//! as in a fork's child, holds nobody up. The value is never dropped.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const EMPTY: u8 = 0;
const WRITING: u8 = 1;
const SET: u8 = 2;

/// A value that is set once.
pub struct SetOnce<T> {
    state: AtomicU8,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the value is written by the one thread that changed `state` from EMPTY to WRITING, and read only after SET
// was seen, from when on nobody writes it.
unsafe impl<T: Send + Sync> Sync for SetOnce<T> {}

impl<T> SetOnce<T> {
    /// No value yet.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> SetOnce<T> {
        SetOnce { state: AtomicU8::new(EMPTY), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// The value, once it is set.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: SET was seen, so the value is complete and stays as it is.
        (self.state.load(Acquire) == SET).then(|| unsafe { (*self.value.get()).assume_init_ref() })
    }

    /// Sets the value; false when it is set already, or another thread is setting it.
    pub fn set(&self, value: T) -> bool {
        if self.state.compare_exchange(EMPTY, WRITING, Acquire, Relaxed).is_err() {
            return false;
        }
        // SAFETY: only the thread that changed the state to WRITING gets here, and nobody reads before SET.
        unsafe { (*self.value.get()).write(value) };
        self.state.store(SET, Release);
        true
    }

    /// In a fork's child: a thread that was setting it is not here, so another may.
    ///
    /// # Safety
    ///
    /// No other thread sets it meanwhile: else two may write the value at once.
    pub unsafe fn forked(&self) {
        // Whether it was WRITING: a value that is set stays.
        _ = self.state.compare_exchange(WRITING, EMPTY, Relaxed, Relaxed);
    }
}

#[cfg(test)]
mod tests;
