//! A table that is readable without the script; the script adds sorting, filters and unfolding.

use crate::findings::bar;
use crate::html::Html;

/// Most rows of a table: as many as a reader can look through. The page states how many more there are.
pub(crate) const MOST_ROWS: usize = 500;

/// How a column sorts, and its alignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Sorts by the text, aligned left.
    Text,
    /// Sorts by the number, aligned right.
    Number,
    /// Bars; the numbers are in another column.
    Bar,
}

/// A table under construction. Its section must name the script `tables`.
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
    /// The number to sort by; a text sorts by itself.
    value: Option<f64>,
    /// Target of a click on it.
    link: Option<Link>,
    /// The length of its bar, a part of 1.
    part: Option<f64>,
}

/// Target of a cell's link.
#[derive(Clone, Debug)]
enum Link {
    /// A box of the timeline: row, start, end.
    Box(String),
    /// A time of the timeline: start, end.
    Time(String),
    /// A finding, by its id.
    Finding(String),
}

impl Link {
    /// The address without scripts, and the attribute by which the page's script knows the place.
    fn attributes(&self) -> Vec<(&'static str, String)> {
        let timeline = || ("href", String::from("#timeline"));
        match self {
            Link::Box(place) => vec![timeline(), ("data-box", place.clone())],
            Link::Time(place) => vec![timeline(), ("data-time", place.clone())],
            Link::Finding(id) => vec![("href", format!("#{id}"))],
        }
    }
}

/// Longest text, in characters, that stays on one line if all texts of its column are as short.
const SHORT: usize = 24;

impl Cell {
    /// A text, which may be empty.
    pub fn text(text: &str) -> Cell {
        Cell { text: text.to_owned(), ..Cell::default() }
    }

    /// A number: its text and its value for sorting.
    pub fn number(text: String, value: f64) -> Cell {
        Cell { text, value: Some(value), ..Cell::default() }
    }

    /// A bar for a part of 1.
    pub fn bar(part: f64) -> Cell {
        Cell { part: Some(part), ..Cell::default() }
    }

    /// The id of a finding, with a link to it; empty for none.
    pub(crate) fn finding(id: Option<&str>) -> Cell {
        let link = id.map(|id| Link::Finding(id.to_owned()));
        Cell { text: id.unwrap_or_default().to_owned(), link, ..Cell::default() }
    }

    /// Makes the cell a link to a box of the timeline.
    pub(crate) fn to(self, target: Option<String>) -> Cell {
        Cell { link: target.map(Link::Box), ..self }
    }

    /// Makes the cell a link to a time of the timeline.
    pub(crate) fn at_time(self, target: Option<String>) -> Cell {
        Cell { link: target.map(Link::Time), ..self }
    }
}

impl Table {
    /// An empty table with these columns.
    pub fn new(caption: &str, columns: &[(&'static str, Kind)]) -> Table {
        Table { caption: caption.to_owned(), columns: columns.to_vec(), rows: Vec::new(), remark: None }
    }

    /// Adds a row: one cell per column.
    pub fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// Adds a remark below the table.
    pub fn remark(&mut self, text: String) {
        self.remark = Some(text);
    }

    /// The table's HTML.
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

    /// The CSS class of the column with that index.
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
        let link = self.link.as_ref().map(Link::attributes);
        match &link {
            Some(link) => {
                let attributes: Vec<_> = link.iter().map(|(name, value)| (*name, value.as_str())).collect();
                html.leaf("a", &attributes, &self.text)
            }
            None if kind == Kind::Bar => html.push(&self.part.map(bar).unwrap_or_default()),
            // Kernels' names are long: they unfold.
            None if kind == Kind::Text => html.leaf("span", &[], &self.text),
            None => html.text(&self.text),
        };
        html.close("td");
        html
    }
}
