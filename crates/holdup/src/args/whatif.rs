//! The grammar of `holdup whatif`.

use super::Table;
use clap::Args;
use std::path::PathBuf;

/// Predicts what changes to the program would gain, from its trace alone.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup whatif server.holdup
  holdup whatif server.holdup --fix own-stream,pinned-reused
  holdup whatif trace.json.gz --format json

Without --fix, every change that fits the trace is tried, and the best of up to three together.

A gain is a part of the program's time. Its range has the replay's misfit and what the models assume. \"then\" is what would \
cost the GPUs most after the change.")]
pub struct Whatif {
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Changes to try together, as in own-stream,pinned-reused; may be repeated for further predictions.
    #[arg(long = "fix", value_name = "FIX,…")]
    pub fixes: Vec<String>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Table,
}
