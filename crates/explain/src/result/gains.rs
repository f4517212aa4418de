//! Gains of fixes. Nothing here predicts them: the caller that does fills them in.

use crate::result::fix::Fix;
use serde::Serialize;
use std::collections::BTreeMap;

/// Gains of the fixes of an explanation, each alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gains {
    /// The gain of each prediction that changes anything, by [`Fix::prediction`].
    pub of: BTreeMap<&'static str, Gain>,
    /// Why there are none, if they were asked for.
    pub absent: Option<NoGains>,
}

impl Gains {
    /// Gain of a fix; `None` if that is not predicted.
    pub fn of(&self, fix: &Fix) -> Option<&Gain> {
        self.of.get(fix.prediction()?)
    }
}

/// A predicted gain, in parts of the program's time: more is better, a negative one is a loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The best guess.
    pub share: f64,
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
    /// Time that the fix takes once, when processes start and end; the others have it in them. A longer run has it once too.
    pub once: f64,
    /// The thread that would be done much earlier than the program, if there is one.
    pub thread: Option<ThreadGain>,
}

/// A thread that would be done earlier: with its last result, whatever it frees after that.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ThreadGain {
    /// Its process.
    pub pid: i64,
    /// Its id, as the source gives it.
    pub tid: i64,
    /// By how much earlier, as a part of the program's time.
    pub share: f64,
}

/// Why no gain is predicted.
#[derive(Clone, Debug, PartialEq)]
pub enum NoGains {
    /// Only a part of the trace is explained.
    Selection,
    /// The trace is too large to be replayed beside an explanation: so many calls and operations.
    Size(u64),
    /// The replay differs from the trace by more than the limit, both as parts of the trace's time.
    Misfit {
        /// The difference.
        error: f64,
        /// The limit.
        most: f64,
    },
    /// The trace cannot be replayed, for this reason.
    Refused(String),
}

impl NoGains {
    /// The name in JSON.
    pub fn id(&self) -> &'static str {
        match self {
            NoGains::Selection => "selection",
            NoGains::Size(_) => "size",
            NoGains::Misfit { .. } => "misfit",
            NoGains::Refused(_) => "refused",
        }
    }
}
