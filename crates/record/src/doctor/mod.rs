//! Checks what recording needs from this machine, and how to get what it lacks.

mod bounded;
mod capture;
mod cupti;
mod driver;
mod mps;
mod probe;
mod variables;
mod watching;

pub use probe::probe;

use serde::Serialize;
use std::ffi::OsString;
use std::time::Duration;

/// How long a healthy driver may take to answer, with many GPUs and no process that keeps them initialized.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Options of an examination.
#[derive(Clone, Debug)]
pub struct Options {
    /// Command line of a process that calls [`probe()`] and ends. That process calls the driver, because a broken
    /// driver can hang its caller.
    pub probe: Vec<OsString>,
    /// How long each started process may take; usually [`PATIENCE`].
    pub patience: Duration,
}

/// The result of an examination.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Examination {
    /// All checks, the most important first.
    pub checks: Vec<Check>,
}

/// The result of one check. Texts hold paths and names unchanged: the caller must escape them before printing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Check {
    /// Subject of the check.
    pub name: &'static str,
    /// The state of it.
    pub state: State,
    /// Results of the check, one line each.
    pub found: Vec<String>,
    /// How to fix it; `None` if there is nothing to do.
    pub remedy: Option<String>,
}

/// The state of a checked item.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It fits.
    Ok,
    /// Programs are recorded, but incompletely.
    Warn,
    /// It is missing, and without it no program is recorded.
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

/// Examines this machine without changing it. CUDA is never initialized in this process. Takes one second, mostly to
/// start Python; at worst a few times [`Options::patience`].
pub fn examine(options: &Options) -> Examination {
    let answer = driver::ask(options);
    let checks = vec![
        capture::check(options.patience),
        driver::check(&answer),
        driver::devices(&answer),
        cupti::check(&answer, options.patience),
        mps::check(),
        watching::check(options.patience),
        variables::injection(),
        variables::counters(),
    ];
    Examination { checks }
}
