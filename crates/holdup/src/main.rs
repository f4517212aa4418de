//! The command line: parses, calls, prints.

mod args;
mod commands;
mod failure;
mod input;
mod interrupt;
mod links;
#[cfg(target_os = "linux")]
mod memory;
mod model;
mod output;
mod progress;
mod readers;
mod save;
#[cfg(target_os = "linux")]
mod size;
mod time;
mod usage;

use std::process::ExitCode;

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: memory::HugePages = memory::HugePages;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    gpu::child_main();
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|verb| verb == commands::doctor::PROBE) {
        record::doctor::probe();
        return ExitCode::SUCCESS;
    }
    let command = match usage::read() {
        Ok(command) => command,
        Err(failure) => return failure.report(),
    };
    let outcome = match command.verb {
        #[cfg(target_os = "linux")]
        args::Verb::Record(arguments) => commands::record::run(&arguments, command.color),
        #[cfg(target_os = "linux")]
        args::Verb::Doctor(arguments) => commands::doctor::run(&arguments, command.color),
        args::Verb::Explain(arguments) => commands::explain::run(&arguments, command.color),
        args::Verb::Diff(arguments) => commands::diff::run(&arguments, command.color),
        args::Verb::Replay(arguments) => commands::replay::run(&arguments, command.color),
        args::Verb::Whatif(arguments) => commands::whatif::run(&arguments, command.color),
        #[cfg(unix)]
        args::Verb::Prove(arguments) => commands::prove::run(&arguments, command.color),
        args::Verb::Causes(arguments) => commands::causes::run(&arguments, command.color),
        args::Verb::Case(arguments) => commands::case::run(&arguments),
        args::Verb::View(arguments) => commands::view::run(&arguments),
        args::Verb::Digest(arguments) => commands::digest::run(&arguments),
        args::Verb::Fleet(arguments) => commands::fleet::run(&arguments),
        args::Verb::Stats(arguments) => commands::stats::run(&arguments, command.color),
        args::Verb::Calls(arguments) => commands::listing::calls(&arguments),
        args::Verb::Ops(arguments) => commands::listing::ops(&arguments),
        args::Verb::Where(arguments) => commands::places::run(&arguments, command.color),
        args::Verb::Export(arguments) => commands::export::run(&arguments, command.color),
        args::Verb::Import(arguments) => commands::import::run(&arguments, command.color),
        args::Verb::Lab(arguments) => commands::lab::run(&arguments, command.color),
        args::Verb::Devices(arguments) => commands::devices::run(&arguments, command.color),
        args::Verb::Completions(arguments) => commands::completions::run(&arguments),
        args::Verb::Man(arguments) => commands::man::run(&arguments),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
