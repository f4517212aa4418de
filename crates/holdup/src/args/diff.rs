//! The grammar of `holdup diff`.

use super::{Document, Filter, thousandths};
use crate::time;
use clap::Args;
use std::path::PathBuf;
use trace::Ns;

/// Compares traces of the same program before and after a change: what got slower or faster, by cause and place.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup diff before.holdup after.holdup
  holdup diff main.json.gz branch.json.gz --fail-over 5%
      exit status 1 if the branch is slower by more
  holdup diff a1.holdup b1.holdup --before a2.holdup --after b2.holdup
      two traces a side: medians, and the spread from run to run
  holdup diff a.holdup b.holdup --format markdown > comment.md

Places and calls are matched by name, threads by name and by whether they call CUDA. A change within the spread of \
several traces a side is noise, and so is less than 1 % of a GPU's or of threads' time. --thread, --name and --range \
select findings; GPUs and threads are compared as a whole.

--fail-over compares the median step if both sides have the same steps, else the time from the first event to the last.

Exit status: 0 done; 1 slower by more than --fail-over; 2 wrong usage, unreadable input, or nothing to compare.")]
pub struct Diff {
    /// The trace before the change; "-" is standard input.
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// The trace after it.
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,
    /// A further trace before the change.
    #[arg(long = "before", value_name = "TRACE")]
    pub more_before: Vec<PathBuf>,
    /// A further trace after it.
    #[arg(long = "after", value_name = "TRACE")]
    pub more_after: Vec<PathBuf>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Document,
    /// End with exit status 1 if a step, or the program, takes longer by more than this: 5%, or 20ms.
    #[arg(long, value_name = "LIMIT", value_parser = limit)]
    pub fail_over: Option<Limit>,
    /// Compare findings in calls that take longer than this.
    #[arg(long, value_name = "DURATION", default_value = "100us", value_parser = time::parse)]
    pub min_wait: Ns,
    /// Print changes that are noise too.
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub filter: Filter,
}

/// How much longer something may take.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Limit {
    /// Thousandths of a percent of what was before.
    Share(u32),
    /// So long, ns.
    Time(Ns),
}

impl Limit {
    /// Whether `after` exceeds `before` by more.
    pub fn is_exceeded(self, before: Ns, after: Ns) -> bool {
        let more = i128::from(after) - i128::from(before);
        match self {
            Limit::Share(share) => more * 100_000 > i128::from(before) * i128::from(share),
            Limit::Time(ns) => more > i128::from(ns),
        }
    }
}

/// `5%`, `0.5 %`, or a duration with its unit.
fn limit(text: &str) -> Result<Limit, String> {
    let problem = || String::from("not a limit: write it like 5%, 0.5% or 20ms");
    if !text.trim().ends_with('%') {
        // A bare number could be either.
        let is_bare = text.trim().ends_with(|c: char| c.is_ascii_digit());
        return if is_bare {
            Err(problem())
        } else {
            time::parse(text).map(Limit::Time).map_err(|_| problem())
        };
    }
    thousandths(text).map(Limit::Share).ok_or_else(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_share_or_a_time() {
        assert_eq!(limit("5%"), Ok(Limit::Share(5_000)));
        assert_eq!(limit("0.5 %"), Ok(Limit::Share(500)));
        assert_eq!(limit("20ms"), Ok(Limit::Time(20_000_000)));
        for wrong in ["5", "%", "-5%", "5%%", "1.2345%", "x%", "99999999%", ""] {
            assert!(limit(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_limit_is_exceeded_by_more_only() {
        assert!(!Limit::Share(5_000).is_exceeded(100, 105));
        assert!(Limit::Share(5_000).is_exceeded(100, 106));
        assert!(!Limit::Time(6).is_exceeded(100, 106));
        assert!(Limit::Time(5).is_exceeded(100, 106));
        assert!(Limit::Share(0).is_exceeded(0, 1) && !Limit::Share(0).is_exceeded(7, 7));
    }
}
