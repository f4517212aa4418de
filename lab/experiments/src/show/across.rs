//! Rows as text if one column is the subject of an experiment: its values side by side.

use super::{call_times, charts, measured_in};
use crate::experiment::{Column, View};
use crate::results::{Results, Row};
use report::document::Table;
use report::{Page, plot};

/// Columns between two numbers.
const GAP: usize = 2;
/// Columns before the name of a line, below that of its variant.
const INDENT: usize = 2;

/// Lines of rows that differ only in one column and in those that follow from it: the first figure at each value of the column.
pub(crate) struct Across<'a> {
    caption: String,
    /// The values of the column.
    heads: Vec<u64>,
    groups: Vec<(String, Vec<Line<'a>>)>,
}

impl<'a> Across<'a> {
    /// Returns nothing if all rows have the same value.
    pub fn new(results: &'a Results, column: &'static str, follow: &[&str]) -> Option<Across<'a>> {
        let figure = *measured_in(results, &results.rows).first()?;
        let heads = heads(&results.rows, column);
        let groups = groups(results, results.rows.iter(), figure, &heads, column, follow);
        (heads.len() > 1).then_some(Across { caption: caption(results, figure, column), heads, groups })
    }

    /// The mean times of calls, one group each; nothing if the experiment does not measure them.
    pub fn calls(results: &'a Results) -> Option<Across<'a>> {
        let shown = results.experiment.averages?;
        let View::Across(column, follow) = results.experiment.view else { return None };
        let heads = heads(results.rows.iter().filter(|row| shown(row)), column);
        let mut all = Vec::new();
        let mut variants: Vec<String> = Vec::new();
        for &figure in call_times::figures(results) {
            let rows = results.rows.iter().filter(|row| shown(row) && row.figure(figure.name).is_some());
            for (variant, lines) in groups(results, rows, figure, &heads, column, follow) {
                all.push((figure.title.to_owned(), lines));
                variants.extend((!variants.contains(&variant)).then_some(variant));
            }
        }
        let caption = format!("mean time of a call by {column} ({})", variants.join(", "));
        (!all.is_empty()).then_some(Across { caption, heads, groups: all })
    }

    /// The lines, each with bars of its values; nothing if the page is too narrow.
    pub fn text(&self, page: Page) -> Option<String> {
        let lines = || self.groups.iter().flat_map(|(_, lines)| lines);
        let groups = self.groups.iter().map(|(name, _)| name.chars().count());
        let names = lines().map(|line| INDENT + line.name.chars().count()).chain(groups).max()?;
        let numbers = lines().flat_map(|line| line.cells()).map(|cell| cell.chars().count());
        let wide = GAP + numbers.chain(self.heads.iter().map(|head| head.to_string().len())).max()?;
        if names + wide * self.heads.len() + GAP + self.heads.len() > page.columns {
            return None;
        }
        let mut text = format!("{}; bars are relative to a line's largest value\n", self.caption);
        let head: String = self.heads.iter().map(|head| format!("{head:>wide$}")).collect();
        text.push_str(&format!("{:names$}{head}\n", ""));
        for (group, lines) in &self.groups {
            text.push_str(&format!("{group}\n"));
            for line in lines {
                let cells: String = line.cells().map(|cell| format!("{cell:>wide$}")).collect();
                let values =
                    line.rows.iter().map(|row| row.map_or(f64::NAN, |row| row.value(line.figure.name)));
                let bars = plot::bars(&values.collect::<Vec<_>>());
                let rest = names - INDENT;
                text.push_str(&format!("{:INDENT$}{:rest$}{cells}{:GAP$}{bars}\n", "", line.name, ""));
            }
        }
        Some(text)
    }

    /// The lines below the values of the column.
    pub fn table(&self) -> Table {
        let of_group = |(group, lines): &'_ (String, Vec<Line<'a>>)| {
            let name = |line: &Line<'_>| [group.as_str(), &line.name].map(str::to_owned);
            lines.iter().map(|line| (name(line), line.cells().collect())).collect::<Vec<_>>()
        };
        let lines: Vec<([String; 2], Vec<String>)> = self.groups.iter().flat_map(of_group).collect();
        let joined =
            |name: &[String; 2]| name.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>();
        let mut table = Table::of(&lines).left(self.caption.clone(), |(name, _)| joined(name).join(", "));
        for (at, head) in self.heads.iter().enumerate() {
            table = table.right(head.to_string(), |(_, cells)| cells[at].clone());
        }
        table.table()
    }
}

/// The values of a column.
fn heads<'r>(rows: impl IntoIterator<Item = &'r Row>, column: &str) -> Vec<u64> {
    let mut heads: Vec<u64> = rows.into_iter().filter_map(|row| row.number(column)).collect();
    heads.sort_unstable();
    heads.dedup();
    heads
}

/// `per second by workers, ±2.1 % at most`
fn caption(results: &Results, figure: Column, column: &str) -> String {
    let measured = || results.rows.iter().filter_map(|row| row.figure(figure.name));
    let spread = measured().filter_map(|of| Some(of.spread? / of.value)).filter(|spread| spread.is_finite());
    let spread = match spread.reduce(f64::max).filter(|_| !results.bench.simulated) {
        Some(spread) => {
            let some =
                if measured().any(|of| of.spread.is_none()) { " of rows with several rounds" } else { "" };
            format!(", ±{} at most{some}", report::units::percent(spread))
        }
        None => String::new(),
    };
    format!("{} by {column}{spread}", figure.title)
}

/// Rows that differ only in the column.
struct Line<'a> {
    figure: Column,
    /// Values that they have in common besides the variant.
    name: String,
    /// By the column's values.
    rows: Vec<Option<&'a Row>>,
}

impl Line<'_> {
    /// Each number with its unit, without the `/s` that the caption has.
    fn cells(&self) -> impl Iterator<Item = String> {
        self.rows.iter().map(|row| {
            let text = |row: &Row| self.figure.unit().text(row.value(self.figure.name));
            let text = row.map_or(String::new(), text);
            text.strip_suffix("/s").map_or(text.clone(), str::to_owned)
        })
    }
}

/// The lines of each variant, in the order of their first rows.
fn groups<'a>(
    results: &'a Results,
    rows: impl Iterator<Item = &'a Row>,
    figure: Column,
    heads: &[u64],
    column: &'static str,
    follow: &[&str],
) -> Vec<(String, Vec<Line<'a>>)> {
    let but: Vec<&str> = follow.iter().copied().chain([column]).collect();
    let mut groups: Vec<(String, Vec<Line<'a>>)> = Vec::new();
    for row in rows {
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
        let (lines, name) = (&mut groups[group].1, rest);
        let line = match lines.iter().position(|line| line.name == name) {
            Some(line) => line,
            None => {
                lines.push(Line { figure, name: name.to_owned(), rows: vec![None; heads.len()] });
                lines.len() - 1
            }
        };
        lines[line].rows[at] = Some(row);
    }
    groups
}
