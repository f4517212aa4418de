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
  holdup digest traces/rank12.json.gz -o digests --run 2026-11-24
  holdup digest --list traces.txt -o digests
  holdup fleet digests

The rank is what --rank, else the trace, else a name such as rank12.json states; otherwise it stays unknown. The run is \
--run, else the folder's name.

OUT gets two files per run for every 64 traces, run=RUN/digests-HASH.parquet and run=RUN/collectives-HASH.parquet. The same \
traces replace the same files: a command that was killed can be repeated. A trace that cannot be read becomes a row with its \
error.

holdup.fleet.digest in Python reads and writes any address that fsspec knows, such as s3://.

Exit status: 0 done; 2 no trace could be read, or the digests cannot be written.")]
pub struct Digest {
    /// Traces of any format that holdup reads.
    #[arg(value_name = "TRACE", required_unless_present = "list")]
    pub traces: Vec<PathBuf>,
    /// The folder of all digests.
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
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
/// SQL over the files that holdup digest wrote. DuckDB runs it, in the Python package holdup[fleet].
#[derive(Args)]
#[command(after_help = "Examples:
  holdup fleet digests
  holdup fleet digests/run=today --against digests/run=yesterday
  holdup fleet s3://bucket/digests --run 2026-11-24 --format json
  holdup fleet digests --format html -o fleet.html
      a page that opens offline, with a heat map of ranks and time

pip install 'holdup[fleet]' installs what it needs. The Python is the one beside holdup, else python3; HOLDUP_PYTHON names \
another.

Exit status: 0 done; 2 wrong usage, or no digests.")]
pub struct Fleet {
    /// The folder of digests, or an address that fsspec knows (s3://BUCKET/FOLDER).
    #[arg(value_name = "DIR")]
    pub digests: OsString,
    /// The run, where DIR has several.
    #[arg(long, value_name = "NAME")]
    pub run: Option<OsString>,
    /// Digests of an earlier run to compare with.
    #[arg(long, value_name = "DIR")]
    pub against: Option<OsString>,
    /// The earlier run, where its folder has several; its folder is DIR unless --against names another.
    #[arg(long, value_name = "NAME")]
    pub against_run: Option<OsString>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Fleets,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<OsString>,
    /// Replace the file if it exists.
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Rows of each part of the text.
    #[arg(long, value_name = "COUNT")]
    pub top: Option<u32>,
}

/// Forms of a comparison of ranks.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Fleets {
    #[default]
    Text,
    Json,
    /// One self-contained page.
    Html,
}

impl Fleet {
    /// As arguments of `python -m holdup.fleet`.
    pub fn arguments(&self) -> Vec<OsString> {
        let format = match self.format {
            Fleets::Text => "text",
            Fleets::Json => "json",
            Fleets::Html => "html",
        };
        let mut arguments = vec![OsString::from("--format"), OsString::from(format)];
        let top = self.top.map(|top| OsString::from(top.to_string()));
        let options = [
            ("--run", &self.run),
            ("--against", &self.against),
            ("--against-run", &self.against_run),
            ("--output", &self.output),
            ("--top", &top),
        ];
        for (name, value) in options {
            arguments.extend(value.iter().flat_map(|value| [OsString::from(name), value.clone()]));
        }
        if self.force {
            arguments.push(OsString::from("--force"));
        }
        arguments.extend([OsString::from("--"), self.digests.clone()]);
        arguments
    }
}
