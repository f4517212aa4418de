//! Kinds of values in the columns of an experiment's rows, and how people see them.

use super::Cell;
use prove::judge::Sense;
use report::units;

/// A column of an experiment's rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// Its name in JSON, in `--variant` and in code.
    pub name: &'static str,
    /// Its heading in tables.
    pub title: &'static str,
    /// Kind of its values.
    pub holds: Holds,
    /// The name that labels leave out, because it is the default; empty if none is.
    pub usual: &'static str,
}

/// Kind of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Something that variants, or the rows of one variant, vary.
    Varied(Values),
    /// A figure.
    Measured(Unit),
    /// The mean time of calls, ms. The column's title is the driver's name of the call.
    CallTime,
}

/// The values of a column that is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Names, or yes and no.
    Words,
    /// How many of something: `4 streams`.
    Count,
    /// Which of something: `thread 2`.
    Ordinal,
    /// Sizes in bytes.
    Bytes,
    /// Numbers of floats.
    Floats,
    /// A number, or the driver's default where it is unset.
    Limit,
}

/// Units of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds: less is better.
    Milliseconds,
    /// How many a second: more is better.
    PerSecond,
    /// GB/s: more is better.
    Throughput,
    /// A part of 1: less is better.
    Share,
    /// How many times as much: less is better.
    Times,
    /// 10⁹ floating-point operations a second: more is better.
    Flops,
}

impl Column {
    /// A column that rows vary, with its name as its title.
    pub const fn varied(name: &'static str, values: Values) -> Column {
        Column { name, title: name, holds: Holds::Varied(values), usual: "" }
    }

    /// A column of names, or of yes and no.
    pub const fn words(name: &'static str) -> Column {
        Column::varied(name, Values::Words)
    }

    /// A figure in that unit.
    pub const fn measured(name: &'static str, title: &'static str, unit: Unit) -> Column {
        Column { name, title, holds: Holds::Measured(unit), usual: "" }
    }

    /// The mean time of one of the driver's functions, by its name there.
    pub const fn call_time(name: &'static str, function: &'static str) -> Column {
        Column { name, title: function, holds: Holds::CallTime, usual: "" }
    }

    /// The same with another title.
    pub const fn titled(mut self, title: &'static str) -> Column {
        self.title = title;
        self
    }

    /// The same with a value that labels leave out.
    pub const fn usually(mut self, value: &'static str) -> Column {
        self.usual = value;
        self
    }

    /// Whether it is a figure, not something that rows vary.
    pub(crate) fn is_figure(&self) -> bool {
        !matches!(self.holds, Holds::Varied(_))
    }

    /// Whether it is the mean time of calls.
    pub(crate) fn is_call_time(&self) -> bool {
        self.holds == Holds::CallTime
    }

    /// Whether its values are numbers.
    pub(crate) fn is_number(&self) -> bool {
        self.holds != Holds::Varied(Values::Words)
    }

    /// The unit of a figure; that of most where it is none.
    pub(crate) fn unit(&self) -> Unit {
        match self.holds {
            Holds::Measured(unit) => unit,
            Holds::CallTime | Holds::Varied(_) => Unit::Milliseconds,
        }
    }

    /// Meaning of `null` in JSON: a limit that is unset, or nothing.
    pub(crate) fn null(&self) -> Cell {
        match self.holds {
            Holds::Varied(Values::Limit) => Cell::Default,
            _ => Cell::Nothing,
        }
    }

    /// A value as a cell of a table.
    pub(crate) fn text(&self, cell: &Cell) -> String {
        match (cell, self.holds) {
            (Cell::Number(bytes), Holds::Varied(Values::Bytes)) => units::bytes(*bytes as i64),
            (Cell::Number(number), Holds::Varied(Values::Floats)) => units::count(*number),
            (Cell::Nothing, _) => String::from("–"),
            (cell, _) => cell.to_string(),
        }
    }

    /// A value in the label of a row, which has no headings; nothing if it is the default.
    pub(crate) fn label(&self, cell: &Cell) -> Option<String> {
        match (cell, self.holds) {
            (Cell::Text(text), _) if text == self.usual => None,
            (Cell::Text(text), _) => Some(text.clone()),
            (Cell::Flag(true), _) => Some(self.name.to_owned()),
            (Cell::Number(_), Holds::Varied(Values::Bytes)) => Some(self.text(cell)),
            (Cell::Number(_), Holds::Varied(Values::Floats)) => Some(format!("{} floats", self.text(cell))),
            (Cell::Number(number), Holds::Varied(Values::Ordinal)) => Some(format!("{} {number}", self.name)),
            (Cell::Number(number), _) => Some(format!("{number} {}", self.name)),
            (Cell::Flag(false) | Cell::Default | Cell::Nothing, _) => None,
        }
    }
}

impl Unit {
    /// Whether more is better.
    pub fn more_is_better(self) -> bool {
        matches!(self, Unit::PerSecond | Unit::Throughput | Unit::Flops)
    }

    /// The same as `prove` has it.
    pub(crate) fn sense(self) -> Sense {
        if self.more_is_better() { Sense::MoreIsBetter } else { Sense::LessIsBetter }
    }

    /// The number with its unit.
    pub fn text(self, value: f64) -> String {
        match self {
            Unit::Milliseconds => units::duration((value * 1e6).round() as i64),
            Unit::PerSecond => format!("{}/s", digits(value)),
            Unit::Throughput => format!("{} GB/s", digits(value)),
            Unit::Share => units::percent(value),
            Unit::Times => format!("{}×", digits(value)),
            Unit::Flops => format!("{} GFlop/s", digits(value)),
        }
    }
}

/// Three digits, or all of a larger number.
fn digits(value: f64) -> String {
    match value {
        value if value >= 99.95 => units::count(value.round() as u64),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_carry_what_tables_have_in_headings() {
        let label = |column: Column, cell: Cell| column.label(&cell).unwrap_or_default();
        assert_eq!(label(Column::varied("streams", Values::Count), Cell::Number(4)), "4 streams");
        assert_eq!(label(Column::varied("thread", Values::Ordinal), Cell::Number(2)), "thread 2");
        assert_eq!(label(Column::varied("bytes", Values::Bytes), Cell::Number(1 << 20)), "1 MiB");
        assert_eq!(label(Column::varied("length", Values::Floats), Cell::Number(1024)), "1,024 floats");
        assert_eq!(label(Column::words("sync"), Cell::Flag(true)), "sync");
        assert_eq!(label(Column::words("sync"), Cell::Flag(false)), "");
        let schedule = Column::words("schedule").usually("auto");
        assert_eq!(label(schedule, Cell::from("auto")), "");
        assert_eq!(label(schedule, Cell::from("spin")), "spin");
    }
}
