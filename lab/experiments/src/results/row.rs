//! A row of figures.

use super::figure::Figure;
use crate::experiment::{Cell, are_alike};

/// One row: what it varies and what was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Values that it varies, by column.
    pub varied: Vec<(&'static str, Cell)>,
    /// The figures, the most important first.
    pub figures: Vec<Figure>,
    /// The largest difference from the expected result, if that was checked.
    pub max_error: Option<f64>,
    /// The same for each worker, if the experiment reads it.
    pub each: Vec<Row>,
}

impl Row {
    /// The value of the column of that name.
    pub fn cell(&self, name: &str) -> Option<&Cell> {
        self.varied.iter().find(|(own, _)| *own == name).map(|(_, cell)| cell)
    }

    /// The same as text; empty if the row does not have the column.
    pub fn text(&self, name: &str) -> String {
        self.cell(name).map(Cell::to_string).unwrap_or_default()
    }

    /// The same if it is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        match self.cell(name) {
            Some(Cell::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// The figure of that name.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }

    /// The value of that figure; NaN if the row does not have it.
    pub fn value(&self, name: &str) -> f64 {
        self.figure(name).map_or(f64::NAN, |figure| figure.value)
    }

    /// Whether it has all of these values.
    pub fn is(&self, wanted: &[(&str, Cell)]) -> bool {
        wanted.iter().all(|(name, cell)| self.cell(name) == Some(cell))
    }

    /// Whether it is equal to another in what it varies, except in those columns.
    pub fn is_like(&self, other: &Row, but: &[&str]) -> bool {
        are_alike(&self.varied, &other.varied, but)
    }
}

/// The row with the largest figure of that name.
pub(crate) fn most<'a>(rows: impl IntoIterator<Item = &'a Row>, figure: &str) -> Option<&'a Row> {
    let measured = rows.into_iter().filter(|row| !row.value(figure).is_nan());
    measured.reduce(|best, row| if row.value(figure) > best.value(figure) { row } else { best })
}
