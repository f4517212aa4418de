//! The loaded objects that were looked through already: reading all relocations of a large library takes longer than most
//! calls.

use crate::elf::Object;
use crate::loader::Loader;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// Most objects that are remembered; further ones are looked through again.
const MOST: usize = 1024;

/// A list of objects, changed by who holds the [`Loader`].
pub struct VisitedObjects {
    /// Where they are loaded, plus one.
    bases: [AtomicU64; MOST],
    count: AtomicUsize,
    /// Libraries that had been unloaded when the list was last used.
    unloaded: AtomicU64,
}

impl VisitedObjects {
    /// None.
    pub const fn new() -> VisitedObjects {
        let bases = [const { AtomicU64::new(0) }; MOST];
        VisitedObjects { bases, count: AtomicUsize::new(0), unloaded: AtomicU64::new(0) }
    }

    /// Before objects are looked through: forgets all if libraries were unloaded since. Another library may lie where one
    /// of these was.
    pub fn begin(&self, loader: &Loader) {
        let (_, unloaded) = loader.counts();
        if self.unloaded.swap(unloaded, Relaxed) != unloaded {
            self.forget();
        }
    }

    /// Whether an object is in the list.
    pub fn contains(&self, object: &Object<'_>) -> bool {
        let known = &self.bases[..self.count.load(Acquire).min(MOST)];
        known.iter().any(|base| base.load(Relaxed) == object.base().wrapping_add(1))
    }

    /// Adds an object.
    pub fn add(&self, object: &Object<'_>) {
        if let Some(place) = self.bases.get(self.count.load(Relaxed)) {
            place.store(object.base().wrapping_add(1), Relaxed);
            self.count.fetch_add(1, Release);
        }
    }

    /// Removes all.
    pub fn forget(&self) {
        self.count.store(0, Release);
    }
}
