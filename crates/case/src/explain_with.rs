//! The way in which the caller explains traces.

use explain::{Explanation, Loss};
use trace::Trace;

/// Explains a trace, and lists the single losses: the caller's own way, so that findings have the same order and names everywhere.
pub type Explain<'a> = &'a dyn Fn(&Trace) -> (Explanation, Vec<Loss>);
