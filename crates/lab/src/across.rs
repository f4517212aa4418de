//! Rows for people, where one column is what an experiment is about: its values side by side.

use crate::charts;
use crate::columns::{figures, title};
use crate::results::{Results, Row, Unit};
use report::{Page, plot};

/// Between two numbers.
const GAP: usize = 2;

/// A line for the rows that differ in `column` alone and in those that `follow` from it: their first figure at each of its
/// values, and bars of how it changes. Nothing where the column is the same in all rows, or where the page is too narrow.
pub(crate) fn across(results: &Results, column: &'static str, follow: &[&str], page: Page) -> Option<String> {
    let figure = *figures(&results.rows).first()?;
    let mut heads: Vec<u64> = results.rows.iter().filter_map(|row| row.number(column)).collect();
    heads.sort_unstable();
    heads.dedup();
    if heads.len() < 2 {
        return None;
    }
    let groups = groups(results, &heads, column, follow);
    let lines = || groups.iter().flat_map(|(_, lines)| lines);
    let names =
        lines().map(|line| line.name.chars().count()).chain(groups.iter().map(|(name, _)| name.len()));
    let names = names.max()?;
    let cell = |row: &Option<&Row>| row.map_or(String::new(), |row| short(figure, row.value(figure)));
    let numbers = lines().flat_map(|line| &line.rows).map(|row| cell(row).chars().count());
    let wide = GAP + numbers.chain(heads.iter().map(|head| head.to_string().len())).max()?;
    if names + wide * heads.len() + GAP + heads.len() > page.columns {
        return None;
    }

    let mut text = caption(results, figure, column);
    let head: String = heads.iter().map(|head| format!("{head:>wide$}")).collect();
    text.push_str(&format!("{:names$}{head}\n", ""));
    for (group, lines) in &groups {
        text.push_str(&format!("{group}\n"));
        for line in lines {
            let cells: String = line.rows.iter().map(|row| format!("{:>wide$}", cell(row))).collect();
            let values = line.rows.iter().map(|row| row.map_or(f64::NAN, |row| row.value(figure)));
            let bars = plot::bars(&values.collect::<Vec<_>>());
            text.push_str(&format!("{:names$}{cells}{:GAP$}{bars}\n", line.name, ""));
        }
    }
    Some(text)
}

/// Rows that differ in the column alone.
struct Line<'a> {
    /// What they have in common, indented.
    name: String,
    /// By the column's values.
    rows: Vec<Option<&'a Row>>,
}

/// The lines of each variant, in the order of their first rows.
fn groups<'a>(
    results: &'a Results,
    heads: &[u64],
    column: &'static str,
    follow: &[&str],
) -> Vec<(String, Vec<Line<'a>>)> {
    let but: Vec<&str> = follow.iter().copied().chain([column]).collect();
    let mut groups: Vec<(String, Vec<Line<'a>>)> = Vec::new();
    for row in &results.rows {
        let Some(at) = row.number(column).and_then(|value| heads.binary_search(&value).ok()) else {
            continue;
        };
        let name = charts::name(results, row, &but);
        let (variant, rest) = name.split_once(", ").unwrap_or((&name, ""));
        let group = match groups.iter().position(|(name, _)| name == variant) {
            Some(group) => group,
            None => {
                groups.push((variant.to_owned(), Vec::new()));
                groups.len() - 1
            }
        };
        let (lines, name) = (&mut groups[group].1, format!("  {rest}"));
        let line = match lines.iter().position(|line| line.name == name) {
            Some(line) => line,
            None => {
                lines.push(Line { name, rows: vec![None; heads.len()] });
                lines.len() - 1
            }
        };
        lines[line].rows[at] = Some(row);
    }
    groups
}

/// `per second by workers, ±2.1 % at most; bars: parts of the line's largest`
fn caption(results: &Results, figure: &str, column: &str) -> String {
    let spread = results.rows.iter().filter_map(|row| row.figure(figure)).map(|of| of.spread / of.value);
    let spread = match (results.bench.simulated, spread.filter(|spread| spread.is_finite()).reduce(f64::max))
    {
        (false, Some(spread)) => format!(", ±{} at most", report::units::percent(spread)),
        _ => String::new(),
    };
    format!("{} by {column}{spread}; bars are parts of a line's largest\n", title(figure))
}

/// The number with its unit, unless the caption says that.
fn short(figure: &str, value: f64) -> String {
    let text = Unit::of(figure).text(value);
    text.strip_suffix("/s").map_or(text.clone(), str::to_owned)
}
