//! Rows for people, where one column is what an experiment is about: its values side by side.

use crate::charts;
use crate::columns::{figures, title};
use crate::results::{Results, Row, Unit};
use report::table::{Align, Table};
use report::{Page, plot};

/// Between two numbers.
const GAP: usize = 2;
/// Before the name of a line, under that of its variant.
const INDENT: usize = 2;

/// Lines of rows that differ in one column alone, and in those that follow from it: their first figure at each of its values.
pub(crate) struct Across<'a> {
    results: &'a Results,
    column: &'static str,
    figure: &'static str,
    /// The column's values.
    heads: Vec<u64>,
    groups: Vec<(String, Vec<Line<'a>>)>,
}

impl<'a> Across<'a> {
    /// Nothing where the column is the same in all rows.
    pub fn new(results: &'a Results, column: &'static str, follow: &[&str]) -> Option<Across<'a>> {
        let figure = *figures(&results.rows).first()?;
        let mut heads: Vec<u64> = results.rows.iter().filter_map(|row| row.number(column)).collect();
        heads.sort_unstable();
        heads.dedup();
        let groups = groups(results, &heads, column, follow);
        (heads.len() > 1).then_some(Across { results, column, figure, heads, groups })
    }

    /// The lines with bars of how each changes; nothing where the page is too narrow.
    pub fn text(&self, page: Page) -> Option<String> {
        let lines = || self.groups.iter().flat_map(|(_, lines)| lines);
        let groups = self.groups.iter().map(|(name, _)| name.chars().count());
        let names = lines().map(|line| INDENT + line.name.chars().count()).chain(groups).max()?;
        let numbers = lines().flat_map(|line| &line.rows).map(|row| self.cell(row).chars().count());
        let wide = GAP + numbers.chain(self.heads.iter().map(|head| head.to_string().len())).max()?;
        if names + wide * self.heads.len() + GAP + self.heads.len() > page.columns {
            return None;
        }
        let mut text = format!("{}; bars are parts of a line's largest\n", self.caption());
        let head: String = self.heads.iter().map(|head| format!("{head:>wide$}")).collect();
        text.push_str(&format!("{:names$}{head}\n", ""));
        for (group, lines) in &self.groups {
            text.push_str(&format!("{group}\n"));
            for line in lines {
                let cells: String =
                    line.rows.iter().map(|row| format!("{:>wide$}", self.cell(row))).collect();
                let values = line.rows.iter().map(|row| row.map_or(f64::NAN, |row| row.value(self.figure)));
                let bars = plot::bars(&values.collect::<Vec<_>>());
                let rest = names - INDENT;
                text.push_str(&format!("{:INDENT$}{:rest$}{cells}{:GAP$}{bars}\n", "", line.name, ""));
            }
        }
        Some(text)
    }

    /// The lines under the column's values.
    pub fn table(&self) -> Table {
        let mut titles = vec![(self.caption(), Align::Left)];
        titles.extend(self.heads.iter().map(|head| (head.to_string(), Align::Right)));
        let mut table = Table::new(&titles);
        for (group, lines) in &self.groups {
            for line in lines {
                let name = [group.as_str(), &line.name].into_iter().filter(|name| !name.is_empty());
                let name = name.collect::<Vec<_>>().join(", ");
                table.push(std::iter::once(name).chain(line.rows.iter().map(|row| self.cell(row))).collect());
            }
        }
        table
    }

    /// The number with its unit, unless the caption says that.
    fn cell(&self, row: &Option<&Row>) -> String {
        let text = row.map_or(String::new(), |row| Unit::of(self.figure).text(row.value(self.figure)));
        text.strip_suffix("/s").map_or(text.clone(), str::to_owned)
    }

    /// `per second by workers, ±2.1 % at most`
    fn caption(&self) -> String {
        let Across { results, figure, column, .. } = self;
        let measured = || results.rows.iter().filter_map(|row| row.figure(figure));
        let spread =
            measured().filter_map(|of| Some(of.spread? / of.value)).filter(|spread| spread.is_finite());
        let spread = match spread.reduce(f64::max).filter(|_| !results.bench.simulated) {
            Some(spread) => {
                let some =
                    if measured().any(|of| of.spread.is_none()) { " where there were rounds" } else { "" };
                format!(", ±{} at most{some}", report::units::percent(spread))
            }
            None => String::new(),
        };
        format!("{} by {column}{spread}", title(figure))
    }
}

/// Rows that differ in the column alone.
struct Line<'a> {
    /// What they have in common besides the variant.
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
        let (lines, name) = (&mut groups[group].1, rest);
        let line = match lines.iter().position(|line| line.name == name) {
            Some(line) => line,
            None => {
                lines.push(Line { name: name.to_owned(), rows: vec![None; heads.len()] });
                lines.len() - 1
            }
        };
        lines[line].rows[at] = Some(row);
    }
    groups
}
