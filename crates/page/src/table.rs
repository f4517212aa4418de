//! Writes a table so that it is readable without the script; the script adds sorting, filters and unfolding.

use crate::findings::bar;
use crate::html::Html;
use report::document::{Cell, Kind, Table, Target};
use report::units;

/// Most rows of a table: as many as a reader can look through. The page states how many more there are.
const MOST_ROWS: usize = 500;

/// Longest text, in characters, that stays on one line if all texts of its column are as short.
const SHORT: usize = 24;

/// The rows that a table shows, and a remark on the others: the command that lists `all`.
pub(crate) fn first_rows<'r, R>(rows: &'r [R], all: &str) -> (&'r [R], Option<String>) {
    let (shown, others) = rows.split_at(rows.len().min(MOST_ROWS));
    let more = units::counted(others.len() as u64, "more row", "more rows");
    (shown, (!others.is_empty()).then(|| format!("{more}: {all}.")))
}

impl Html {
    /// Adds a table. Its section must name the script `tables`.
    pub fn table(&mut self, table: &Table) -> &mut Html {
        self.open("div", &[("class", "table")]).open("table", &[]);
        self.leaf("caption", &[], &table.caption);
        let classes: Vec<&str> = (0..table.columns.len()).map(|at| class(table, at)).collect();
        self.head(table.columns.iter().map(|(title, _)| &**title).zip(classes.iter().copied()));
        for row in &table.rows {
            self.open("tr", &[]);
            for ((cell, (_, kind)), class) in row.iter().zip(&table.columns).zip(&classes) {
                self.cell(cell, *kind, class);
            }
            self.close("tr");
        }
        self.close("tbody").close("table");
        if let Some(remark) = &table.remark {
            self.leaf("p", &[("class", "remark")], remark);
        }
        self.close("div")
    }

    /// Adds the titles of columns with their classes, and opens the body below.
    pub fn head<'t>(&mut self, columns: impl IntoIterator<Item = (&'t str, &'t str)>) -> &mut Html {
        self.open("thead", &[]).open("tr", &[]);
        for (title, class) in columns {
            self.leaf("th", &[("scope", "col"), ("class", class)], title);
        }
        self.close("tr").close("thead").open("tbody", &[])
    }

    fn cell(&mut self, cell: &Cell, kind: Kind, class: &str) {
        let value = cell.value.map(|value| value.to_string());
        let mut attributes = vec![("class", class)];
        attributes.extend(value.as_deref().map(|value| ("data-value", value)));
        self.open("td", &attributes);
        match &cell.target {
            Some(target) => {
                let attributes = link(target);
                let attributes: Vec<_> = attributes.iter().map(|(name, value)| (*name, &**value)).collect();
                self.leaf("a", &attributes, &cell.text)
            }
            None if kind == Kind::Bar => self.push(&cell.part.map(bar).unwrap_or_default()),
            // Kernels' names are long: they unfold.
            None if kind != Kind::Number => self.leaf("span", &[], &cell.text),
            None => self.text(&cell.text),
        };
        self.close("td");
    }
}

/// The address without scripts, and the attribute by which the page's script knows the place.
fn link(target: &Target) -> Vec<(&'static str, String)> {
    let timeline = || ("href", String::from("#timeline"));
    match target {
        Target::Box(place) => vec![timeline(), ("data-box", place.clone())],
        Target::Time(place) => vec![timeline(), ("data-time", place.clone())],
        Target::Finding(id) => vec![("href", format!("#{id}"))],
    }
}

/// The CSS class of the column with that index.
fn class(table: &Table, at: usize) -> &'static str {
    let is_short = |row: &Vec<Cell>| row.get(at).is_none_or(|cell| cell.text.chars().count() <= SHORT);
    match table.columns[at].1 {
        Kind::Text | Kind::Range if table.rows.iter().all(is_short) => "text short",
        Kind::Text | Kind::Range => "text",
        Kind::Number => "number",
        Kind::Bar => "bars",
    }
}
