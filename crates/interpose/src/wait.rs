//! A wait of a thread that is over, and which waits are long.

use crate::lock_kind::{Layer, LockKind, LockMode};
use crate::thread::{CallRef, Party};
use crate::ticks::{Ns, Ticks};
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

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
    /// The library that waited, by the number that the caller of [`watch`](crate::watch) gave it; 0 in other layers than
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
    /// Number of the waiter's place, as [`Hooks::keep_place`](crate::Hooks::keep_place) gave it; 0 for unknown, as of the following.
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

/// Waits of at least so many ticks are long.
static LONG_WAIT: AtomicI64 = AtomicI64::new(Ns::MAX);

/// From now on waits of at least so many ticks are long.
pub(crate) fn set_long(ticks: Ticks) {
    LONG_WAIT.store(ticks, Relaxed);
}

/// Whether a wait of so many ticks is long.
pub(crate) fn is_long(ticks: Ticks) -> bool {
    ticks >= LONG_WAIT.load(Relaxed)
}
