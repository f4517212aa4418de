//! Arguments of `export` and `import`.

use super::Filter;
use clap::Args;
use std::path::PathBuf;

/// Writes a trace with its findings for other tools: Perfetto, Chrome's viewer, DuckDB, pandas, spreadsheets, speedscope.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup export trace.json.gz --format perfetto -o trace.pftrace
      open it at https://ui.perfetto.dev
  holdup export run.holdup --format chrome -o - | gzip > run.json.gz
  holdup export run.holdup --format parquet -o tables
      open tables/*.parquet with DuckDB
  holdup export run.holdup --format csv -o sheets --from 1s --to 2s
  holdup export run.holdup --format speedscope -o run.speedscope.json
      open it at https://www.speedscope.app
  holdup export run.holdup --format folded -o - | flamegraph.pl > run.svg

perfetto  processes, threads, devices and streams; arrows from a call to its
          GPU operations and from a holder's call to the call that waited,
          whose slice has the cause's name; counters of pending operations and
          copy bandwidth
chrome    the same as JSON, for chrome://tracing
parquet   a directory: one file per table of a .holdup file, findings and
          single losses
csv       the same with names instead of row numbers; a text that a
          spreadsheet would run as a formula (it begins with = + - or @) gets
          an apostrophe before it
speedscope, folded
          flame graphs of the samples of each thread: those that found the GPU
          idle apart from those that found it busy

Output is written atomically. Findings cover only the exported range.")]
pub struct Export {
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// The format to write.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Target,
    /// The file to write, for parquet and csv the directory; "-" is standard output.
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// In Parquet tables, names of threads and calls instead of row numbers, as in CSV.
    #[arg(long)]
    pub names: bool,
    /// Replace the file, or an export's directory, if it exists.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub filter: Filter,
}

/// Converts a trace to a .holdup file, which opens quickly and in any Parquet reader.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup import trace.json.gz -o trace.holdup
  holdup import night.json.gz -o stall.holdup --from 41.2s --to 41.4s
      only a part of it

Output is written atomically.")]
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

/// Formats of other tools.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Target {
    /// Perfetto's native format.
    Perfetto,
    /// JSON for Chrome's trace viewer.
    Chrome,
    /// A directory of Parquet tables.
    Parquet,
    /// A directory of CSV tables.
    Csv,
    /// Flame graphs of samples, for speedscope.
    Speedscope,
    /// Flame graphs of samples, one line per stack.
    Folded,
}
