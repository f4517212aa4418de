//! `holdup where`

use crate::args::{Table, Where};
use crate::failure::Failure;
use crate::input;
use crate::output::{self, Color};
use crate::time;
use report::places;
use std::process::ExitCode;

/// Prints the places that call an API.
pub fn run(arguments: &Where, color: Color) -> Result<ExitCode, Failure> {
    let selection = arguments.selection();
    time::check(&selection)?;
    let trace = input::read_part(&arguments.trace, &selection)?;
    let found = places::build(&trace, &input::name(&arguments.trace), &selection);
    output::print(&match arguments.format {
        Table::Text => places::document(&found, output::page(color), arguments.wide).to_string(),
        Table::Json => places::json(&found),
    })?;
    Ok(ExitCode::SUCCESS)
}
