//! Options of a recording.

use crate::Schedule;
use spool::Level;
use std::path::PathBuf;

/// Options of a recording.
#[derive(Clone, Debug)]
pub struct Options {
    /// The level of detail.
    pub level: Level,
    /// Whether each node of a CUDA graph is recorded at level full.
    pub graph_nodes: bool,
    /// Shortest calls whose stacks are recorded, ns; `None` for no stacks.
    pub stacks_ns: Option<u64>,
    /// Libraries besides the driver whose locks are watched, as prefixes of file names; empty for those that the
    /// capture library knows.
    pub locks: Vec<String>,
    /// Samples of the threads' stacks per second; 0 for none.
    pub sample_rate: u32,
    /// The most bytes that all processes of the program may write together.
    pub max_size: u64,
    /// Whether the last records are kept where not all fit, not the first.
    pub keep_last: bool,
    /// When the program is recorded; of effect for a [`crate::Command`] alone.
    pub schedule: Schedule,
    /// The directory in which the spool is created.
    pub spool_parent: PathBuf,
}
