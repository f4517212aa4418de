//! The command line's grammar.

mod case;
mod diff;
mod explain;
mod export;
mod fleet;
mod lab;
#[cfg(unix)]
mod prove;
#[cfg(target_os = "linux")]
mod record;
mod replay;
mod tables;
mod whatif;

pub use case::Case;
pub use diff::{Diff, Form, Limit};
pub use explain::{Explain, Explanation, Gains, View};
pub use export::{Export, Import, Target};
pub use fleet::{Digest, Fleet};
pub use lab::{
    Devices, Lab, LabCalibrate, LabList, LabRun, LabShow, LabVerb, Results as ResultsForm, ResultsOutput,
};
#[cfg(unix)]
pub use prove::Prove;
#[cfg(target_os = "linux")]
pub use record::{Begin, Keep, Record};
pub use replay::Replay;
pub use tables::{Listing, OpListing, Rows, Sort, Stats, Where};
pub use whatif::Whatif;

use crate::output::Color;
use crate::time;
use clap::{Args, Parser, Subcommand};
use std::time::Duration;
use trace::{Ns, Selection};

/// Explains why the threads, streams and GPUs of a CUDA program wait, and how to fix it.
#[derive(Parser)]
#[command(name = "holdup", version, long_about = long_about(), max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Examples:
  holdup record python train.py         run a program and record it
  holdup doctor                         what recording needs, and what is missing
  holdup explain trace.json.gz          why the program waited, and how to fix it
  holdup view trace.json.gz             the same as a page in the browser
  holdup diff old.json.gz new.json.gz   what got slower, and by what cause
  holdup digest traces/* -o digests     digests of thousands of ranks, for holdup fleet
  holdup prove --against ./old -- ./new whether a change makes it faster
  holdup stats report.sqlite            where host and GPU time went
  holdup where cudaMemcpyAsync t.json   which lines of the program call it
  holdup lab run overlap                an experiment on this machine's GPU

Times and durations: 1.5s, 200ms, 900us, 50ns; a bare number is seconds.

Exit status: 0 done; 1 --fail-over is exceeded, or a gain under --fail-under; 2 wrong usage, unreadable input, or an empty selection.")]
pub struct CommandLine {
    /// Colour text; "auto" means on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
    #[command(subcommand)]
    pub verb: Verb,
}

/// The help's first paragraphs: what holdup is, and what it reads.
fn long_about() -> String {
    let forms: Vec<String> = import::forms().map(|form| form.name.replace('`', "")).collect();
    format!(
        "Explains why the threads, streams and GPUs of a CUDA program wait, and how to fix it.\n\n\
         Records a program (record). Reads {}. The content decides the format. A trace can be gzipped; \"-\" is standard \
         input.",
        forms.join("; ")
    )
}

#[derive(Subcommand)]
pub enum Verb {
    #[cfg(target_os = "linux")]
    Record(Record),
    Explain(Explain),
    Diff(Diff),
    Replay(Replay),
    Whatif(Whatif),
    #[cfg(unix)]
    Prove(Prove),
    Causes(Causes),
    Case(Case),
    View(View),
    Digest(Digest),
    Fleet(Fleet),
    Stats(Stats),
    Calls(Listing),
    Ops(OpListing),
    Where(Where),
    Export(Export),
    Import(Import),
    Lab(Lab),
    Devices(Devices),
    #[cfg(target_os = "linux")]
    Doctor(Doctor),
    Completions(Completions),
    Man(Man),
}

fn duration(text: &str) -> Result<Duration, String> {
    time::parse(text).map(|ns| Duration::from_nanos(u64::try_from(ns).unwrap_or(0)))
}

/// Thousandths of a percent of a text such as `5%` or `0.5 %`.
fn thousandths(text: &str) -> Option<u32> {
    let share = text.trim().strip_suffix('%')?.trim();
    let (whole, decimals) = share.split_once('.').unwrap_or((share, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > 3 || !is_number(whole) || !is_number(decimals) {
        return None;
    }
    format!("{whole}{decimals:0<3}").parse().ok()
}

/// Which events to select.
#[derive(Args)]
#[command(next_help_heading = "Selection")]
pub struct Filter {
    /// Only events that end after this time from the trace's start.
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    from: Option<Ns>,
    /// Only events that start before this time from the trace's start.
    #[arg(long, value_name = "TIME", value_parser = time::parse_end)]
    to: Option<Ns>,
    /// Only this thread: its id, or a part of its name.
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// Only calls and GPU operations whose name contains this, in any case.
    #[arg(long, value_name = "PART")]
    name: Option<String>,
    /// Only calls that a thread made within its ranges (NVTX, record_function, operators) whose name contains this,
    /// and the GPU operations that they issued.
    ///
    /// A range that one thread starts and another ends belongs to the one that started it; a range without a thread
    /// belongs to all.
    #[arg(long, value_name = "PART")]
    range: Option<String>,
}

impl Filter {
    pub fn selection(&self) -> Selection {
        let Filter { from, to, thread, name, range } = self;
        Selection { from: *from, to: *to, thread: thread.clone(), name: name.clone(), range: range.clone() }
    }
}

/// Checks what recording needs, and prints how to get what is missing.
#[cfg(target_os = "linux")]
#[derive(Args)]
#[command(after_help = "Examples:
  holdup doctor
  holdup doctor --format json | jq '.checks[] | select(.state != \"ok\")'

Checks holdup's own library, the driver and its devices, CUPTI, MPS, and other tools' variables; changes nothing.

Exit status: 0 programs can be recorded, 1 they cannot.")]
pub struct Doctor {
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Table,
}

/// Lists the causes that holdup knows: meaning, evidence and fixes.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup causes
      all of them
  holdup causes driver-lock
      one of them")]
pub struct Causes {
    /// The causes to list; all of them by default.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Document,
}

/// Prints shell completions of holdup's commands and options.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup completions bash > ~/.local/share/bash-completion/completions/holdup
  holdup completions zsh > ~/.zfunc/_holdup
      where ~/.zfunc is in fpath
  holdup completions fish > ~/.config/fish/completions/holdup.fish")]
pub struct Completions {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// Prints the manual page of holdup or of one of its commands.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup man | man -l -
  holdup man explain > ~/.local/share/man/man1/holdup-explain.1
  holdup man lab run | man -l -")]
pub struct Man {
    /// The command; default: holdup itself.
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Forms of a document.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Document {
    #[default]
    Text,
    Json,
    Markdown,
}

/// Forms of a table.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Table {
    #[default]
    Text,
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, CommandFactory};

    /// Every command with its own name in full, as `lab run`.
    fn every(command: &Command, name: &str, found: &mut Vec<(String, Command)>) {
        for verb in command.get_subcommands() {
            let name = format!("{name} {}", verb.get_name());
            found.push((name.clone(), verb.clone()));
            every(verb, &name, found);
        }
    }

    #[test]
    fn the_grammar_holds_together() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn help_fits_the_page_and_shows_no_source() {
        let mut command = CommandLine::command();
        command.build();
        let mut all = vec![(String::from("holdup"), command.clone())];
        every(&command, "holdup", &mut all);
        assert!(all.iter().any(|(name, _)| name == "holdup lab run"));
        for (name, command) in &mut all {
            for help in [command.render_help(), command.render_long_help()] {
                let help = help.to_string();
                assert!(!help.contains('\\'), "{name}: {help}");
                let long = help.lines().find(|line| line.chars().count() > 100);
                assert_eq!(long, None, "{name}");
            }
        }
    }
}
