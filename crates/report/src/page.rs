//! What text is written on.

use crate::style::Style;

/// Width and colours of the place text goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page {
    /// Columns; at least [`Page::NARROWEST`].
    pub columns: usize,
    /// Plain or colour.
    pub style: Style,
}

impl Page {
    /// The narrowest page that layouts are made for.
    pub const NARROWEST: usize = 80;
    /// The widest line that text is broken to.
    pub const WIDEST: usize = 100;

    /// A page for a terminal that many columns wide, or for a file.
    pub fn new(terminal_columns: Option<usize>, style: Style) -> Page {
        let columns = terminal_columns.unwrap_or(Self::WIDEST).clamp(Self::NARROWEST, Self::WIDEST);
        Page { columns, style }
    }
}

impl Default for Page {
    fn default() -> Self {
        Page::new(None, Style::Plain)
    }
}
