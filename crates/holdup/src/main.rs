//! The command line: parses, calls, prints.

mod args;
mod causes;
mod completions;
mod devices;
#[cfg(target_os = "linux")]
mod doctor;
mod explain;
mod export;
mod failure;
mod import;
mod input;
mod interrupt;
mod lab;
mod listing;
mod man;
mod output;
mod places;
mod progress;
#[cfg(target_os = "linux")]
mod record;
mod save;
#[cfg(target_os = "linux")]
mod size;
mod stats;
mod time;
mod view;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    gpu::child_main();
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|verb| verb == doctor::PROBE) {
        ::record::doctor::probe();
        return ExitCode::SUCCESS;
    }
    let command = args::CommandLine::parse();
    let outcome = match command.verb {
        #[cfg(target_os = "linux")]
        args::Verb::Record(arguments) => record::run(&arguments, command.color),
        #[cfg(target_os = "linux")]
        args::Verb::Doctor(arguments) => doctor::run(&arguments, command.color),
        args::Verb::Explain(arguments) => explain::run(&arguments, command.color),
        args::Verb::Causes(arguments) => causes::run(&arguments, command.color),
        args::Verb::View(arguments) => view::run(&arguments),
        args::Verb::Stats(arguments) => stats::run(&arguments, command.color),
        args::Verb::Calls(arguments) => listing::calls(&arguments),
        args::Verb::Ops(arguments) => listing::ops(&arguments),
        args::Verb::Where(arguments) => places::run(&arguments, command.color),
        args::Verb::Export(arguments) => export::run(&arguments, command.color),
        args::Verb::Import(arguments) => import::run(&arguments, command.color),
        args::Verb::Lab(arguments) => lab::run(&arguments, command.color),
        args::Verb::Devices(arguments) => devices::run(&arguments, command.color),
        args::Verb::Completions(arguments) => completions::run(&arguments),
        args::Verb::Man(arguments) => man::run(&arguments),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
