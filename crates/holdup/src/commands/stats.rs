//! `holdup stats`

use crate::args::{Document, Stats};
use crate::failure::Failure;
use crate::input;
use crate::output::{self, Color};
use crate::time;
use report::document::Form;
use report::stats;
use std::process::ExitCode;

/// Prints the summary tables.
pub fn run(arguments: &Stats, color: Color) -> Result<ExitCode, Failure> {
    let selection = arguments.filter.selection();
    time::check(&selection)?;
    let trace = input::read_part(&arguments.trace, &selection)?;
    let options = stats::Options { selection, per_thread: arguments.per_thread };
    let tables = stats::build(&trace, &input::name(&arguments.trace), &options);
    let top = match arguments.top {
        None => stats::Top::Relevant,
        Some(0) => stats::Top::All,
        Some(rows) => stats::Top::First(rows),
    };
    output::print(&match arguments.format {
        Document::Text => {
            stats::document(&tables, Form::Text(output::page(color)), arguments.wide, top).to_string()
        }
        Document::Json => stats::json(&tables),
        Document::Markdown => stats::document(&tables, Form::Markdown, false, top).to_string(),
    })?;
    Ok(ExitCode::SUCCESS)
}
