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
    cards.sort_by_key(|card| (!card.is_gpu, Reverse(card.change()), Reverse(card.calls)));
    let all = cards.len();
    let longest = cards.iter().map(Card::longest).max().unwrap_or(0);
    let rest = cards.split_off(SEEN.min(all));
    let mut html = Html::new();
    html.push(&grid(&cards, longest));
    if !rest.is_empty() {
        let more = units::counted(rest.len() as u64, "more account", "more accounts");
        html.open("details", &[("class", "more-bars")]).leaf("summary", &[], &more);
        html.push(&grid(&rest[..rest.len().min(MOST - SEEN)], longest));
        if all > MOST {
            let omitted = units::counted((all - MOST) as u64, "account", "accounts");
            html.leaf("p", &[("class", "remark")], &format!("{omitted} that change less: not shown."));
        }
        html.close("details");
    }
    html.leaf("p", &[("class", "readout"), ("aria-hidden", "true")], "");
    html
}

fn grid(cards: &[Card], longest: Ns) -> Html {
    let mut html = Html::new();
    html.open("div", &[("class", "cards")]);
    cards.iter().for_each(|card| {
        html.push(&card.html(longest));
    });
    html.close("div");
    html
}

/// A card for each bar of either side; of the threads of one name also one for each.
fn cards(before: &Accounts, after: &Accounts) -> Vec<Card> {
    let each = |accounts: &Accounts| -> Vec<Bar> {
        bars(accounts)
            .into_iter()
            .flat_map(|bar| [vec![Bar { each: Vec::new(), ..bar.clone() }], bar.each].concat())
            .collect()
    };
    let mut afters: Vec<Option<Bar>> = each(after).into_iter().map(Some).collect();
    let gpu = |of: &str, accounts: &Accounts| -> Option<GpuAccount> {
        accounts.gpus.iter().find(|gpu| format!("GPU {}", gpu.device) == of).cloned()
    };
    let card = |before_bar: Option<Bar>, after_bar: Option<Bar>| -> Option<Card> {
        let known = before_bar.as_ref().or(after_bar.as_ref())?;
        let (of, is_gpu, calls) = (known.of.clone(), known.is_gpu, known.calls);
        let mut rows = Vec::new();
        if is_gpu {
            rows.extend(busy([gpu(&of, before), gpu(&of, after)]));
        }
        rows.extend(causes(before_bar.as_ref(), after_bar.as_ref()));
        Some(Card { of, is_gpu, calls, before: before_bar, after: after_bar, rows })
    };
    let mut cards = Vec::new();
    for bar in each(before) {
        let same = afters.iter_mut().find(|after| after.as_ref().is_some_and(|after| after.of == bar.of));
        let same = same.and_then(Option::take);
        cards.extend(card(Some(bar), same));
    }
    cards.extend(afters.into_iter().flatten().filter_map(|bar| card(None, Some(bar))));
    cards
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
    let held = row("held back of that", |gpu| gpu.held_back.iter().map(|held| held.part.ns).sum());
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
        let is_small = |row: &&Row| row.before.max(row.after) < least && !row.is_part;
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

    fn html(&self, longest: Ns) -> Html {
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
        html.open("table", &[("class", "sums both")]).open("thead", &[]).open("tr", &[]);
        for (title, class) in [("", ""), ("before", "number"), ("after", "number"), ("difference", "number")]
        {
            html.leaf("th", &[("scope", "col"), ("class", class)], title);
        }
        html.leaf("th", &[("scope", "col"), ("class", "what")], "where");
        html.close("tr").close("thead").open("tbody", &[]);
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
        html.leaf("td", &[("class", class)], &signed(change));
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

/// `+53.8 ms`, `−53.8 ms`
fn signed(ns: Ns) -> String {
    match ns {
        0 => String::from("0"),
        1.. => format!("+{}", units::duration(ns)),
        ..0 => format!("−{}", units::duration(-ns)),
    }
}

/// A bar whose parts lead nowhere: the page has no findings.
fn without_links(bar: &Bar) -> Bar {
    let without =
        |parts: &[BarPart]| parts.iter().map(|part| BarPart { finding: None, ..part.clone() }).collect();
    Bar { is_gpu: false, parts: without(&bar.parts), held: without(&bar.held), ..bar.clone() }
}
