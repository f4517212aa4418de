//! `holdup replay`

use crate::args::{Replay, Table};
use crate::failure::Failure;
use crate::input;
use crate::model;
use crate::output::{self, Color};
use replay::{Fit, show};
use std::process::ExitCode;

/// Replays a trace, and prints how well that fits.
pub fn run(arguments: &Replay, color: Color) -> Result<ExitCode, Failure> {
    let model = model::named(arguments.model.as_deref())?;
    let trace = input::read(&arguments.trace)?;
    let refused = |error| Failure::of(&arguments.trace, error);
    let recovered = replay::recover_on(&trace, model.as_ref()).map_err(refused)?;
    let replayed = recovered.replay().map_err(refused)?;
    let fit = Fit::of(&trace, &recovered, &replayed);
    let name = input::name(&arguments.trace);
    output::print(&match arguments.format {
        Table::Text => {
            let mut document = report::header(&trace, &name, output::page(color));
            document.extend(show::document(&fit, output::page(color)));
            document.to_string()
        }
        Table::Json => show::json(&fit, &name),
    })?;
    Ok(ExitCode::SUCCESS)
}
