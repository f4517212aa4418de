//! A remedy, and the lines that apply it.

use crate::result::framework::Framework;
use serde::Serialize;
use waits::{Class, classify};

/// A remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Fix {
    /// The id (`own-stream`).
    pub id: &'static str,
    /// Text of the change to make.
    pub text: &'static str,
    /// When it is safe.
    pub safety: &'static str,
    /// Its effect, by which its gain is predicted.
    #[serde(skip)]
    pub effect: Effect,
    /// Which calls it changes.
    #[serde(skip)]
    pub at: At,
    /// The lines that apply it, for each framework.
    #[serde(skip)]
    pub forms: &'static [Form],
}

/// Effect of a fix on a program, by which its gain is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// The effect of a change of `holdup whatif`, by its name; of several with commas between them.
    Change(&'static str),
    /// Removes what the findings that offer it find.
    Removal,
    /// None that can be predicted.
    Unknown,
}

impl Fix {
    /// The name of its prediction: that of the change, or its own; `None` if there is none.
    pub fn prediction(&self) -> Option<&'static str> {
        match self.effect {
            Effect::Change(change) => Some(change),
            Effect::Removal => Some(self.id),
            Effect::Unknown => None,
        }
    }
}

/// Lines that apply a fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// The frameworks that it is right for; empty for any program.
    pub frameworks: &'static [Framework],
    /// The file in `forms/`: its end names the language.
    pub file: &'static str,
    /// The lines, with a line end after each.
    pub code: &'static str,
}

impl Form {
    /// Whether it is right for a program of this framework.
    pub fn fits(&self, framework: Option<Framework>) -> bool {
        self.frameworks.is_empty() || framework.is_some_and(|framework| self.frameworks.contains(&framework))
    }

    /// The language, as Markdown names it: `python`, `cpp`, `julia`, `fortran`, `sh`.
    pub fn language(&self) -> &'static str {
        match self.file.rsplit('.').next() {
            Some("py") => "python",
            Some("cu") => "cpp",
            Some("jl") => "julia",
            Some("cuf") => "fortran",
            _ => "sh",
        }
    }
}

/// Which calls of a finding a fix changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum At {
    /// Calls that lost time.
    Waiter,
    /// Copies.
    Copies,
    /// Allocations and frees.
    Allocations,
    /// Launches.
    Launches,
}

impl At {
    /// Whether it changes calls of a function.
    pub(crate) fn is(self, call: &str) -> bool {
        match classify(call) {
            Class::Copy { .. } => self == At::Copies,
            Class::Allocate | Class::Release => self == At::Allocations,
            Class::Launch => self == At::Launches,
            _ => false,
        }
    }
}
