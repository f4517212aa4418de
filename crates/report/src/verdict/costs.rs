//! Largest losses of the GPUs' time, a line each.

use super::named::{Named, fits};
use super::threshold::{SMALL, SMALL_OF_BUSY, least};
use super::{lacking, launches, one_line, work};
use crate::escape::visible;
use crate::layout::cut;
use crate::place::short;
use crate::units;
use explain::{About, AccountPart, Cause, Explanation, Finding, GpuAccount, Phase, ThreadAccount, is_usual};
use trace::Ns;

/// Most causes that the verdict names of what recurs, and how many of them if the others cost little.
const MOST_NAMED: usize = 3;
const NAMED: usize = 2;

/// Recurring costs of steps come before one-time costs, unless they are less than this part of them: a choice.
const SMALL_OF_STEPS: f64 = 0.1;

/// The smallest part of the largest cost that is about as much: a choice.
const CLOSE: f64 = 0.5;

/// Loss of the GPUs' time, in a line.
pub(super) enum Cost {
    /// A cause that recurs, or the only one that costs once.
    One(Named),
    /// Several causes that cost once.
    Once(Once),
}

impl Cost {
    fn share(&self) -> f64 {
        match self {
            Cost::One(cause) => cause.share,
            Cost::Once(once) => once.share,
        }
    }

    /// The finding that it is about; empty if it is about none.
    pub fn finding(&self) -> &str {
        match self {
            Cost::One(cause) => &cause.id,
            Cost::Once(once) => &once.id,
        }
    }

    /// Whether it is about a finding, or about all of its kind.
    pub fn has(&self, finding: &Finding) -> bool {
        let is_kind = |one: &Named| one.cause == finding.cause && is_of_pairs(one.cause);
        self.finding() == finding.id || matches!(self, Cost::One(one) if is_kind(one))
    }

    /// The line, for so many columns; `of` says what the share is a part of: ` of GPU 0's time`.
    pub fn line(&self, columns: usize, of: &str) -> String {
        match self {
            Cost::One(cause) => cause.line(columns, of, "."),
            Cost::Once(once) => once.line(columns, of),
        }
    }
}

/// Whether findings of a cause are told as one: what is allocated is freed, what is made is destroyed, what a pool gives back is allocated anew,
/// and who has a processor is chance.
fn is_of_pairs(cause: Cause) -> bool {
    matches!(cause, Cause::Allocation | Cause::ObjectChurn | Cause::PoolTrim | Cause::NoCpu)
}

/// The largest costs of the GPUs, in order: two or three causes that recur, and all that costs once as one.
pub(super) fn costs(explanation: &Explanation) -> Vec<Cost> {
    let knows_costs = knows_costs(explanation);
    let least = if knows_costs { least(&explanation.accounts.gpus) } else { SMALL };
    let findings: Vec<&Finding> = explanation.findings.iter().collect();
    let (once, again): (Vec<&Finding>, Vec<&Finding>) =
        findings.into_iter().partition(|finding| knows_costs && finding.phase == Phase::Once);
    let again = again.into_iter().map(|finding| Named::of(finding, explanation, knows_costs));
    let unfound = unfound(explanation).chain(unselected(explanation)).filter(|_| knows_costs);
    let mut named: Vec<Named> = Vec::new();
    for one in again.chain(unfound) {
        let is_of_pairs = is_of_pairs(one.cause);
        let is_same = |known: &Named| {
            let place = |of: &Named| (of.what.clone(), of.behind.clone(), of.at.clone(), of.inner.clone());
            known.cause == one.cause && (is_of_pairs || !one.id.is_empty() && place(known) == place(&one))
        };
        match named.iter_mut().find(|known| is_same(known)) {
            Some(known) => {
                known.share += one.share;
                known.gain = known.gain.max(one.gain);
            }
            None => named.push(one),
        }
    }
    one_line::united(&mut named);
    launches::united(&mut named, explanation);
    named.retain(|cause| cause.share >= least);
    // Beside what is known, a little that is not is no news.
    let is_known = |cause: &Named| !cause.id.is_empty() && cause.cause != Cause::Unexplained;
    let knows = named.iter().any(is_known);
    named.retain(|cause| !knows || is_known(cause) || cause.share >= SMALL_OF_BUSY);
    if knows_costs {
        let of_all: f64 = once.iter().map(|finding| finding.cost_share).sum();
        work::add(&mut named, explanation, least, of_all);
    }
    rank(&mut named);
    let large = named.iter().take_while(|cause| cause.share >= SMALL_OF_BUSY).count();
    named.truncate(large.clamp(NAMED, MOST_NAMED));
    launches::waits_first(&mut named);
    let mut costs: Vec<Cost> = named.into_iter().map(Cost::One).collect();
    let of_once = cost_of_once(explanation, &once, least);
    // Of steps, what happens once is a remark.
    let repeats = explanation.accounts.steady.is_some() && explanation.steps.is_some();
    let drowns = |cost: &Cost| {
        let first = costs.iter().find(|cost| !cost.finding().is_empty());
        repeats && first.is_some_and(|first| first.share() >= SMALL_OF_STEPS * cost.share())
    };
    let last = of_once.as_ref().is_some_and(drowns);
    let of_once = of_once.filter(|_| explanation.accounts.refused.is_none());
    if let Some(once) = of_once.filter(|cost| !last || cost.share() >= SMALL_OF_BUSY) {
        let smaller = costs.iter().position(|cost| cost.share() < once.share());
        costs.insert(if last { costs.len() } else { smaller.unwrap_or(costs.len()) }, once);
    }
    costs
}

