//! Findings of the account's roots: their words, threads, places and fixes.

use super::costs::{
    Roots, confidence, evidence, example, inner_beside, is_brief, is_chained, is_one_place, name, phase_of,
    stack, united,
};
use crate::About;
use crate::account::{Culprit, Link, Row, Sampled};
use crate::analysis::group::Key;
use crate::facts::call_tree::TreeRow;
use crate::facts::marks::Mark;
use crate::findings::fitting::Fitting;
use crate::findings::handles;
use crate::result::finding::{ChainLink, Phase};
use crate::rules::about::Statement;
use crate::rules::fixes::{EAGER_LOADING, of_memory};
use crate::{Cause, Detail, Finding, Party, Pauses, Place, Waiter};
use rustc_hash::FxHashMap;
use trace::{Ns, StackId, ThreadId};

impl<'a> Roots<'a> {
    /// The finding of rows that belong together.
    pub(super) fn finding(&self, mut rows: Vec<&Row>, parts: &FxHashMap<Key, Place>) -> Finding {
        rows.sort_by_key(|row| (std::cmp::Reverse(row.ns), row.root));
        let mut all = united(&rows);
        let cause = all.root.cause;
        let evidence = evidence(self.facts, &all.root);
        let Statement { because, why, fixes } = About::of(cause).of_account(evidence);
        let is_one_place = is_one_place(&rows);
        let chained = Chained::of(&rows, &mut all, is_one_place);
        let (waiters, span) = self.waiters(&all);
        let Sampled { mut places, tree, mark } = self.places(&rows, parts);
        let pieces = self.pieces(cause);
        let call = self.called(&rows).or(pieces).unwrap_or_default();
        if let Some(name) = self.facts.pieces().filter(|_| pieces.is_some() && places.is_empty()) {
            places = self.places_in_calls(&waiters, name);
        }
        let waiter = waiters.first().map_or(ThreadId::NONE, |(thread, _)| *thread);
        let called = if chained.is_held { "" } else { call };
        let is_between = is_between(&rows) || is_brief(cause, all.count, all.ns);
        let in_pieces = pieces == Some(call) || is_between && self.facts.pieces().is_some();
        let about = Fitting { cause, call, place: places.first(), mark, is_between, in_pieces };
        let inner = self.inner((cause, waiter), &all, &places, (mark, &tree));
        let mut finding = Finding {
            id: String::new(),
            cause,
            is_of_account: true,
            cost_ns: 0,
            cost_share: 0.0,
            removal: None,
            short_calls: 0,
            other_calls: self.other_calls(&rows, call),
            phase: Phase::Recurring,
            chain: Vec::new(),
            lost_ns: all.ns,
            share: all.ns as f64 / span.max(all.ns).max(1) as f64,
            count: all.count,
            pauses: self.pauses(&all),
            max_ns: all.longest[0].0,
            threads: waiters.iter().map(|(thread, _)| self.waiter(*thread, called)).collect(),
            waiter: self.party(waiter, waiters.len(), called, Vec::new()),
            holder: chained.holder.map(|thread| self.party(thread, chained.holders, call, places.clone())),
            or: Vec::new(),
            evidence,
            confidence: confidence(evidence),
            because,
            why,
            fixes: about.fitting(handles::fixes(
                self.facts.trace,
                self.stacks(&rows),
                of_memory(&fixes, call),
            )),
            places: if chained.is_held { self.places_of_lock(&rows) } else { places },
            work: mark.map(Mark::title).unwrap_or_default(),
            inner,
            tree,
            examples: all.longest.iter().filter(|(ns, _)| *ns > 0).map(example).collect(),
            framework: self.frameworks.of(rows.iter().filter_map(|row| stack(row.root.culprit))),
        };
        self.cost(&mut finding, &all);
        self.repeat(finding, is_one_place.then(|| rows[0]))
    }

    /// A finding with the time at which it arises, which its only row states: of many processes, none has most of what each does once.
    fn repeat(&self, mut finding: Finding, only: Option<&Row>) -> Finding {
        finding.phase = only.map_or(finding.phase, phase_of);
        // What is built again and again is not known before.
        let repeats = finding.cause == Cause::KernelBuild && finding.phase == Phase::Recurring;
        finding.fixes.retain(|fix| !repeats || *fix != EAGER_LOADING);
        finding
    }

    /// The threads that waited, the one that waited most first, with the time that they were there together.
    fn waiters(&self, all: &Row) -> (Vec<(ThreadId, Ns)>, Ns) {
        let mut waiters = all.waiters.clone();
        waiters.sort_by_key(|(thread, ns)| (std::cmp::Reverse(*ns), *thread));
        let span = waiters.iter().map(|(thread, _)| self.facts.chosen_span(*thread)).sum();
        (waiters, span)
    }

