//! All that one graph would save, as one cause: the host's code between launches, the launches' own time, and what they take to start.

use super::named::{Named, at};
use explain::{About, Cause, Explanation, Finding};
use std::cmp::Ordering;

/// Puts one cause in the place of several that a graph would save.
pub(super) fn united(named: &mut Vec<Named>, explanation: &Explanation) {
    let (launching, others): (Vec<Named>, Vec<Named>) = named.drain(..).partition(is_of_launches);
    *named = others;
    let function = |id: &str| {
        let place = finding(explanation, id).and_then(at)?;
        Some((place.file.as_str(), place.function.as_str()))
    };
    let what = match explanation.accounts.gpus.len() {
        1 => "the GPU waits for launches",
        _ => "GPUs wait for launches",
    };
    let launches: Vec<String> = launching.iter().map(|one| one.id.clone()).collect();
    let mut all = match launching.len() {
        0 | 1 => launching,
        _ => one(launching, what, function).into_iter().collect(),
    };
    if let Some(all) = all.first_mut()
        && let Some(at) =
            named.iter().position(|wait| wait.share <= all.share && is_between(wait, &launches, explanation))
    {
        let wait = named.remove(at);
        all.share = if wait.exposes { all.share.max(wait.share) } else { all.share + wait.share };
        all.what = format!("{what}, and {} between them", About::of(wait.cause).brief);
        all.fixes.splice(..0, wait.fixes.first().copied());
        if wait.has_line() {
            (all.call, all.at, all.whole, all.inner) = (wait.call, wait.at, wait.whole, wait.inner);
        }
    }
    named.extend(all);
}

/// A wait for the GPU lies between launches if there is one for at least each of so many: a choice.
const EACH: u64 = 16;

/// Whether a cause is waits for the GPU between launches, which no graph can have within. `launches` are the ids of their findings.
fn is_between(wait: &Named, launches: &[String], explanation: &Explanation) -> bool {
    let calls = |finding: &Finding| finding.count + finding.short_calls;
    let launching = |id: &String| {
        let found = finding(explanation, id).filter(|found| found.cause == Cause::OwnWork);
        found.map_or(0, calls)
    };
    let launched: u64 = launches.iter().map(launching).sum();
    let waits = finding(explanation, &wait.id).map_or(0, calls);
    matches!(wait.cause, Cause::HiddenSync | Cause::ExplicitSync)
        && !wait.fixes.is_empty()
        && launched > 0
        && waits * EACH >= launched
}

/// The finding of an id.
fn finding<'e>(explanation: &'e Explanation, id: &str) -> Option<&'e Finding> {
    explanation.findings.iter().find(|finding| finding.id == id)
}

/// Whether a cause is time that the host takes for one launch after the other.
fn is_of_launches(cause: &Named) -> bool {
    let launching = matches!(cause.cause, Cause::HostCode | Cause::OwnWork | Cause::LaunchLatency);
    launching && cause.fixes.first() == Some(&"graph")
}

/// Part of a GPU's time from which on a setting that makes each launch wait is mended first, and the part of what launches cost from which
/// on a wait for the GPU is. Choices.
const SETTING: f64 = 0.02;
const WAIT: f64 = 1.0 / 3.0;

/// Orders what is in the way of a graph before what a graph would save: no graph has a wait for the GPU within.
pub(super) fn waits_first(named: &mut [Named]) {
    let Some(launches) = named.iter().position(is_of_launches) else { return };
    let cost = named[launches].share;
    let is_setting = |one: &Named| one.cause == Cause::BlockingLaunch && one.share >= SETTING;
    let is_wait = |one: &Named| {
        let waits = matches!(one.cause, Cause::HiddenSync | Cause::ExplicitSync);
        waits && !one.fixes.is_empty() && one.share >= cost * WAIT
    };
    let is_in_the_way = |one: &Named| is_setting(one) || is_wait(one);
    if let Some(at) = named[launches..].iter().position(is_in_the_way) {
        named[launches..=launches + at].rotate_right(1);
    }
}

/// All of them as one, at the line that costs most of the function that does: launches are spread over its lines. `function` has the file
/// and the function of a finding.
fn one<'f>(
    launching: Vec<Named>,
    what: &str,
    function: impl Fn(&str) -> Option<(&'f str, &'f str)>,
) -> Option<Named> {
    let functions: Vec<_> = launching.iter().map(|one| function(&one.id)).collect();
    let sum = |of: &Option<(&str, &str)>| {
        let same = launching.iter().zip(&functions).filter(|(_, function)| *function == of);
        same.map(|(one, _)| one.share).sum::<f64>()
    };
    let rank = |at: usize| (functions[at].is_some(), sum(&functions[at]), launching[at].share);
    let order = |a: &usize, b: &usize| rank(*a).partial_cmp(&rank(*b)).unwrap_or(Ordering::Equal);
    let most = (0..launching.len()).max_by(order)?;
    let share = launching.iter().map(|one| one.share).sum();
    let gain = launching.iter().map(|one| one.gain).fold(0.0, f64::max);
    let (what, behind) = (what.to_owned(), String::new());
    launching.into_iter().nth(most).map(|most| Named { share, gain, what, behind, exposes: false, ..most })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(id: &str, cause: Cause, share: f64, fix: &'static str) -> Named {
        Named { id: id.to_owned(), fixes: vec![fix], ..Named::plain(cause, share, String::new()) }
    }

    #[test]
    fn launches_are_where_the_function_is_that_costs_most() {
        let all = vec![
            named("H1", Cause::OwnWork, 0.2, "graph"),
            named("H2", Cause::LaunchLatency, 0.25, "graph"),
            named("H3", Cause::HostCode, 0.11, "graph"),
            named("H4", Cause::HostCode, 0.12, "graph"),
        ];
        let function = |id: &str| match id {
            "H1" => Some(("run.py", "main")),
            "H3" | "H4" => Some(("run.py", "step")),
            _ => None,
        };
        let one = one(all, "", function).unwrap();
        assert_eq!((one.id.as_str(), (one.share * 100.0).round()), ("H4", 68.0));
    }

    #[test]
    fn what_no_graph_can_have_within_is_mended_first() {
        let first = |cause: Cause, share: f64| {
            let mut all =
                [named("H1", Cause::OwnWork, 0.3, "graph"), named("H2", cause, share, "device-scalar")];
            waits_first(&mut all);
            all[0].id == "H2"
        };
        assert!(first(Cause::HiddenSync, 0.11) && first(Cause::BlockingLaunch, 0.03));
        assert!(
            !first(Cause::HiddenSync, 0.09) && !first(Cause::BlockingLaunch, 0.01),
            "near misses: little"
        );
        assert!(!first(Cause::Allocation, 0.2), "control: a graph may have it");
    }
}
