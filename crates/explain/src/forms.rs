//! The applied forms of fixes: the few lines to change, for each framework. `forms/` has one file per form, named after the fix and the
//! framework; a framework without a correct form has none.
//!
//! To add one: write the file, and name it at the fix. `tests/forms.rs` checks that they compile, `tests/gpu/forms.py` runs them.

use crate::{Class, Explanation, Finding, Fix, Framework, Place, classify};

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

    /// The language, as Markdown names it: `python`, `cpp`, `sh`.
    pub fn language(&self) -> &'static str {
        match self.file.rsplit('.').next() {
            Some("py") => "python",
            Some("cu") => "cpp",
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
    fn is(self, call: &str) -> bool {
        match classify(call) {
            Class::Copy { .. } => self == At::Copies,
            Class::Allocate | Class::Release => self == At::Allocations,
            Class::Launch => self == At::Launches,
            _ => false,
        }
    }
}

impl Finding {
    /// The lines that apply one of the finding's fixes in its framework, if there are any.
    pub fn form(&self, fix: &Fix) -> Option<&'static Form> {
        fix.forms.iter().find(|form| form.fits(self.framework))
    }

    /// Where to apply one of the finding's fixes: at the calls that the fix changes, the holder's or else the waiter's.
    pub fn place_of(&self, fix: &Fix) -> Option<&Place> {
        let holder = self.holder.iter().filter(|holder| fix.at.is(&holder.call));
        let any = self.holder.iter().flat_map(|holder| &holder.places);
        holder.flat_map(|holder| &holder.places).chain(&self.places).chain(any).next()
    }
}

impl Explanation {
    /// The places where fixes with lines apply, of those that have a file and a line.
    pub fn applied_places(&self) -> impl Iterator<Item = &Place> {
        let fixes =
            self.findings.iter().flat_map(|finding| finding.fixes.iter().map(move |fix| (finding, fix)));
        let with_lines = fixes.filter(|(finding, fix)| finding.form(fix).is_some());
        let places = with_lines.filter_map(|(finding, fix)| finding.place_of(fix));
        places.filter(|place| place.line > 0 && !place.file.is_empty())
    }

    /// The program's own line at a place; `None` if nobody read it.
    pub fn source_line(&self, place: &Place) -> Option<&str> {
        self.source_lines.get(place).map(String::as_str)
    }
}

/// The forms of a fix, each from its file: `forms![PyTorch: "own-stream.pytorch.py", : "mps.sh"]`.
macro_rules! forms {
    ($($($framework:ident)*: $file:literal),* $(,)?) => {
        &[$($crate::Form {
            frameworks: &[$($crate::Framework::$framework),*],
            file: $file,
            code: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/forms/", $file)),
        }),*]
    };
}
pub(crate) use forms;

/// Of several fixes: launches become a CUDA graph.
pub(crate) const GRAPH: &[Form] = forms![
    PyTorch: "graph.pytorch.py",
    CuPy: "graph.cupy.py",
    Jax: "graph.jax.py",
    Cuda: "graph.cuda.cu",
];

/// Of several fixes: pinned memory that is allocated once.
pub(crate) const PINNED: &[Form] = forms![
    PyTorch: "pinned-reused.pytorch.py",
    CuPy: "pinned-reused.cupy.py",
    Cuda: "pinned-reused.cuda.cu",
];
