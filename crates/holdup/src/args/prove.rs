//! The grammar of `holdup prove`.

use super::{Document, thousandths};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Runs two commands by turns and judges whether the new one is faster, with an interval of 95 %.
///
/// The command after "--" is the one after the change. The baseline is the command of --against, or the same one without the
/// variables of --with.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup prove --against 'python serve.py' -- python serve.py --streams
  holdup prove --with CUDA_DEVICE_MAX_CONNECTIONS=32 -- ./server
      the same command with another environment
  holdup prove --against ./old --metric 'requests/s: ([0-9.]+)' -- ./new
      a number that the programs print; more is better
  holdup prove --against ./old --predicted 29% --fail-under 3% -- ./new
      exit status 1 unless the gain is at least 3 %, with 95 % certainty

A round is a run of each command. Two rounds make a block, in the order ABBA or BAAB, so that drift cancels. At least 12 \
rounds run, then more until the gain is known to --precision, or until --rounds have run. The command before the change \
is also compared with itself: if it differs, the machine is not steady.

Standard input is empty, and output is not shown. Processes that a run leaves are ended.

Exit status: 0 done; 1 the gain's lower end is under --fail-under; 2 wrong usage, a command failed, or interrupted.")]
pub struct Prove {
    /// The baseline: the command before the change, quoted as for a shell [default: the same command].
    #[arg(long, value_name = "COMMAND")]
    pub against: Option<String>,
    /// A variable that only the command after the change gets; repeat it for more.
    #[arg(long, value_name = "NAME=VALUE")]
    pub with: Vec<String>,
    /// Measure a number that the programs print, not wall time: a regular expression with one group; its last match counts.
    #[arg(long, value_name = "REGEX")]
    pub metric: Option<String>,
    /// Less of the metric is better.
    #[arg(long, requires = "metric")]
    pub less_is_better: bool,
    /// The most rounds; two make a block.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(4..=1_000_000))]
    pub rounds: u32,
    /// First runs of each command that do not count.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub warm_ups: u32,
    /// Run until half of the gain's interval is at most this.
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = positive)]
    pub precision: f64,
    /// The most time that a run may take [default: no limit].
    #[arg(long, value_name = "DURATION", value_parser = limit)]
    pub timeout: Option<Duration>,
    /// The gain that was predicted, to print how far off it was.
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    pub predicted: Option<f64>,
    /// End with exit status 1 if the lower end of the gain's interval is less than this; -2% allows a loss.
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    pub fail_under: Option<f64>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Document,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long, requires = "output")]
    pub force: bool,
    /// The command after the change: a program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// A share of 1 from `3%`, `0.5 %` or `-2%`.
fn share(text: &str) -> Result<f64, String> {
    let (sign, magnitude) = match text.trim().strip_prefix('-') {
        Some(magnitude) => (-1.0, magnitude),
        None => (1.0, text),
    };
    let share = thousandths(magnitude).map(|share| sign * f64::from(share) / 100_000.0);
    share.ok_or_else(|| String::from("not a share: write it like 3% or 0.5%"))
}

fn positive(text: &str) -> Result<f64, String> {
    share(text).and_then(|share| match share >= 0.0 {
        true => Ok(share),
        false => Err(String::from("not a width: write it like 1% or 0.5%")),
    })
}

fn limit(text: &str) -> Result<Duration, String> {
    match super::duration(text)? {
        Duration::ZERO => Err(String::from("no time at all: write it like 30s or 5min")),
        limit => Ok(limit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_a_sign_and_a_unit() {
        assert_eq!(share("29%"), Ok(0.29));
        assert_eq!(share("-0.5 %"), Ok(-0.005));
        for wrong in ["29", "0.29", "--1%", "x%", ""] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        assert_eq!(positive("0%"), Ok(0.0));
        assert!(positive("-1%").is_err());
        assert!(limit("0s").is_err());
        assert_eq!(limit("2min"), Ok(Duration::from_secs(120)));
    }
}
