//! The margins of a program: the time before it repeats anything, and the time after its GPUs' last work.

use super::blame::Blame;
use super::part::ThreadAccount;
use serde::Serialize;
use trace::Ns;

/// A time at the start or the end of a program: imports, building the model, compilers, its first steps; or its results, once the GPUs
/// are done.
#[derive(Clone, Debug, Serialize)]
pub struct Margin {
    /// Its time, ns.
    pub duration_ns: Ns,
    /// The time of the whole program, ns.
    pub program_ns: Ns,
    /// The account of the thread that made the first call; `None` if it was not there.
    pub thread: Option<ThreadAccount>,
}

/// The account of a program's first thread in a time. `spans` are the times of all threads.
pub(super) fn of(blame: &Blame<'_>, spans: &[(Ns, Ns)], (from, to): (Ns, Ns)) -> Margin {
    let facts = blame.facts;
    let (first, last) = facts.trace.span().unwrap_or((from, to));
    let (from, to) = (from.max(first), to.min(last));
    let calls = facts.calls_by_thread().iter().map(|calls| calls.first().map(|call| facts.start(*call)));
    let calling = facts.trace.threads.ids().zip(calls).filter_map(|(thread, at)| Some((at?, thread)));
    let calling = calling.min().map(|(_, thread)| (thread, spans[thread.index()]));
    let within = calling.map(|(thread, span)| (thread, (span.0.max(from), span.1.min(to))));
    let within = within.filter(|(_, (from, to))| from < to);
    let thread = within.map(|(thread, span)| super::thread::thread(blame, thread, span).0);
    Margin { duration_ns: (to - from).max(0), program_ns: last - first, thread }
}
