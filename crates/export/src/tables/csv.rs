//! CSV according to RFC 4180, with lines that end in a line feed.
//!
//! A spreadsheet runs a cell that begins with `=`, `+`, `-` or `@` as a formula, quoted or not, and ignores a tab or a
//! carriage return before it. A kernel or a thread may have any name, so such a text gets an apostrophe before it,
//! which marks text in spreadsheets; the Parquet tables have the exact names. Numbers do not change. U+0000, at which
//! readers in C stop, becomes its picture, U+2400.

use super::column::{Cells, Table};
use crate::Meter;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a table to a new file.
pub(super) fn write(table: &Table<'_>, path: &Path, meter: &mut Meter<'_>) -> io::Result<()> {
    let mut to = BufWriter::with_capacity(1 << 18, File::create(path)?);
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    writeln!(to, "{}", names.join(","))?;
    for row in 0..table.rows {
        for (at, (_, cells)) in table.columns.iter().enumerate() {
            if at > 0 {
                to.write_all(b",")?;
            }
            match cells {
                Cells::Int(cell) => cell(row).map_or(Ok(()), |number| write!(to, "{number}"))?,
                Cells::Real(cell) => cell(row).map_or(Ok(()), |number| write!(to, "{number}"))?,
                Cells::Text(cell) => write_text(&cell(row), &mut to)?,
            }
        }
        to.write_all(b"\n")?;
        meter.step();
    }
    to.flush()
}

fn write_text(text: &str, to: &mut impl Write) -> io::Result<()> {
    let guard = if runs(text) { "'" } else { "" };
    if !text.contains([',', ';', '"', '\n', '\r', '\t', '\0']) {
        return write!(to, "{guard}{text}");
    }
    write!(to, "\"{guard}{}\"", text.replace('"', "\"\"").replace('\0', "\u{2400}"))
}

/// Whether a spreadsheet may run the text as a formula; East Asian ones accept the wide signs too.
fn runs(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c.is_control());
    text.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
}

#[cfg(test)]
mod tests {
    use super::write_text;

    fn cell(text: &str) -> String {
        let mut out = Vec::new();
        write_text(text, &mut out).expect("memory takes all");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn separators_quotes_and_lines_are_quoted() {
        for (text, written) in [
            ("", ""),
            ("saxpy", "saxpy"),
            ("a<b, c>", "\"a<b, c>\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("cr\rhere", "\"cr\rhere\""),
            ("nul\0here", "\"nul\u{2400}here\""),
        ] {
            assert_eq!(cell(text), written);
        }
    }

    #[test]
    fn formulas_become_text() {
        for (text, written) in [
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "\"'\t=1\""),
            ("\r\n =1", "\"'\r\n =1\""),
            ("＝1", "'＝1"),
            ("=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""),
            ("a=1", "a=1"),
            ("<script>", "<script>"),
        ] {
            assert_eq!(cell(text), written);
        }
    }
}
