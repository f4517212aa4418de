//! One value of a listing, written for people, as CSV or as JSON.

use crate::units;
use std::fmt::Write;
use trace::Ns;

/// A value of a row.
#[derive(Clone, Copy)]
pub(super) enum Cell<'a> {
    /// Nothing to say: a copy has no grid.
    Empty,
    Int(i64),
    /// A time; for people in seconds, which is what `--from` takes.
    Time(Ns),
    Duration(Ns),
    Bytes(i64),
    /// Bytes in a duration.
    Rate(i64, Ns),
    /// A grid's or block's size.
    Size([u32; 3]),
    Text(&'a str),
}

impl Cell<'_> {
    /// The columns that the cell's text needs at most; quick, as it is asked of every cell before
    /// the first line is written.
    pub(super) fn width(self) -> usize {
        match self {
            Cell::Empty => 0,
            Cell::Int(number) => digits(number.unsigned_abs()) + usize::from(number < 0),
            Cell::Time(ns) => digits(ns.unsigned_abs() / 1_000_000_000) + 10 + usize::from(ns < 0),
            Cell::Duration(_) => "999.999 ms".len(),
            Cell::Bytes(_) => "1,023 KiB".len(),
            Cell::Rate(bytes, ns) if bytes <= 0 || ns <= 0 => 0,
            Cell::Rate(..) => "16.8 GB/s".len(),
            Cell::Size(size) => size.map(|side| digits(side.into())).iter().sum::<usize>() + 4,
            Cell::Text(text) => crate::layout::width(text),
        }
    }

    /// The value for people.
    pub(super) fn push_text(self, text: &mut String) {
        match self {
            Cell::Empty => {}
            Cell::Int(number) => push(text, number),
            Cell::Time(ns) => units::push_seconds(text, ns),
            Cell::Duration(ns) => units::push_three_decimals(text, ns),
            Cell::Bytes(bytes) => units::push_bytes(text, bytes),
            Cell::Rate(bytes, ns) => units::push_throughput(text, bytes, ns),
            Cell::Size([x, y, z]) => {
                let _ = write!(text, "({x} {y} {z})");
            }
            Cell::Text(value) => text.push_str(value),
        }
    }

    /// The value as a field of a CSV file.
    pub(super) fn push_csv(self, text: &mut String) {
        match self {
            Cell::Text(value) if value.contains([',', '"', '\n', '\r']) => {
                let _ = write!(text, "\"{}\"", value.replace('"', "\"\""));
            }
            Cell::Time(ns) | Cell::Duration(ns) => push(text, ns),
            Cell::Bytes(bytes) => push(text, bytes),
            other => other.push_text(text),
        }
    }

    /// The value as JSON.
    pub(super) fn push_json(self, text: &mut String) {
        match self {
            Cell::Empty => text.push_str("null"),
            Cell::Text(value) => {
                text.push_str(&serde_json::to_string(value).expect("strings always serialize"));
            }
            Cell::Rate(..) | Cell::Size(_) => unreachable!("made for people, in no JSON column"),
            other => other.push_csv(text),
        }
    }
}

/// The number, or nothing where it is 0, which in a trace means "not stated".
pub(super) fn nonzero<'a>(number: i64) -> Cell<'a> {
    if number == 0 { Cell::Empty } else { Cell::Int(number) }
}

fn push(text: &mut String, number: i64) {
    let _ = write!(text, "{number}");
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}
