//! The start-up: the time before a program repeats anything.

use crate::escape::visible;
use crate::place::short;
use crate::units;
use explain::{AccountPart, Spent, StartUp};
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
pub(super) fn sentence(start_up: &StartUp, is_nearly_all: bool) -> String {
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
    let named: Vec<String> = spent.iter().take(NAMED).map(|(part, spent)| named(part, spent)).collect();
    if !named.is_empty() {
        text.push_str(&format!(": {}", named.join(", ")));
    }
    text + "."
}

/// `host-code 6.2 s (amp.py:3)`
fn named(part: &AccountPart, spent: &Spent) -> String {
    let place = spent.place.as_ref().map_or_else(|| visible(&spent.call).into_owned(), short);
    let place = if place.is_empty() { place } else { format!(" ({place})") };
    format!("{} {}{place}", part.cause.id(), units::duration(spent.ns))
}
