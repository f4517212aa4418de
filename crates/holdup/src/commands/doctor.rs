//! `holdup doctor`

use crate::args::{Doctor, Table};
use crate::failure::Failure;
use crate::output::{self, Color};
use record::doctor::{self, Check, Examination, Options, PATIENCE, State};
use report::{Item, Mark};
use std::process::ExitCode;

/// The argument of the process that asks the driver.
pub const PROBE: &str = "__probe-driver";

/// Checks this machine; exit status 1 if no program can be recorded.
pub fn run(arguments: &Doctor, color: Color) -> Result<ExitCode, Failure> {
    let this = std::env::current_exe()?;
    let probe = vec![this.into(), PROBE.into()];
    let examination = doctor::examine(&Options { probe, patience: PATIENCE });
    output::print(&match arguments.format {
        Table::Text => text(&examination, color),
        Table::Json => report::json("holdup/doctor/1", &examination),
    })?;
    Ok(if examination.is_fit() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(examination: &Examination, color: Color) -> String {
    let items: Vec<Item<'_>> = examination.checks.iter().map(item).collect();
    let conclusion = match examination.is_fit() {
        true => "holdup record works here.",
        false => "holdup record cannot work here; `explain` and the other commands still work.",
    };
    format!("{}\n{conclusion}\n", report::checklist(&items, output::page(color)))
}

fn item(check: &Check) -> Item<'_> {
    let mark = match check.state {
        State::Ok => Mark::Good,
        State::Warn => Mark::Lacking,
        State::Missing => Mark::Bad,
    };
    Item { mark, name: check.name, found: &check.found, remedy: check.remedy.as_deref() }
}
