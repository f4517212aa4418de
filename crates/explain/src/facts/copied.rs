//! Copies of a call.

use trace::{CopyKind, MemoryKind, Ns, OpId};

/// The copies of one call on the GPU, taken together.
#[derive(Clone, Copy)]
pub(crate) struct CopyFacts {
    pub first: OpId,
    pub start: Ns,
    pub end: Ns,
    pub what: Copied,
}

/// The size, direction and kinds of memory of a copy.
#[derive(Clone, Copy)]
pub(crate) struct Copied {
    pub bytes: i64,
    pub kind: CopyKind,
    pub src: MemoryKind,
    pub dst: MemoryKind,
}

impl CopyFacts {
    /// The time it ran, ns; at least 1.
    pub fn time(&self) -> Ns {
        (self.end - self.start).max(1)
    }
}

impl Copied {
    pub fn pageable(&self) -> bool {
        self.src == MemoryKind::Pageable || self.dst == MemoryKind::Pageable
    }
}
