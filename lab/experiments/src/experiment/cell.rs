//! A value of a parameter or of a column that rows vary.

use std::fmt;

/// A name, a number, yes or no, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// A name.
    Text(String),
    /// A number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// The driver's default.
    Default,
    /// The column does not apply to this row.
    Nothing,
}

impl fmt::Display for Cell {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Text(text) => to.write_str(text),
            Cell::Number(number) => write!(to, "{number}"),
            Cell::Flag(true) => to.write_str("yes"),
            Cell::Flag(false) => to.write_str("no"),
            Cell::Default => to.write_str("default"),
            Cell::Nothing => to.write_str("none"),
        }
    }
}

impl From<Cell> for serde_json::Value {
    fn from(cell: Cell) -> serde_json::Value {
        match cell {
            Cell::Text(text) => text.into(),
            Cell::Number(number) => number.into(),
            Cell::Flag(flag) => flag.into(),
            Cell::Default | Cell::Nothing => serde_json::Value::Null,
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Cell {
        Cell::Number(number)
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Cell {
        Cell::Number(number.into())
    }
}

impl From<bool> for Cell {
    fn from(flag: bool) -> Cell {
        Cell::Flag(flag)
    }
}

impl From<Option<u32>> for Cell {
    fn from(number: Option<u32>) -> Cell {
        number.map_or(Cell::Default, Cell::from)
    }
}