/// `97 % of thread main's time: calls wait for the GPU without being asked to (run.py:3; device-scalar); the GPU loses nothing by it.`
pub(super) fn of_thread(finding: &Finding, explanation: &Explanation, columns: usize) -> String {
    let lost = match finding.worth() >= SMALL {
        true => units::percent(finding.worth()),
        false => String::from("nothing"),
    };
    let end = format!("; the GPU loses {lost} by it.");
    let named =
        Named { share: finding.share, exposes: false, gain: 0.0, ..Named::of(finding, explanation, true) };
    let of = format!(" of thread {}'s time", visible(&finding.waiter.thread));
    named.line(columns, &of, &end)
}

/// `52 % of thread main's time: launches wait because the stream is full (cudaLaunchKernel; graph); the GPU loses nothing by it.`: what
/// a thread lost in calls that are too short for a finding.
pub(super) fn of_short_calls(thread: &ThreadAccount, part: &AccountPart, columns: usize) -> String {
    let end = "; the GPU loses nothing by it.";
    let about = About::of(part.cause);
    let share = part.ns as f64 / thread.span_ns.max(1) as f64;
    let call = part.calls.first().map_or(String::new(), |call| visible(call).into_owned());
    let named = Named {
        at: part.places.first().map_or(call, short),
        fixes: about.fixes.iter().map(|fix| fix.id).take(1).collect(),
        ..Named::plain(part.cause, share, about.brief.to_owned())
    };
    let of = format!(" of thread {}'s time", visible(&thread.name));
    named.line(columns, &of, end)
}

/// Whether the findings rank by what they cost the GPUs.
pub(crate) fn knows_costs(explanation: &Explanation) -> bool {
    explanation.accounts.refused.is_none() && !explanation.accounts.gpus.is_empty()
}

/// The smallest part of a larger cost that nobody can act on, for which a finding comes before it: a choice.
const BEFORE_UNFOUND: f64 = 1.0 / 3.0;

/// The smallest part of what a wait costs with what it exposes that host code at one place is if it is all of it: a choice.
const ALL: f64 = 0.9;

/// Orders causes by cost, and those of about equal costs by what mending them gains: what nobody can mend is last of these, and is not the
/// first of all where something can be mended.
fn rank(named: &mut [Named]) {
    named.sort_by(|a, b| b.share.total_cmp(&a.share));
    let most = named.first().map_or(0.0, |first| first.share);
    let close = named.iter().take_while(|cause| cause.share >= most * CLOSE).count();
    let is_finding = |one: &Named| !one.id.is_empty() && one.cause != Cause::Unexplained;
    // What a program does between launches belongs to the wait that exposes it.
    let is_exposed = named[..close].iter().any(|one| one.exposes);
    let is_owned = |one: &Named| is_exposed && one.is_short_work;
    let found = |a: &Named, b: &Named| is_finding(b).cmp(&is_finding(a));
    let owned = |a: &Named, b: &Named| is_owned(a).cmp(&is_owned(b));
    named[..close].sort_by(|a, b| found(a, b).then(owned(a, b)).then(b.worth().total_cmp(&a.worth())));
    named[close..].iter_mut().for_each(|cause| cause.gain = 0.0);
    let can_be_mended = |one: &Named| {
        is_finding(one) && !is_usual(one.cause) && !one.fixes.is_empty() && one.share >= most * BEFORE_UNFOUND
    };
    // What a wait exposes may be one piece of work at one place: that is what to mend.
    if let Some(at) = named.first().filter(|first| first.exposes).and_then(|first| {
        let is_piece = |one: &Named| one.cause == Cause::HostCode && !one.is_short_work;
        named.iter().position(|one| is_piece(one) && one.share >= first.share * ALL)
    }) {
        named[..=at].rotate_right(1);
    }
    if named.first().is_some_and(|first| !is_finding(first))
        && let Some(at) = named.iter().position(can_be_mended)
    {
        named[..=at].rotate_right(1);
    }
}

