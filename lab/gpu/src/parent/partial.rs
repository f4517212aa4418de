//! Reason why a run is partial.

use crate::Error;

/// Reason why a run stopped before its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Partial {
    /// This signal.
    Signal(i32),
    /// [`Options::limit`](super::Options::limit).
    Limit,
}

impl std::fmt::Display for Partial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Partial::Signal(libc::SIGINT) => f.write_str("interrupted"),
            Partial::Signal(signal) => write!(f, "stopped by signal {signal}"),
            Partial::Limit => f.write_str("stopped at its time limit"),
        }
    }
}

impl Partial {
    /// The error of what came to nothing.
    pub(super) fn interrupting(self, what: &str) -> Error {
        Error::Interrupted { how: self.to_string(), what: what.to_owned() }
    }
}
