//! A table that reads without the script; with it, it sorts, filters and unfolds.

use crate::findings::bar;
use crate::html::Html;

/// How a column sorts, and to which side it keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// By the text, to the left.
    Text,
    /// By the number, to the right.
    Number,
    /// Bars: numbers are elsewhere.
    Bar,
}

/// A table to be. The section it is in names the script `tables`.
#[derive(Clone, Debug)]
pub struct Table {
    caption: String,
    columns: Vec<(&'static str, Kind)>,
    rows: Vec<Vec<Cell>>,
    remark: Option<String>,
}

/// A cell of a table.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    text: String,
    /// What it sorts by; a text sorts by itself.
    value: Option<f64>,
    /// Where a click on it goes in the timeline: row, start, end.
    target: Option<String>,
    /// How long its bar is, a part of 1.
    part: Option<f64>,
}

/// Characters of a text that stays on one line if all of its column are as short.
const SHORT: usize = 24;

impl Cell {
    /// Text, or nothing where it is empty.
    pub fn text(text: &str) -> Cell {
        Cell { text: text.to_owned(), ..Cell::default() }
    }

    /// A number: what is shown, and what it sorts by.
    pub fn number(text: String, value: f64) -> Cell {
        Cell { text, value: Some(value), ..Cell::default() }
    }

    /// A bar for a part of 1.
    pub fn bar(part: f64) -> Cell {
        Cell { part: Some(part), ..Cell::default() }
    }

    /// The same, leading to the timeline.
    pub(crate) fn to(self, target: Option<String>) -> Cell {
        Cell { target, ..self }
    }
}

impl Table {
    /// An empty table of those columns.
    pub fn new(caption: &str, columns: &[(&'static str, Kind)]) -> Table {
        Table { caption: caption.to_owned(), columns: columns.to_vec(), rows: Vec::new(), remark: None }
    }

    /// A row: a cell for each column.
    pub fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// What is said below it.
    pub fn remark(&mut self, text: String) {
        self.remark = Some(text);
    }

    /// The table as it reads without the script.
    pub fn html(&self) -> Html {
        let mut html = Html::new();
        html.open("div", &[("class", "table")]).open("table", &[]);
        html.leaf("caption", &[], &self.caption);
        html.open("thead", &[]).open("tr", &[]);
        let classes: Vec<&str> = (0..self.columns.len()).map(|at| self.class(at)).collect();
        for ((title, _), class) in self.columns.iter().zip(&classes) {
            html.leaf("th", &[("scope", "col"), ("class", class)], title);
        }
        html.close("tr").close("thead").open("tbody", &[]);
        for row in &self.rows {
            html.open("tr", &[]);
            for ((cell, (_, kind)), class) in row.iter().zip(&self.columns).zip(&classes) {
                html.push(&cell.html(*kind, class));
            }
            html.close("tr");
        }
        html.close("tbody").close("table");
        if let Some(remark) = &self.remark {
            html.leaf("p", &[("class", "remark")], remark);
        }
        html.close("div");
        html
    }

    /// How the column at that place is laid out.
    fn class(&self, at: usize) -> &'static str {
        let is_short = |row: &Vec<Cell>| row.get(at).is_none_or(|cell| cell.text.chars().count() <= SHORT);
        match self.columns[at].1 {
            Kind::Text if self.rows.iter().all(is_short) => "text short",
            Kind::Text => "text",
            Kind::Number => "number",
            Kind::Bar => "bars",
        }
    }
}

impl Cell {
    fn html(&self, kind: Kind, class: &str) -> Html {
        let value = self.value.map(|value| value.to_string());
        let mut attributes = vec![("class", class)];
        attributes.extend(value.as_deref().map(|value| ("data-value", value)));
        let mut html = Html::new();
        html.open("td", &attributes);
        match &self.target {
            Some(target) => html.leaf("a", &[("href", "#timeline"), ("data-box", target)], &self.text),
            None if kind == Kind::Bar => html.push(&self.part.map(bar).unwrap_or_default()),
            // Kernels' names are long: they unfold.
            None if kind == Kind::Text => html.leaf("span", &[], &self.text),
            None => html.text(&self.text),
        };
        html.close("td");
        html
    }
}
