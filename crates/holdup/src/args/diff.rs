//! The grammar of `holdup diff`.

use super::{Filter, thousandths};
use crate::time;
use clap::Args;
use std::path::PathBuf;
use trace::Ns;

/// Compares traces of the same program before and after a change: what got slower or faster, by cause and place.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup diff before.holdup after.holdup
  holdup diff main.holdup branch.holdup --gate
      exit status 1 if a step synchronizes, copies, allocates or idles more
  holdup diff main.json.gz branch.json.gz --fail-over 5%
      exit status 1 if the branch is slower by more
  holdup diff a1.holdup b1.holdup --before a2.holdup --after b2.holdup
      two traces a side: medians, and the spread from run to run
  holdup diff a.holdup b.holdup --format markdown > comment.md

Places and calls are matched by name, threads by name and by whether they call CUDA. A change within the spread of \
several traces a side is noise, and so is less than 1 % of a GPU's or of threads' time. --thread, --name and --range \
select findings; GPUs and threads are compared as a whole.

--gate judges what does not depend on the speed of a machine: synchronizations, copies, allocations and launches of a step, \
first uses after the first steps, and the idle part of the GPU's time. --format junit and sarif imply it.

--fail-over compares the median step if both sides have the same steps, else the time from the first event to the last. \
A percentage has a floor beside it, 5%+1ms: a change must exceed both. Without, the floor is 100us of a step or 10ms of the \
program.

Exit status: 0 passed; 1 --gate or --fail-over is exceeded; 2 wrong usage, unreadable input, or nothing to compare.")]
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
    pub format: Form,
    /// End with exit status 1 if a step does more of what holds up a GPU, or leaves it idle for more of its time.
    #[arg(long)]
    pub gate: bool,
    /// End with exit status 1 if a step, or the program, takes longer by more than this: 5%, 5%+1ms, or 20ms.
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

impl Diff {
    /// Whether counts and shares are judged.
    pub fn judges_counts(&self) -> bool {
        self.gate || matches!(self.format, Form::Junit | Form::Sarif)
    }
}

/// Forms of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Form {
    #[default]
    Text,
    Json,
    Markdown,
    /// Judgements, for test reports.
    Junit,
    /// Judgements at their lines, for code scanning.
    Sarif,
}

/// How much longer something may take.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Limit {
    /// Thousandths of a percent of what was before, and at least so long, ns; `None`: [`STEP_FLOOR`] or [`PROGRAM_FLOOR`].
    Share(u32, Option<Ns>),
    /// So long, ns.
    Time(Ns),
}

/// Times vary from run to run, and a share of a short one is little: the least that a step, and a program, take longer beyond a
/// percentage, ns. Choices: a step's is more than the start of a thread, a program's more than the spread of its start.
const STEP_FLOOR: Ns = 100_000;
const PROGRAM_FLOOR: Ns = 10_000_000;

impl Limit {
    /// The smallest time that is beyond the limit, ns; `before` is a step's, or the program's.
    pub fn beyond(self, before: Ns, is_step: bool) -> Ns {
        let more = match self {
            Limit::Share(share, floor) => {
                let share = i128::from(before) * i128::from(share) / 100_000;
                let floor = floor.unwrap_or(if is_step { STEP_FLOOR } else { PROGRAM_FLOOR });
                Ns::try_from(share).unwrap_or(Ns::MAX).max(floor)
            }
            Limit::Time(ns) => ns,
        };
        before.saturating_add(more).saturating_add(1)
    }
}

/// `5%`, `0.5 %`, `5%+1ms`, or a duration with its unit.
fn limit(text: &str) -> Result<Limit, String> {
    let problem = || String::from("not a limit: write it like 5%, 0.5%, 5%+1ms or 20ms");
    if let Some((share, floor)) = text.split_once('+') {
        return match (limit(share)?, limit(floor)?) {
            (Limit::Share(share, None), Limit::Time(floor)) => Ok(Limit::Share(share, Some(floor))),
            _ => Err(problem()),
        };
    }
    if !text.trim().ends_with('%') {
        // A bare number could be either.
        let is_bare = text.trim().ends_with(|c: char| c.is_ascii_digit());
        return if is_bare {
            Err(problem())
        } else {
            time::parse(text).map(Limit::Time).map_err(|_| problem())
        };
    }
    thousandths(text).map(|share| Limit::Share(share, None)).ok_or_else(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_share_or_a_time() {
        assert_eq!(limit("5%"), Ok(Limit::Share(5_000, None)));
        assert_eq!(limit("0.5 %"), Ok(Limit::Share(500, None)));
        assert_eq!(limit("5% + 2ms"), Ok(Limit::Share(5_000, Some(2_000_000))));
        assert_eq!(limit("20ms"), Ok(Limit::Time(20_000_000)));
        for wrong in
            ["5", "%", "-5%", "5%%", "1.2345%", "x%", "99999999%", "", "5%+", "5%+5%", "1ms+5%", "5%+1ms+1ms"]
        {
            assert!(limit(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_limit_is_exceeded_by_more_only() {
        assert_eq!(Limit::Share(5_000, Some(0)).beyond(100, true), 106);
        assert_eq!(Limit::Share(5_000, Some(50)).beyond(100, true), 151);
        assert_eq!(Limit::Time(5).beyond(100, true), 106);
        assert_eq!(Limit::Share(5_000, None).beyond(1_000_000, true), 1_100_001);
        assert_eq!(Limit::Share(5_000, None).beyond(1_000_000, false), 11_000_001);
    }
}
