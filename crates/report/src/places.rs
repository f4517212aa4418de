//! Where in the source an API is called.

use crate::document::{Document, Fit, Form, Paragraph, Table, Width};
use crate::explanation::place_text;
use crate::header::{self, Extent};
use crate::labels::Chosen;
use crate::page::Page;
use crate::{short, units};
use explain::{Place, Summary};
use serde::Serialize;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use trace::{CallId, Ns, Selection, Source, Sym, Trace};

/// The source places that call certain APIs.
#[derive(Clone, Debug, Serialize)]
pub struct Places {
    /// The trace in numbers.
    pub trace: Summary,
    /// Number of calls.
    pub count: u64,
    /// Sum of their durations, ns.
    pub total_ns: Ns,
    /// Most time first.
    pub places: Vec<Row>,
}

/// Calls of one API from one place.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The API.
    pub call: String,
    /// The place, if the trace says.
    pub place: Option<Place>,
    /// Why there is no place; `None` where there is one.
    pub no_place: Option<NoPlace>,
    /// Number of calls.
    pub count: u64,
    /// Sum of their durations, ns.
    pub total_ns: Ns,
    /// Mean duration, ns.
    pub mean_ns: Ns,
    /// Longest, ns.
    pub max_ns: Ns,
}

/// Why calls have no place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoPlace {
    /// They are shorter than the shortest call of which `holdup record` took a stack: below `--stacks`.
    Short,
    /// The trace has no stack of them and no range around them.
    Unknown,
}

impl NoPlace {
    fn text(self) -> &'static str {
        match self {
            NoPlace::Short => "(below --stacks)",
            NoPlace::Unknown => "(no source information in this trace)",
        }
    }
}

/// The shortest call that `holdup record` took a stack of, ns; `None` for other traces.
fn shortest_with_stack(trace: &Trace) -> Option<Ns> {
    let calls = &trace.calls;
    let with_stack = (0..calls.len()).filter(|&at| calls.stack[at].is_some());
    let shortest = with_stack.map(|at| calls.end[at] - calls.start[at]).min();
    shortest.filter(|_| trace.meta.source == Source::HOLDUP.id)
}

/// Sums the chosen calls up by place; the selection's name is the API that is looked for.
pub fn build(trace: &Trace, path: &str, selection: &Selection) -> Places {
    let chosen = Chosen::new(trace, selection);
    let calls: Vec<CallId> = trace.calls.ids().filter(|call| chosen.call(call.index())).collect();
    let shortest = shortest_with_stack(trace);
    let mut rows: HashMap<(Sym, Option<Place>, Option<NoPlace>), Row> = HashMap::new();
    for (call, place) in calls.iter().zip(explain::places(trace, &calls)) {
        let (at, name) = (call.index(), trace.calls.name[call.index()]);
        let duration = trace.calls.end[at] - trace.calls.start[at];
        let no_place = place.is_none().then_some(match shortest {
            Some(shortest) if duration < shortest => NoPlace::Short,
            _ => NoPlace::Unknown,
        });
        let row = rows.entry((name, place, no_place)).or_insert_with_key(|(name, place, no_place)| Row {
            call: trace.text(*name).to_owned(),
            place: place.clone(),
            no_place: *no_place,
            count: 0,
            total_ns: 0,
            mean_ns: 0,
            max_ns: 0,
        });
        row.count += 1;
        row.total_ns += duration;
        row.max_ns = row.max_ns.max(duration);
    }
    let mut places: Vec<Row> = rows.into_values().collect();
    places.iter_mut().for_each(|row| row.mean_ns = row.total_ns / row.count as Ns);
    let order = |row: &Row| (-row.total_ns, row.call.clone(), place(row));
    places.sort_by_cached_key(order);
    let total_ns = places.iter().map(|row| row.total_ns).sum();
    Places { trace: header::summary(trace, path), count: calls.len() as u64, total_ns, places }
}

/// The places as a table that fits the page unless `wide`: instances of a template are one row, paths are shortened, and
/// what is longer still is cut in the middle.
pub fn document(places: &Places, page: Page, wide: bool) -> Document {
    let folded = (!wide).then(|| folded(places));
    let places = folded.as_ref().unwrap_or(places);
    let mut document = header::document(&places.trace, Form::Text(page), Extent::All);
    document.gap();
    if places.count == 0 {
        document.push(Paragraph::new("no such call was chosen; `holdup stats` lists the names there are"));
        return document;
    }
    let several = places.places.iter().any(|row| row.call != places.places[0].call);
    let what = if several { String::from("calls") } else { format!("× {}", places.places[0].call) };
    let took = units::two_decimals(places.total_ns as f64);
    let from = units::counted(places.places.len() as u64, "place", "places");
    let title = format!("{} {what} took {took}, called from {from}", units::count(places.count));
    document.push(Paragraph::new(title).fit(Fit::Stay));
    document.push(match wide {
        true => table(places, several, PlaceColumns { parts: None, mean: true }).wide(Width::Any),
        false => fitting(places, several, page.table_columns).wide(Width::Terminal),
    });
    document
}

/// The same with functions without their template arguments and parameters; rows that only differ in these are one.
fn folded(places: &Places) -> Places {
    let mut rows: Vec<Row> = Vec::new();
    let mut known: HashMap<(&str, Option<Place>, Option<NoPlace>), usize> = HashMap::new();
    for row in &places.places {
        let place = row.place.as_ref().map(|place| {
            let function = short::at(&place.function, short::Level::Template).into_owned();
            Place { function, ..place.clone() }
        });
        match known.entry((&row.call, place.clone(), row.no_place)) {
            Entry::Vacant(entry) => {
                entry.insert(rows.len());
                rows.push(Row { place, ..row.clone() });
            }
            Entry::Occupied(entry) => {
                let same = &mut rows[*entry.get()];
                same.count += row.count;
                same.total_ns += row.total_ns;
                same.mean_ns = same.total_ns / same.count as Ns;
                same.max_ns = same.max_ns.max(row.max_ns);
            }
        }
    }
    rows.sort_by_key(|row| -row.total_ns);
    Places { places: rows, ..places.clone() }
}

