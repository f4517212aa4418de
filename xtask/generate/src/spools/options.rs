//! Options of a made-up spool, and how often it has a stall.

/// One step in this many is a stall.
pub(super) const STALL: i64 = 1000;

/// Options of the spool to make.
pub struct Options {
    /// About how many events: calls, GPU operations and waits.
    pub events: u64,
    /// Two spools of one seed and size are the same to the byte.
    pub seed: u64,
    /// So many threads whose every launch waits for the mutex that another's holds, instead; 0 for none.
    pub convoy: u32,
    /// So many threads recorded at level full, instead; 0 for none.
    pub full: u32,
}
