//! The grammar of `holdup whatif`.

use super::Explanation;
use clap::Args;
use replay::Faster;
use std::path::PathBuf;
use std::str::FromStr;

/// Predicts what changes to the program would gain, from its trace alone.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup whatif server.holdup
  holdup whatif server.holdup --fix own-stream,pinned-reused
  holdup whatif server.holdup --faster host:serve.py:17=2x
  holdup whatif trace.json.gz --faster 'kernel:*gemm*=1.5x' --faster copies=2x
  holdup whatif server.holdup --remove H2
  holdup whatif training.holdup --range 'step'
      what the steps would gain, and not the start of the program
  holdup whatif trace.json.gz --format json
  holdup whatif server.holdup --format html -o whatif.html
      a page: each prediction's accounts and timelines, before and after

Without --fix, --faster and --remove, every change that fits the trace is tried, and the best of up to three together.

A gain is a part of the program's time. Its range has the replay's misfit and what the models assume. \"then\" is what would \
cost the GPUs most after the change.")]
pub struct Whatif {
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Changes to try together, as in own-stream,pinned-reused; may be repeated for further predictions.
    #[arg(long = "fix", value_name = "FIX,…")]
    pub fixes: Vec<String>,
    /// Part to predict as faster: kernel:NAME, call:NAME ("*" stands for anything), copies, or host:FILE:LINE, the program's own
    /// code, and a factor; several together.
    #[arg(long, value_name = "WHAT=FACTORx", value_parser = Faster::from_str)]
    pub faster: Vec<Faster>,
    /// Findings of `holdup explain` whose causes are predicted as gone, all together: H2.
    #[arg(long, value_name = "FINDING,…", value_delimiter = ',')]
    pub remove: Vec<String>,
    /// Predict the time within ranges (NVTX, record_function, operators) whose name contains this, instead of the whole time.
    #[arg(long, value_name = "PART")]
    pub range: Option<String>,
    /// Use this model of driver, host and device: a built-in one, or a file of `holdup lab calibrate` [default: the built-in model of
    /// the nearest device].
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub model: Option<String>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Explanation,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long, requires = "output")]
    pub force: bool,
}
