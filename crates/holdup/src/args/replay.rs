//! The grammar of `holdup replay`.

use super::Table;
use clap::Args;
use std::path::PathBuf;

/// Runs what a trace recorded again in virtual time, and reports how well that fits.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup replay server.holdup
  holdup replay trace.json.gz --format json

The replay has the calls, the time between them and the operations of the trace, each with its own cost, and finds out \
anew when each waits: for a lock that another call holds, another thread, the device. Predictions rest on it.

A trace without GPU records, or whose clocks do not fit, cannot be replayed.")]
pub struct Replay {
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Use this model of driver, host and device: a built-in one, or a file of `holdup lab calibrate` [default: the built-in model of
    /// the nearest device].
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub model: Option<String>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Table,
}
