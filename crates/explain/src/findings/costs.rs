//! Costs of findings to the GPUs: the idle time whose root each is. Roots outside slow calls become findings of their own.

use crate::About;
use crate::account::{Costs, Culprit, Root, Row, SpotId};
use crate::analysis::group::Key;
use crate::facts::Facts;
use crate::facts::call_tree::{TreeRow, inner, inner_above};
use crate::facts::marks::Mark;
use crate::findings::links::may_be_of_calls;
use crate::result::finding::Phase;
use crate::result::framework::{Frameworks, PROFILE_OF_PYTORCH};
use crate::{Cause, Confidence, Evidence, Example, Finding, Place, Unselected};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use trace::{Ns, Source, StackId, Sym};

/// A cost happens once if its three longest stretches are at least this part of it, in tenths, and the longest one half of it.
/// Choices: of three equal ones nobody knows that there is no fourth.
const ONCE: Ns = 8;

/// When a cost arises, by its longest stretches.
pub(crate) fn phase(cause: Cause, ns: Ns, longest: impl IntoIterator<Item = Ns>) -> Phase {
    let (most, all) =
        longest.into_iter().fold((0, 0), |(most, all): (Ns, Ns), ns| (most.max(ns), all.saturating_add(ns)));
    // A collector runs wherever the program happens to be, so that few of its runs are at one place.
    let is_few = all / ONCE >= ns / 10 && most >= ns / 2 && (cause != Cause::GarbageCollection || most == ns);
    let once = cause == Cause::FirstUse || is_few;
    if once { Phase::Once } else { Phase::Recurring }
}

/// A cost that is no smaller part of what threads lost tells whether a finding recurs: a tenth.
const MUCH: Ns = 10;

/// The same in a program whose processes come and go: each sets up what the ones before it did.
pub(super) fn phase_in(
    facts: &Facts<'_>,
    cause: Cause,
    ns: Ns,
    longest: impl IntoIterator<Item = Ns>,
) -> Phase {
    match matches!(cause, Cause::ObjectChurn | Cause::FirstUse) && facts.makes_processes() {
        true => Phase::Recurring,
        false => phase(cause, ns, longest),
    }
}

/// When the cost of a row arises.
pub(super) fn phase_of(row: &Row) -> Phase {
    phase(row.root.cause, row.ns, row.longest.map(|(ns, _)| ns))
}

/// The roots of the GPUs' idle time, by the findings that they belong to.
pub(crate) struct Roots<'a> {
    pub(super) facts: &'a Facts<'a>,
    pub(super) costs: &'a Costs,
    pub(super) frameworks: &'a Frameworks<'a>,
    /// The rows that no finding of slow calls has taken.
    left: Vec<bool>,
}

impl<'a> Roots<'a> {
    pub fn new(facts: &'a Facts<'a>, costs: &'a Costs, frameworks: &'a Frameworks<'a>) -> Roots<'a> {
        Roots { facts, costs, frameworks, left: vec![true; costs.rows.len()] }
    }

    /// Whether the GPUs' time is known: findings rank by it.
    pub fn are_known(&self) -> bool {
        self.costs.gpu_ns > 0
    }

    /// Gives the cost of its roots to a finding of slow calls: those parts, and the calls' own work of the same cause.
    pub fn take(&mut self, finding: &mut Finding, is_own: impl Fn(&Root) -> bool) {
        let mut sum: Option<Row> = None;
        let mut others = 0;
        for (row, left) in self.costs.rows.iter().zip(&mut self.left) {
            if *left && is_own(&row.root) {
                *left = false;
                let call = name(row.root.culprit).map(|name| self.facts.trace.text(name));
                others += call.filter(|call| *call != finding.waiter.call).map_or(0, |_| row.count);
                match &mut sum {
                    Some(sum) => sum.absorb(row.clone()),
                    None => sum = Some(row.clone()),
                }
            }
        }
        if let Some(row) = sum {
            self.cost(finding, &row);
            with_short_calls(finding, &row, others);
        }
    }

    pub(super) fn cost(&self, finding: &mut Finding, row: &Row) {
        finding.cost_ns = row.ns;
        finding.cost_share = row.ns as f64 / self.costs.gpu_ns.max(1) as f64;
        // What costs the GPUs little may still be what a thread loses again and again.
        if row.ns * MUCH >= finding.lost_ns {
            finding.phase = phase_in(self.facts, row.root.cause, row.ns, row.longest.map(|(ns, _)| ns));
        }
        finding.chain = self.chain(row);
    }

    fn left(&self) -> impl Iterator<Item = &'a Row> {
        self.costs.rows.iter().zip(&self.left).filter(|(_, left)| **left).map(|(row, _)| row)
    }

