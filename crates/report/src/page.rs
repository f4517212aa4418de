//! The page that text is written for.

use crate::style::Style;

/// The width and the style of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page {
    /// Columns of text; at least [`Page::NARROWEST`], at most [`Page::WIDEST`].
    pub columns: usize,
    /// Columns of tables of names: all that a terminal has.
    pub table_columns: usize,
    /// Plain or colour.
    pub style: Style,
}

impl Page {
    /// The narrowest page that layouts support, columns.
    pub const NARROWEST: usize = 80;
    /// The widest page: text wraps at this width, columns.
    pub const WIDEST: usize = 100;

    /// A page for a terminal of this width in columns; `None` for a file.
    pub fn new(terminal_columns: Option<usize>, style: Style) -> Page {
        let table_columns = terminal_columns.unwrap_or(Self::WIDEST).max(Self::NARROWEST);
        Page { columns: table_columns.min(Self::WIDEST), table_columns, style }
    }
}

impl Default for Page {
    fn default() -> Self {
        Page::new(None, Style::Plain)
    }
}