    /// The first call that is to blame.
    fn called(&self, rows: &[&Row]) -> Option<&'a str> {
        rows.iter().find_map(|row| self.call(row.root.culprit))
    }

    /// The call that is made most where launches cost time: it is what they are.
    fn pieces(&self, cause: Cause) -> Option<&'a str> {
        let pieces = self.facts.pieces().filter(|_| matches!(cause, Cause::LaunchLatency | Cause::OwnWork));
        pieces.map(|name| self.facts.trace.text(name))
    }

    /// The stacks of all that is to blame, and those of the calls in which time was lost.
    fn stacks<'r>(&'r self, rows: &'r [&Row]) -> impl Iterator<Item = StackId> + 'r {
        let calls = rows.iter().flat_map(|row| &row.calls.calls);
        let recorded = calls.map(|(call, _)| self.facts.trace.calls.stack[call.index()]);
        rows.iter().filter_map(|row| stack(row.root.culprit)).chain(recorded)
    }

    /// How many calls are of other functions.
    fn other_calls(&self, rows: &[&Row], call: &str) -> u64 {
        let is_other = |row: &&&Row| self.call(row.root.culprit).is_some_and(|own| own != call);
        rows.iter().filter(is_other).map(|row| row.count).sum()
    }

    /// Places of the work below the place of a finding.
    fn inner(
        &self,
        (cause, waiter): (Cause, ThreadId),
        all: &Row,
        places: &[Place],
        (mark, tree): (Option<Mark>, &[TreeRow]),
    ) -> Vec<Place> {
        match self.loads_in_children(cause, waiter) {
            Some(place) => vec![place.clone()],
            None if tree.is_empty() && mark.is_none() => {
                self.operator_within(all, places).into_iter().collect()
            }
            None if tree.is_empty() => {
                mark.and_then(|mark| self.caller_of(all, places, mark)).into_iter().collect()
            }
            None => inner_beside(mark, tree),
        }
    }

    /// The place of the workers that make a thread's batches.
    fn loads_in_children(&self, cause: Cause, waiter: ThreadId) -> Option<&Place> {
        let process = waiter.some().map(|thread| self.facts.trace.process_of_thread(thread));
        let process = process.filter(|_| cause == Cause::DataLoading)?;
        self.costs.loads_in_children(self.facts.trace, process)
    }

    /// The pauses that have at least half of a row's time.
    fn pauses(&self, row: &Row) -> Option<Pauses> {
        let most = row.between.iter().max_by_key(|pauses| pauses.ns)?;
        let [after, before] = most.calls.map(|call| self.facts.trace.text(call));
        let is_most = most.ns >= row.ns / 2 && !after.is_empty() && !before.is_empty();
        is_most.then(|| Pauses {
            count: most.count,
            ns: most.ns,
            after: after.to_owned(),
            before: before.to_owned(),
        })
    }

    pub(super) fn party(&self, thread: ThreadId, threads: usize, call: &str, places: Vec<Place>) -> Party {
        let trace = self.facts.trace;
        let row = thread.some().map(|thread| trace.threads.row(thread)).unwrap_or_default();
        let name = trace.text(row.name);
        Party {
            pid: row.process.some().map_or(0, |process| trace.processes.pid[process.index()]),
            tid: row.tid,
            thread: if name.is_empty() { row.tid.to_string() } else { name.to_owned() },
            threads: threads as u64,
            call: call.to_owned(),
            detail: Detail::None,
            places,
        }
    }

    fn waiter(&self, thread: ThreadId, call: &str) -> Waiter {
        let Party { pid, tid, thread, call, .. } = self.party(thread, 1, call, Vec::new());
        Waiter { pid, tid, thread, call }
    }

    pub(super) fn call(&self, culprit: Culprit) -> Option<&'a str> {
        name(culprit).map(|name| self.facts.trace.text(name))
    }

    /// The chain of a row, root first; empty if nobody waited for another thread.
    pub(super) fn chain(&self, row: &Row) -> Vec<ChainLink> {
        if !is_chained(row) {
            return Vec::new();
        }
        let link = |link: &Link| {
            let root = link.wait.unwrap_or(row.root);
            let party = self.party(link.thread, 1, "", Vec::new());
            ChainLink {
                pid: party.pid,
                tid: party.tid,
                thread: party.thread,
                cause: root.cause,
                call: self.call(root.culprit).map(str::to_owned),
                place: if link.wait.is_none() {
                    self.place(root.culprit, &FxHashMap::default())
                } else {
                    None
                },
            }
        };
        row.chain.iter().map(link).collect()
    }
}

/// Threads that are waited for at the root of a finding.
struct Chained {
    /// Whether waits lead to the root, or a lock's holder is it.
    is_held: bool,
    /// The thread that does what others wait for, if they wait.
    holder: Option<ThreadId>,
    /// How many threads hold.
    holders: usize,
}

impl Chained {
    /// Roots of rows, the one of most time first, which `all` unites. Rows of several places may have several chains: then none is
    /// shown, and of a lock's holders the one of most time.
    fn of(rows: &[&Row], all: &mut Row, is_one_place: bool) -> Chained {
        let root = |row: &Row| row.chain.first().map(|link| link.thread);
        let is_of_lock = matches!(all.root.cause, Cause::Gil | Cause::Lock) && is_chained(all);
        let held = rows.iter().filter(|row| is_chained(row));
        let mut holders: Vec<ThreadId> = held.filter_map(|row| root(row)).collect();
        holders.sort_unstable();
        holders.dedup();
        if !is_one_place && !rows.iter().all(|row| root(row) == root(rows[0])) {
            all.chained = 0;
        }
        let is_held = is_of_lock || is_chained(all);
        let holder = root(rows[0]).or(root(all)).filter(|_| is_held);
        Chained { is_held, holder, holders: holders.len() }
    }
}

/// Whether all of the time lies between calls.
fn is_between(rows: &[&Row]) -> bool {
    rows.iter().all(|row| matches!(row.root.culprit, Culprit::Between(_)))
}
