//! Number of rows that a table has, and the line that stands for the others.

use crate::table::Table;
use crate::units;
use trace::Ns;

/// How many rows a table has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Top {
    /// Rows that matter: ten, and all with a thousandth of the time.
    #[default]
    Relevant,
    /// So many.
    First(usize),
    /// All.
    All,
}

impl Top {
    /// The rows to show, and the others.
    pub(super) fn split<T: Weight>(self, rows: &[T]) -> (&[T], &[T]) {
        const ALWAYS: usize = 10;
        /// A line that stands for fewer rows gains nothing.
        const WORTH: usize = 3;
        let shown = match self {
            Top::All => rows.len(),
            Top::First(most) => most,
            Top::Relevant => {
                let whole: Ns = rows.iter().map(T::weight).sum();
                let relevant = rows.iter().rposition(|row| row.weight() >= whole / 1000);
                let shown = relevant.map_or(0, |last| last + 1).max(ALWAYS);
                if rows.len() < shown + WORTH { rows.len() } else { shown }
            }
        };
        rows.split_at(shown.min(rows.len()))
    }
}

/// A row that matters as much as its time.
pub(super) trait Weight {
    /// Time, ns.
    fn weight(&self) -> Ns;
}

/// A further table: its title, its rows, and how many it leaves out.
pub(super) type Further = (&'static str, Table, String);

/// `and 33 more`
pub(super) fn more<T>(others: &[T]) -> String {
    match others.len() {
        0 => String::new(),
        number => format!("and {} more\n", units::count(number as u64)),
    }
}
