//! Communication of GPUs: what nothing hides of it, and which rank was late at the collectives.

use crate::bars::place;
use crate::document::{Block, Document, Fit, Form, Paragraph};
use crate::escape::visible;
use crate::page::Page;
use crate::style::Role;
use crate::units;
use explain::{AccountPart, Accounts, Cause, GpuAccount, Rank, Ranks, Unfit};
use trace::Ns;

/// Smallest part of a GPU's time, in percent, for which communication gets a line.
const COMMUNICATION: Ns = 5;

/// Lines on communication; further GPUs are only counted.
const GPUS: usize = 3;

/// Ranks and causes whose part of the time lost is smaller, in percent, get no line.
const SMALL: Ns = 10;

/// Columns of a share, and of a cause with the space before it.
const SHARE: usize = 8;
const CAUSE: usize = 24;

/// The communication within one trace in words: for outputs that lay them out. Empty if it costs little.
#[derive(Clone, Debug, Default)]
pub struct Communication {
    /// `GPU 0 communicated for 12 % of its time with nothing else running.`
    pub exposed: Vec<String>,
    /// `and 2 more GPUs (JSON has all)`
    pub more: Option<String>,
    /// Each rank that was late, the one that cost the others most first.
    pub late: Vec<LateRank>,
}

/// A rank that was late at collectives.
#[derive(Clone, Debug)]
pub struct LateRank {
    /// `GPU 1`, `Rank 1 (rank1.json)`
    pub name: String,
    /// `GPU 1 was the last at 48 of 50 collectives, 3.00 ms after the first (median). Other GPUs were idle for 150 ms:`
    pub sentence: String,
    /// Activity of the rank when it was late, the longest part first.
    pub causes: Vec<LateCause>,
}

/// A part of what a late rank did.
#[derive(Clone, Debug)]
pub struct LateCause {
    /// Its part of the time in which others waited: `92 %`
    pub share: String,
    /// `host-code`
    pub cause: &'static str,
    /// `ddp.py:31 augment`
    pub place: String,
    /// The finding that has most of it.
    pub finding: Option<String>,
}

impl Communication {
    /// The communication within one trace.
    pub fn of(accounts: &Accounts) -> Communication {
        if accounts.refused.is_some() {
            return Communication::default();
        }
        let mut gpus: Vec<&GpuAccount> = accounts.gpus.iter().collect();
        gpus.sort_by_key(|gpu| gpu.device);
        let mut exposed: Vec<String> =
            gpus.into_iter().filter_map(|gpu| communication(gpu, accounts)).collect();
        let others = exposed.len().saturating_sub(GPUS);
        exposed.truncate(GPUS);
        let more = units::counted(others as u64, "more GPU", "more GPUs");
        let more = (others > 0).then(|| format!("and {more} (JSON has all)"));
        let ranks = accounts.ranks.as_ref().filter(|ranks| ranks.latest().is_some());
        Communication { exposed, more, late: ranks.map_or_else(Vec::new, |ranks| late(ranks, &[])) }
    }

    /// Whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.exposed.is_empty() && self.late.is_empty()
    }
}

/// The communication within one trace for a terminal, an empty line after it; nothing if it costs little. Where there is no room, the rank
/// that cost most alone, with the first of its causes.
pub(crate) fn blocks(accounts: &Accounts, has_room: bool) -> Vec<Block> {
    let Communication { exposed, more, mut late } = Communication::of(accounts);
    if !has_room {
        late.truncate(1);
        late.iter_mut().for_each(|late| late.causes.truncate(1));
    }
    let mut blocks: Vec<Block> = exposed.iter().chain(&more).map(|sentence| said(sentence)).collect();
    blocks.extend(of_late(&late));
    blocks.extend((!blocks.is_empty()).then_some(Block::Gap));
    blocks
}

