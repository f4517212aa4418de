//! Charts of results whose rows are lines or bars.

use crate::{Cell, Results, Row, Unit};
use report::plot::{Bar, Bars, Chart, Lines, Point, Series};

/// A line for all of those rows that differ in the column `x` alone, and in columns that follow from it.
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

/// A bar for each row, named after all columns but those that follow from others.
pub(crate) fn bars(results: &Results, figure: &str, value: &str, follow: &[&str]) -> Chart {
    let bar = |row: &Row| {
        let measured = row.figure(figure)?;
        Some(Bar {
            name: name(results, row, follow),
            value: measured.value,
            text: Unit::of(figure).text(measured.value),
            spread: measured.spread.unwrap_or(0.0),
        })
    };
    let bars = results.rows.iter().filter_map(bar).collect();
    Chart::Bars(Bars { value: value.to_owned(), bars })
}

/// What goes without saying, by column.
const UNSAID: [(&str, &str); 4] =
    [("submit", "launches"), ("schedule", "auto"), ("affinity", "any"), ("loading", "default")];

/// What distinguishes a row: the values of the columns that vary, but for those that an axis has, those that go without
/// saying and those that the variant's name says already.
pub(crate) fn name(results: &Results, row: &Row, but: &[&str]) -> String {
    let (varying, _) = results.columns();
    let parts = varying.iter().filter(|column| !but.contains(column)).filter_map(|column| {
        Some(match row.cell(column)? {
            Cell::Text(text) if UNSAID.contains(&(*column, text)) => return None,
            Cell::Text(text) => text.clone(),
            Cell::Flag(true) => (*column).to_owned(),
            Cell::Flag(false) => return None,
            Cell::Number(number) if *column == "bytes" => report::units::bytes(*number as i64),
            Cell::Number(number) if *column == "length" => {
                format!("{} floats", report::units::count(*number))
            }
            Cell::Number(number) if ["thread", "run"].contains(column) => format!("{column} {number}"),
            Cell::Number(number) => format!("{number} {column}"),
            Cell::Default | Cell::Nothing => return None,
        })
    });
    let mut name: Vec<String> = Vec::new();
    for part in parts {
        let said = name.first().is_some_and(|variant| variant.split('-').any(|word| word == part));
        name.extend((!said).then_some(part));
    }
    name.join(", ")
}
