//! A table: boxed for people, with pipes in Markdown.

use crate::escape::{self, visible};
use crate::layout::{elide, width};
use crate::{plot, short};
use std::borrow::Cow;

/// How a column sorts in a page, and the side to which its text keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Sorts by the text, aligned left.
    Text,
    /// Sorts by the number, aligned right.
    Number,
    /// Sorts by the text, aligned right in text: an interval.
    Range,
    /// Bars; the numbers are in another column.
    Bar,
}

/// Target of a link in a page.
#[derive(Clone, Debug)]
pub enum Target {
    /// A box of the timeline: row, start, end.
    Box(String),
    /// A time of the timeline: start, end.
    Time(String),
    /// A finding, by its id.
    Finding(String),
}

/// A cell of a table.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// The text; names in it may be anybody's.
    pub text: String,
    /// The number to sort by in a page; a text sorts by itself.
    pub value: Option<f64>,
    /// Target of a click on it in a page.
    pub target: Option<Target>,
    /// The length of its bar, a part of 1.
    pub part: Option<f64>,
}

impl Cell {
    /// A number: its text and its value for sorting.
    pub fn number(text: impl Into<String>, value: f64) -> Cell {
        Cell { text: text.into(), value: Some(value), ..Cell::default() }
    }

    /// A bar for a part of 1.
    pub fn bar(part: f64) -> Cell {
        Cell { part: Some(part), ..Cell::default() }
    }

    /// The id of a finding, with a link to it; empty for none.
    pub fn finding(id: Option<&str>) -> Cell {
        let target = id.map(|id| Target::Finding(id.to_owned()));
        Cell { target, ..Cell::from(id.unwrap_or_default()) }
    }

    /// Makes the cell a link.
    pub fn to(self, target: Option<Target>) -> Cell {
        Cell { target, ..self }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }
}

/// Most columns of text that a table takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// The page's.
    Page,
    /// The terminal's.
    Terminal,
    /// Any.
    Any,
}

/// Rows under titles. In text, the last column is the one that gives way when space is short.
#[derive(Clone, Debug)]
pub struct Table {
    /// Caption in a page; other forms have a heading above.
    pub caption: String,
    /// Titles and kinds of the columns.
    pub columns: Vec<(Cow<'static, str>, Kind)>,
    /// A cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// Remark below it in a page.
    pub remark: Option<String>,
    pub(super) width: Width,
    has_names: bool,
}

impl Table {
    /// A row for each of these; the columns follow.
    pub fn of<R>(rows: &[R]) -> Columns<'_, R> {
        let table = Table {
            caption: String::new(),
            columns: Vec::new(),
            rows: rows.iter().map(|_| Vec::new()).collect(),
            remark: None,
            width: Width::Page,
            has_names: false,
        };
        Columns { rows, table }
    }

    /// Gives it a caption.
    pub fn captioned(self, caption: impl Into<String>) -> Table {
        Table { caption: caption.into(), ..self }
    }

    /// Puts a remark below it, if there is one.
    pub fn remarked(self, remark: Option<String>) -> Table {
        Table { remark, ..self }
    }

    /// Limits its width.
    pub fn wide(self, width: Width) -> Table {
        Table { width, ..self }
    }

    /// Keeps names in the last column different where they are cut.
    pub fn with_names(self) -> Table {
        Table { has_names: true, ..self }
    }

    /// Leaves out columns without any text in them.
    pub fn without_empty_columns(mut self) -> Table {
        let used: Vec<bool> = (0..self.columns.len())
            .map(|at| self.rows.iter().any(|row| !row[at].text.is_empty() || row[at].part.is_some()))
            .collect();
        let mut used_column = used.iter();
        self.columns.retain(|_| used_column.next() == Some(&true));
        for row in &mut self.rows {
            let mut used_cell = used.iter();
            row.retain(|_| used_cell.next() == Some(&true));
        }
        self
    }

