//! Parts of a time, by cause, and a thread's time in such parts.

use crate::{Cause, Place};
use serde::Serialize;
use trace::Ns;

/// A part of a time.
#[derive(Clone, Debug, Serialize)]
pub struct AccountPart {
    /// The cause.
    pub cause: Cause,
    /// Its time, ns.
    pub ns: Ns,
    /// Where in the source, most time first; at most three.
    #[serde(rename = "where")]
    pub places: Vec<Place>,
    /// The calls in which, or before which, the time passed, most first; at most three.
    pub calls: Vec<String>,
    /// The finding that has most of this time; `None` if most of it is in none.
    pub finding: Option<String>,
    /// The time at each place, or in each call, most first; adds up to `ns`.
    #[serde(skip)]
    pub spent: Vec<Spent>,
}

/// A part of a time at one place, or in or before calls of one name.
#[derive(Clone, PartialEq, Debug)]
pub struct Spent {
    /// Where in the source; `None` if it is unknown.
    pub place: Option<Place>,
    /// The call, where the place is unknown; empty if that is, too.
    pub call: String,
    /// The time, ns.
    pub ns: Ns,
}

/// Places and calls that a part shows.
pub(super) const SHOWN: usize = 3;

/// A thread's time.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadAccount {
    /// Process id.
    pub pid: i64,
    /// Thread id, as the source gives it.
    pub tid: i64,
    /// The thread's name.
    pub name: String,
    /// From its first event to its last, ns.
    pub span_ns: Ns,
    /// Number of its CUDA calls; nested ones count once.
    pub calls: u64,
    /// Number of its launches of kernels and graphs.
    pub launches: u64,
    /// Activity of the thread by cause, most first; adds up to `span_ns`.
    pub parts: Vec<AccountPart>,
}
