//! `holdup man`

use crate::args::{CommandLine, Man};
use crate::failure::Failure;
use crate::output;
use clap::{Command, CommandFactory};
use std::process::ExitCode;

/// Prints a command's manual page.
pub fn run(arguments: &Man) -> Result<ExitCode, Failure> {
    // The width of the terminal must not decide where a page's source has its lines.
    let mut command = CommandLine::command().term_width(100);
    // Only a built command knows the options that all have.
    command.build();
    let mut name = String::from("holdup");
    for part in &arguments.command {
        let found = command.find_subcommand(part).cloned();
        command = found.ok_or_else(|| unknown(&command, &name, part))?;
        name = format!("{name}-{part}");
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.name(&*name.leak())).render(&mut page)?;
    output::print(&String::from_utf8_lossy(&page))?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(command: &Command, name: &str, part: &str) -> Failure {
    let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let name = name.replace('-', " ");
    Failure::Message(match known.is_empty() {
        true => format!(
            "man: `{name}` has no command `{part}`: write `holdup man {}`",
            &name["holdup".len()..].trim()
        ),
        false => format!("man: `{name}` has no command `{part}`: expected one of {}", known.join(", ")),
    })
}
