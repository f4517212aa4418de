//! The result of one check.

use serde::Serialize;

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

impl Check {
    pub(super) fn ok(name: &'static str, found: impl Into<String>) -> Check {
        Check { name, state: State::Ok, found: vec![found.into()], remedy: None }
    }

    pub(super) fn bad(
        name: &'static str,
        state: State,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Check {
        Check { name, state, found: vec![found.into()], remedy: Some(remedy.into()) }
    }
}
