//! Waits of threads for locks of the program and for each other, as records.

use rustc_hash::FxHashMap;
use spool::{PythonFrame, ThreadWait, Unplaced};

/// Records of waits in a process's file, until all of it is read.
#[derive(Default)]
pub(crate) struct ThreadWaits {
    /// The thread that waited, the number of what it waited for, and the wait.
    pub waits: Vec<(u32, u32, ThreadWait)>,
    pub places: FxHashMap<u64, RawStack>,
    /// How often the recording had no time for a place.
    pub unplaced: u64,
}

/// Where a thread was: return addresses and Python frames, innermost first.
pub(crate) struct RawStack {
    pub native: Vec<u64>,
    pub python: Vec<PythonFrame>,
}

impl ThreadWaits {
    pub fn is_empty(&self) -> bool {
        self.waits.is_empty() && self.unplaced == 0
    }

    /// Keeps a wait of the thread `tid` for a [`spool::Awaited`] of that number.
    pub fn wait(&mut self, tid: u32, awaited: u32, wait: ThreadWait) {
        self.waits.push((tid, awaited, wait));
    }

    pub fn place(&mut self, number: u64, native: Vec<u64>, python: Vec<PythonFrame>) {
        self.places.insert(number, RawStack { native, python });
    }

    pub fn unplaced(&mut self, Unplaced { count }: Unplaced) {
        self.unplaced = self.unplaced.saturating_add(count);
    }
}
