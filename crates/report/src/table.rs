//! Boxed tables for people, pipe tables for Markdown.

use crate::escape;
use crate::layout::{elide, width};
use crate::short;
use std::borrow::Cow;

/// Which side a column's text keeps to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// To the left.
    Left,
    /// To the right: numbers.
    Right,
}

/// Rows under titles. The last column is the one that gives way when space is short.
pub struct Table {
    columns: Vec<(Cow<'static, str>, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows under these titles.
    pub fn new<T: Clone + Into<Cow<'static, str>>>(columns: &[(T, Align)]) -> Table {
        let columns = columns.iter().map(|(title, align)| (title.clone().into(), *align)).collect();
        Table { columns, rows: Vec::new() }
    }

    /// Adds a row, a cell for each column; names in it may be anybody's.
    pub fn push(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row.into_iter().map(harmless).collect());
    }

    /// Leaves out columns without any text in them.
    pub fn drop_empty_columns(&mut self) {
        let used: Vec<bool> =
            (0..self.columns.len()).map(|at| self.rows.iter().any(|row| !row[at].is_empty())).collect();
        let mut used_column = used.iter();
        self.columns.retain(|_| used_column.next() == Some(&true));
        for row in &mut self.rows {
            let mut used_cell = used.iter();
            row.retain(|_| used_cell.next() == Some(&true));
        }
    }

    /// The table in a box of at most `columns`, if its last column can make that possible.
    pub fn boxed(&self, columns: Option<usize>) -> String {
        let widths = self.widths(columns);
        let rule = |left: &str, middle: &str, right: &str| {
            let bars: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
            format!("{left}{}{right}\n", bars.join(middle))
        };
        let mut text = rule("┌", "┬", "┐");
        let titles: Vec<&str> = self.columns.iter().map(|(title, _)| title.as_ref()).collect();
        text.push_str(&self.line(&titles, &widths));
        text.push_str(&rule("├", "┼", "┤"));
        for row in &self.rows {
            text.push_str(&self.line(row, &widths));
        }
        text.push_str(&rule("└", "┴", "┘"));
        text
    }

    /// The same, with names in the last column, which stay different when they are cut.
    pub(crate) fn boxed_names(mut self, columns: Option<usize>) -> String {
        if let Some(room) = columns.and_then(|columns| self.widths(Some(columns)).last().copied()) {
            let names: Vec<&str> =
                self.rows.iter().filter_map(|row| row.last()).map(String::as_str).collect();
            let names = short::fit(&names, room);
            for (row, name) in self.rows.iter_mut().zip(names) {
                row.splice(row.len() - 1.., [name]);
            }
        }
        self.boxed(columns)
    }

    /// The table in GitHub's Markdown.
    pub fn markdown(&self) -> String {
        let titles: Vec<&str> = self.columns.iter().map(|(title, _)| title.as_ref()).collect();
        let dashes = self.columns.iter().map(|(_, align)| match align {
            Align::Left => " --- |",
            Align::Right => " ---: |",
        });
        let mut text = format!("| {} |\n|{}\n", titles.join(" | "), dashes.collect::<String>());
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|cell| escape::markdown(cell)).collect();
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        text
    }

    /// Whether on so many columns the last one shows all of its text, or `enough` of it.
    pub(crate) fn last_fits(&self, columns: usize, enough: usize) -> bool {
        match self.widths(None).split_last() {
            None => true,
            Some((last, others)) => taken(others) + (*last).min(enough) <= columns,
        }
    }

    fn widths(&self, columns: Option<usize>) -> Vec<usize> {
        const NARROWEST_LAST: usize = 16;
        let widest = |at: usize| {
            let cells = self.rows.iter().map(|row| width(&row[at]));
            cells.max().unwrap_or(0).max(width(&self.columns[at].0))
        };
        let mut widths: Vec<usize> = (0..self.columns.len()).map(widest).collect();
        if let (Some(columns), Some((last, others))) = (columns, widths.split_last_mut()) {
            *last = (*last).min(columns.saturating_sub(taken(others)).max(NARROWEST_LAST));
        }
        widths
    }

    fn line(&self, cells: &[impl AsRef<str>], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, columns), (_, align)) in cells.iter().zip(widths).zip(&self.columns) {
            let cell = elide(cell.as_ref(), *columns);
            let space = " ".repeat(columns.saturating_sub(width(&cell)));
            match align {
                Align::Left => line.push_str(&format!("│ {cell}{space} ")),
                Align::Right => line.push_str(&format!("│ {space}{cell} ")),
            }
        }
        line.push_str("│\n");
        line
    }
}

/// Columns that a box needs besides its last column's text.
fn taken(others: &[usize]) -> usize {
    others.iter().map(|width| width + 3).sum::<usize>() + 4
}

/// The cell as [`escape::visible`] has it, most often as it is.
fn harmless(cell: String) -> String {
    match escape::visible(&cell) {
        Cow::Owned(safe) => safe,
        Cow::Borrowed(_) => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[("Calls", Align::Right), ("Name", Align::Left)]);
        table.push(vec!["2".into(), "void a_rather_long_kernel<float>(int)".into()]);
        table.push(vec!["81120".into(), "x|y".into()]);
        table
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
    fn empty_columns_go() {
        let mut table = Table::new(&[("A", Align::Left), ("B", Align::Left)]);
        table.push(vec![String::new(), "b".into()]);
        table.drop_empty_columns();
        assert_eq!(table.markdown(), "| B |\n| --- |\n| b |\n");
    }

    #[test]
    fn names_in_cells_do_nothing_to_a_terminal() {
        let mut table = Table::new(&[("A", Align::Left), ("B", Align::Left)]);
        table.push(vec!["a\x1b[2Jb".to_owned(), "c\nd".to_owned()]);
        let text = table.boxed(None);
        assert!(text.contains("│ a\\u{1b}[2Jb │ c\\nd │"), "{text}");
        assert_eq!(text.lines().count(), 5);
    }
}
