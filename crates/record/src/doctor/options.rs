//! Options of an examination.

use std::ffi::OsString;
use std::time::Duration;

/// How long a healthy driver may take to answer, with many GPUs and no process that keeps them initialized.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Options of an examination.
#[derive(Clone, Debug)]
pub struct Options {
    /// Command line of a process that calls [`probe()`](super::probe()) and ends. That process calls the driver, because a broken
    /// driver can hang its caller.
    pub probe: Vec<OsString>,
    /// How long each started process may take; usually [`PATIENCE`].
    pub patience: Duration,
}
