//! Options of a run.

/// Records that a run makes, and its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether to make a Trace.
    pub trace: bool,
    /// The most rows of a Trace: calls, operations, waits and synchronizations together. Further rows are counted as lost.
    pub most_rows: usize,
    /// The most calls, operations of graphs and other steps of all threads. A workload with more is refused.
    pub most_calls: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { trace: false, most_rows: 20_000_000, most_calls: 1_000_000_000 }
    }
}