    /// Findings of the roots that are left, with these roots. `parts` has the places of slow calls.
    pub fn rest(&self, parts: &FxHashMap<Key, Place>) -> Vec<(Finding, Vec<Root>)> {
        let rows = self.left().filter(|row| is_chosen(self.facts, row));
        let found = |rows: Vec<&Row>| {
            let roots = rows.iter().map(|row| row.root).collect();
            (self.finding(rows, parts), roots)
        };
        worth_a_finding(rows, self.costs.worth_ns).map(found).collect()
    }

    /// The roots that are left because no finding of what is selected has them, by cause, most first.
    pub fn unselected(&self) -> Vec<Unselected> {
        let mut times = BTreeMap::<Cause, Ns>::new();
        for row in self.left().filter(|row| is_finding(&row.root) && !is_chosen(self.facts, row)) {
            *times.entry(row.root.cause).or_default() += row.ns;
        }
        let of_cause = |(cause, cost_ns)| {
            let cost_share = cost_ns as f64 / self.costs.gpu_ns.max(1) as f64;
            Unselected { cause, cost_ns, cost_share }
        };
        let mut unselected: Vec<_> = times.into_iter().map(of_cause).collect();
        unselected.sort_by_key(|one| std::cmp::Reverse(one.cost_ns));
        unselected
    }
}

/// Counts the short calls of the same cause whose cost a finding of slow ones has, where they cost the GPUs more than these lost.
/// `others` of them are of other functions.
fn with_short_calls(finding: &mut Finding, row: &Row, others: u64) {
    if row.ns > finding.lost_ns {
        finding.short_calls = row.count.saturating_sub(finding.count);
        finding.other_calls = others.min(finding.short_calls);
    }
}

/// Whether a row may be a finding's: not if it is not selected, or if no selected thread waited for it.
fn is_chosen(facts: &Facts<'_>, row: &Row) -> bool {
    let mut waiters = row.waiters.iter().map(|(thread, _)| *thread);
    !facts.chooses_calls()
        || row.root.is_selected
            && (row.waiters.is_empty() || waiters.any(|thread| facts.is_chosen_thread(thread)))
}

/// Rows that make findings by themselves, those of one finding together.
fn worth_a_finding<'r>(
    rows: impl Iterator<Item = &'r Row>,
    worth_ns: Ns,
) -> impl Iterator<Item = Vec<&'r Row>> {
    by_finding(rows, worth_ns).filter(move |rows| time(rows) >= worth_ns)
}

/// Rows that would make one finding together, if that is worth one.
fn by_finding<'r>(rows: impl Iterator<Item = &'r Row>, worth_ns: Ns) -> impl Iterator<Item = Vec<&'r Row>> {
    let mut groups = FxHashMap::<(Cause, Same), Vec<&Row>>::default();
    for row in rows.filter(|row| is_finding(&row.root)) {
        let same = Same::of(row, row.ns >= worth_ns);
        groups.entry((row.root.cause, same)).or_default().push(row);
    }
    groups.into_values()
}

pub(super) fn time(rows: &[&Row]) -> Ns {
    rows.iter().map(|row| row.ns).sum()
}

/// The cause of the finding that costs the GPUs most, of equal ones the first. `causes` are those of the findings of slow calls in their
/// order, `finding` says to which of these a root belongs.
pub(crate) fn first_cause(
    facts: &Facts<'_>,
    costs: &Costs,
    causes: &[Cause],
    finding: impl Fn(&Root) -> Option<usize>,
) -> Option<Cause> {
    if costs.gpu_ns == 0 {
        return causes.first().copied();
    }
    let mut of_calls = vec![0; causes.len()];
    let mut left = Vec::new();
    for row in &costs.rows {
        match finding(&row.root) {
            Some(at) => of_calls[at] += row.ns,
            None if is_chosen(facts, row) => left.push(row),
            None => {}
        }
    }
    let own = of_calls.into_iter().zip(causes).enumerate().map(|(at, (ns, cause))| (ns, at, *cause));
    let rest = worth_a_finding(left.into_iter(), costs.worth_ns);
    let rest = rest.map(|rows| (time(&rows), causes.len(), rows[0].root.cause));
    let first = own.chain(rest).min_by_key(|(ns, at, cause)| (std::cmp::Reverse(*ns), *at, *cause));
    first.map(|(_, _, cause)| cause)
}

