//! Why nothing could be judged: one line each.

use crate::side::Side;

/// Why the runs came to no judgement.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A problem of one of the commands.
    #[error("{} `{line}`: {problem}", side.id())]
    Arm {
        /// Which one.
        side: Side,
        /// The command as a shell takes it.
        line: String,
        /// Problem of the command.
        problem: Problem,
    },
    /// A signal ended the runs before two blocks were complete.
    #[error("interrupted after {}: too few to judge", if *.0 == 1 { String::from("1 run") } else { format!("{} runs", .0) })]
    Interrupted(usize),
}

/// Problem, with what to do about it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Problem {
    /// A line has a quote without its second one.
    #[error("a quote is not closed: quote the command as for a shell")]
    Quotes,
    /// A command has no words.
    #[error("no command: write a program and its arguments")]
    NoCommand,
    /// Not `NAME=VALUE`.
    #[error("not a variable: write it like NAME=VALUE")]
    Variable,
    /// The regular expression is invalid.
    #[error("not a regular expression: {0}")]
    Expression(String),
    /// The regular expression has another number of groups than one.
    #[error("{0} groups: put parentheses around the number, and write other groups as (?:…)")]
    Groups(usize),
    /// The program is nowhere.
    #[error("no such program: check the name")]
    NotFound,
    /// The operating system's message.
    #[error("cannot be run: {0}")]
    System(String),
    /// It ended with a status or by a signal; the last line of its standard error, if it has one.
    #[error("{how}{}: run it by itself first", last.as_ref().map_or(String::new(), |line| format!(" ({line})")))]
    Failed {
        /// `ended with exit status 3`
        how: String,
        /// The last line of its standard error.
        last: Option<String>,
    },
    /// It ran longer than the limit, given as text.
    #[error("still ran after {0}: raise --timeout")]
    TimedOut(String),
    /// Nothing matches the metric's expression.
    #[error("printed nothing that matches `{0}`: check --metric")]
    NotPrinted(String),
    /// The expression matches this, which is no number.
    #[error("printed `{1}` for `{0}`, which is not a number: check --metric")]
    NotANumber(String, String),
    /// The expression matches this, which is not positive.
    #[error("printed {1} for `{0}`: only numbers above 0 have a ratio")]
    NotPositive(String, String),
}
