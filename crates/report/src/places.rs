//! Where in the source an API is called.

use crate::escape::visible;
use crate::explanation::place_text;
use crate::labels::Chosen;
use crate::page::Page;
use crate::table::{Align, Table};
use crate::{header, units};
use explain::{Place, Summary};
use serde::Serialize;
use std::collections::HashMap;
use trace::{CallId, Ns, Selection, Sym, Trace};

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
    /// Number of calls.
    pub count: u64,
    /// Sum of their durations, ns.
    pub total_ns: Ns,
    /// Mean duration, ns.
    pub mean_ns: Ns,
    /// Longest, ns.
    pub max_ns: Ns,
}

/// Sums the chosen calls up by place; the selection's name is the API that is looked for.
pub fn build(trace: &Trace, path: &str, selection: &Selection) -> Places {
    let chosen = Chosen::new(trace, selection);
    let calls: Vec<CallId> = trace.calls.ids().filter(|call| chosen.call(call.index())).collect();
    let mut rows: HashMap<(Sym, Option<Place>), Row> = HashMap::new();
    for (call, place) in calls.iter().zip(explain::places(trace, &calls)) {
        let (at, name) = (call.index(), trace.calls.name[call.index()]);
        let duration = trace.calls.end[at] - trace.calls.start[at];
        let row = rows.entry((name, place)).or_insert_with_key(|(name, place)| Row {
            call: trace.text(*name).to_owned(),
            place: place.clone(),
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
    let order = |row: &Row| (-row.total_ns, row.call.clone(), place(&row.place));
    places.sort_by_cached_key(order);
    let total_ns = places.iter().map(|row| row.total_ns).sum();
    Places { trace: header::summary(trace, path), count: calls.len() as u64, total_ns, places }
}

/// The places as a table that fits the page unless `wide`: paths are shortened first, and what is longer still is cut in
/// the middle.
pub fn text(places: &Places, page: Page, wide: bool) -> String {
    let mut text = header::text(&places.trace, page.columns);
    if places.count == 0 {
        text.push_str("\nno such call was chosen; `holdup stats` lists the names there are\n");
        return text;
    }
    let several = places.places.iter().any(|row| row.call != places.places[0].call);
    let what =
        if several { String::from("calls") } else { format!("× {}", visible(&places.places[0].call)) };
    let took = units::two_decimals(places.total_ns as f64);
    let from = units::counted(places.places.len() as u64, "place", "places");
    text.push_str(&format!("\n{} {what} took {took}, called from {from}\n", units::count(places.count)));
    match wide {
        true => text.push_str(&table(places, several, Look { parts: None, mean: true }).boxed(None)),
        false => text.push_str(&fitting(places, several, page.columns).boxed(Some(page.columns))),
    }
    text
}

/// How a table shows its places: with so many parts of each path, and with or without the mean duration.
#[derive(Clone, Copy)]
struct Look {
    parts: Option<usize>,
    mean: bool,
}

/// The table that says most of those that fit: a place's line and function matter more than its directory.
fn fitting(places: &Places, several: bool, columns: usize) -> Table {
    let two = Look { parts: Some(2), mean: true };
    let one = Look { parts: Some(1), ..two };
    let tables = [two, one].into_iter().map(|look| table(places, several, look));
    let mut fit = tables.filter(|table| table.last_fits(columns, usize::MAX));
    fit.next().unwrap_or_else(|| table(places, several, Look { mean: false, ..one }))
}

/// The places as one JSON object.
pub fn json(places: &Places) -> String {
    let mut text = serde_json::to_string_pretty(places).expect("numbers and strings always serialize");
    text.push('\n');
    text
}

fn table(places: &Places, several: bool, look: Look) -> Table {
    let mut table = Table::new(&[
        ("Time (%)", Align::Right),
        ("Total time", Align::Right),
        ("Calls", Align::Right),
        ("Mean", Align::Right),
        ("Longest", Align::Right),
        ("API", Align::Left),
        ("Place", Align::Left),
    ]);
    for row in &places.places {
        table.push(vec![
            units::percent_two_decimals(row.total_ns as f64 / places.total_ns.max(1) as f64),
            units::two_decimals(row.total_ns as f64),
            units::count(row.count),
            if look.mean { units::two_decimals(row.mean_ns as f64) } else { String::new() },
            units::two_decimals(row.max_ns as f64),
            // Where all rows are of one API, the title says which.
            if several { visible(&row.call).into_owned() } else { String::new() },
            place(&row.place.as_ref().map(|place| shortened(place, look.parts))),
        ]);
    }
    table.drop_empty_columns();
    table
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

fn place(place: &Option<Place>) -> String {
    let place = place.as_ref().map(place_text).filter(|place| !place.is_empty());
    place.unwrap_or_else(|| String::from("(no source information in this trace)"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
