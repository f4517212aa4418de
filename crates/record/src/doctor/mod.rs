//! Checks what recording needs from this machine, and how to get what it lacks.

mod bounded;
mod capture;
mod check;
mod cupti;
mod driver;
mod mps;
mod options;
mod probe;
mod variables;
mod watching;

pub use check::{Check, State};
pub use options::{Options, PATIENCE};
pub use probe::probe;

use serde::Serialize;

/// The result of an examination.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Examination {
    /// All checks, the most important first.
    pub checks: Vec<Check>,
}

impl Examination {
    /// Whether CUDA programs can be recorded on this machine.
    pub fn is_fit(&self) -> bool {
        self.checks.iter().all(|check| check.state != State::Missing)
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