/// Cost of causes that cost once; `None` if that is little. One cause is named as those that recur are.
fn cost_of_once(explanation: &Explanation, findings: &[&Finding], least: f64) -> Option<Cost> {
    let start_up = start_up_of_several(&explanation.accounts.gpus);
    let share: f64 = findings.iter().map(|finding| finding.cost_share).sum();
    let known: Vec<&&Finding> = findings.iter().filter(|finding| finding.cost_share >= SMALL).collect();
    match (known.as_slice(), start_up) {
        ([one], None) if one.cost_share >= least => Some(Cost::One(Named::of(one, explanation, true))),
        _ if share < least && start_up.is_none() => None,
        ([], None) => None,
        (known, start_up) => Some(Cost::Once(Once::of(explanation, known, share, start_up))),
    }
}

/// The longest start-up of several GPUs, ns: the sentence about one GPU has it.
fn start_up_of_several(gpus: &[GpuAccount]) -> Option<Ns> {
    let start_up = gpus.iter().map(GpuAccount::start_up_ns).max()?;
    let all = gpus.iter().map(|gpu| gpu.span_ns).max()?;
    (gpus.len() > 1 && start_up > 0 && start_up as f64 >= all as f64 * SMALL).then_some(start_up)
}

/// Causes that cost once.
pub(super) struct Once {
    /// The finding that costs most; empty if start-up is all.
    id: String,
    /// The part of the GPUs' time after start-up.
    share: f64,
    /// `first-use 430 ms (serve.py:3 → eager-loading)`, by what they cost.
    items: Vec<String>,
}

impl Once {
    fn of(explanation: &Explanation, findings: &[&&Finding], share: f64, start_up: Option<Ns>) -> Once {
        let mut items: Vec<(Named, Ns)> = Vec::new();
        for finding in findings {
            let new = Named::of(finding, explanation, true);
            let is_same =
                |one: &Named| (one.cause, &one.behind, &one.at) == (new.cause, &new.behind, &new.at);
            match items.iter_mut().find(|(one, _)| is_same(one)) {
                Some((_, ns)) => *ns += finding.cost_ns,
                None => items.push((new, finding.cost_ns)),
            }
        }
        items.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        let id = items.first().map_or_else(String::new, |(named, _)| named.id.clone());
        let items = items.iter().enumerate().map(|(at, (named, ns))| {
            // There is room for the fix of what costs most.
            let hint = named.hint(&named.at, &named.fixes[..usize::from(at == 0).min(named.fixes.len())]);
            format!("{} {}{}{hint}", named.cause.id(), units::duration(*ns), named.behind)
        });
        let start_up = start_up.map(|ns| format!("{} {}", Cause::StartUp.id(), units::duration(ns)));
        Once { id, share, items: items.chain(start_up).collect() }
    }

    /// `63 % once: host-code 1.2 s (train.py:3), first-use 430 ms (train.py:8).` Without room for all, those that cost least are left out.
    fn line(&self, columns: usize, of: &str) -> String {
        let share = match self.id.is_empty() {
            true => String::new(),
            false => format!("{}{of} ", units::percent(self.share)),
        };
        let of_first = |count: usize| {
            let end = if count == self.items.len() { "." } else { ", …" };
            format!("{share}once: {}{end}", self.items[..count].join(", "))
        };
        let lines = (1..=self.items.len()).rev().map(of_first);
        let whole = lines.into_iter().find(|line| fits(line, columns));
        whole.unwrap_or_else(|| cut(&of_first(1.min(self.items.len())), columns))
    }
}

/// Parts of the GPUs' time that are no findings, because nobody can act on them.
fn unfound(explanation: &Explanation) -> impl Iterator<Item = Named> {
    let gpus = &explanation.accounts.gpus;
    let all: Ns = gpus.iter().map(GpuAccount::working_ns).sum();
    [Cause::NotRecorded, Cause::Dependency].into_iter().map(move |cause| {
        let parts: Vec<&AccountPart> =
            gpus.iter().flat_map(|gpu| &gpu.idle).filter(|part| part.cause == cause).collect();
        let advice =
            if cause == Cause::NotRecorded { lacking::reasons(&explanation.trace) } else { String::new() };
        let all_ns: Ns = parts.iter().map(|part| part.ns).sum();
        // What an event or a host function ordered is a finding.
        let found = explanation.findings.iter().filter(|finding| finding.cause == cause);
        let ns = (all_ns - found.map(|finding| finding.cost_ns).sum::<Ns>()).max(0);
        let brief = About::of(cause).brief;
        Named {
            at: most(&parts, ns),
            ..Named::plain(cause, ns as f64 / all.max(1) as f64, format!("{brief}{advice}"))
        }
    })
}

