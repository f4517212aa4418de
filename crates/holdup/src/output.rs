//! Standard output: its width, its colours, and what happens when its reader goes away.

use crate::failure::Failure;
use report::{Page, Style};
use std::io::{IsTerminal, Write, stderr, stdout};

/// When to colour.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// The page that standard output is.
pub fn page(color: Color) -> Page {
    page_on(stdout().is_terminal(), color)
}

/// The page that standard error is.
pub fn error_page(color: Color) -> Page {
    page_on(stderr().is_terminal(), color)
}

/// The columns of the terminal that standard output is, if it is one.
pub fn terminal_columns() -> Option<usize> {
    let columns = stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    columns.map(|(terminal_size::Width(columns), _)| usize::from(columns).max(Page::NARROWEST))
}

fn page_on(terminal: bool, color: Color) -> Page {
    let coloured = match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => terminal && !no_color() && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
    };
    let columns = terminal.then(terminal_size::terminal_size).flatten();
    let columns = columns.map(|(terminal_size::Width(columns), _)| columns.into());
    Page::new(columns, if coloured { Style::Colour } else { Style::Plain })
}

/// Writes text.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Whether standard output is a file or a pipe.
///
/// # Errors
/// Standard output is a terminal.
pub fn page_has_a_reader() -> Result<(), Failure> {
    if stdout().is_terminal() {
        let message = "a terminal cannot show a page (--format html): name a file with -o";
        return Err(Failure::Message(message.to_owned()));
    }
    Ok(())
}

/// See no-color.org: any text but the empty one.
fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}
