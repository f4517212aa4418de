//! The grammar of `holdup lab` and `holdup devices`.

use super::Table;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Runs experiments that show why CUDA programs wait, on this machine's GPUs or simulated.
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
    Calibrate(LabCalibrate),
}

/// Lists the experiments, or the settings of one.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup lab list
  holdup lab list overlap        its question, its settings, their defaults")]
pub struct LabList {
    /// The experiment to describe.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Table,
}

/// Runs an experiment and prints a verdict, or runs the workload of a file.
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
      after a driver update: what changed
  holdup lab run interference --resume h200.json --format json -o h200.json --force
      after an interruption: only what is missing
  holdup lab run mine.toml
      your own workload: docs/workload.md

Output files are written atomically, and never replace a file without --force.

Exit status: 0 done; 2 not run, or interrupted (the results state that they are partial).")]
pub struct LabRun {
    /// The experiment, or a workload's file: NAME.toml.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Where to run: gpu, or sim:MODEL with a built-in model or a file [default: gpu].
    #[arg(long, value_name = "gpu|sim:MODEL")]
    pub on: Option<String>,
    /// A setting, such as threads=1,2,4,8; `holdup lab list NAME` lists them.
    #[arg(long, value_name = "NAME=VALUES")]
    pub set: Vec<String>,
    /// Run only matching variants, such as variant=threads,workers=8, and those that they are compared with.
    #[arg(long, value_name = "COLUMN=VALUE,…")]
    pub variant: Option<String>,
    /// Runs per variant on a GPU, by turns; reports the median, and from 4 on intervals of 95 %.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// Take the rows of an earlier run (--format json), and run only the variants and rounds that are missing.
    #[arg(long, value_name = "FILE.json")]
    pub resume: Option<PathBuf>,
    /// Record the run for `holdup explain`; several variants go to one file each, FILE-VARIANT.holdup.
    #[arg(long, value_name = "FILE.holdup")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub shown: ResultsOutput,
}

/// Shows results of earlier runs (--format json) as text, page, Markdown or plot.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup lab show h200.json
  holdup lab show h200.json --format html -o h200.html
  holdup lab show threads.json processes.json --plot both.svg
      runs of one experiment on one device, together
  holdup lab show now.json --baseline before.json
      what changed between two runs

If several files have the same row, the last file's is shown. The files have no traces: only `holdup lab run` has \
listings and timelines.")]
pub struct LabShow {
    /// Output of `holdup lab run NAME --format json`; several of one experiment on one device are shown together.
    #[arg(value_name = "FILE.json", required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub shown: ResultsOutput,
}

/// Measures this machine and writes a model of it, for predictions and simulations.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup lab calibrate -o mine.toml
      on this machine's first GPU, in at most three minutes
  holdup lab run overlap --on sim:mine.toml
  holdup whatif server.holdup --model mine.toml
  holdup lab calibrate --on sim:h200 -o same.toml
      what a calibration finds on a model

Each value of the file states in a comment what was measured, with median and spread, or the built-in model that it is \
assumed from. End other programs on the GPU first.

The file is written atomically, and never replaces a file without --force.

Exit status: 0 done; 2 not measured, and nothing is written.")]
pub struct LabCalibrate {
    /// Device to measure: gpu, or sim:MODEL with a built-in model or a file [default: gpu].
    #[arg(long, value_name = "gpu|sim:MODEL")]
    pub on: Option<String>,
    /// Write the model to this file; its name is the file's, without .toml.
    #[arg(short, long, value_name = "FILE.toml")]
    pub output: PathBuf,
    /// How often to measure everything: each value of the model is the middle one.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=15))]
    pub rounds: u32,
    /// Replace an existing file.
    #[arg(long)]
    pub force: bool,
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
    /// Plot the results; the mean times of calls, if any, go to FILE-calls.svg.
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Compare with the results of an earlier run (--format json).
    #[arg(long, value_name = "FILE.json")]
    pub baseline: Option<PathBuf>,
    /// Replace existing files.
    #[arg(long)]
    pub force: bool,
}

/// Lists the GPUs of this machine or a model, and what each can overlap.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup devices
  holdup devices --measure
      with the speed of copies, pinned and pageable, in each direction and both
  holdup devices --on sim:c1060
      the constants of a model")]
pub struct Devices {
    /// Which: gpu, or sim:MODEL [default: gpu].
    #[arg(long, value_name = "gpu|sim:MODEL")]
    pub on: Option<String>,
    /// Measure the speed of copies: a few seconds per GPU.
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
    /// One page with plots, timelines and a table that opens offline.
    Html,
}
