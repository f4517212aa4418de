//! Communication of GPUs: what nothing hides of it, and which rank was late at the collectives.

use crate::account::place;
use crate::escape::visible;
use crate::layout::{elide, wrap};
use crate::page::Page;
use crate::style::Role;
use crate::units;
use explain::{AccountPart, Accounts, Cause, GpuAccount, Rank, Ranks, Unfit};
use trace::Ns;

/// Smallest part of a GPU's time, in percent, for which communication gets a line.
const COMMUNICATION: Ns = 1;

/// Lines on communication; further GPUs are only counted.
const GPUS: usize = 3;

/// Ranks and causes whose part of the time lost is smaller, in percent, get no line.
const SMALL: Ns = 10;

/// Columns of a cause, and before its place.
const CAUSE: usize = 22;
const PLACE: usize = 32;

/// A paragraph on the communication within one trace, an empty line after it; empty if it costs little.
pub(crate) fn text(accounts: &Accounts, page: Page) -> String {
    if accounts.refused.is_some() {
        return String::new();
    }
    let mut gpus: Vec<&GpuAccount> = accounts.gpus.iter().collect();
    gpus.sort_by_key(|gpu| gpu.device);
    let said: Vec<String> = gpus.into_iter().filter_map(|gpu| communication(gpu, accounts)).collect();
    let mut text: String = said.iter().take(GPUS).map(|sentence| lines(sentence, page)).collect();
    if said.len() > GPUS {
        let more = units::counted((said.len() - GPUS) as u64, "more GPU", "more GPUs");
        text.push_str(&format!("and {more} (JSON has all)\n"));
    }
    if let Some(ranks) = accounts.ranks.as_ref().filter(|ranks| ranks.latest().is_some()) {
        text.push_str(&late(ranks, &[], page));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// `GPU 0 communicated for 12 % of its time with nothing else running.`, and what is not known of that.
fn communication(gpu: &GpuAccount, accounts: &Accounts) -> Option<String> {
    let unknown = match gpu.collective_wait_ns {
        Some(_) => "",
        None if accounts.gpus.len() == 1 => " Waiting for other ranks is not visible from one rank.",
        None => {
            " Waiting for other ranks is not visible: the collectives in this trace do not fit each other."
        }
    };
    let share = units::percent(gpu.exposed_communication_ns as f64 / gpu.working_ns().max(1) as f64);
    let (number, nothing) = (gpu.device, "with nothing else running");
    let is_large = gpu.exposed_communication_ns * 100 >= gpu.working_ns() * COMMUNICATION;
    (is_large && gpu.exposed_communication_ns > 0)
        .then(|| format!("GPU {number} communicated for {share} of its time {nothing}.{unknown}"))
}

/// A paragraph on the ranks of several traces with these names.
pub fn of_traces(ranks: &Ranks, traces: &[String], page: Page) -> String {
    let count = units::counted(ranks.collectives, "collective", "collectives");
    let agree = units::duration(ranks.clocks_agree_ns.unwrap_or_default());
    let clocks = format!(
        "{} ranks in {count}; the traces' clocks are fitted by their ends, which agree within {agree}.",
        ranks.ranks.len()
    );
    let mut text = lines(&clocks, page);
    match ranks.ranks.iter().any(|rank| rank.late > 0) {
        true => text.push_str(&late(ranks, traces, page)),
        false => text.push_str(&lines("No rank was more than 50 µs late at any of them.", page)),
    }
    text
}

/// Why the ranks of several traces with these names are not compared.
pub fn unfit(unfit: Unfit, traces: &[String], page: Page) -> String {
    let why = match unfit {
        Unfit::Unrelated => "the traces are not of one run".to_owned(),
        Unfit::SameRank => "two traces are of the same rank".to_owned(),
        Unfit::Clock(at) => {
            let name = traces.get(at).map_or("", String::as_str);
            format!("the collectives of {} do not end with those of the first trace", visible(name))
        }
    };
    lines(&format!("Which rank was late is unknown: {why}."), page)
}

/// Each rank that was late, with what it did.
fn late(ranks: &Ranks, traces: &[String], page: Page) -> String {
    let cost: Ns = ranks.ranks.iter().map(|rank| rank.cost_ns).sum();
    let mut late: Vec<&Rank> = ranks.ranks.iter().filter(|rank| rank.late > 0).collect();
    late.sort_by_key(|rank| std::cmp::Reverse((rank.cost_ns, rank.late)));
    late.retain(|rank| rank.cost_ns * 100 >= cost * SMALL);
    let mut text = String::new();
    for rank in late {
        text.push_str(&lines(&sentence(rank, traces), page));
        let causes = rank.causes.iter().filter(|part| part.ns * 100 >= rank.cost_ns * SMALL);
        causes.for_each(|part| text.push_str(&line(part, rank, page)));
    }
    text
}

/// `GPU 1 was the last at 48 of 50 collectives, 3.00 ms after the first (median). Other GPUs were idle for 150 ms:`
fn sentence(rank: &Rank, traces: &[String]) -> String {
    let name = rank.trace.and_then(|at| traces.get(at)).map(|name| visible(name));
    let who = match (rank.rank, name) {
        (Some(rank), Some(name)) => format!("Rank {rank} ({name})"),
        (None, Some(name)) => name.into_owned(),
        (_, None) => format!("GPU {}", rank.device),
    };
    let of = units::counted(rank.collectives, "collective", "collectives");
    let (count, late) = (units::count(rank.late), units::duration(rank.late_ns));
    let cost = match rank.cost_ns {
        0 => "The other GPUs worked meanwhile.".to_owned(),
        ns => format!("Other GPUs were idle for {} because of what it did:", units::duration(ns)),
    };
    format!("{who} was the last at {count} of {of}, {late} after the first (median). {cost}")
}

fn line(part: &AccountPart, rank: &Rank, page: Page) -> String {
    let share = units::percent(part.ns as f64 / rank.cost_ns.max(1) as f64);
    let share = page.style.paint(Role::Strong, &format!("{share:>8}"));
    let cause = format!("{:CAUSE$}", part.cause.id());
    let place = match part.cause {
        Cause::CollectiveWait => "its GPU worked meanwhile".to_owned(),
        _ => place(part),
    };
    let place = elide(&visible(&place), page.columns.saturating_sub(PLACE));
    format!("{}\n", format!("{share}  {cause}{place}").trim_end())
}

fn lines(sentence: &str, page: Page) -> String {
    wrap(sentence, page.columns).join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use explain::Busy;

    fn communicating(ns: Ns, wait: Option<Ns>) -> GpuAccount {
        GpuAccount {
            device: 0,
            name: String::new(),
            span_ns: 1_000,
            busy_ns: 1_000,
            busy: Busy::default(),
            busy_over_time: Vec::new(),
            exposed_communication_ns: ns,
            collective_wait_ns: wait,
            idle: Vec::new(),
            held_back: Vec::new(),
        }
    }

    #[test]
    fn communication_beside_nothing_else_is_stated_with_what_is_not_known_of_it() {
        let said = |gpus: Vec<GpuAccount>| {
            text(&Accounts { gpus, ..Accounts::default() }, Page::default()).replace('\n', " ")
        };
        let first = "GPU 0 communicated for 12 % of its time with nothing else running.";
        assert_eq!(said(vec![communicating(120, Some(0))]), format!("{first}  "));
        let one = said(vec![communicating(120, None)]);
        assert_eq!(one, format!("{first} Waiting for other ranks is not visible from one rank.  "));
        let two = said(vec![communicating(120, None), communicating(0, None)]);
        assert!(two.contains("do not fit each other"), "{two}");
        assert_eq!(said(vec![communicating(9, None)]), "");
        assert!(said(vec![communicating(120, Some(0)); 5]).contains("and 2 more GPUs"));
    }
}
