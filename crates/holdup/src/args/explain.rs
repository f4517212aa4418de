//! Arguments of `explain` and `view`.

use super::Filter;
use crate::time;
use clap::Args;
use std::path::PathBuf;
use trace::Ns;

/// Reports why the program waited: which thread, for what, how long, and how to fix it.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup explain trace.json.gz
  holdup explain trace.json.gz --format markdown > issue.md
  holdup explain trace.json.gz --format html -o report.html
      a page to view and to mail
  holdup explain nightly.sqlite --fail-over 50ms
      exit status 1 if any finding lost more

The summary tables that PyTorch's profiler, nvprof, nsys stats and CUDA.@profile print are judged, too, as far as sums \
prove anything: holdup explain table.txt

Several traces give one text after another, or one JSON array; a page has one trace. Of traces of the ranks of one run \
holdup says which rank is late at the collectives, and why.

The page is one file that opens offline: findings, a timeline, tables. With --from and --to its timeline shows only \
that time; a call that extends beyond it counts whole.")]
pub struct Explain {
    /// Traces of any format that holdup reads; "-" is standard input.
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Explanation,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Explain calls that take longer than this.
    #[arg(long, value_name = "DURATION", default_value = "100us", value_parser = time::parse)]
    pub min_wait: Ns,
    /// End with exit status 1 if a finding lost more than this.
    #[arg(long, value_name = "DURATION", value_parser = time::parse)]
    pub fail_over: Option<Ns>,
    /// Print every finding in full, with lines of code that apply its fixes, those that cost little too, and every remark.
    #[arg(long)]
    pub all: bool,
    /// Predict what each fix would gain, as holdup whatif does; not with a selection.
    #[arg(long, value_enum, default_value_t)]
    pub gains: Gains,
    #[command(flatten)]
    pub filter: Filter,
}

/// Whether to predict what fixes would gain.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Gains {
    /// If the trace is so small that it takes at most about a second.
    #[default]
    Auto,
    /// However long it takes.
    Always,
    /// Never; findings rank by what hidden waits expose all the same, if that is quick.
    Never,
}

/// Shows a trace in the browser: findings, timeline and tables, as explain --format html writes them.
///
/// Serves one page on 127.0.0.1, at an address that cannot be guessed, until it is interrupted.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup view trace.json.gz
  holdup view trace.json.gz --open
      and opens the browser
  ssh -L 8000:127.0.0.1:8000 gpu holdup view trace.holdup --port 8000
      from another machine

Only this machine can reach the page, and only at its full address.")]
pub struct View {
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Open the page in the browser (xdg-open).
    #[arg(long)]
    pub open: bool,
    /// The port [default: a free one].
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Explain calls that take longer than this.
    #[arg(long, value_name = "DURATION", default_value = "100us", value_parser = time::parse)]
    pub min_wait: Ns,
    #[command(flatten)]
    pub filter: Filter,
}

/// Forms of an explanation, and of predictions.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Explanation {
    #[default]
    Text,
    Json,
    Markdown,
    /// One self-contained page.
    Html,
}
