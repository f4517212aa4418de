//! What the GPUs lost most time to, a line each.

use super::{SMALL, least, short};
use crate::escape::visible;
use crate::layout::{cut, elide, width};
use crate::units;
use explain::{Cause, Explanation, Finding, Fix, GpuAccount, Phase, Place};
use trace::Ns;

/// Most causes that the verdict names of what recurs.
const NAMED: usize = 2;

/// Most fixes of a cause that the verdict names.
const FIXES: usize = 2;

/// What the GPUs lost time to, in a line.
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

    pub fn line(&self, columns: usize) -> String {
        match self {
            Cost::One(cause) => cause.line(columns),
            Cost::Once(once) => once.line(columns),
        }
    }
}

/// What the GPUs lost most time to: two causes that recur at most, and what costs once, by what they cost.
pub(super) fn costs(explanation: &Explanation) -> Vec<Cost> {
    if explanation.accounts.refused.is_some() {
        return Vec::new();
    }
    let knows_costs = crate::explanation::knows_costs(explanation);
    let least = least(&explanation.accounts.gpus);
    let findings: Vec<&Finding> = explanation.findings.iter().collect();
    let (once, again): (Vec<&Finding>, Vec<&Finding>) =
        findings.into_iter().partition(|finding| knows_costs && finding.phase == Phase::Once);
    let again = again.into_iter().map(|finding| Named::of(finding, explanation, knows_costs));
    let unfound = unfound(explanation).chain(unselected(explanation));
    let mut named: Vec<Named> = again.chain(unfound).collect();
    named.retain(|cause| cause.share >= least);
    named.sort_by(|a, b| b.share.total_cmp(&a.share));
    named.truncate(NAMED);
    let mut costs: Vec<Cost> = named.into_iter().map(Cost::One).collect();
    costs.extend(cost_of_once(explanation, &once, least));
    costs.sort_by(|a, b| b.share().total_cmp(&a.share()));
    costs
}

/// What costs once; `None` if that is little. One cause is named as those that recur are.
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

/// What costs once.
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
                |one: &Named| (one.cause, &one.behind, &one.place) == (new.cause, &new.behind, &new.place);
            match items.iter_mut().find(|(one, _)| is_same(one)) {
                Some((_, ns)) => *ns += finding.cost_ns,
                None => items.push((new, finding.cost_ns)),
            }
        }
        items.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        let id = items.first().map_or_else(String::new, |(named, _)| named.id.clone());
        let items = items.iter().enumerate().map(|(at, (named, ns))| {
            // There is room for the fix of what costs most.
            let hint = named.hint(&named.place, usize::from(at == 0));
            format!("{} {}{}{hint}", named.cause.id(), units::duration(*ns), named.behind)
        });
        let start_up = start_up.map(|ns| format!("{} {}", Cause::StartUp.id(), units::duration(ns)));
        Once { id, share, items: items.chain(start_up).collect() }
    }

    /// `63 % once: host-code 1.2 s (train.py:3), first-use 430 ms (train.py:8).` Without room for all, those that cost least are left out.
    fn line(&self, columns: usize) -> String {
        let share =
            if self.id.is_empty() { String::new() } else { format!("{} ", units::percent(self.share)) };
        let of_first = |count: usize| {
            let end = if count == self.items.len() { "." } else { ", …" };
            format!("{share}once: {}{end}", self.items[..count].join(", "))
        };
        let lines = (1..=self.items.len()).rev().map(of_first);
        let whole = lines.into_iter().find(|line| width(line) <= columns);
        whole.unwrap_or_else(|| cut(&of_first(1.min(self.items.len())), columns))
    }
}

/// A cause that the verdict names.
pub(super) struct Named {
    /// The finding's id; empty for a cause that is none.
    id: String,
    cause: Cause,
    share: f64,
    /// `threads wait for Python's lock (GIL)`
    what: String,
    /// `, behind cudaMemcpyAsync`, where the call that was waited for is known.
    behind: String,
    /// `serve.py:17`, or a call
    place: String,
    fixes: Vec<&'static str>,
}

impl Named {
    fn of(finding: &Finding, explanation: &Explanation, knows_costs: bool) -> Named {
        let about = finding.cause.about();
        let behind = finding.holder.as_ref().filter(|holder| !holder.call.is_empty());
        let behind = behind.map_or(String::new(), |holder| format!(", behind {}", visible(&holder.call)));
        let once = if finding.phase == Phase::Once { ", once" } else { "" };
        let gains =
            |fix: &&Fix| explanation.gains.of(fix).is_none_or(|gain| !crate::explanation::is_loss(gain));
        Named {
            id: finding.id.clone(),
            cause: finding.cause,
            share: if knows_costs { finding.cost_share } else { finding.share },
            what: format!("{}{once}", about.brief),
            behind,
            place: at(finding).map_or_else(|| visible(&finding.waiter.call).into_owned(), short),
            fixes: finding.fixes.iter().filter(gains).map(|fix| fix.id).take(FIXES).collect(),
        }
    }