/// The place that has most of some parts; empty if none has half of them.
fn most(parts: &[&AccountPart], all: Ns) -> String {
    let longest = parts.iter().flat_map(|part| &part.spent).max_by_key(|spent| spent.ns);
    let place = longest.filter(|spent| spent.ns >= all / 2).and_then(|spent| spent.place.as_ref());
    place.map_or(String::new(), short)
}

/// Costs of calls and threads that are not selected.
fn unselected(explanation: &Explanation) -> impl Iterator<Item = Named> {
    let what = |cause: Cause| format!("{} (not selected)", About::of(cause).brief);
    explanation.unselected.iter().map(move |one| Named::plain(one.cause, one.cost_share, what(one.cause)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of causes by their costs and gains.
    fn order(costs: &[(Cause, f64, f64)]) -> Vec<Cause> {
        let named = |(cause, share, gain): &(Cause, f64, f64)| Named {
            id: if *cause == Cause::NotRecorded { String::new() } else { cause.id().to_owned() },
            gain: *gain,
            fixes: if *cause == Cause::NotRecorded { Vec::new() } else { vec!["a fix"] },
            ..Named::plain(*cause, *share, String::new())
        };
        let mut named: Vec<Named> = costs.iter().map(named).collect();
        rank(&mut named);
        named.into_iter().map(|one| one.cause).collect()
    }

    #[test]
    fn of_about_equal_costs_the_one_whose_mending_gains_most_is_first() {
        use Cause::{Allocation, HostCode, OwnWork};
        let others = [(HostCode, 0.1, 0.0), (OwnWork, 0.09, 0.0)];
        let with = |cost: f64, gain: f64| order(&[others[0], others[1], (Allocation, cost, gain)]);
        assert_eq!(with(0.08, 0.15), [Allocation, HostCode, OwnWork]);
        assert_eq!(with(0.08, 0.05), [HostCode, OwnWork, Allocation], "it gains less than the others cost");
        assert_eq!(with(0.04, 0.15), [HostCode, OwnWork, Allocation], "it costs less than half");
        let unknown = |cost: f64| order(&[(Cause::NotRecorded, cost, 0.0), others[0]]);
        assert_eq!(unknown(0.19), [HostCode, Cause::NotRecorded], "nobody can act on it");
        assert_eq!(unknown(0.21), [Cause::NotRecorded, HostCode]);
        let mended = |cost: f64| order(&[(Cause::NotRecorded, cost, 0.0), (Allocation, 0.1, 0.0)]);
        assert_eq!(mended(0.29), [Allocation, Cause::NotRecorded], "somebody can act on it");
        assert_eq!(mended(0.31), [Cause::NotRecorded, Allocation], "it is little beside what is unknown");
    }

    #[test]
    fn work_at_one_place_is_first_where_it_is_all_that_a_wait_exposes() {
        let order = |work: f64, exposes: bool, is_short_work: bool| {
            let wait = Named {
                id: "H1".to_owned(),
                exposes,
                gain: 0.3,
                fixes: vec!["a fix"],
                ..Named::plain(Cause::HiddenSync, 0.3, String::new())
            };
            let work = Named::plain(Cause::HostCode, work, String::new());
            let work = Named { id: "H2".to_owned(), is_short_work, ..work };
            let mut named = [wait, work];
            rank(&mut named);
            named[0].cause
        };
        let first = |work, exposes| order(work, exposes, false);
        assert_eq!(first(0.29, true), Cause::HostCode);
        assert_eq!(first(0.2, true), Cause::HiddenSync, "it exposes other work, too");
        assert_eq!(first(0.29, false), Cause::HiddenSync, "the wait itself costs as much");
        assert_eq!(
            order(0.35, true, true),
            Cause::HiddenSync,
            "it is what the program does between launches"
        );
        assert_eq!(order(0.35, false, true), Cause::HostCode, "nothing exposes it");
        assert_eq!(order(0.61, true, true), Cause::HostCode, "most of it is exposed by something else");
    }

    #[test]
    fn what_costs_once_is_named_as_far_as_there_is_room() {
        let items =
            ["host-code 1.2 s (train.py:3)", "first-use 430 ms (train.py:8)"].map(str::to_owned).to_vec();
        let once = Once { id: "H1".to_owned(), share: 0.63, items };
        let all = "63 % once: host-code 1.2 s (train.py:3), first-use 430 ms (train.py:8).";
        assert_eq!(once.line(80, ""), all);
        assert_eq!(once.line(40, ""), all, "it has two lines");
        assert_eq!(once.line(30, ""), "63 % once: host-code 1.2 s (train.py:3), …");
        assert_eq!(once.line(18, ""), "63 % once: host-c…");
    }
}
