//! The start-up: the time before a program repeats anything.

use crate::escape::visible;
use crate::place::short;
use crate::units;
use explain::{AccountPart, Cause, Explanation, Finding, Fix, Spent, StartUp};
use trace::Ns;

/// The smallest part of a program's time, in percent, that is worth a sentence. A choice.
const WORTH: Ns = 2;

/// Most of what it did that is named.
const NAMED: usize = 3;

pub(super) fn is_worth(start_up: &StartUp) -> bool {
    start_up.duration_ns >= start_up.program_ns / 100 * WORTH
}

/// `Start-up took 7.6 s of 13.2 s: host-code 6.2 s (amp.py:3), first-use 300 ms (amp.py:8).`; if it is nearly all,
/// `94 % of 12 s is start-up: …`
pub(super) fn sentence(explanation: &Explanation, start_up: &StartUp, is_nearly_all: bool) -> String {
    let (took, all) = (start_up.duration_ns, start_up.program_ns);
    let mut text = match is_nearly_all {
        true => {
            format!("{} of {} is start-up", units::percent(took as f64 / all as f64), units::duration(all))
        }
        false => format!("Start-up took {} of {}", units::duration(took), units::duration(all)),
    };
    let parts = start_up.thread.iter().flat_map(|thread| &thread.parts);
    let mut spent: Vec<(&AccountPart, &Spent)> =
        parts.flat_map(|part| part.spent.iter().map(move |spent| (part, spent))).collect();
    spent.sort_by_key(|(_, spent)| std::cmp::Reverse(spent.ns));
    let finding = longest(explanation).filter(|_| is_nearly_all);
    let fix = |at: usize| finding.filter(|_| at == 0).and_then(|finding| finding.fixes.first());
    let named = spent.iter().take(NAMED).enumerate().map(|(at, (part, spent))| named(part, spent, fix(at)));
    let named: Vec<String> = named.collect();
    if !named.is_empty() {
        text.push_str(&format!(": {}", named.join(", ")));
    }
    text + "."
}

/// The part of a start-up that took longest, if the start-up is what there is to explain: it is nearly all of the program, and not mostly
/// the set-up of contexts, which every program has.
fn to_explain(explanation: &Explanation) -> Option<&AccountPart> {
    let accounts = &explanation.accounts;
    let start_up = accounts.start_up.as_ref().filter(|one| accounts.steady.is_none() && is_worth(one))?;
    let parts = start_up.thread.iter().flat_map(|thread| &thread.parts);
    parts.max_by_key(|part| part.ns).filter(|longest| longest.cause != Cause::FirstUse)
}

/// Whether a program's start-up comes first.
pub(super) fn is_first(explanation: &Explanation) -> bool {
    to_explain(explanation).is_some()
}

/// The finding of what a start-up that comes first took longest for.
pub(crate) fn longest(explanation: &Explanation) -> Option<&Finding> {
    let longest = to_explain(explanation)?;
    let of_cause = explanation.findings.iter().filter(|finding| finding.cause == longest.cause);
    of_cause.max_by_key(|finding| finding.lost_ns)
}

/// `host-code 6.2 s (amp.py:3)`, with the id of what mends it.
fn named(part: &AccountPart, spent: &Spent, fix: Option<&Fix>) -> String {
    let place = spent.place.as_ref().map_or_else(|| visible(&spent.call).into_owned(), short);
    let hint = [place.as_str(), fix.map_or("", |fix| fix.id)];
    let hint: Vec<&str> = hint.into_iter().filter(|text| !text.is_empty()).collect();
    let hint = if hint.is_empty() { String::new() } else { format!(" ({})", hint.join("; ")) };
    format!("{} {}{hint}", part.cause.id(), units::duration(spent.ns))
}
