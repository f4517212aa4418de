//! Declaration of a change.

use super::Scene;
use crate::Recovered;

/// A change.
pub struct Fix {
    /// Its name in every output: `own-stream`.
    pub id: &'static str,
    /// Advice to the programmer.
    pub text: &'static str,
    /// When it is safe.
    pub safety: &'static str,
    /// Applies it. Returns how many calls or operations it changed: none if it does not fit the trace.
    pub(crate) apply: fn(&Scene<'_>, &mut Recovered) -> usize,
}
