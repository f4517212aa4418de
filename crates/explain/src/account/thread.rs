//! A thread's time by what it did.

use super::blame::Blame;
use super::by_cause::{by_cause, charged};
use super::part::ThreadAccount;
use super::roots::{Charges, Path, Root};
use super::settle;
use trace::{Ns, ThreadId};
use waits::Class;

/// A thread's time, and the roots of its parts.
pub(super) fn thread(
    blame: &Blame<'_>,
    thread: ThreadId,
    (first, last): (Ns, Ns),
) -> (ThreadAccount, Vec<(Root, Ns)>) {
    let trace = blame.facts.trace;
    let mut charges = Charges::default();
    blame.activity.walk(thread, first, last, |segment| {
        blame.alone(&mut charges, &Path::of(thread), &segment);
    });
    let row = trace.threads.row(thread);
    let roots = charged(&settle::settle(charges.done(), blame.facts.trace, blame.sites));
    let calls = &blame.facts.calls_by_thread()[thread.index()];
    let account = ThreadAccount {
        pid: row.process.some().map_or(0, |process| trace.processes.pid[process.index()]),
        tid: row.tid,
        name: trace.text(row.name).to_owned(),
        span_ns: last - first,
        calls: calls.len() as u64,
        launches: calls.iter().filter(|call| blame.facts.class(**call) == Class::Launch).count() as u64,
        parts: by_cause(blame, &roots),
    };
    (account, roots)
}
