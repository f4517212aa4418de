//! Writing rows of cells in one of the three forms.

use super::cell::Cell;
use super::format::Format;
use crate::layout::{elide, width};
use std::io::{self, BufWriter, Write};

/// The side to which a column's text keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// A column of a listing over `L`.
pub(super) struct Column<L> {
    /// Heading for people; empty for columns that only programs get.
    pub title: &'static str,
    /// Name in CSV and JSON; empty for columns that only people get.
    pub key: &'static str,
    /// Which side people get it aligned to.
    pub align: Align,
    /// The value in a row.
    pub cell: Get<L>,
    /// Whether people can do without it where a line is short: the largest goes first, 0 never.
    pub spare: u8,
}

/// Gets a value out of a row.
pub(super) type Get<L> = for<'a> fn(&'a L, usize) -> Cell<'a>;

impl<L> Column<L> {
    /// A column in every form.
    pub(super) fn both(title: &'static str, key: &'static str, align: Align, cell: Get<L>) -> Column<L> {
        Column { title, key, align, cell, spare: 0 }
    }

    /// A column of the text form.
    pub(super) fn people(title: &'static str, align: Align, cell: Get<L>) -> Column<L> {
        Column { title, key: "", align, cell, spare: 0 }
    }

    /// A column of CSV and JSON.
    pub(super) fn programs(key: &'static str, cell: Get<L>) -> Column<L> {
        Column { title: "", key, align: Align::Left, cell, spare: 0 }
    }

    /// The same, one that may be left out.
    pub(super) fn spare(self, spare: u8) -> Column<L> {
        Column { spare, ..self }
    }
}

/// Writes the given rows in order; each object of JSON says which schema it follows.
pub(super) fn listing<L>(
    listing: &L,
    columns: &[Column<L>],
    rows: &[u32],
    (format, schema): (Format, &str),
    to: impl Write,
) -> io::Result<()> {
    let mut to = BufWriter::with_capacity(1 << 16, to);
    let keyed: Vec<&Column<L>> = columns.iter().filter(|column| !column.key.is_empty()).collect();
    match format {
        Format::Text(page) => text(listing, columns, rows, page, &mut to)?,
        Format::Csv => csv(listing, &keyed, rows, &mut to)?,
        Format::Json => json(listing, &keyed, rows, schema, &mut to)?,
    }
    to.flush()
}

fn text<L>(
    listing: &L,
    columns: &[Column<L>],
    rows: &[u32],
    page: Option<usize>,
    to: &mut impl Write,
) -> io::Result<()> {
    if rows.is_empty() {
        return writeln!(to, "nothing to list");
    }
    let mut used = used(listing, columns, rows);
    if let Some(page) = page {
        fit(&mut used, page);
    }
    let mut line = Line::default();
    for (column, columns_wide) in &used {
        line.push(column.title, width(column.title), *columns_wide, column.align);
    }
    line.end(to)?;
    let mut cell = String::new();
    for &row in rows {
        for (column, columns_wide) in &used {
            cell.clear();
            let value = (column.cell)(listing, row as usize);
            value.push_text(&mut cell);
            let mut wide = width(&cell);
            if wide > *columns_wide && page.is_some() {
                cell = elide(&cell, *columns_wide);
                wide = *columns_wide;
            }
            line.push(&cell, wide, *columns_wide, column.align);
        }
        line.end(to)?;
    }
    Ok(())
}

/// The columns that hold anything in these rows, and how wide they are.
fn used<'c, L>(listing: &L, columns: &'c [Column<L>], rows: &[u32]) -> Vec<(&'c Column<L>, usize)> {
    let titled = columns.iter().filter(|column| !column.title.is_empty());
    let widest = |column: &'c Column<L>| {
        let cells = rows.iter().map(|&row| (column.cell)(listing, row as usize).width());
        let widest = cells.max().unwrap_or(0);
        (widest > 0).then(|| (column, widest.max(width(column.title))))
    };
    titled.filter_map(widest).collect()
}

/// Makes lines fit the page as far as its columns allow: without those that matter least, the last one narrower.
fn fit<L>(used: &mut Vec<(&Column<L>, usize)>, page: usize) {
    /// A name of that many columns is told from most others.
    const ENOUGH: usize = 30;
    loop {
        let Some((&(_, last), others)) = used.split_last() else { return };
        let taken: usize = others.iter().map(|(_, columns_wide)| columns_wide + 2).sum();
        let spare = used.iter().map(|(column, _)| column.spare).max().unwrap_or(0);
        if taken + last.min(ENOUGH) <= page || spare == 0 {
            let room = page.saturating_sub(taken).max(ENOUGH / 2);
            used.last_mut().expect("there is one").1 = last.min(room);
            return;
        }
        used.retain(|(column, _)| column.spare < spare);
    }
}

fn csv<L>(listing: &L, columns: &[&Column<L>], rows: &[u32], to: &mut impl Write) -> io::Result<()> {
    let keys: Vec<&str> = columns.iter().map(|column| column.key).collect();
    writeln!(to, "{}", keys.join(","))?;
    let mut line = String::new();
    for &row in rows {
        line.clear();
        for (at, column) in columns.iter().enumerate() {
            line.push_str(&","[..usize::from(at > 0)]);
            (column.cell)(listing, row as usize).push_csv(&mut line);
        }
        line.push('\n');
        to.write_all(line.as_bytes())?;
    }
    Ok(())
}

fn json<L>(
    listing: &L,
    columns: &[&Column<L>],
    rows: &[u32],
    schema: &str,
    to: &mut impl Write,
) -> io::Result<()> {
    let mut line = String::new();
    for &row in rows {
        line.clear();
        line.push_str("{\"schema\":\"");
        line.push_str(schema);
        line.push('"');
        for column in columns {
            line.push_str(",\"");
            line.push_str(column.key);
            line.push_str("\":");
            (column.cell)(listing, row as usize).push_json(&mut line);
        }
        line.push_str("}\n");
        to.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// A line of text under way; spaces at its end are never written.
#[derive(Default)]
struct Line {
    text: String,
    /// Spaces owed before the next text.
    gap: usize,
}

impl Line {
    fn push(&mut self, cell: &str, cell_width: usize, column_width: usize, align: Align) {
        let padding = column_width.saturating_sub(cell_width);
        if cell.is_empty() {
            self.gap += column_width + 2;
            return;
        }
        let (before, after) = if align == Align::Right { (padding, 0) } else { (0, padding) };
        self.gap += before;
        self.text.extend(std::iter::repeat_n(' ', self.gap));
        self.text.push_str(cell);
        self.gap = 2 + after;
    }

    fn end(&mut self, to: &mut impl Write) -> io::Result<()> {
        self.text.push('\n');
        to.write_all(self.text.as_bytes())?;
        self.text.clear();
        self.gap = 0;
        Ok(())
    }
}
