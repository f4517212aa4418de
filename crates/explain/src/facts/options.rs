//! The calls to explain, and from which duration on.

use trace::{Ns, Selection};

/// The calls to explain.
///
/// Without a selected time or range, [`explain()`](crate::explain()) covers the part that the program repeats, if it has one, without the
/// start-up: [`Accounts::steady`](crate::Accounts::steady). To explain all of the time, select it.
#[derive(Clone, Debug)]
pub struct Options {
    /// The threshold, ns: longer calls are slow and are explained, as are longer waits outside calls.
    pub min_wait_ns: Ns,
    /// The calls, and the waits outside calls, that may appear as waiters; the rest of the trace still serves as
    /// evidence. A wait outside calls has the name of its library.
    pub selection: Selection,
}

impl Default for Options {
    fn default() -> Self {
        Options { min_wait_ns: 100_000, selection: Selection::default() }
    }
}
