//! The command line's grammar.

use crate::output::Color;
use crate::time;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use trace::{Ns, Selection};

/// Tells what holds up a CUDA program's threads, who did it, where, and how to fix it.
///
/// Reads traces of PyTorch's profiler and other users of Kineto (.json, .json.gz), Nsight Systems
/// (SQLite export), nvprof (SQLite) and holdup itself; the format is recognised by content. "-" is
/// standard input.
#[derive(Parser)]
#[command(name = "holdup", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Examples:
  holdup explain trace.json.gz           what held the program up, and how to fix it
  holdup stats report.sqlite             where host and GPU time went
  holdup where cudaMemcpyAsync t.json    which lines of the program call it

Times and durations: 1.5s, 200ms, 900us, 50ns; a bare number is seconds.
Exit status: 0 done; 1 a finding exceeds --fail-over; 2 wrong usage or unreadable input.")]
pub struct CommandLine {
    /// Colour text; "auto" means on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Subcommand)]
pub enum Verb {
    Explain(Explain),
    Stats(Stats),
    Calls(Listing),
    Ops(OpListing),
    Where(Where),
    Import(Import),
}

/// Which events to look at.
#[derive(Args)]
#[command(next_help_heading = "Selection")]
pub struct Filter {
    /// Only events that end after this time from the trace's start.
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    from: Option<Ns>,
    /// Only events that start before this time from the trace's start.
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    to: Option<Ns>,
    /// Only this thread: its id, or a part of its name.
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// Only calls and GPU operations whose name contains this, whatever the case.
    #[arg(long, value_name = "PART")]
    name: Option<String>,
}

impl Filter {
    pub fn selection(&self) -> Selection {
        let (thread, name) = (self.thread.clone(), self.name.clone());
        Selection { from: self.from, to: self.to, thread, name }
    }
}

/// What held the program up: who waited for whom, how much it cost, and how to fix it.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup explain trace.json.gz
  holdup explain trace.json.gz --format markdown > issue.md
  holdup explain nightly.sqlite --fail-over 50ms     exit status 1 if any finding lost more

With several traces, text comes one after another, and JSON as one array.")]
pub struct Explain {
    /// Traces of any format that holdup reads; "-" is standard input.
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Document,
    /// Explain calls that take longer than this.
    #[arg(long, value_name = "DURATION", default_value = "100us", value_parser = time::parse)]
    pub min_wait: Ns,
    /// End with exit status 1 if a finding lost more than this.
    #[arg(long, value_name = "DURATION", value_parser = time::parse)]
    pub fail_over: Option<Ns>,
    /// Spell out findings below 0.1 % of the slow time too.
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub filter: Filter,
}

/// Where host and GPU time went: summary tables of calls, GPU operations and copies.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup stats trace.json.gz
  holdup stats trace.json.gz --per-thread --from 0.4s --to 600ms

With --from and --to, only time between them counts: events that reach out of it are cut.")]
pub struct Stats {
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Document,
    /// A table of calls for each thread.
    #[arg(long)]
    pub per_thread: bool,
    /// Never shorten names, however long lines get.
    #[arg(long)]
    pub wide: bool,
    #[command(flatten)]
    pub filter: Filter,
}

/// Every host call, in order of time, with the GPU operation it caused.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup calls trace.json.gz --name launch | sort -k2 | less -S
  holdup calls trace.json.gz --format csv > calls.csv
  holdup calls trace.json.gz --format json | jq 'select(.duration_ns > 1000000)'

Text leaves out columns that hold nothing; CSV and JSON have all, in nanoseconds and bytes.")]
pub struct Listing {
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Form of the output; json is one object a line.
    #[arg(long, value_enum, default_value_t)]
    pub format: Rows,
    #[command(flatten)]
    pub filter: Filter,
}

/// Every GPU operation, in order of time: kernels, copies and fills.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup ops trace.json.gz --name pageable       copies from or to pageable memory
  holdup ops trace.json.gz --from 0.412s --to 0.47s
  holdup ops trace.json.gz --format csv > ops.csv

Text leaves out columns that hold nothing; CSV and JSON have all, in nanoseconds and bytes.
--thread means the thread whose call caused the operation.")]
pub struct OpListing {
    #[command(flatten)]
    pub listing: Listing,
}

/// Which places in the source call an API.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup where cudaMemcpyAsync trace.json.gz
  holdup where launch trace.json.gz --thread 1207957184

Without call stacks in the trace, the place is the framework's operator or the NVTX range around
the call. To get stacks: PyTorch with_stack=True, Nsight Systems --cudabacktrace=all.")]
pub struct Where {
    /// A part of the API's name, whatever the case.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Table,
    /// Never shorten places, however long lines get.
    #[arg(long)]
    pub wide: bool,
    /// Only calls that end after this time from the trace's start.
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    from: Option<Ns>,
    /// Only calls that start before this time from the trace's start.
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    to: Option<Ns>,
    /// Only this thread: its id, or a part of its name.
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
}

impl Where {
    pub fn selection(&self) -> Selection {
        let (thread, name) = (self.thread.clone(), Some(self.name.clone()));
        Selection { from: self.from, to: self.to, thread, name }
    }
}

/// Converts a trace to a .holdup file, which opens quickly and in any Parquet reader.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup import trace.json.gz -o trace.holdup
  holdup import night.json.gz -o stall.holdup --from 41.2s --to 41.4s    only a part of it

The file appears under its name only when it is complete.")]
pub struct Import {
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// The file to write.
    #[arg(short, long, value_name = "OUT.holdup")]
    pub output: PathBuf,
    /// Replace the file if it exists.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub filter: Filter,
}

/// Forms of a document.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Document {
    #[default]
    Text,
    Json,
    Markdown,
}

/// Forms of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Rows {
    #[default]
    Text,
    Csv,
    Json,
}

/// Forms of a table.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Table {
    #[default]
    Text,
    Json,
}
