//! Ends of threads and the last looks at them.

use rustc_hash::FxHashMap;
use spool::{Left, ThreadEnd};
use trace::Ns;

/// Ends of a process's threads, and the last looks at them.
#[derive(Default)]
pub(crate) struct Endings {
    pub ends: Vec<ThreadEnd>,
    /// By the thread's id, which the system uses again.
    pub left: FxHashMap<u64, Vec<LastLook>>,
}

/// The last look at a thread.
#[derive(Clone, Copy, Default)]
pub(crate) struct LastLook {
    pub at: Ns,
    /// The look that did not find it.
    pub gone: Ns,
    pub running: Ns,
    pub runnable: Ns,
}

impl Endings {
    /// A look did not find a thread any more.
    pub fn left(&mut self, left: Left) {
        let Left { at, running, runnable, gone, tid } = left;
        self.left.entry(tid).or_default().push(LastLook { at, gone, running, runnable });
    }

    /// Last look at a thread that ended so: nothing where no look found it; `None` where that is unknown.
    pub fn last_look(&self, end: &ThreadEnd, all_known: bool) -> Option<Option<&LastLook>> {
        match self.left.get(&end.tid) {
            Some(known) => known.iter().find(|left| (left.at..=left.gone).contains(&end.at)).map(Some),
            None => all_known.then_some(None),
        }
    }
}
