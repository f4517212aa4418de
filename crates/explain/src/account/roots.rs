//! What may delay a thread or a GPU: a cause with its culprit, and how much time each is charged with.

use super::idle::Trail;
use crate::Cause;
use crate::group::Key;
use rustc_hash::FxHashMap;
use trace::{DeviceId, Ns, ProcessId, Sym, ThreadId};

/// A cause and its culprit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Root {
    pub cause: Cause,
    pub culprit: Culprit,
}

impl Root {
    pub fn new(cause: Cause, culprit: Culprit) -> Root {
        Root { cause, culprit }
    }
}

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

/// Rows that are compared before a root is looked up: a thread that launches in a loop alternates between few.
const RECENT: usize = 4;

/// The time that each root is charged with.
#[derive(Default)]
pub(super) struct Charges {
    rows: Vec<(Root, Ns)>,
    known: FxHashMap<Root, usize>,
    recent: [usize; RECENT],
    next: usize,
    /// What was charged, one by one; `None` if only the sums are wanted.
    trail: Option<Trail>,
}

impl Charges {
    /// Empty sums that keep each single charge too, if that is wanted.
    pub fn kept(trail: bool) -> Charges {
        Charges { trail: trail.then(Trail::default), ..Charges::default() }
    }

    /// Charges a root with `ns` more. The charges of a gap are in the order of time.
    pub fn charge(&mut self, root: Root, ns: Ns) {
        if ns > 0 {
            let row = self.row(root);
            self.rows[row].1 += ns;
            if let Some(trail) = &mut self.trail {
                trail.push(row, ns);
            }
        }
    }

    /// Sets the threads of the chain to which the next charges belong.
    pub fn enter(&mut self, chain: &[ThreadId]) {
        if let Some(trail) = &mut self.trail {
            trail.enter(chain);
        }
    }

    /// The single charges, where they are kept.
    pub fn trail(&mut self) -> Option<&mut Trail> {
        self.trail.as_mut()
    }

    fn row(&mut self, root: Root) -> usize {
        let is_it = |row: &usize| self.rows.get(*row).is_some_and(|(known, _)| *known == root);
        if let Some(row) = self.recent.into_iter().find(is_it) {
            return row;
        }
        let row = *self.known.entry(root).or_insert_with(|| {
            self.rows.push((root, 0));
            self.rows.len() - 1
        });
        self.recent[self.next] = row;
        self.next = (self.next + 1) % RECENT;
        row
    }

    /// Every root that was charged, with its time; each once.
    pub fn rows(&self) -> &[(Root, Ns)] {
        &self.rows
    }
}
