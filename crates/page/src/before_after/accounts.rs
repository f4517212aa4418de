//! The accounts of both sides: a card for each GPU and for the threads of each name, with both bars on one scale and a table of
//! differences.

use crate::account::labelled;
use crate::html::Html;
use explain::{Accounts, GpuAccount};
use report::bars::{Bar, BarPart, bars};
use report::units;
use std::cmp::Reverse;
use trace::Ns;

/// Cards that are not folded, and most of all. Choices: the first fit a screen and a half, and a program of a thousand threads has those
/// that change most.
const SEEN: usize = 6;
const MOST: usize = 40;

/// Rows below this part of the longer side are added up in one.
const SMALL: f64 = 0.002;

/// The account of one GPU, of one thread, or of the threads of one name, of both sides.
struct Card {
    of: String,
    is_gpu: bool,
    /// Whether it is one of several threads that have a card together, too.
    is_member: bool,
    calls: u64,
    before: Option<Bar>,
    after: Option<Bar>,
    rows: Vec<Row>,
}

/// A time of both sides.
#[derive(Clone, Default)]
struct Row {
    name: String,
    /// Where most of it was; empty if unknown.
    place: String,
    before: Ns,
    after: Ns,
    /// Whether less of it is better: it is a wait, and no work.
    is_wait: bool,
    /// Whether it is a part of the row above.
    is_part: bool,
}

/// The accounts of both sides.
pub(super) fn both(before: &Accounts, after: &Accounts) -> Html {
    let mut cards = cards(before, after);
    // GPUs first, then what changes most.
    cards.sort_by_key(|card| (!card.is_gpu, card.is_member, Reverse(card.change()), Reverse(card.calls)));
    let is_seen = |card: &Card| card.is_gpu || (card.change() > 0 && !card.is_member);
    let seen = cards.iter().take(SEEN).take_while(|card| is_seen(card)).count();
    let rest = cards.split_off(seen);
    let mut html = Html::new();
    html.push(&grid(&cards));
    if !rest.is_empty() {
        let more = units::counted(rest.len() as u64, "more account", "more accounts");
        html.open("details", &[("class", "more-bars")]).leaf("summary", &[], &more);
        let room = rest.len().min(MOST - seen);
        html.push(&grid(&rest[..room]));
        if rest.len() > room {
            let omitted = units::counted((rest.len() - room) as u64, "account", "accounts");
            html.leaf("p", &[("class", "remark")], &format!("{omitted} that change less: not shown."));
        }
        html.close("details");
    }
    html.leaf("p", &[("class", "readout"), ("aria-hidden", "true")], "");
    html
}

fn grid(cards: &[Card]) -> Html {
    let mut html = Html::new();
    html.open("div", &[("class", "cards")]);
    cards.iter().for_each(|card| {
        html.push(&card.html());
    });
    html.close("div");
    html
}

/// A card for each bar of either side; of the threads of one name also one for each.
fn cards(before: &Accounts, after: &Accounts) -> Vec<Card> {
    let mut afters = single(after);
    let mut cards = Vec::new();
    for (bar, is_member) in single(before) {
        let same = afters.iter().position(|(after, _)| after.of == bar.of);
        let same = same.map(|at| afters.remove(at).0);
        cards.push((Some(bar), same, is_member));
    }
    cards.extend(afters.into_iter().map(|(bar, is_member)| (None, Some(bar), is_member)));
    cards
        .into_iter()
        .filter_map(|(bar, after_bar, is_member)| card([before, after], bar, after_bar, is_member))
        .collect()
}

/// The bars of an account, each group's followed by those of its members; and whether it is a member's.
fn single(accounts: &Accounts) -> Vec<(Bar, bool)> {
    let of = |mut bar: Bar| {
        let each = std::mem::take(&mut bar.each);
        std::iter::once((bar, false)).chain(each.into_iter().map(|bar| (bar, true)))
    };
    bars(accounts).into_iter().flat_map(of).collect()
}

fn card(accounts: [&Accounts; 2], before: Option<Bar>, after: Option<Bar>, is_member: bool) -> Option<Card> {
    let known = before.as_ref().or(after.as_ref())?;
    let (of, is_gpu, calls) = (known.of.clone(), known.is_gpu, known.calls);
    let mut rows = Vec::new();
    if is_gpu {
        let gpu = |accounts: &'_ Accounts| {
            accounts.gpus.iter().find(|gpu| format!("GPU {}", gpu.device) == of).cloned()
        };
        rows.extend(busy(accounts.map(gpu)));
    }
    rows.extend(causes(before.as_ref(), after.as_ref()));
    Some(Card { of, is_gpu, is_member, calls, before, after, rows })
}

