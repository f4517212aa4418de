//! Results as a page: what `text.rs` says, with the plot and a table to sort and filter.

use crate::baseline::{Change, Comparison};
use crate::columns::{figure, figures, heading_of, is_number, title, value};
use crate::results::{Results, Row, Unit};
use crate::timelines;
use page::html::Html;
use page::table::{Cell, Kind, Table};
use page::{Page, Section};

/// The page of what was measured, beside an earlier run where there is one.
pub fn html(results: &Results, comparison: Option<&Comparison>) -> Page {
    let mut sections = vec![verdict(results), plot(results)];
    sections.extend(timelines(results));
    sections.push(rows(results));
    sections.extend(comparison.map(|comparison| changes(results, comparison)));
    sections.extend(remarks(results));
    let title = format!("{} on {} · holdup", results.experiment.name, results.bench.name);
    Page { title, head: head(results), sections }
}

/// Which experiment, where, how, and what all rows have in common.
fn head(results: &Results) -> Html {
    let mut html = Html::new();
    html.leaf("p", &[("class", "brand")], "holdup lab");
    html.open("h1", &[]).text(results.experiment.name).text(" on ");
    html.leaf("span", &[("class", "name")], &results.bench.name).close("h1");
    html.leaf("p", &[("class", "question")], results.experiment.question);
    html.open("ul", &[("class", "facts")]).leaf("li", &[], &results.place());
    let (_, fixed) = results.columns();
    for (name, cell) in fixed {
        html.leaf("li", &[], &format!("{name} {}", value(name, &cell)));
    }
    html.close("ul");
    if let Some(partial) = &results.partial {
        html.leaf("p", &[("class", "partial")], &format!("PARTIAL: {partial}"));
    }
    html
}

fn section(id: &'static str, title: &str, body: Html) -> Section {
    Section { id, title: title.to_owned(), body, ..Section::default() }
}

fn verdict(results: &Results) -> Section {
    section("verdict", "Verdict", list("verdicts", &results.verdict()))
}

fn list(class: &str, lines: &[String]) -> Html {
    let mut html = Html::new();
    html.open("ul", &[("class", class)]);
    for line in lines {
        html.leaf("li", &[], line);
    }
    html.close("ul");
    html
}

fn plot(results: &Results) -> Section {
    let mut body = Html::new();
    body.plot(&results.plot());
    if let Some(calls) = results.calls_plot() {
        body.leaf("p", &[("class", "lede")], &calls.title).plot(&calls);
    }
    section("plot", "Plot", body)
}

/// What the variants did when, of an experiment that is about that.
fn timelines(results: &Results) -> Option<Section> {
    let (plot, lines) = timelines::timelines(results);
    if plot.is_none() && lines.is_empty() {
        return None;
    }
    let mut body = Html::new();
    for line in &lines {
        body.leaf("p", &[("class", "lede")], line);
    }
    if let Some(plot) = &plot {
        body.plot(plot);
    }
    Some(section("timelines", "What happened when", body))
}

/// All rows, with a bar for the first figure.
fn rows(results: &Results) -> Section {
    let (varying, _) = results.columns();
    let figures = figures(&results.rows);
    let first = figures.first().copied().unwrap_or_default();
    let most = results.rows.iter().map(|row| row.value(first)).fold(0.0, f64::max);
    let spread = results.has_spread();
    let errors = results.experiment.checked
        || results.rows.iter().any(|row| row.max_error.is_some_and(|error| error != 0.0));

    let mut columns: Vec<_> = varying.iter().map(|name| (heading_of(name), kind(name))).collect();
    for (at, name) in figures.iter().enumerate() {
        columns.push((title(name), Kind::Number));
        columns.extend((at == 0 && spread).then_some(("±", Kind::Number)));
        columns.extend((at == 0).then_some(("", Kind::Bar)));
    }
    columns.extend(errors.then_some(("max error", Kind::Number)));

    let caption = report::units::counted(results.rows.len() as u64, "row", "rows");
    let mut table = Table::new(&caption, &columns);
    for row in &results.rows {
        let mut cells: Vec<Cell> = varying.iter().map(|name| varied(row, name)).collect();
        for (at, name) in figures.iter().enumerate() {
            cells.push(measured(row, name));
            if at == 0 {
                cells.extend(spread.then(|| spread_of(row, name)));
                cells.push(bar(row.value(name), most));
            }
        }
        cells.extend(errors.then(|| match row.max_error {
            Some(error) => Cell::number(format!("{error:.1e}"), error),
            None if results.bench.simulated => Cell::text("not computed"),
            None => Cell::text(""),
        }));
        table.push(cells);
    }
    Section { script: "tables", ..section("rows", "Measurements", table.html()) }
}

fn kind(column: &str) -> Kind {
    if is_number(column) { Kind::Number } else { Kind::Text }
}

fn varied(row: &Row, name: &str) -> Cell {
    let Some(cell) = row.cell(name) else { return Cell::text("") };
    let text = value(name, cell);
    match cell {
        crate::Cell::Number(number) => Cell::number(text, *number as f64),
        // What has no such thing sorts below whatever has one.
        _ if is_number(name) => Cell::number(text, -1.0),
        _ => Cell::text(&text),
    }
}

