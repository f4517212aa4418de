//! Options of a run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How to run a workload.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether each call of the bodies is timed, which costs about 40 ns; without, [`ThreadOutcome::calls`] is empty.
    ///
    /// [`ThreadOutcome::calls`]: workload::ThreadOutcome::calls
    pub timed: bool,
    /// Whether every call is recorded, for a Trace, in 24 bytes of memory each; calls are timed then, too.
    pub trace: bool,
    /// Whether each thread stays on one processor, numbered across processes.
    pub pinned: bool,
    /// Environment variables for the processes, such as those of a tool that records them; `None` removes one.
    pub environment: Vec<(String, Option<OsString>)>,
    /// The longest that the run may take; then it is stopped and partial.
    pub limit: Option<Duration>,
    /// The executable to start as the processes: one that calls [`child_main`](crate::child_main) first. This process's
    /// own when `None`.
    pub executable: Option<PathBuf>,
}