/// `GPU 0 communicated for 12 % of its time with nothing else running.`, and what is not known of that.
fn communication(gpu: &GpuAccount, accounts: &Accounts) -> Option<String> {
    let unknown = match gpu.collective_wait_ns {
        Some(_) => "",
        None if gpu.idle.iter().any(|part| part.cause == Cause::CollectiveWait) => {
            " One rank shows the waiting for others only in part."
        }
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
pub fn of_traces(ranks: &Ranks, traces: &[String], page: Page) -> Document {
    let count = units::counted(ranks.collectives, "collective", "collectives");
    let agree = units::duration(ranks.clocks_agree_ns.unwrap_or_default());
    let clocks = format!(
        "{} ranks in {count}; the traces' clocks are fitted by their ends, which agree within {agree}.",
        ranks.ranks.len()
    );
    let mut document = Document::new(Form::Text(page));
    document.push(said(&clocks));
    match ranks.ranks.iter().any(|rank| rank.late > 0) {
        true => document.extend(of_late(&late(ranks, traces))),
        false => document.push(said("No rank was more than 50 µs late at any of them.")),
    }
    document
}

/// Why the ranks of several traces with these names are not compared.
pub fn unfit(unfit: Unfit, traces: &[String], page: Page) -> Document {
    let why = match unfit {
        Unfit::Unrelated => "the traces are not of one run".to_owned(),
        Unfit::SameRank => "two traces are of the same rank".to_owned(),
        Unfit::Clock(at) => {
            let name = traces.get(at).map_or("", String::as_str);
            format!("the collectives of {} do not end with those of the first trace", visible(name))
        }
    };
    let mut document = Document::new(Form::Text(page));
    document.push(said(&format!("Which rank was late is unknown: {why}.")));
    document
}

/// Each rank that was late, with what it did.
fn late(ranks: &Ranks, traces: &[String]) -> Vec<LateRank> {
    let cost: Ns = ranks.ranks.iter().map(|rank| rank.cost_ns).sum();
    let mut late: Vec<&Rank> = ranks.ranks.iter().filter(|rank| rank.late > 0).collect();
    late.sort_by_key(|rank| std::cmp::Reverse((rank.cost_ns, rank.late)));
    late.retain(|rank| rank.cost_ns * 100 >= cost * SMALL);
    late.into_iter().map(|rank| of_rank(rank, traces)).collect()
}

fn of_rank(rank: &Rank, traces: &[String]) -> LateRank {
    let trace = rank.trace.and_then(|at| traces.get(at)).map(|name| visible(name));
    let name = match (rank.rank, trace) {
        (Some(rank), Some(trace)) => format!("Rank {rank} ({trace})"),
        (None, Some(trace)) => trace.into_owned(),
        (_, None) => format!("GPU {}", rank.device),
    };
    let of = units::counted(rank.collectives, "collective", "collectives");
    let (count, late) = (units::count(rank.late), units::duration(rank.late_ns));
    let cost = match rank.cost_ns {
        0 => "The other GPUs worked meanwhile.".to_owned(),
        ns => format!("Other GPUs were idle for {} because of what it did:", units::duration(ns)),
    };
    let sentence = format!("{name} was the last at {count} of {of}, {late} after the first (median). {cost}");
    let causes = rank.causes.iter().filter(|part| part.ns * 100 >= rank.cost_ns * SMALL);
    LateRank { name, sentence, causes: causes.map(|part| of_cause(part, rank)).collect() }
}

fn of_cause(part: &AccountPart, rank: &Rank) -> LateCause {
    let worked = part.cause == Cause::CollectiveWait;
    let place = if worked { "its GPU worked meanwhile".to_owned() } else { with_others(place(part), part) };
    let share = units::percent(part.ns as f64 / rank.cost_ns.max(1) as f64);
    LateCause { share, cause: part.cause.id(), place, finding: part.finding.clone() }
}

/// `ddp.py:31 augment; 2 more`, if other places have as much as a tenth of the time.
fn with_others(place: String, part: &AccountPart) -> String {
    let large = part.spent.iter().filter(|spent| spent.ns * 100 >= part.ns * SMALL).count();
    if large > 1 { format!("{place}; {} more", large - 1) } else { place }
}

/// Each rank that was late, with what it did.
fn of_late(late: &[LateRank]) -> Vec<Block> {
    let cause = |cause: &LateCause| {
        let share = format!("{:>SHARE$}", cause.share);
        let item = Paragraph::item(&cause.place).label(share, Some(Role::Strong), SHARE);
        item.label(format!("  {}", cause.cause), None, CAUSE).fit(Fit::Elide).into()
    };
    let of = |rank: &LateRank| {
        let causes: Vec<Block> = rank.causes.iter().map(cause).collect();
        std::iter::once(said(&rank.sentence)).chain(causes)
    };
    late.iter().flat_map(of).collect()
}

fn said(sentence: &str) -> Block {
    Paragraph::new(sentence).hanging(0).into()
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
            main_copies: None,
            small_kernels: None,
            busy_over_time: Vec::new(),
            exposed_communication_ns: ns,
            main_communication: None,
            collective_wait_ns: wait,
            idle: Vec::new(),
            held_back: Vec::new(),
        }
    }

    #[test]
    fn communication_beside_nothing_else_is_stated_with_what_is_not_known_of_it() {
        let said = |gpus: Vec<GpuAccount>| {
            let mut document = Document::new(Form::Text(Page::default()));
            document.extend(blocks(&Accounts { gpus, ..Accounts::default() }, true));
            document.to_string().replace('\n', " ")
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
