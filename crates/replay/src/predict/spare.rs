//! Large values that are used again: memory takes longer to get from the system than to fill.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Values that nobody uses now.
pub(crate) struct Spare<T>(Mutex<Vec<T>>);

impl<T> Spare<T> {
    pub fn new() -> Spare<T> {
        Spare(Mutex::new(Vec::new()))
    }

    /// A value that was used before.
    pub fn take(&self) -> Option<T> {
        self.values().pop()
    }

    /// Keeps a value that is no longer used.
    pub fn keep(&self, value: T) {
        self.values().push(value);
    }

    fn values(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