fn measured(row: &Row, name: &str) -> Cell {
    let value = row.value(name);
    // What was not measured sorts below whatever was.
    Cell::number(figure(row, name), if value.is_nan() { -1.0 } else { value })
}

fn bar(value: f64, most: f64) -> Cell {
    let part = value / most;
    if part.is_finite() { Cell::bar(part) } else { Cell::text("") }
}

fn spread_of(row: &Row, name: &str) -> Cell {
    let figure = row.figure(name);
    let spread = figure.and_then(|figure| figure.spread);
    spread.map_or(Cell::text(""), |spread| Cell::number(Unit::of(name).text(spread), spread))
}

/// What changed since an earlier run: rows that did come first.
fn changes(results: &Results, comparison: &Comparison) -> Section {
    let (varying, _) = results.columns();
    let mut body = Html::new();
    body.leaf("p", &[("class", "lede")], &comparison.verdict());
    let mut table = Table::new(
        &format!("Before: {}", comparison.device),
        &[
            ("Row", Kind::Text),
            ("Before", Kind::Number),
            ("Now", Kind::Number),
            ("Times", Kind::Number),
            ("Change", Kind::Text),
        ],
    );
    let (changed, same): (Vec<&Change>, Vec<&Change>) =
        comparison.changes.iter().partition(|change| change.beyond_spread);
    for change in changed.into_iter().chain(same) {
        let unit = Unit::of(change.figure);
        let of_row = change.varied.iter().filter(|(name, _)| varying.contains(name));
        let name: Vec<String> = of_row.map(|(name, cell)| value(name, cell)).collect();
        table.push(vec![
            Cell::text(&name.join(", ")),
            Cell::number(unit.text(change.before), change.before),
            Cell::number(unit.text(change.now), change.now),
            Cell::number(format!("{:.2}", change.ratio()), change.ratio()),
            Cell::text(change.word()),
        ]);
    }
    body.push(&table.html());
    Section { script: "tables", ..section("baseline", "Against an earlier run", body) }
}

/// What was left out and why, and what else a reader of the figures should know.
fn remarks(results: &Results) -> Vec<Section> {
    let parts =
        [("left-out", "Left out, and why", &results.left_out), ("notes", "To keep in mind", &results.notes)];
    let some = parts.into_iter().filter(|(_, _, lines)| !lines.is_empty());
    some.map(|(id, title, lines)| section(id, title, list("remarks", lines))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Figure, Partial};
    use crate::{Bench, Settings, experiment};

    const HOSTILE: &str = "<img src=x onerror=alert(1)>\"'\u{202e}&";

    fn hostile() -> Results {
        let experiment = experiment("overlap").expect("there");
        let row = |variant: &str, value: f64| Row {
            varied: vec![("variant", variant.into()), ("streams", crate::Cell::Nothing)],
            figures: vec![Figure { name: "ms", value, spread: Some(0.5) }],
            max_error: Some(0.25),
            each: Vec::new(),
        };
        Results {
            experiment,
            bench: Bench { name: HOSTILE.into(), driver: Some(HOSTILE.into()), ..Bench::default() },
            settings: Settings::new(experiment.name, experiment.parameters, &[]).expect("defaults"),
            rounds: 3,
            rows: vec![row(HOSTILE, 10.0), row("unmeasured", f64::NAN)],
            left_out: vec![HOSTILE.into()],
            notes: vec![HOSTILE.into()],
            partial: Some(Partial { why: HOSTILE.into(), missing: 1, of: 3 }),
            traced: false,
            traces: Vec::new(),
        }
    }

    fn written(page: &Page) -> String {
        let mut file = Vec::new();
        page.write(&mut file).expect("writing to memory");
        String::from_utf8(file).expect("UTF-8")
    }

    #[test]
    fn text_from_models_and_workloads_stays_text() {
        let results = hostile();
        let earlier = Results::read(&crate::json(&results, None).to_string()).expect("own JSON");
        let page = written(&html(&results, Some(&Comparison::new(&results, &earlier))));
        assert!(!page.contains("<img") && !page.contains('\u{202e}'));
        // Title, heading, device, table, plot, comparison, left out, note, partial: all are there.
        assert!(page.matches("&lt;img src=x onerror=alert(1)&gt;").count() >= 9);
        assert!(page.contains("PARTIAL: ") && page.contains("the results are partial: 1 of 3 variants"));
    }

    #[test]
    fn what_was_not_measured_has_no_bar_and_sorts_last() {
        let page = written(&html(&hostile(), None));
        let rows = page.split("<tbody>").nth(1).expect("a table").split("</tbody>").next().expect("its end");
        let parts: Vec<&str> = rows.split("</tr>").collect();
        assert!(parts[0].contains("data-value=\"10\">10.0 ms</td>"), "{rows}");
        assert!(parts[0].contains("class=\"part\" width=\"100.00\""), "{rows}");
        assert!(parts[1].contains("data-value=\"-1\"></td>") && !parts[1].contains("\"part\""), "{rows}");
        assert!(page.contains(">max error</th>") && page.contains(">±</th>"));
    }
}