/// The busy time of a GPU by what it did, and what held it back meanwhile.
fn busy(sides: [Option<GpuAccount>; 2]) -> Vec<Row> {
    let row = |name: &str, of: fn(&GpuAccount) -> Ns| {
        let [before, after] = sides.each_ref().map(|side| side.as_ref().map_or(0, of));
        Row { name: name.to_owned(), before, after, ..Row::default() }
    };
    let mut rows = vec![
        row("kernels", |gpu| gpu.busy.kernels_ns),
        row("copies", |gpu| gpu.busy.copies_ns),
        row("kernels and copies", |gpu| gpu.busy.both_ns),
    ];
    let held = row("held back", |gpu| gpu.held_back.iter().map(|held| held.part.ns).sum());
    rows.push(Row { is_wait: true, is_part: true, ..held });
    rows.retain(|row| row.before > 0 || row.after > 0);
    rows
}

/// The parts of both bars by name, the longest first, without a GPU's busy time.
fn causes(before: Option<&Bar>, after: Option<&Bar>) -> Vec<Row> {
    let parts = |bar: Option<&Bar>| -> Vec<BarPart> {
        let parts = bar.map(|bar| bar.parts.clone()).unwrap_or_default();
        parts.into_iter().filter(|part| part.cause.is_some() || part.name != "busy").collect()
    };
    let [before, after] = [parts(before), parts(after)];
    let mut rows: Vec<Row> = Vec::new();
    for (is_after, part) in
        before.iter().map(|part| (false, part)).chain(after.iter().map(|part| (true, part)))
    {
        let known = rows.iter().position(|row| row.name == part.name);
        let at = known.unwrap_or_else(|| {
            rows.push(Row { name: part.name.to_owned(), is_wait: true, ..Row::default() });
            rows.len() - 1
        });
        let row = &mut rows[at];
        if row.place.is_empty() || part.ns > row.before.max(row.after) {
            row.place.clone_from(&part.place);
        }
        *(if is_after { &mut row.after } else { &mut row.before }) += part.ns;
    }
    rows.sort_by_key(|row| Reverse(row.before.max(row.after)));
    rows
}

impl Card {
    fn sum(&self, of: fn(&Row) -> Ns) -> Ns {
        self.rows.iter().filter(|row| !row.is_part).map(of).sum()
    }

    fn longest(&self) -> Ns {
        self.sum(|row| row.before).max(self.sum(|row| row.after))
    }

    /// How much of both sides differs, ns.
    fn change(&self) -> Ns {
        self.rows.iter().map(|row| (row.after - row.before).abs()).sum()
    }

    /// The rows with all small ones in one, so that they still add up.
    fn large(&self) -> Vec<Row> {
        let least = (SMALL * self.longest() as f64) as Ns;
        let is_small = |row: &&Row| row.is_wait && row.before.max(row.after) < least && !row.is_part;
        let small: Vec<&Row> = self.rows.iter().filter(is_small).collect();
        let mut rows: Vec<Row> = self.rows.iter().filter(|row| !is_small(row)).cloned().collect();
        match small.as_slice() {
            [] => {}
            [only] => rows.push((*only).clone()),
            several => rows.push(Row {
                name: format!("{} more", several.len()),
                place: several.iter().map(|row| row.name.as_str()).collect::<Vec<_>>().join(", "),
                before: several.iter().map(|row| row.before).sum(),
                after: several.iter().map(|row| row.after).sum(),
                is_wait: true,
                is_part: false,
            }),
        }
        rows
    }

    fn html(&self) -> Html {
        let longest = self.longest();
        let mut html = Html::new();
        html.open("article", &[("class", "card"), ("aria-label", &self.of)]);
        html.leaf("h4", &[("title", &self.of)], &self.of);
        html.open("div", &[("class", "bars")]);
        for (name, bar) in [("before", &self.before), ("after", &self.after)] {
            let Some(bar) = bar else { continue };
            let span: Ns = bar.parts.iter().map(|part| part.ns).sum();
            let label = format!("{} {name}, {}", self.of, bar.span);
            html.push(&labelled(&without_links(bar), name, &label, span as f64 / longest.max(1) as f64));
        }
        html.close("div").push(&self.table()).close("article");
        html
    }

    fn table(&self) -> Html {
        let mut html = Html::new();
        html.open("table", &[("class", "sums both")]);
        let numbers = ["before", "after", "difference"].map(|title| (title, "number"));
        html.head([("", "")].into_iter().chain(numbers).chain([("where", "what")]));
        let whole = Row {
            name: String::from("all"),
            before: self.sum(|row| row.before),
            after: self.sum(|row| row.after),
            ..Row::default()
        };
        for row in self.large().iter().chain([&whole]) {
            html.push(&row.html());
        }
        html.close("tbody").close("table");
        html
    }
}

impl Row {
    fn html(&self) -> Html {
        let mut html = Html::new();
        html.open("tr", &[]);
        html.leaf("th", &[("scope", "row"), ("class", if self.is_part { "part" } else { "" })], &self.name);
        html.leaf("td", &[("class", "number")], &time(self.before));
        html.leaf("td", &[("class", "number")], &time(self.after));
        let change = self.after - self.before;
        let class = match change.signum() {
            -1 if self.is_wait => "number better",
            1 if self.is_wait => "number worse",
            _ => "number",
        };
        html.leaf("td", &[("class", class)], &units::signed(change));
        html.open("td", &[("class", "what")])
            .leaf("span", &[("title", &self.place)], &self.place)
            .close("td");
        html.close("tr");
        html
    }
}

