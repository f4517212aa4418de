//! Splits a printed text into banners, titles and rows, and skips other lines.

use super::columns::{Form, Table, is_summary};
use csv_core::{ReadRecordResult, Reader};
use memchr::memchr;

/// The most lines of a quoted cell; beyond it, the quotation mark is ordinary text.
const LONGEST_CELL: usize = 32;

/// A piece of a printed text.
#[derive(Debug)]
pub(super) enum Piece {
    /// nvprof's message about the process with that id; 0 if it names none.
    Banner(i64, String),
    /// A table's titles.
    Titles(Box<Table>),
    /// The beginning of a section that is not a table of events, or a text between tables.
    Other,
    /// The titles of a summary.
    Summary,
    /// The titles of a table in nsys's text layout.
    TextOfNsys,
    /// `...`, which replaces removed lines.
    Cut,
    /// A row of the last table, with as many cells as the table has columns.
    Row(Vec<String>),
    /// A line that begins like a row but is not one.
    NoRow,
}

/// The pieces of a text, one after another.
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    csv: Reader,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a [u8]) -> Lines<'a> {
        Lines { rest: text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text), csv: Reader::new() }
    }

    /// Number of bytes left to read.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next piece; skips lines without a meaning within `table`.
    pub(super) fn next(&mut self, table: Option<&mut Table>) -> Option<Piece> {
        let mut table = table;
        while !self.rest.is_empty() {
            let line = self.line(table.as_deref());
            let line = line.trim_end_matches(['\n', '\r']);
            if let Some(piece) = self.piece(line, table.as_deref_mut()) {
                return Some(piece);
            }
        }
        None
    }

    /// A line; in a CSV table, with the lines over which a quoted cell continues.
    fn line(&mut self, table: Option<&Table>) -> String {
        let end = |text: &[u8]| memchr(b'\n', text).map_or(text.len(), |at| at + 1);
        let one = end(self.rest);
        let mut whole = one;
        if table.is_some_and(|table| table.form == Form::Csv) {
            let open = |line: &[u8]| line.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
            let mut lines = 1;
            while open(&self.rest[..whole]) && lines < LONGEST_CELL && whole < self.rest.len() {
                whole += end(&self.rest[whole..]);
                lines += 1;
            }
            if open(&self.rest[..whole]) {
                whole = one;
            }
        }
        let (line, rest) = self.rest.split_at(whole);
        self.rest = rest;
        String::from_utf8_lossy(line).into_owned()
    }

    fn piece(&mut self, line: &str, table: Option<&mut Table>) -> Option<Piece> {
        let trimmed = line.trim();
        if let Some((process, text)) = banner(trimmed) {
            return Some(Piece::Banner(process, text.to_owned()));
        }
        if is_cut(trimmed) {
            return Some(Piece::Cut);
        }
        if is_summary(trimmed) {
            return Some(Piece::Summary);
        }
        if trimmed.contains("Start") && trimmed.contains("Duration") {
            return Some(self.titles(trimmed));
        }
        if begins_section(trimmed) {
            return Some(Piece::Other);
        }
        self.row(line, table?)
    }

    fn titles(&mut self, line: &str) -> Piece {
        let by_commas = Table::of_titles(&self.record(line), Form::Csv);
        if let Some(table) = by_commas {
            return Piece::Titles(Box::new(table));
        }
        match Table::of_titles(&columns(line, usize::MAX), Form::Text) {
            Some(table) if table.unit(super::columns::Column::Start).is_some() => Piece::TextOfNsys,
            Some(table) => Piece::Titles(Box::new(table)),
            None => Piece::Other,
        }
    }

    /// A row, which begins with a time; other lines are the program's own output or the legend.
    fn row(&mut self, line: &str, table: &mut Table) -> Option<Piece> {
        let cells = match table.form {
            Form::Csv => self.record(line),
            Form::Text => columns(line.trim_start(), table.width),
        };
        if table.take_units(&cells) {
            return None;
        }
        let unit = table.time_unit(super::columns::Column::Start);
        let start = table.cell(&cells, super::columns::Column::Start)?;
        super::amount::Time::parse(start, unit)?;
        // Any text of the program may begin with a time; a row has at least a second column.
        match cells.len() {
            1 => None,
            width if width == table.width => Some(Piece::Row(cells)),
            _ => Some(Piece::NoRow),
        }
    }

    /// The cells of a line of CSV.
    fn record(&mut self, line: &str) -> Vec<String> {
        self.csv.reset();
        let (mut text, mut ends) = (vec![0; line.len() + 1], vec![0; line.len() + 2]);
        // A cell is not longer than its line, and a line has no more cells than bytes: both fit.
        let (result, _, _, count) = self.csv.read_record(line.as_bytes(), &mut text, &mut ends);
        let count = match result {
            // The reader needs an explicit end of input to finish the line.
            ReadRecordResult::InputEmpty => {
                let written = ends[..count].last().copied().unwrap_or(0);
                let (_, _, _, more) = self.csv.read_record(&[], &mut text[written..], &mut ends[count..]);
                count + more
            }
            _ => count,
        };
        let mut from = 0;
        let mut cell = |end: &usize| {
            let cell = String::from_utf8_lossy(&text[from..*end]).into_owned();
            from = *end;
            cell
        };
        ends[..count].iter().map(&mut cell).collect()
    }
}

/// The process and the text of `==15785== Profiling result:`; `========` if nvprof reads a file.
fn banner(line: &str) -> Option<(i64, &str)> {
    let rest = line.strip_prefix("==")?;
    if let Some(text) = rest.strip_prefix("======") {
        return Some((0, text.trim()));
    }
    let (process, text) = rest.split_once("==")?;
    Some((process.parse().ok()?, text.trim()))
}

/// Whether a line replaces removed lines: `...`, `[...]`, `<...more output...>`.
fn is_cut(line: &str) -> bool {
    let inner = line.trim_start_matches(['<', '[', '(']);
    (inner.starts_with("...") || inner.starts_with('…')) && line.len() < 80
}

/// Whether a line is one that nsys prints around its tables.
fn begins_section(line: &str) -> bool {
    ["** ", "Processing [", "Generating SQLite", "NOTICE:", "SKIPPED:", "Exporting "]
        .iter()
        .any(|start| line.starts_with(start))
}

/// The cells of a line of nvprof's, separated by two or more spaces. The last of `width` cells is the rest of the line:
/// a kernel's name may hold anything.
fn columns(line: &str, width: usize) -> Vec<String> {
    let (mut cells, mut rest) = (Vec::new(), line.trim());
    while !rest.is_empty() {
        let gap = if cells.len() + 1 < width { rest.find("  ") } else { None };
        let (cell, more) = rest.split_at(gap.unwrap_or(rest.len()));
        cells.push(cell.to_owned());
        rest = more.trim_start();
    }
    cells
}
