//! Charts of results whose rows are lines or bars, and labels of rows.

use crate::results::{Results, Row};
use report::plot::{Bar, Bars, Chart, Lines, Point, Series};

/// One line per group of rows that differ only in the column `x` and in columns that follow from it.
pub(crate) fn lines<'a>(
    results: &Results,
    rows: impl IntoIterator<Item = &'a Row>,
    figure: &str,
    (x, y): (&str, &str),
    follow: &[&str],
) -> Chart {
    let but: Vec<&str> = follow.iter().copied().chain([x]).collect();
    let mut series: Vec<(&Row, Series)> = Vec::new();
    for row in rows {
        let (Some(at), Some(measured)) = (row.number(x), row.figure(figure)) else { continue };
        let point = Point { x: at as f64, y: measured.value, spread: measured.spread.unwrap_or(0.0) };
        match series.iter_mut().find(|(first, _)| first.is_like(row, &but)) {
            Some((_, line)) => line.points.push(point),
            None => series.push((row, Series { name: name(results, row, &but), points: vec![point] })),
        }
    }
    for (_, line) in &mut series {
        line.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    let series = series.into_iter().map(|(_, line)| line).collect();
    Chart::Lines(Lines { x: x.to_owned(), y: y.to_owned(), series })
}

/// One bar per row, labelled with all columns except those that follow from others.
pub(crate) fn bars(results: &Results, figure: &'static str, value: &str, follow: &[&str]) -> Chart {
    let bar = |row: &Row| {
        let measured = row.figure(figure)?;
        Some(Bar {
            name: name(results, row, follow),
            value: measured.value,
            text: results.experiment.column(figure).unit().text(measured.value),
            spread: measured.spread.unwrap_or(0.0),
        })
    };
    let bars = results.rows.iter().filter_map(bar).collect();
    Chart::Bars(Bars { value: value.to_owned(), bars })
}

/// The label of a row: the values of the columns that vary, without the columns `but`, defaults, and words that the variant's
/// name has already.
pub(crate) fn name(results: &Results, row: &Row, but: &[&str]) -> String {
    let (varying, _) = results.columns();
    let parts = varying
        .iter()
        .filter(|column| !but.contains(column))
        .filter_map(|column| results.experiment.column(column).label(row.cell(column)?));
    let mut name: Vec<String> = Vec::new();
    for part in parts {
        let is_known = name.first().is_some_and(|variant| variant.split('-').any(|word| word == part));
        name.extend((!is_known).then_some(part));
    }
    name.join(", ")
}