/// The cause that [`first_cause`] finds whatever the findings of slow calls are; `None` if it depends on them. They can have at most
/// what is charged to calls, which if they do not have it adds to other findings.
pub(crate) fn first_in_any_case(facts: &Facts<'_>, costs: &Costs) -> Option<Cause> {
    if costs.gpu_ns == 0 {
        return None;
    }
    let (of_calls, others): (Vec<&Row>, Vec<&Row>) =
        costs.rows.iter().partition(|row| may_be_of_calls(&row.root));
    let others = others.into_iter().filter(|row| is_chosen(facts, row));
    let findings = by_finding(others, costs.worth_ns);
    let mut times: Vec<(Ns, Cause)> = findings.map(|rows| (time(&rows), rows[0].root.cause)).collect();
    times.sort_unstable_by_key(|(ns, cause)| (std::cmp::Reverse(*ns), *cause));
    let (first, cause) = *times.first()?;
    let second = times.get(1).map_or(0, |(ns, _)| *ns);
    (first >= costs.worth_ns && first > second + time(&of_calls)).then_some(cause)
}

/// The functions below a place that a finding names beside known work: the line that calls the library that does it.
pub(super) fn inner_beside(mark: Option<Mark>, tree: &[TreeRow]) -> Vec<Place> {
    let Some(mark) = mark.filter(|mark| !mark.title().is_empty()) else { return inner(tree) };
    let mut inner = match mark.is_native() {
        true => inner(tree),
        false => inner_above(tree, |place| mark.is_in(place)),
    };
    // What loads data is above the line that the program waits at.
    inner.retain(|place| place.line > 0 && mark.cause() != Cause::DataLoading);
    inner
}

/// Whether threads are asleep in such time, or awake; `None` if it may be either.
pub(super) fn sleeps(cause: Cause) -> Option<bool> {
    let asleep = matches!(cause, Cause::Blocked | Cause::NoDemand);
    (asleep || cause == Cause::HostCode).then_some(asleep)
}

/// The stack of the calls, if the culprit is calls of one.
pub(super) fn stack(culprit: Culprit) -> Option<StackId> {
    match culprit {
        Culprit::Call(_, _, stack) => Some(stack),
        Culprit::Part(_)
        | Culprit::Spot(..)
        | Culprit::Lock(..)
        | Culprit::Before(..)
        | Culprit::Between(_)
        | Culprit::Device(_)
        | Culprit::Site(_)
        | Culprit::Held(..) => None,
    }
}

/// The function that was called, if the culprit is calls.
pub(super) fn name(culprit: Culprit) -> Option<Sym> {
    match culprit {
        Culprit::Part(key) => Some(key.waiter.name()),
        Culprit::Call(_, name, _) => Some(name),
        Culprit::Spot(..)
        | Culprit::Lock(..)
        | Culprit::Before(..)
        | Culprit::Between(_)
        | Culprit::Device(_)
        | Culprit::Site(_)
        | Culprit::Held(..) => None,
    }
}

/// The longest mean of pauses between calls that follow each other at once, ns, and the fewest such pauses: a choice.
const BRIEF: u64 = 30_000;
const MANY: u64 = 1_000;

/// Whether host code runs in many brief pauses: it is what a program does from one launch to the next.
pub(super) fn is_brief(cause: Cause, count: u64, ns: Ns) -> bool {
    cause == Cause::HostCode && count >= MANY && u64::try_from(ns).is_ok_and(|ns| ns / count <= BRIEF)
}

/// Whether most of what a row was charged with is of threads that others waited for.
pub(super) fn is_chained(row: &Row) -> bool {
    row.chain.len() > 1 && row.chained > row.ns / 2
}

