//! Stacks and threads of a process, as looks from outside saw them.

use rustc_hash::FxHashMap;
use spool::{PythonFrame, Unseen};
use std::collections::BTreeMap;
use trace::{Ns, StackId, ThreadState};

/// State of a process's threads while its looks are read.
#[derive(Default)]
pub(crate) struct WatchState {
    pub stacks: FxHashMap<u32, PendingStack>,
    pub threads: BTreeMap<u32, ThreadActivity>,
    pub unseen: Option<Unseen>,
}

/// A stack: its frames until a sample needs its row.
pub(crate) enum PendingStack {
    Frames(Vec<u64>, Vec<PythonFrame>),
    Row(StackId),
}

/// Current activity of a thread.
pub(crate) struct ThreadActivity {
    pub stack: StackId,
    pub state: ThreadState,
    /// The look that saw it so, how long after that its stack was read, and its last sample.
    pub since: Ns,
    pub after: Ns,
    pub sampled: Ns,
}
