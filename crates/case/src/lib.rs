//! Makes a report of one finding that can be sent to the vendor or the maintainers of what is at fault.
//!
//! A [`Case`] has the finding with its figures, the environment, the other causes that were ruled out, a workload that shows the finding
//! ([`Reproduction`]), and the part of the trace in which it is worst ([`Extract`]). The names of the program are replaced in the trace
//! before anything else is made of it ([`Kind`] lists what), so that no part of a case can have them.
//!
//! It reads no files and no clocks, and prints nothing; [`mod@show`] writes the report.

mod environment;
mod explain_with;
mod extract;
mod figures;
mod names;
mod reproduction;
mod ruled_out;
pub mod show;

pub use environment::Environment;
pub use explain_with::Explain;
pub use extract::Extract;
pub use figures::{Figures, Spread, Subject};
pub use names::{Kind, Replaced};
pub use reproduction::{Reproduction, Role, Shown};
pub use ruled_out::{Considered, RuledOut};

use explain::{Explanation, Finding};
use trace::{Ns, Trace};

/// A part of the work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The trace is explained.
    Explaining,
    /// Names are replaced.
    Replacing,
    /// A workload is made and run on a model.
    Reproducing,
    /// A part of the trace is taken.
    Cutting,
}

impl Stage {
    /// All of them, in order.
    pub const ALL: [Stage; 4] = [Stage::Explaining, Stage::Replacing, Stage::Reproducing, Stage::Cutting];

    /// Object of the work, in words.
    pub fn words(self) -> &'static str {
        match self {
            Stage::Explaining => "the finding",
            Stage::Replacing => "names",
            Stage::Reproducing => "the reproduction",
            Stage::Cutting => "the extract",
        }
    }
}

/// Choices of a case.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The number of the finding, from 1; the first by default.
    pub finding: usize,
    /// The number of GPUs of the workload; by default the fewest with which it shows the finding.
    pub gpus: Option<u32>,
    /// Whether names stay.
    pub names: bool,
}

/// A report of one finding.
pub struct Case {
    /// The explanation of the trace.
    pub explanation: Explanation,
    /// The row of the finding in it.
    pub row: usize,
    /// The machine and the versions.
    pub environment: Environment,
    /// How long what it is about took; `None` if the trace has no single durations.
    pub figures: Option<Figures>,
    /// Other causes that do not hold.
    pub ruled_out: RuledOut,
    /// The workload; an error says why there is none.
    pub reproduction: Result<Reproduction, String>,
    /// The part of the trace.
    pub extract: Extract,
    /// Names that were replaced; `None` if they stayed.
    pub replaced: Option<Replaced>,
    /// How long the trace is, ns.
    pub ns: Ns,
}

/// Why there is no case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoCase {
    /// The trace has no finding.
    Nothing,
    /// It has only so many.
    Fewer(usize),
    /// Without its names, the trace has another finding.
    Lost,
}

impl Case {
    /// The finding.
    pub fn finding(&self) -> &Finding {
        &self.explanation.findings[self.row]
    }

    /// Makes the case of a finding.
    ///
    /// # Errors
    /// There is no such finding.
    pub fn of(
        mut trace: Trace,
        wanted: &Wanted,
        explain: Explain<'_>,
        progress: &mut dyn FnMut(Stage),
    ) -> Result<Case, NoCase> {
        progress(Stage::Explaining);
        let (mut explanation, mut losses) = explain(&trace);
        let count = explanation.findings.len();
        let mut row = match (count, wanted.finding.max(1)) {
            (0, _) => return Err(NoCase::Nothing),
            (count, number) if number > count => return Err(NoCase::Fewer(count)),
            (_, number) => number - 1,
        };
        let replaced = (!wanted.names).then(|| {
            progress(Stage::Replacing);
            names::replace(&mut trace)
        });
        if replaced.is_some() {
            let finding = explanation.findings.swap_remove(row);
            (explanation, losses) = explain(&trace);
            row = same(&explanation, &finding, row).ok_or(NoCase::Lost)?;
        }
        progress(Stage::Reproducing);
        let reproduction = reproduction::reproduce(&trace, &explanation, row, &losses, wanted.gpus, explain);
        let figures = figures::figures(&trace, &explanation.findings[row], row as u32, &losses);
        let model = reproduction::model(&trace).ok();
        let ruled_out = model.map(|model| ruled_out::ruled_out(&trace, &explanation, row, &losses, &model));
        progress(Stage::Cutting);
        let extract = extract::extract(&trace, &explanation, row, &losses, explain);
        Ok(Case {
            environment: Environment::of(&trace),
            figures,
            ruled_out: ruled_out.unwrap_or_default(),
            reproduction,
            extract,
            replaced,
            ns: trace.span().map_or(0, |(start, end)| end - start),
            explanation,
            row,
        })
    }
}

/// The row of a finding in the explanation of the same trace with other names.
fn same(explanation: &Explanation, finding: &Finding, row: usize) -> Option<usize> {
    let is_it = |found: &Finding| {
        let of = |finding: &Finding| (finding.cause, finding.waiter.pid, finding.waiter.tid);
        of(found) == of(finding)
    };
    let at_place = explanation.findings.get(row).filter(|found| is_it(found)).map(|_| row);
    at_place.or_else(|| explanation.findings.iter().position(is_it))
}
