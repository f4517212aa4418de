//! `holdup devices`

use crate::args::{Devices, Table};
use crate::failure::Failure;
use crate::output::{self, Color};
use experiments::Runner;
use std::process::ExitCode;

/// Prints the devices and what they can overlap.
pub fn run(arguments: &Devices, color: Color) -> Result<ExitCode, Failure> {
    let runner = Runner::named(arguments.on.as_deref()).map_err(Failure::Message)?;
    let machine = runner.machine(arguments.measure).map_err(Failure::Message)?;
    output::print(&match arguments.format {
        Table::Text => machine.document(output::page(color)).to_string(),
        Table::Json => report::json("holdup/devices/1", &machine.json()),
    })?;
    Ok(ExitCode::SUCCESS)
}
