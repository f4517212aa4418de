//! What this machine has of what recording needs, and how to get what it lacks.

mod bounded;
mod capture;
mod cupti;
mod driver;
mod mps;
mod probe;
mod variables;

pub use probe::probe;

use serde::Serialize;
use std::ffi::OsString;
use std::time::Duration;

/// How long a healthy driver may take to answer, with many GPUs and no process that keeps them awake.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// How a machine is examined.
#[derive(Clone, Debug)]
pub struct Options {
    /// Command line of a process that calls [`probe`] and ends: the driver is asked there, for a
    /// broken one can hang whoever asks.
    pub probe: Vec<OsString>,
    /// How long any process may take that is started to find something out; [`PATIENCE`].
    pub patience: Duration,
}

/// What an examination found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Examination {
    /// One after another, what matters most first.
    pub checks: Vec<Check>,
}

/// What was found about one thing. Texts hold paths and names as they are: whoever prints them
/// makes them harmless.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Check {
    /// What was looked at.
    pub name: &'static str,
    /// Whether it is as it should be.
    pub state: State,
    /// What was found, a line each.
    pub found: Vec<String>,
    /// How to get what is not there; `None` when nothing is to be done.
    pub remedy: Option<String>,
}

/// Whether something is as it should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Ok,
    /// Programs are recorded, but less of them.
    Warn,
    /// Without it no program is recorded.
    Missing,
}

impl Examination {
    /// Whether CUDA programs can be recorded on this machine.
    pub fn is_fit(&self) -> bool {
        self.checks.iter().all(|check| check.state != State::Missing)
    }
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Check {
        Check { name, state: State::Ok, found: vec![found.into()], remedy: None }
    }

    fn bad(name: &'static str, state: State, found: impl Into<String>, remedy: impl Into<String>) -> Check {
        Check { name, state, found: vec![found.into()], remedy: Some(remedy.into()) }
    }
}

/// Examines this machine. CUDA is never initialized in this process, and nothing is changed.
/// Takes a second, mostly for starting Python; [`Options::patience`] a few times at worst.
pub fn examine(options: &Options) -> Examination {
    let answer = driver::ask(options);
    let checks = vec![
        capture::check(options.patience),
        driver::check(&answer),
        driver::devices(&answer),
        cupti::check(&answer, options.patience),
        mps::check(),
        variables::injection(),
        variables::counters(),
    ];
    Examination { checks }
}
