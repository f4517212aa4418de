//! How programs are recorded.

use spool::Level;
use std::path::PathBuf;

/// How a program is recorded.
#[derive(Clone, Debug)]
pub struct Options {
    /// How much is recorded.
    pub level: Level,
    /// Calls at least this long get their stack recorded, ns; `None` for no stacks.
    pub stacks_ns: Option<u64>,
    /// Libraries besides the driver whose locks are watched, as beginnings of file names; empty for
    /// those that the capture library knows.
    pub locks: Vec<String>,
    /// Most bytes that all processes of the program may write together.
    pub max_size: u64,
    /// The directory to make the spool in.
    pub spool_parent: PathBuf,
}
