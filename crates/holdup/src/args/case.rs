//! The grammar of `holdup case`.

use clap::Args;
use std::path::PathBuf;

/// Writes a report of a finding that can be sent: figures, evidence, a reproduction, and a trace without names.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup case server.holdup
      a folder, server-case, with the report of the first finding
  holdup case server.holdup -o case.zip --finding H2
      a zip archive with the report of the second one

case.md is the report, in Markdown. reproduction.toml is a workload that shows the finding: `holdup lab run` runs it on a \
GPU or on a model, and the report says whether it showed the finding on the model. trace.holdup is the part of the trace in \
which the finding is worst.

Names of the program are replaced in all three, unless --names is given: processes, threads, functions, source files, \
kernels, marked ranges, command line, machine.")]
pub struct Case {
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Write to this folder, or to this zip archive if the name ends in .zip [default: a folder named after the trace, as server-case].
    #[arg(short, long, value_name = "FOLDER|FILE.zip")]
    pub output: Option<PathBuf>,
    /// Replace the folder or the file if it exists.
    #[arg(long)]
    pub force: bool,
    /// The finding, by its name in `holdup explain`.
    #[arg(long, value_name = "FINDING", default_value = "H1", value_parser = number)]
    pub finding: usize,
    /// Make a reproduction for so many GPUs [default: the fewest on which it shows the finding on the model].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub gpus: Option<u32>,
    /// Keep the names of the program in the report, the reproduction and the trace.
    #[arg(long)]
    pub names: bool,
}

/// The number of a finding: of `H2` and of `2` it is 2.
fn number(text: &str) -> Result<usize, String> {
    let number = text.strip_prefix(['H', 'h']).unwrap_or(text).parse();
    number
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| String::from("expected H1, H2, … as `holdup explain` names findings"))
}
