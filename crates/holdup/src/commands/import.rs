//! `holdup import`

use crate::args::Import;
use crate::failure::Failure;
use crate::output::{self, Color};
use crate::readers::Readers;
use crate::save::Target;
use crate::{input, time};
use std::process::ExitCode;

/// Converts a trace to a `.holdup` file.
pub fn run(arguments: &Import, color: Color) -> Result<ExitCode, Failure> {
    let selection = arguments.filter.selection();
    time::check(&selection)?;
    let file = &arguments.output;
    let target = Target::new(file, arguments.force, Readers::of([arguments.trace.as_path()]))?;
    let trace = input::read_part(&arguments.trace, &selection)?.cut(&selection);
    target.write(&trace)?;
    output::print(&report::header(&trace, &file.to_string_lossy(), output::page(color)).to_string())?;
    Ok(ExitCode::SUCCESS)
}