    /// The table in a box of at most `columns`, if its last column can make that possible.
    pub(super) fn boxed(&self, columns: Option<usize>) -> String {
        let mut grid = self.grid();
        if let Some(room) = grid.widths(columns).last().filter(|_| self.has_names && columns.is_some()) {
            let names: Vec<&str> =
                grid.rows.iter().filter_map(|row| row.last()).map(|name| &**name).collect();
            let names = short::fit(&names, *room);
            for (row, name) in grid.rows.iter_mut().zip(names) {
                row.splice(row.len() - 1.., [Cow::Owned(name)]);
            }
        }
        self.add_bars(&mut grid, columns);
        grid.boxed(columns)
    }

    /// The table in GitHub's Markdown.
    pub(super) fn markdown(&self) -> String {
        let grid = self.grid();
        let dashes = grid.is_right.iter().map(|is_right| if *is_right { " ---: |" } else { " --- |" });
        let mut text = format!("| {} |\n|{}\n", grid.titles.join(" | "), dashes.collect::<String>());
        for row in &grid.rows {
            let cells: Vec<String> = row.iter().map(|cell| escape::markdown(cell)).collect();
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        text
    }

    /// Whether on so many columns the last one shows all of its text, or `enough` of it.
    pub(crate) fn last_fits(&self, columns: usize, enough: usize) -> bool {
        match self.grid().widths(None).split_last() {
            None => true,
            Some((last, others)) => taken(others) + (*last).min(enough) <= columns,
        }
    }

    /// The columns of text: all except bars.
    fn grid(&self) -> Grid<'_> {
        let columns = || self.columns.iter().filter(|(_, kind)| *kind != Kind::Bar);
        let is_text = |at: &usize| self.columns[*at].1 != Kind::Bar;
        let texts = (0..self.rows.len()).map(|row| {
            let cells = (0..self.columns.len()).filter(is_text).map(|at| visible(&self.rows[row][at].text));
            cells.collect()
        });
        Grid {
            titles: columns().map(|(title, _)| &**title).collect(),
            is_right: columns().map(|(_, kind)| *kind != Kind::Text).collect(),
            rows: texts.collect(),
        }
    }

    /// Adds a last column of bars if the page has room for them.
    fn add_bars<'a>(&'a self, grid: &mut Grid<'a>, columns: Option<usize>) {
        /// The least width of a bar.
        const SHORTEST: usize = 6;
        let taken = taken(&grid.widths(None));
        let room = columns.map_or(0, |columns| columns.saturating_sub(taken));
        let bars = self.columns.iter().position(|(_, kind)| *kind == Kind::Bar);
        let Some(at) = bars.filter(|_| room >= SHORTEST) else { return };
        grid.titles.push("");
        grid.is_right.push(false);
        for (row, cells) in grid.rows.iter_mut().zip(&self.rows) {
            row.push(plot::bar(cells[at].part.unwrap_or(0.0), 1.0, room).into());
        }
    }
}

/// A table under construction: each column states its title and the cell of a row.
pub struct Columns<'r, R> {
    rows: &'r [R],
    table: Table,
}

impl<R> Columns<'_, R> {
    /// Adds a column of a kind.
    pub fn column<C: Into<Cell>>(
        mut self,
        kind: Kind,
        title: impl Into<Cow<'static, str>>,
        cell: impl Fn(&R) -> C,
    ) -> Self {
        self.table.columns.push((title.into(), kind));
        for (cells, row) in self.table.rows.iter_mut().zip(self.rows) {
            cells.push(cell(row).into());
        }
        self
    }

    /// Adds a column of texts.
    pub fn left<C: Into<Cell>>(self, title: impl Into<Cow<'static, str>>, cell: impl Fn(&R) -> C) -> Self {
        self.column(Kind::Text, title, cell)
    }

    /// Adds a column of numbers.
    pub fn right<C: Into<Cell>>(self, title: impl Into<Cow<'static, str>>, cell: impl Fn(&R) -> C) -> Self {
        self.column(Kind::Number, title, cell)
    }

    /// Adds columns on a condition.
    pub fn when(self, condition: bool, columns: impl FnOnce(Self) -> Self) -> Self {
        if condition { columns(self) } else { self }
    }

    /// The table.
    pub fn table(self) -> Table {
        self.table
    }
}

/// The texts of a table.
struct Grid<'a> {
    titles: Vec<&'a str>,
    /// Whether each column keeps to the right.
    is_right: Vec<bool>,
    rows: Vec<Vec<Cow<'a, str>>>,
}

