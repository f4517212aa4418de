//! The grammar of `holdup lab` and `holdup devices`.

use super::Table;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Experiments that show what holds up CUDA programs: run on this machine's GPUs, or simulated.
#[derive(Args)]
pub struct Lab {
    #[command(subcommand)]
    pub verb: LabVerb,
}

#[derive(Subcommand)]
pub enum LabVerb {
    List(LabList),
    Run(LabRun),
    Show(LabShow),
}

/// Which experiments there are, and what can be set about one.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup lab list
  holdup lab list overlap        its question, its parameters, their defaults")]
pub struct LabList {
    /// The experiment to describe.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Table,
}

/// Runs an experiment and says what it shows, or runs a workload that is written in a file.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup lab run overlap
      on this machine's GPU
  holdup lab run overlap --on sim:c2050
      on a model of a Tesla C2050
  holdup lab run architectures --set threads=1,2,4,8 --set memory=pinned
  holdup lab run architectures --format html -o threads.html
      one page with plot and table, for any browser
  holdup lab run architectures --set iterations=1000 --set take=best --rounds 8
      as a benchmark that keeps the best of eight rounds
  holdup lab run stagger --variant memory=pinned --trace pinned.holdup
  holdup lab run interference --format json -o h200.json
  holdup lab run interference --baseline h200.json
      after the next driver: what has changed
  holdup lab run interference --resume h200.json --format json -o h200.json --force
      after an interruption: only what it did not come to
  holdup lab run mine.toml
      a workload of your own: docs/workload.md

A file appears under its name only when it is complete, and never over another without --force.

Exit status: 0 done; 2 it could not be run, or was interrupted: the results say that they are partial.")]
pub struct LabRun {
    /// The experiment, or a workload's file: NAME.toml.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Where: gpu, or sim:MODEL, MODEL being one that comes with holdup or a file. If not said: gpu.
    #[arg(long, value_name = "gpu|sim:MODEL")]
    pub on: Option<String>,
    /// What to set, as in threads=1,2,4,8; "holdup lab list NAME" says what there is.
    #[arg(long, value_name = "NAME=VALUES")]
    pub set: Vec<String>,
    /// Run only variants that are so, as in variant=threads,workers=8, and those that they are compared with.
    #[arg(long, value_name = "COLUMN=VALUE,…")]
    pub variant: Option<String>,
    /// How often a GPU runs each variant; what is said is the median.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// Take what an earlier run measured from what it wrote with --format json, and run what is missing there.
    #[arg(long, value_name = "FILE.json")]
    pub resume: Option<PathBuf>,
    /// Keep what happened, for "holdup explain"; of several variants each in a file of its own, FILE-VARIANT.holdup.
    #[arg(long, value_name = "FILE.holdup")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub shown: ResultsOutput,
}

/// Shows again what earlier runs wrote with --format json, as text, page, Markdown or plot.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup lab show h200.json
  holdup lab show h200.json --format html -o h200.html
  holdup lab show threads.json processes.json --plot both.svg
      runs of one experiment on one device, together
  holdup lab show now.json --baseline before.json
      what has changed between two runs

Where several files have the same row, the last one's stands. Traces are not in the files: listings and timelines are \
for holdup lab run.")]
pub struct LabShow {
    /// What holdup lab run NAME --format json wrote; several of one experiment on one device are shown together.
    #[arg(value_name = "FILE.json", required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub shown: ResultsOutput,
}

/// How results are shown, and where.
#[derive(Args)]
pub struct ResultsOutput {
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Results,
    /// Write the output to this file.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Draw the results; the mean times of calls go to FILE-calls.svg, where there are some.
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Compare with what an earlier run wrote with --format json.
    #[arg(long, value_name = "FILE.json")]
    pub baseline: Option<PathBuf>,
    /// Replace files that exist.
    #[arg(long)]
    pub force: bool,
}

/// The GPUs of this machine, or of a model, and what each can overlap.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup devices
  holdup devices --measure
      and how fast copies are, pinned and pageable, each way and both
  holdup devices --on sim:c1060
      what a model is made of")]
pub struct Devices {
    /// Whose: gpu, or sim:MODEL. If not said: gpu.
    #[arg(long, value_name = "gpu|sim:MODEL")]
    pub on: Option<String>,
    /// Measure how fast copies are: a few seconds for each GPU.
    #[arg(long)]
    pub measure: bool,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Table,
}

/// Forms of results.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Results {
    #[default]
    Text,
    Json,
    Markdown,
    /// One page with plots, timelines and a table, which opens in any browser without a network.
    Html,
}