pub(super) fn example((ns, start): &(Ns, Ns)) -> Example {
    Example { start_ns: *start, duration_ns: *ns }
}

/// Evidence of a root. Samples show a wait that was not recorded; ranks that are not in the trace show in the times of kernels alone, and
/// holders of locks in the times of waits, unless our recorder saw them.
pub(super) fn evidence(facts: &Facts<'_>, root: &Root) -> Evidence {
    let (waits, source) = (root.cause == Cause::CollectiveWait, &facts.trace.meta.source);
    // All that is known of such time is that it lay between two calls.
    let is_between_calls = root.cause == Cause::HostCode && matches!(root.culprit, Culprit::Between(_));
    if waits && matches!(root.culprit, Culprit::Call(..)) {
        Evidence::Timing
    } else if (waits || root.cause == Cause::Lock) && matches!(root.culprit, Culprit::Spot(..)) {
        Evidence::Sample
    } else if root.cause == Cause::Gil && !matches!(root.culprit, Culprit::Lock(..)) {
        // A profiler of Python's marks its functions, others take samples.
        if source == PROFILE_OF_PYTORCH { Evidence::Timing } else { Evidence::Sample }
    } else if *source != Source::HOLDUP.id && (root.cause == Cause::Lock || is_between_calls) {
        Evidence::Timing
    } else {
        About::of(root.cause).evidence_in(source)
    }
}

/// Confidence that a root is right by its evidence.
pub(super) fn confidence(evidence: Evidence) -> Confidence {
    match evidence {
        Evidence::Lock | Evidence::Record => Confidence::Certain,
        Evidence::Sample | Evidence::Timing => Confidence::Likely,
    }
}

/// Whether rows have one place, in whatever processes.
pub(super) fn is_one_place(rows: &[&Row]) -> bool {
    let spot = |row: &Row| match row.root.culprit {
        Culprit::Spot(_, spot) => Some(spot),
        _ => None,
    };
    spot(rows[0]).is_some() && rows.iter().all(|row| spot(row) == spot(rows[0]))
}

/// All rows as one, with the root of the first.
pub(super) fn united(rows: &[&Row]) -> Row {
    let mut all = rows[0].clone();
    rows[1..].iter().for_each(|row| all.absorb((*row).clone()));
    all
}

/// Whether a root outside slow calls is a finding: nobody can act on the program's start, on what is not recorded, or on what an idle GPU
/// waits for beside its own work. The account has them.
fn is_finding(root: &Root) -> bool {
    // An operation that waits while others run was ordered so.
    let is_ordered = root.cause == Cause::Dependency && matches!(root.culprit, Culprit::Call(..));
    is_ordered || !matches!(root.cause, Cause::StartUp | Cause::Dependency | Cause::NotRecorded)
}

/// Property that rows of one finding have in common beside the cause.
#[derive(PartialEq, Eq, Hash)]
enum Same {
    /// The lock.
    Lock(i64),
    /// The function that was called.
    Call(Sym),
    /// The place, in any process, and when its time arises: ranks of one program do the same.
    Spot(SpotId, Phase),
    /// All of it.
    Root(Root),
    /// Nothing.
    Any,
}

impl Same {
    fn of(row: &Row, is_large: bool) -> Same {
        match row.root.culprit {
            Culprit::Lock(_, lock, _) => Same::Lock(lock),
            Culprit::Call(..)
                if matches!(row.root.cause, Cause::OwnWork | Cause::ObjectChurn | Cause::Dependency) =>
            {
                Same::Any
            }
            Culprit::Call(_, name, _) => Same::Call(name),
            Culprit::Spot(_, spot) if is_large => Same::Spot(spot, phase_of(row)),
            _ if is_large => Same::Root(row.root),
            _ => Same::Any,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_in_many_brief_pauses_runs_between_launches() {
        let is = |cause, count, us: Ns| is_brief(cause, count, us * 1_000);
        assert!(is(Cause::HostCode, 1_000, 30_000));
        assert!(!is(Cause::HostCode, 999, 10_000), "near miss: few");
        assert!(!is(Cause::HostCode, 1_000, 30_001), "near miss: longer");
        assert!(!is(Cause::Blocked, 1_000, 10_000), "control");
    }
}