/// A time; nothing for none.
fn time(ns: Ns) -> String {
    if ns == 0 { String::new() } else { units::duration(ns) }
}

/// A bar whose parts lead nowhere: the page has no findings.
fn without_links(bar: &Bar) -> Bar {
    let without =
        |parts: &[BarPart]| parts.iter().map(|part| BarPart { finding: None, ..part.clone() }).collect();
    Bar { is_gpu: false, parts: without(&bar.parts), held: without(&bar.held), ..bar.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, part, thread};
    use explain::{AccountPart, Busy, Cause, Refusal};

    fn gpu(busy: Busy, idle: Vec<AccountPart>) -> GpuAccount {
        let busy_ns = busy.kernels_ns + busy.copies_ns + busy.both_ns;
        GpuAccount { busy, ..fixture::gpu(busy_ns, idle) }
    }

    /// Before: a lock. After: more copies, no lock, another cause.
    fn sides() -> [Accounts; 2] {
        let busy = |copies_ns| Busy { kernels_ns: 500_000, copies_ns, both_ns: 0 };
        let before = vec![part(Cause::DriverLock, 400_000), part(Cause::Gil, 40), part(Cause::Lock, 60)];
        let after = vec![part(Cause::HostCode, 50_000), part(Cause::Gil, 30), part(Cause::Lock, 50)];
        let threads =
            |ns| vec![thread(7, "", vec![part(Cause::DriverLock, ns), part(Cause::OwnWork, 10_000)])];
        [
            Accounts {
                gpus: vec![gpu(busy(100_000), before)],
                threads: threads(400_000),
                ..Accounts::default()
            },
            Accounts { gpus: vec![gpu(busy(120_000), after)], threads: threads(0), ..Accounts::default() },
        ]
    }

    fn rows(html: &str) -> Vec<String> {
        let cells = |row: &str| {
            let cells = row.split("<t").skip(1).map(|cell| {
                let texts = cell.split('<').map(|piece| piece.split_once('>').map_or("", |(_, text)| text));
                texts.collect::<String>()
            });
            cells.collect::<Vec<_>>().join("|")
        };
        html.split("<tr>").skip(1).map(|row| cells(row.split("</tr>").next().unwrap())).collect()
    }

    #[test]
    fn busy_time_is_by_kind_and_idle_time_by_cause_with_differences_that_add_up() {
        let [before, after] = sides();
        let html = both(&before, &after);
        let expected = [
            "|before|after|difference|where",
            "kernels|500 µs|500 µs|0|",
            "copies|100 µs|120 µs|+20.0 µs|",
            "driver-lock|400 µs||-400 µs|",
            "host-code||50.0 µs|+50.0 µs|",
            "2 more|100 ns|80 ns|-20 ns|lock, gil",
            "all|1.00 ms|670 µs|-330 µs|",
            "|before|after|difference|where",
            "driver-lock|400 µs||-400 µs|",
            "own-work|10.0 µs|10.0 µs|0|",
            "all|410 µs|10.0 µs|-400 µs|",
        ];
        assert_eq!(rows(html.as_str()), expected);
    }

    #[test]
    fn the_bars_of_a_card_have_one_scale_and_lead_nowhere() {
        let [mut before, after] = sides();
        before.gpus[0].idle[0].finding = Some(String::from("H1"));
        let html = both(&before, &after);
        let html = html.as_str();
        assert!(html.contains("aria-label=\"GPU 0 before, 1.00 ms\""), "{html}");
        // Half of before; the same time after.
        assert_eq!(html.matches("width=\"59.994%\"").count(), 1, "{html}");
        assert_eq!(html.matches("width=\"61.994%\"").count(), 1, "{html}");
        assert!(!html.contains("data-finding") && !html.contains("data-find"), "{html}");
    }

    #[test]
    fn a_side_without_known_causes_has_idle_time() {
        let [before, after] = sides();
        let after = Accounts { refused: Some(Refusal::Lost), ..after };
        let rows = rows(both(&before, &after).as_str());
        assert!(rows.contains(&String::from("idle||50.1 µs|+50.1 µs|")), "{rows:?}");
    }

    #[test]
    fn what_does_not_change_is_folded_and_the_rest_is_counted() {
        let same = |tid| thread(tid, "", vec![part(Cause::OwnWork, 10)]);
        let pool = |ns| (100..102).map(move |tid| thread(tid, "pool", vec![part(Cause::Gil, ns)]));
        let of = |ns| {
            let threads = (0..50).map(same).chain(pool(ns)).collect();
            Accounts { threads, ..Accounts::default() }
        };
        let html = both(&of(100), &of(30));
        let (seen, folded) = html.as_str().split_once("<details").unwrap();
        assert_eq!(seen.matches("<article").count(), 1);
        assert!(seen.contains(">2 threads pool<"), "{seen}");
        assert!(folded.contains("52 more accounts"), "{folded}");
        assert_eq!(folded.matches("<article").count(), MOST - 1);
        assert!(folded.contains("13 accounts that change less: not shown."), "{folded}");
    }
}
