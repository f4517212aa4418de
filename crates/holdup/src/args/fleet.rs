//! The grammar of `holdup digest` and `holdup fleet`.

use super::Table;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// Makes digests of traces, for comparing thousands of ranks: at most 64 KiB of Parquet for each.
///
/// A digest has the trace's account, verdict, findings, steps and collectives.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup digest traces/rank*.json.gz -o digests
  holdup digest traces/rank12.json.gz -o s3://bucket/digests --run 2026-11-24
  holdup digest --list traces.txt -o digests
  holdup fleet digests

The rank is what --rank, else the trace, else a name such as rank12.json states; otherwise it stays unknown. The run is \
--run, else the folder's name.

OUT gets two files per run for every 64 traces, run=RUN/digests-HASH.parquet and run=RUN/collectives-HASH.parquet. The same \
traces replace the same files: a command that was killed can be repeated. A trace that cannot be read becomes a row with its \
error.

s3:// needs AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION; AWS_SESSION_TOKEN and AWS_ENDPOINT_URL are used if set.

Exit status: 0 done; 2 no trace could be read, or the digests cannot be written.")]
pub struct Digest {
    /// Traces of any format that holdup reads.
    #[arg(value_name = "TRACE", required_unless_present = "list")]
    pub traces: Vec<PathBuf>,
    /// The folder of all digests, or its address in an S3 bucket (s3://BUCKET/FOLDER).
    #[arg(short, long, value_name = "OUT")]
    pub output: String,
    /// The run that the traces are of.
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,
    /// The rank of the trace, where neither it nor its name states one.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i64).range(0..))]
    pub rank: Option<i64>,
    /// A file with one trace per line; after a tab the address that the digest shall have for it, after another one an
    /// error that is known already. "-" is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "traces")]
    pub list: Option<PathBuf>,
    /// Form of the summary.
    #[arg(long, value_enum, default_value_t)]
    pub format: Table,
}

/// Compares the digests of a run's ranks: which are late at the collectives, why, and what that costs.
///
/// It is SQL over the files that holdup digest wrote, run by DuckDB in the Python package holdup[fleet].
#[derive(Args)]
#[command(
    disable_help_flag = true,
    after_help = "Examples:
  holdup fleet digests
  holdup fleet digests/run=today --against digests/run=yesterday
  holdup fleet digests --format html -o fleet.html

Options are those of python -m holdup.fleet: holdup fleet --help prints them."
)]
pub struct Fleet {
    /// Arguments of python -m holdup.fleet.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "DIR")]
    pub arguments: Vec<OsString>,
}
