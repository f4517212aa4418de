//! The start-up: the time before a program repeats anything.

use super::blame::Blame;
use super::part::ThreadAccount;
use serde::Serialize;
use trace::Ns;

/// The time before a program repeats anything: imports, building the model, compilers, its first steps.
#[derive(Clone, Debug, Serialize)]
pub struct StartUp {
    /// Its time, ns.
    pub duration_ns: Ns,
    /// The time of the whole program, ns.
    pub program_ns: Ns,
    /// The account of the thread that made the first call; `None` if that had not begun.
    pub thread: Option<ThreadAccount>,
}

/// The account of a program's first thread until a moment. `spans` are the times of all threads.
pub(super) fn of(blame: &Blame<'_>, spans: &[(Ns, Ns)], until: Ns) -> StartUp {
    let facts = blame.facts;
    let (first, last) = facts.trace.span().unwrap_or((until, until));
    let calls = facts.calls_by_thread().iter().map(|calls| calls.first().map(|call| facts.start(*call)));
    let calling = facts.trace.threads.ids().zip(calls).filter_map(|(thread, at)| Some((at?, thread)));
    let before = calling.min().map(|(_, thread)| (thread, spans[thread.index()]));
    let before = before.filter(|(_, span)| span.0 < until);
    let thread =
        before.map(|(thread, span)| super::thread::thread(blame, thread, (span.0, span.1.min(until))).0);
    StartUp { duration_ns: (until - first).max(0), program_ns: last - first, thread }
}
