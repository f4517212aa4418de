//! Counts of records that nobody can read.

/// How many records of some chunks were not read, or not whole.
#[derive(Clone, Copy, Default)]
pub(crate) struct UnreadCounts {
    /// They are too short for their kind.
    pub short: u64,
    /// A newer holdup may know their kind.
    pub unknown: u64,
    /// Their kind is one of other files: of a process's own, or of those beside them.
    pub misplaced: u64,
    /// Values that are none of their kind: they count as unknown.
    pub invalid: u64,
}
