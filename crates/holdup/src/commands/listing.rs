//! `holdup calls` and `holdup ops`

use crate::args::{Listing, OpListing, Rows, Sort};
use crate::failure::Failure;
use crate::input;
use crate::output;
use crate::time;
use report::listing;
use std::io::{self, StdoutLock, stdout};
use std::process::ExitCode;
use trace::{Selection, Trace};

/// Lists host calls.
pub fn calls(arguments: &Listing) -> Result<ExitCode, Failure> {
    run(arguments, listing::calls)
}

/// Lists GPU operations.
pub fn ops(arguments: &OpListing) -> Result<ExitCode, Failure> {
    run(&arguments.listing, listing::ops)
}

type Write = fn(&Trace, &Selection, listing::Order, listing::Format, StdoutLock<'static>) -> io::Result<()>;

fn run(arguments: &Listing, write: Write) -> Result<ExitCode, Failure> {
    let selection = arguments.filter.selection();
    time::check(&selection)?;
    let trace = input::read_part(&arguments.trace, &selection)?;
    let format = match arguments.format {
        Rows::Text => listing::Format::Text(output::terminal_columns()),
        Rows::Csv => listing::Format::Csv,
        Rows::Json => listing::Format::Json,
    };
    let sort = match arguments.sort {
        Sort::Start => listing::Sort::Start,
        Sort::Duration => listing::Sort::Duration,
        Sort::Name => listing::Sort::Name,
    };
    let order = listing::Order { sort, top: arguments.top };
    write(&trace, &selection, order, format, stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}
