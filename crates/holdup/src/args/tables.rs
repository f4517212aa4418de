//! Arguments of the commands that print tables of a trace: `stats`, `calls`, `ops` and `where`.

use super::{Document, Filter, Table};
use crate::time;
use clap::Args;
use std::path::PathBuf;
use trace::{Ns, Selection};

/// Summarizes host and GPU time: tables of calls, GPU operations and copies, and what overlaps on each GPU.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup stats trace.json.gz
  holdup stats trace.json.gz --per-thread --from 0.4s --to 600ms
  holdup stats trace.json.gz --top 5

With --from and --to, only the time between them counts: events are cut there. --thread and --name do not apply to
overlap: a GPU's engines serve all threads.")]
pub struct Stats {
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Document,
    /// One table of calls per thread.
    #[arg(long)]
    pub per_thread: bool,
    /// Rows of each table; 0 for all. Default: ten and all with 0.1 % of the time; JSON always has all.
    #[arg(long, value_name = "COUNT")]
    pub top: Option<usize>,
    /// Never shorten names.
    #[arg(long)]
    pub wide: bool,
    #[command(flatten)]
    pub filter: Filter,
}

/// Lists host calls, with the GPU operation that each issued.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup calls trace.json.gz --name launch --sort duration --top 20
  holdup calls trace.json.gz --format csv > calls.csv
  holdup calls trace.json.gz --format json | jq 'select(.duration_ns > 1000000)'

Text skips empty columns, and on a narrow terminal the least important ones; CSV and JSON have all, in nanoseconds \
and bytes.")]
pub struct Listing {
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Form of the output; json is one object per line.
    #[arg(long, value_enum, default_value_t)]
    pub format: Rows,
    /// Order of rows: start (earliest first), duration (longest first) or name.
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    pub sort: Sort,
    /// Only the first rows in that order.
    #[arg(long, value_name = "COUNT")]
    pub top: Option<usize>,
    #[command(flatten)]
    pub filter: Filter,
}

/// Lists GPU operations: kernels, copies and fills.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup ops trace.json.gz --name pageable
      copies from or to pageable memory
  holdup ops trace.json.gz --from 0.412s --to 0.47s
  holdup ops trace.json.gz --format csv > ops.csv

Text skips empty columns, and on a narrow terminal the least important ones; CSV and JSON have all, in nanoseconds \
and bytes. --thread selects the thread whose call issued the operation.")]
pub struct OpListing {
    #[command(flatten)]
    pub listing: Listing,
}

/// Lists the source places that call an API.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup where cudaMemcpyAsync trace.json.gz
  holdup where launch trace.json.gz --thread 1207957184

Without call stacks in the trace, the place is the framework's operator or the NVTX range around the call. Options \
for stacks: PyTorch with_stack=True, Nsight Systems --cudabacktrace=all.")]
pub struct Where {
    /// A part of the API's name, in any case.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Table,
    /// Never shorten places.
    #[arg(long)]
    pub wide: bool,
    /// Only calls that end after this time from the trace's start.
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    from: Option<Ns>,
    /// Only calls that start before this time from the trace's start.
    #[arg(long, value_name = "TIME", value_parser = time::parse_end)]
    to: Option<Ns>,
    /// Only this thread: its id, or a part of its name.
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// Only calls that a thread made within its ranges whose name contains this.
    #[arg(long, value_name = "PART")]
    range: Option<String>,
}

impl Where {
    pub fn selection(&self) -> Selection {
        let (thread, name, range) = (self.thread.clone(), Some(self.name.clone()), self.range.clone());
        Selection { from: self.from, to: self.to, thread, name, range }
    }
}

/// Forms of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Rows {
    #[default]
    Text,
    Csv,
    Json,
}

/// Orders of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Sort {
    #[default]
    Start,
    Duration,
    Name,
}