/// How a table shows its places: with so many parts of each path, and with or without the mean duration.
#[derive(Clone, Copy)]
struct PlaceColumns {
    parts: Option<usize>,
    mean: bool,
}

/// The table that says most of those that fit: a place's line and function matter more than its directory.
fn fitting(places: &Places, several: bool, columns: usize) -> Table {
    let two = PlaceColumns { parts: Some(2), mean: true };
    let one = PlaceColumns { parts: Some(1), ..two };
    let tables = [two, one].into_iter().map(|look| table(places, several, look));
    let mut fit = tables.filter(|table| table.last_fits(columns, usize::MAX));
    fit.next().unwrap_or_else(|| table(places, several, PlaceColumns { mean: false, ..one }))
}

/// The places as one JSON object: `docs/schema/where.json`.
pub fn json(places: &Places) -> String {
    crate::json("holdup/where/1", places)
}

fn table(places: &Places, several: bool, look: PlaceColumns) -> Table {
    let share = |row: &Row| row.total_ns as f64 / places.total_ns.max(1) as f64;
    let shown = |row: &Row| row.place.as_ref().map(|place| shortened(place, look.parts));
    Table::of(&places.places)
        .right("Time (%)", |row| units::percent_two_decimals(share(row)))
        .right("Total time", |row| units::two_decimals(row.total_ns as f64))
        .right("Calls", |row| units::count(row.count))
        .when(look.mean, |columns| columns.right("Mean", |row| units::two_decimals(row.mean_ns as f64)))
        .right("Longest", |row| units::two_decimals(row.max_ns as f64))
        // Where all rows are of one API, the title says which.
        .when(several, |columns| columns.left("API", |row| row.call.clone()))
        .left("Place", |row| place(&Row { place: shown(row), ..row.clone() }))
        .table()
}

/// The place with the last parts of its path: the last two tell files apart, and leave room for the function.
fn shortened(place: &Place, parts: Option<usize>) -> Place {
    let slash = parts.and_then(|parts| place.file.rmatch_indices('/').nth(parts - 1));
    let file = match slash {
        Some((at, _)) if at > 0 => format!("…{}", &place.file[at..]),
        _ => place.file.clone(),
    };
    Place { file, ..place.clone() }
}

fn place(row: &Row) -> String {
    let place = row.place.as_ref().map(place_text).filter(|place| !place.is_empty());
    place.unwrap_or_else(|| row.no_place.unwrap_or(NoPlace::Unknown).text().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Call, Frame, Stack, StackId};

    #[test]
    fn a_path_keeps_its_last_parts() {
        for (file, two, one) in [
            ("/a/b/c.py", "…/b/c.py", "…/c.py"),
            ("/b/c.py", "/b/c.py", "…/c.py"),
            ("/c.py", "/c.py", "/c.py"),
            ("c.py", "c.py", "c.py"),
            ("", "", ""),
        ] {
            let place = Place { file: file.into(), line: 3, function: "f".into() };
            let short = [Some(2), Some(1), None].map(|parts| shortened(&place, parts).file);
            assert_eq!(short, [two, one, file]);
        }
    }

    /// Two calls: one with a stack, a shorter one without.
    fn recorded(source: &str) -> Trace {
        let mut trace = Trace::default();
        trace.meta.source = source.to_owned();
        let name = trace.strings.intern("cudaMalloc");
        let function = trace.strings.intern("void at::f<int>(int)");
        let frame = trace.frames.push(Frame { function, file: function, line: 7, ..Frame::default() });
        let stack = trace.stacks.push(Stack { frame, caller: StackId::NONE });
        trace.calls.push(Call { end: 200_000, name, stack, ..Call::default() });
        trace.calls.push(Call { start: 300_000, end: 300_500, name, ..Call::default() });
        trace
    }

    #[test]
    fn calls_below_the_threshold_of_stacks_are_told_from_unknown_ones() {
        let missing = |source| {
            let places = build(&recorded(source), "a", &Selection::default()).places;
            places.iter().map(|row| row.no_place).collect::<Vec<_>>()
        };
        assert_eq!(missing("holdup"), [None, Some(NoPlace::Short)]);
        assert_eq!(missing("kineto"), [None, Some(NoPlace::Unknown)]);
    }

    #[test]
    fn instances_of_a_template_are_one_row() {
        let row = |function: &str, total_ns| Row {
            call: "cudaMalloc".into(),
            place: Some(Place { file: "a.h".into(), line: 3, function: function.into() }),
            no_place: None,
            count: 1,
            total_ns,
            mean_ns: total_ns,
            max_ns: total_ns,
        };
        let rows = vec![row("g()", 20), row("void n::f<int>(int)", 15), row("void n::f<float>(float)", 25)];
        let places = Places { trace: Summary::default(), count: 3, total_ns: 60, places: rows };
        let folded = folded(&places).places;
        let shown: Vec<_> =
            folded.iter().map(|row| (place(row), row.count, row.total_ns, row.max_ns)).collect();
        let expected = [("a.h:3 in n::f<…>".to_owned(), 2, 40, 25), ("a.h:3 in g".to_owned(), 1, 20, 20)];
        assert_eq!(shown, expected);
    }
}