    /// ` (serve.py:16 → own-stream)`: a place and so many fixes.
    fn hint(&self, place: &str, fixes: usize) -> String {
        let fixes = self.fixes[..fixes.min(self.fixes.len())].join(", ");
        let arrow = if fixes.is_empty() { "" } else { "→ " };
        let fixes = format!("{arrow}{fixes}");
        let hint = [place, &fixes].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
        if hint.is_empty() { hint } else { format!(" ({hint})") }
    }

    /// `31 %: calls wait for the driver's lock, behind cudaMemcpyAsync (serve.py:16 → own-stream).` What does not fit is left out:
    /// fixes, the call, the place; of a long place, the place before the fixes.
    fn line(&self, columns: usize) -> String {
        let with = |behind: &str, place: &str, fixes: usize| {
            let hint = self.hint(place, fixes);
            format!("{}: {}{behind}{hint}.", units::percent(self.share), self.what)
        };
        let all = self.fixes.len();
        let (behind, place) = (self.behind.as_str(), self.place.as_str());
        let named = (0..=all).rev().map(|fixes| with(behind, place, fixes));
        let shorter = (0..=all).rev().map(|fixes| with("", place, fixes));
        let without_place = (0..=all).rev().map(|fixes| with("", "", fixes));
        let mut lines = named.chain(shorter).chain(without_place);
        lines.find(|line| width(line) <= columns).unwrap_or_else(|| elide(&with("", "", 0), columns))
    }
}

/// Parts of the GPUs' time that are no findings, because nobody can act on them.
fn unfound(explanation: &Explanation) -> impl Iterator<Item = Named> {
    let gpus = &explanation.accounts.gpus;
    let all: Ns = gpus.iter().map(GpuAccount::working_ns).sum();
    [Cause::NotRecorded, Cause::Dependency].into_iter().map(move |cause| {
        let parts = gpus.iter().flat_map(|gpu| &gpu.idle).filter(|part| part.cause == cause);
        let advice = if cause == Cause::NotRecorded { would_record(explanation) } else { "" };
        Named {
            share: parts.map(|part| part.ns).sum::<Ns>() as f64 / all.max(1) as f64,
            id: String::new(),
            cause,
            what: format!("{}{advice}", cause.about().brief),
            behind: String::new(),
            place: String::new(),
            fixes: Vec::new(),
        }
    })
}

/// What calls and threads cost that are not selected.
fn unselected(explanation: &Explanation) -> impl Iterator<Item = Named> {
    explanation.unselected.iter().map(|one| Named {
        share: one.cost_share,
        id: String::new(),
        cause: one.cause,
        what: format!("{} (not selected)", one.cause.about().brief),
        behind: String::new(),
        place: String::new(),
        fixes: Vec::new(),
    })
}

/// What would record what the trace does not say, for the tool that made it.
fn would_record(explanation: &Explanation) -> &'static str {
    match explanation.trace.source.as_str() {
        "kineto" => "; `with_stack=True` or `holdup record` would",
        "nsys" => "; `--trace=cuda,nvtx,osrt` or `holdup record` would",
        "nvprof" => "; `holdup record` would",
        _ => "",
    }
}

/// Where a finding's time is lost: the waiter's place, else the holder's, else the root's.
fn at(finding: &Finding) -> Option<&Place> {
    let holder = finding.holder.iter().flat_map(|holder| &holder.places);
    let root = finding.chain.iter().filter_map(|link| link.place.as_ref());
    finding.places.iter().chain(holder).chain(root).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_costs_once_is_named_as_far_as_there_is_room() {
        let items =
            ["host-code 1.2 s (train.py:3)", "first-use 430 ms (train.py:8)"].map(str::to_owned).to_vec();
        let once = Once { id: "H1".to_owned(), share: 0.63, items };
        let all = "63 % once: host-code 1.2 s (train.py:3), first-use 430 ms (train.py:8).";
        assert_eq!(once.line(80), all);
        assert_eq!(once.line(width(all)), all);
        assert_eq!(once.line(width(all) - 1), "63 % once: host-code 1.2 s (train.py:3), …");
        assert_eq!(once.line(30), "63 % once: host-code 1.2 s (t…");
    }
}
