//! Number of rows that a table has, and the line that stands for the others.

use crate::document::Table;
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
    /// The rows to show, and the others. A row matters as much as its weight.
    pub(super) fn split<T>(self, rows: &[T], weight: impl Fn(&T) -> Ns) -> (&[T], &[T]) {
        const ALWAYS: usize = 10;
        /// A line that stands for fewer rows gains nothing.
        const WORTH: usize = 3;
        let shown = match self {
            Top::All => rows.len(),
            Top::First(most) => most,
            Top::Relevant => {
                let whole: Ns = rows.iter().map(&weight).sum();
                let relevant = rows.iter().rposition(|row| weight(row) >= whole / 1000);
                let shown = relevant.map_or(0, |last| last + 1).max(ALWAYS);
                if rows.len() < shown + WORTH { rows.len() } else { shown }
            }
        };
        rows.split_at(shown.min(rows.len()))
    }
}

/// A table under a title, and the line that stands for the rows that it leaves out: `and 33 more`.
pub(super) struct Titled {
    pub title: &'static str,
    pub table: Table,
    pub more: Option<String>,
}

impl Titled {
    /// The table of the rows that matter; nothing without rows.
    pub fn of<T>(
        title: &'static str,
        (shown, others): (&[T], &[T]),
        table: impl Fn(&[T]) -> Table,
    ) -> Option<Titled> {
        let more = (!others.is_empty()).then(|| format!("and {} more", units::count(others.len() as u64)));
        (!shown.is_empty()).then(|| Titled {
            title,
            table: table(shown).without_empty_columns().with_names(),
            more,
        })
    }
}
