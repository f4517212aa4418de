//! Results as a page: the contents of the text, with the plot, timelines and a table to sort and filter.

use super::rows::whole;
use super::timelines;
use crate::results::{Change, Comparison, Results};
use page::html::Html;
use page::{Page, Section};
use report::document::{Cell, Table};

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
    let mut body = Html::new();
    let caption = report::units::counted(results.rows.len() as u64, "row", "rows");
    body.table(&whole(results, true).captioned(caption));
    Section { script: "tables", ..section("rows", "Measurements", body) }
}

/// The changes since an earlier run; rows that changed come first.
fn changes(results: &Results, comparison: &Comparison) -> Section {
    let (varying, _) = results.columns();
    let (mut changes, same): (Vec<&Change>, Vec<&Change>) =
        comparison.changes.iter().partition(|change| change.beyond_spread);
    changes.extend(same);
    let name = |change: &&Change| {
        let of_row = change.varied.iter().filter(|(name, _)| varying.contains(name));
        let cells = of_row.map(|(name, cell)| results.experiment.column(name).text(cell));
        cells.collect::<Vec<_>>().join(", ")
    };
    let gain = |change: &&Change| change.gain().unwrap_or_default();
    let table = Table::of(&changes)
        .left("Row", name)
        .right("Before", |change| Cell::number(change.unit.text(change.before), change.before))
        .right("Now", |change| Cell::number(change.unit.text(change.now), change.now))
        .right("Times", |change| Cell::number(format!("{:.2}", change.ratio()), change.ratio()))
        .left("Change", |change| change.word())
        .when(comparison.has_gains(), |table| table.left("95 %", gain));
    let mut body = Html::new();
    body.leaf("p", &[("class", "lede")], &comparison.verdict());
    body.table(&table.table().captioned(format!("Before: {}", comparison.device)));
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
    use crate::results::{Figure, Partial, Row};

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
