//! What may hold a GPU up: a cause with its culprit, each once.

use crate::Cause;
use crate::group::Key;
use rustc_hash::FxHashMap;
use trace::{DeviceId, ProcessId, Sym};

/// A row of [`Roots`].
pub(super) type RootId = u32;

/// Who or what is to blame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Culprit {
    /// A part of slow calls: those of one finding.
    Part(Key),
    /// A lock of a process that is not CUDA's, by its address.
    Lock(ProcessId, i64),
    /// The work of calls of this name.
    Call(ProcessId, Sym),
    /// What threads do outside calls at a place: a row of [`super::spots::Spots`].
    Spot(ProcessId, u32),
    /// What threads do outside calls at an unknown place, before they make calls of this name.
    Before(ProcessId, Sym),
    /// What threads do between calls that follow each other at once.
    Between(ProcessId),
    /// The GPU itself.
    Device(DeviceId),
}

/// All roots, numbered.
#[derive(Default)]
pub(super) struct Roots {
    rows: Vec<(Cause, Culprit)>,
    known: FxHashMap<(Cause, Culprit), RootId>,
}

impl Roots {
    /// The number of a root.
    pub fn root(&mut self, cause: Cause, culprit: Culprit) -> RootId {
        let next = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        *self.known.entry((cause, culprit)).or_insert_with(|| {
            self.rows.push((cause, culprit));
            next
        })
    }

    pub fn row(&self, root: RootId) -> (Cause, Culprit) {
        self.rows[root as usize]
    }
}
