//! Results as a page: the contents of the text, with the plot, timelines and a table to sort and filter.

use super::{has_interval, interval, measured_in, shows_errors, timelines, varying};
use crate::experiment::Column;
use crate::results::{Change, Comparison, Results, Row};
use page::html::Html;
use page::table::{Cell, Kind, Table};
use page::{Page, Section};

/// The page of results, compared with an earlier run if there is one.
pub fn html(results: &Results, comparison: Option<&Comparison>) -> Page {
    let mut sections = vec![verdict(results), plot(results)];
    sections.extend(timelines(results));
    sections.push(rows(results));
    sections.extend(comparison.map(|comparison| changes(results, comparison)));
    sections.extend(remarks(results));
    let title = format!("{} on {} · holdup", results.experiment.name, results.bench.name);
    Page { title, head: head(results), sections }
}

/// The experiment, the device, the rounds, and the columns that are the same in all rows.
fn head(results: &Results) -> Html {
    let mut html = Html::new();
    html.leaf("p", &[("class", "brand")], "holdup lab");
    html.open("h1", &[]).text(results.experiment.name).text(" on ");
    html.leaf("span", &[("class", "name")], &results.bench.name).close("h1");
    html.leaf("p", &[("class", "question")], results.experiment.question);
    html.open("ul", &[("class", "facts")]).leaf("li", &[], &results.place());
    let (_, fixed) = results.columns();
    for (name, cell) in fixed {
        html.leaf("li", &[], &format!("{name} {}", results.experiment.column(name).text(&cell)));
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

/// The timelines of the variants, if the experiment has them.
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
    Some(section("timelines", "Timelines", body))
}

/// All rows, with bars of the first figure.
fn rows(results: &Results) -> Section {
    let varying = varying(results);
    let figures = measured_in(results, &results.rows);
    let value = |row: &Row| figures.first().map_or(f64::NAN, |first| row.value(first.name));
    let most = results.rows.iter().map(value).fold(0.0, f64::max);
    let spread = results.has_spread();
    let errors = shows_errors(results);

    let mut columns: Vec<_> = varying.iter().map(|column| (column.title, kind(column))).collect();
    for (at, column) in figures.iter().enumerate() {
        columns.push((column.title, Kind::Number));
        columns.extend((at == 0 && spread).then_some(("±", Kind::Number)));
        columns.extend(has_interval(results, column).then_some(("95 %", Kind::Text)));
        columns.extend((at == 0).then_some(("", Kind::Bar)));
    }
    columns.extend(errors.then_some(("max error", Kind::Number)));

    let caption = report::units::counted(results.rows.len() as u64, "row", "rows");
    let mut table = Table::new(&caption, &columns);
    for row in &results.rows {
        let mut cells: Vec<Cell> = varying.iter().map(|column| varied(row, column)).collect();
        for (at, column) in figures.iter().enumerate() {
            cells.push(measured(row, column));
            if at == 0 {
                cells.extend(spread.then(|| spread_of(row, column)));
            }
            cells.extend(has_interval(results, column).then(|| Cell::text(&interval(row, column))));
            if at == 0 {
                cells.push(bar(value(row), most));
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

fn kind(column: &Column) -> Kind {
    if column.is_number() { Kind::Number } else { Kind::Text }
}

/// Value that a row varies. A row without the value sorts below all that have it.
fn varied(row: &Row, column: &Column) -> Cell {
    let text = super::varied(row, column);
    match row.cell(column.name) {
        Some(crate::Cell::Number(number)) => Cell::number(text, *number as f64),
        Some(_) if column.is_number() => Cell::number(text, -1.0),
        _ => Cell::text(&text),
    }
}

/// A figure. What was not measured sorts below everything that was.
fn measured(row: &Row, column: &Column) -> Cell {
    let value = row.value(column.name);
    Cell::number(super::measured(row, column), if value.is_nan() { -1.0 } else { value })
}

fn bar(value: f64, most: f64) -> Cell {
    let part = value / most;
    if part.is_finite() { Cell::bar(part) } else { Cell::text("") }
}

fn spread_of(row: &Row, column: &Column) -> Cell {
    let spread = row.figure(column.name).and_then(|figure| figure.spread);
    spread.map_or(Cell::text(""), |spread| Cell::number(super::spread(row, column), spread))
}

/// The changes since an earlier run; rows that changed come first.
fn changes(results: &Results, comparison: &Comparison) -> Section {
    let (varying, _) = results.columns();
    let mut body = Html::new();
    body.leaf("p", &[("class", "lede")], &comparison.verdict());
    let mut columns = vec![
        ("Row", Kind::Text),
        ("Before", Kind::Number),
        ("Now", Kind::Number),
        ("Times", Kind::Number),
        ("Change", Kind::Text),
    ];
    let has_gains = comparison.has_gains();
    columns.extend(has_gains.then_some(("95 %", Kind::Text)));
    let mut table = Table::new(&format!("Before: {}", comparison.device), &columns);
    let (changed, same): (Vec<&Change>, Vec<&Change>) =
        comparison.changes.iter().partition(|change| change.beyond_spread);
    for change in changed.into_iter().chain(same) {
        let of_row = change.varied.iter().filter(|(name, _)| varying.contains(name));
        let cells = of_row.map(|(name, cell)| results.experiment.column(name).text(cell));
        let name: Vec<String> = cells.collect();
        let mut cells = vec![
            Cell::text(&name.join(", ")),
            Cell::number(change.unit.text(change.before), change.before),
            Cell::number(change.unit.text(change.now), change.now),
            Cell::number(format!("{:.2}", change.ratio()), change.ratio()),
            Cell::text(change.word()),
        ];
        cells.extend(has_gains.then(|| Cell::text(&change.gain().unwrap_or_default())));
        table.push(cells);
    }
    body.push(&table.html());
    Section { script: "tables", ..section("baseline", "Against an earlier run", body) }
}

/// Sections of what was not run, and of remarks on the figures.
fn remarks(results: &Results) -> Vec<Section> {
    let parts = [("left-out", "Not run", &results.left_out), ("notes", "Notes", &results.notes)];
    let some = parts.into_iter().filter(|(_, _, lines)| !lines.is_empty());
    some.map(|(id, title, lines)| section(id, title, list("remarks", lines))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::experiment;
    use crate::experiment::{Bench, Settings};
    use crate::results::{Figure, Partial};

    const HOSTILE: &str = "<img src=x onerror=alert(1)>\"'\u{202e}&";

    fn hostile() -> Results {
        let experiment = experiment("overlap").expect("there");
        let row = |variant: &str, value: f64| Row {
            varied: vec![("variant", variant.into()), ("streams", crate::Cell::Nothing)],
            figures: vec![Figure::new("ms", value, Some(0.5))],
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
            partial: Some(Partial { why: HOSTILE.into(), missing: 1, incomplete: 0, of: 3 }),
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
        // Title, heading, device, table, plot, comparison, not run, note and partial.
        assert!(page.matches("&lt;img src=x onerror=alert(1)&gt;").count() >= 9);
        assert!(page.contains("PARTIAL: ") && page.contains("the results are partial: 1 of 3 variants"));
    }

    #[test]
    fn missing_figures_have_no_bar_and_sort_last() {
        let page = written(&html(&hostile(), None));
        let rows = page.split("<tbody>").nth(1).expect("a table").split("</tbody>").next().expect("its end");
        let parts: Vec<&str> = rows.split("</tr>").collect();
        assert!(parts[0].contains("data-value=\"10\">10.0 ms</td>"), "{rows}");
        assert!(parts[0].contains("class=\"part\" width=\"100.00\""), "{rows}");
        assert!(parts[1].contains("data-value=\"-1\"></td>") && !parts[1].contains("\"part\""), "{rows}");
        assert!(page.contains(">max error</th>") && page.contains(">±</th>"));
    }
}
