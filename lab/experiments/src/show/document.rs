//! Results as a document.

use super::across::Across;
use super::rows::{changed, each, whole};
use crate::experiment::{Cell, View};
use crate::results::{Comparison, Results};
use report::document::{Block, Document, Form, Line, Paragraph, Table};
use report::plot::{self, Chart, Heat, Shade};
use report::{Page, Role};

/// The results with their verdict, without listings of traces.
pub fn document(results: &Results, comparison: Option<&Comparison>, form: Form) -> Document {
    let mut document = Document::new(form);
    match form {
        Form::Text(page) => text(&mut document, results, page),
        Form::Markdown => markdown(&mut document, results),
    }
    if let Some(comparison) = comparison {
        document.gap();
        document.push(Paragraph::new(comparison.verdict()));
        document.extend(changed(results, comparison));
    }
    document
}

/// Text: the rows, and below them the verdict, which stays on the screen.
fn text(document: &mut Document, results: &Results, page: Page) {
    let experiment = results.experiment;
    document.push(Paragraph::new(format!("{} · {}", experiment.name, results.place())));
    document.push(Paragraph::new(experiment.question).indented(4));
    document.extend(fixed(results).map(|fixed| Paragraph::new(fixed).indented(4)));
    document.gap();
    if !results.rows.is_empty() {
        document.extend(rows(results, Some(page)));
    }
    document.gap();
    document.extend(results.verdict().into_iter().map(Paragraph::new));
    document.extend(results.left_out.iter().map(|line| Paragraph::new(format!("not run: {line}"))));
    document.extend(results.notes.iter().map(|note| Paragraph::new(format!("note: {note}"))));
    document.extend(results.partial.as_ref().map(|partial| Paragraph::new(format!("PARTIAL: {partial}"))));
}

fn markdown(document: &mut Document, results: &Results) {
    let experiment = results.experiment;
    document.push(Paragraph::heading(1, format!("{}: {}", experiment.name, experiment.about)));
    let fixed = fixed(results).map(|fixed| format!("; {fixed}")).unwrap_or_default();
    document.push(Paragraph::new(format!("{}{fixed}", results.place())));
    document.push(Paragraph::remark(experiment.question));
    let partial =
        results.partial.as_ref().map(|partial| Line::of(Role::Strong, format!("PARTIAL: {partial}")));
    document.extend(partial.map(Paragraph::new));
    document.extend(results.verdict().into_iter().map(Paragraph::item));
    if !results.rows.is_empty() {
        document.extend(rows(results, None));
    }
    document.extend(results.left_out.iter().map(|line| Paragraph::new(format!("Not run: {line}."))));
    document.extend(results.notes.iter().map(|note| Paragraph::new(format!("Note: {note}."))));
}

/// The rows as the experiment's view has them, on a page or in Markdown.
fn rows(results: &Results, page: Option<Page>) -> Vec<Block> {
    let side_by_side = |across: Across<'_>| match page {
        Some(page) => across.text(page).map(Block::Drawn),
        None => Some(across.table().into()),
    };
    let view = match results.experiment.view {
        View::Matrix => matrix(results, page),
        View::Across(column, follow) => Across::new(results, column, follow).and_then(side_by_side),
        View::Table | View::Listings => None,
    };
    let mut blocks = vec![view.unwrap_or_else(|| whole(results, false).into())];
    if let Some(calls) = Across::calls(results) {
        let table = calls.table();
        blocks.extend([Block::Gap, side_by_side(calls).unwrap_or_else(|| table.into())]);
    }
    if let Some(each) = each(results) {
        blocks.push(Block::Gap);
        blocks.extend(page.map(|_| Paragraph::new("each worker").into()));
        blocks.push(each.into());
    }
    blocks
}

fn matrix(results: &Results, page: Option<Page>) -> Option<Block> {
    let Chart::Heat(heat) = (results.experiment.chart)(results) else { return None };
    Some(match page {
        Some(page) => Block::Drawn(format!("{}:\n{}", heat.value, plot::matrix(&heat, page))),
        None => of_heat(&heat).into(),
    })
}

/// A heat map's numbers.
fn of_heat(heat: &Heat) -> Table {
    let number =
        |shade: &Option<Shade>| shade.as_ref().map_or(String::from("–"), |shade| shade.text.clone());
    let groups = heat.groups.iter().flat_map(|(name, size)| std::iter::repeat_n(name, *size));
    let mut table = Table::of(&heat.rows).left(heat.value.clone(), |(name, _)| name.clone());
    for (at, (group, column)) in groups.zip(&heat.columns).enumerate() {
        table = table.right(format!("{group}, {column}"), |(_, cells)| number(&cells[at]));
    }
    table.table()
}

/// `all with bytes 16 MiB, rounds 1`; nothing if every column differs.
fn fixed(results: &Results) -> Option<String> {
    let (_, fixed) = results.columns();
    let shown = |(name, cell): (&'static str, Cell)| {
        format!("{name} {}", results.experiment.column(name).text(&cell))
    };
    let fixed: Vec<String> = fixed.into_iter().map(shown).collect();
    (!fixed.is_empty()).then(|| format!("all with {}", fixed.join(", ")))
}
