//! Copies of a call.

use trace::{CopyKind, MemoryKind, Ns, OpId};

/// Smallest copy whose rate means something, bytes.
pub(crate) const RATED_BYTES: i64 = 1 << 20;

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

/// Bytes per second.
pub(crate) fn rate(bytes: i64, time: Ns) -> f64 {
    bytes as f64 / (time.max(1) as f64 * 1e-9)
}
