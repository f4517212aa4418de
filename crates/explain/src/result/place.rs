//! A place in the source.

use serde::Serialize;

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// Source file, or library.
    pub file: String,
    /// Line from 1; 0 when unknown.
    pub line: u32,
    /// Function or operator.
    pub function: String,
}
