//! Options of a recording.

use spool::Level;
use std::path::PathBuf;

/// Options of a recording.
#[derive(Clone, Debug)]
pub struct Options {
    /// The level of detail.
    pub level: Level,
    /// Shortest calls whose stacks are recorded, ns; `None` for no stacks.
    pub stacks_ns: Option<u64>,
    /// Libraries besides the driver whose locks are watched, as prefixes of file names; empty for those that the
    /// capture library knows.
    pub locks: Vec<String>,
    /// The most bytes that all processes of the program may write together.
    pub max_size: u64,
    /// The directory in which the spool is created.
    pub spool_parent: PathBuf,
}