impl Grid<'_> {
    fn boxed(&self, columns: Option<usize>) -> String {
        let widths = self.widths(columns);
        let rule = |left: &str, middle: &str, right: &str| {
            let bars: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
            format!("{left}{}{right}\n", bars.join(middle))
        };
        let mut text = rule("┌", "┬", "┐");
        text.push_str(&self.line(&self.titles, &widths));
        text.push_str(&rule("├", "┼", "┤"));
        self.rows.iter().for_each(|row| text.push_str(&self.line(row, &widths)));
        text + &rule("└", "┴", "┘")
    }

    fn widths(&self, columns: Option<usize>) -> Vec<usize> {
        const NARROWEST_LAST: usize = 16;
        let widest = |at: usize| {
            let cells = self.rows.iter().map(|row| width(&row[at]));
            cells.max().unwrap_or(0).max(width(self.titles[at]))
        };
        let mut widths: Vec<usize> = (0..self.titles.len()).map(widest).collect();
        if let (Some(columns), Some((last, others))) = (columns, widths.split_last_mut()) {
            *last = (*last).min(columns.saturating_sub(taken(others)).max(NARROWEST_LAST));
        }
        widths
    }

    fn line(&self, cells: &[impl AsRef<str>], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, columns), is_right) in cells.iter().zip(widths).zip(&self.is_right) {
            let cell = elide(cell.as_ref(), *columns);
            let space = " ".repeat(columns.saturating_sub(width(&cell)));
            line.push_str(&match is_right {
                false => format!("│ {cell}{space} "),
                true => format!("│ {space}{cell} "),
            });
        }
        line.push_str("│\n");
        line
    }
}

/// Columns that a box needs besides its last column's text.
fn taken(others: &[usize]) -> usize {
    others.iter().map(|width| width + 3).sum::<usize>() + 4
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [(u32, &str, f64); 2] =
        [(2, "void a_rather_long_kernel<float>(int)", 0.5), (81120, "x|y", 1.0)];

    fn table() -> Table {
        Table::of(&ROWS).right("Calls", |row| row.0.to_string()).left("Name", |row| row.1).table()
    }

    #[test]
    fn the_last_column_gives_way() {
        let expected = "\
┌───────┬──────────────────┐
│ Calls │ Name             │
├───────┼──────────────────┤
│     2 │ void a_r…t>(int) │
│ 81120 │ x|y              │
└───────┴──────────────────┘
";
        assert_eq!(table().boxed(Some(28)), expected);
    }

    #[test]
    fn markdown_escapes_cells() {
        let expected = "| Calls | Name |\n| ---: | --- |\n\
                        | 2 | void a\\_rather\\_long\\_kernel&lt;float&gt;(int) |\n| 81120 | x\\|y |\n";
        assert_eq!(table().markdown(), expected);
    }

    #[test]
    fn bars_are_last_and_only_where_there_is_room() {
        let without = Table::of(&ROWS).right("Calls", |row| row.0.to_string()).table();
        let table = Table::of(&ROWS).column(Kind::Bar, "", |row| Cell::bar(row.2));
        let table = table.right("Calls", |row| row.0.to_string()).table();
        assert!(table.boxed(Some(18)).contains("│     2 │ ███    │"), "{}", table.boxed(Some(18)));
        assert_eq!(table.boxed(Some(17)), without.boxed(Some(17)));
        assert_eq!(table.markdown(), without.markdown());
    }

    #[test]
    fn empty_columns_go() {
        let table = Table::of(&["b"]).left("A", |_| "").left("B", |row| *row).table();
        assert_eq!(table.without_empty_columns().markdown(), "| B |\n| --- |\n| b |\n");
    }

    #[test]
    fn names_in_cells_do_nothing_to_a_terminal() {
        let table = Table::of(&["a\x1b[2Jb"]).left("A", |row| *row).left("B", |_| "c\nd").table();
        let text = table.boxed(None);
        assert!(text.contains("│ a\\u{1b}[2Jb │ c\\nd │"), "{text}");
        assert_eq!(text.lines().count(), 5);
    }
}
