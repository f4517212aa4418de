//! The margins of a program: its start-up, the time before it repeats anything, and its ending, the time after its GPUs' last work.

use crate::escape::visible;
use crate::place::short;
use crate::units;
use explain::{About, AccountPart, Cause, Explanation, Finding, Margin, Spent};
use trace::Ns;

/// The smallest part of a program's time, in percent, that makes its start-up worth a sentence. A choice, as those below.
const WORTH: Ns = 2;

/// The same of its ending: every program has one.
const WORTH_OF_ENDING: Ns = 20;

/// The part from which on its ending is what there is to explain.
const MOST: Ns = 50;

/// Longest time that contexts take to be set up where nothing is wrong, ns: 0.2 to 1 s (H100, H200, driver 580).
const CONTEXT: Ns = 2_000_000_000;

/// Most of what it did that is named.
const NAMED: usize = 3;

/// A sentence about a margin.
pub(super) struct Sentence {
    pub text: String,
    /// The finding that it is about; `None` if it is about none.
    pub finding: Option<String>,
    /// Whether it comes before all others.
    pub is_first: bool,
}

/// The sentences about the start-up and the ending, as far as they are worth one.
pub(super) fn sentences(explanation: &Explanation) -> Vec<Sentence> {
    let accounts = &explanation.accounts;
    let start_up = accounts.start_up.as_ref().filter(|one| has(one, WORTH)).map(|one| {
        let is_first = to_explain(explanation).is_some();
        let finding = longest(explanation).map(|longest| longest.id.clone());
        Sentence { text: of_start_up(explanation, one, is_first), finding, is_first }
    });
    let ending = accounts.ending.as_ref().filter(|one| has(one, WORTH_OF_ENDING)).map(|one| {
        let is_first = has(one, MOST) && longest_part(one).is_some_and(|part| part.cause != Cause::NoDemand);
        Sentence { text: of_ending(one, is_first), finding: None, is_first }
    });
    start_up.into_iter().chain(ending).collect()
}

/// Whether a margin has at least so many percent of the program's time.
fn has(margin: &Margin, percent: Ns) -> bool {
    margin.duration_ns >= margin.program_ns / 100 * percent
}

/// `Start-up took 7.6 s of 13.2 s: host-code 6.2 s (amp.py:3), first-use 300 ms (amp.py:8).`; if it is nearly all,
/// `94 % of 12 s is start-up: …`
fn of_start_up(explanation: &Explanation, start_up: &Margin, is_nearly_all: bool) -> String {
    let (took, all) = (start_up.duration_ns, start_up.program_ns);
    let text = match is_nearly_all {
        true => {
            format!("{} of {} is start-up", units::percent(took as f64 / all as f64), units::duration(all))
        }
        false => format!("Start-up took {} of {}", units::duration(took), units::duration(all)),
    };
    let finding = longest(explanation).filter(|_| is_nearly_all);
    text + &spent_for(start_up, finding.and_then(|finding| finding.fixes.first()).map(|fix| fix.id))
}

/// `The program went on for 16.1 s of 17.4 s after the GPU's last work: garbage-collection 15.1 s (writer.py:162).`; if it is most of the
/// program, `92 % of 17.4 s comes after the GPU's last work: …`
fn of_ending(ending: &Margin, is_most: bool) -> String {
    let (took, all) = (ending.duration_ns, ending.program_ns);
    let text = match is_most {
        true => {
            let share = units::percent(took as f64 / all as f64);
            format!("{share} of {} comes after the GPU's last work", units::duration(all))
        }
        false => format!(
            "The program went on for {} of {} after the GPU's last work",
            units::duration(took),
            units::duration(all)
        ),
    };
    // Of host code that is nothing more, nobody knows what mends it.
    let cause =
        longest_part(ending).map(|part| part.cause).filter(|cause| is_most && *cause != Cause::HostCode);
    text + &spent_for(ending, cause.and_then(|cause| About::of(cause).fixes.first()).map(|fix| fix.id))
}

/// `: host-code 6.2 s (amp.py:3), first-use 300 ms (amp.py:8).`, with what mends the first.
fn spent_for(margin: &Margin, fix: Option<&str>) -> String {
    let parts = margin.thread.iter().flat_map(|thread| &thread.parts);
    let mut spent: Vec<(&AccountPart, &Spent)> =
        parts.flat_map(|part| part.spent.iter().map(move |spent| (part, spent))).collect();
    spent.retain(|(_, spent)| spent.ns >= margin.duration_ns / 100);
    spent.sort_by_key(|(_, spent)| std::cmp::Reverse(spent.ns));
    let fix = |at: usize| fix.filter(|_| at == 0);
    let named = spent.iter().take(NAMED).enumerate().map(|(at, (part, spent))| named(part, spent, fix(at)));
    let named: Vec<String> = named.collect();
    if named.is_empty() { String::from(".") } else { format!(": {}.", named.join(", ")) }
}

/// The part of a margin that took longest.
fn longest_part(margin: &Margin) -> Option<&AccountPart> {
    margin.thread.iter().flat_map(|thread| &thread.parts).max_by_key(|part| part.ns)
}

/// The part of a start-up that took longest, if the start-up is what there is to explain: it is nearly all of the program, and not mostly
/// the set-up of contexts, which every program has.
fn to_explain(explanation: &Explanation) -> Option<&AccountPart> {
    let accounts = &explanation.accounts;
    let start_up = accounts.start_up.as_ref().filter(|one| accounts.steady.is_none() && has(one, WORTH))?;
    longest_part(start_up).filter(|longest| longest.cause != Cause::FirstUse || longest.ns >= CONTEXT)
}

/// The finding of what a start-up that comes first took longest for.
pub(crate) fn longest(explanation: &Explanation) -> Option<&Finding> {
    let longest = to_explain(explanation)?;
    let of_cause = explanation.findings.iter().filter(|finding| finding.cause == longest.cause);
    of_cause.max_by_key(|finding| finding.lost_ns)
}

/// `host-code 6.2 s (amp.py:3)`, with the id of what mends it.
fn named(part: &AccountPart, spent: &Spent, fix: Option<&str>) -> String {
    let place = spent.place.as_ref().map_or_else(|| visible(&spent.call).into_owned(), short);
    let hint = [place.as_str(), fix.unwrap_or("")];
    let hint: Vec<&str> = hint.into_iter().filter(|text| !text.is_empty()).collect();
    let hint = if hint.is_empty() { String::new() } else { format!(" ({})", hint.join("; ")) };
    format!("{} {}{hint}", part.cause.id(), units::duration(spent.ns))
}
