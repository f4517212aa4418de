//! Trace to Findings: which call lost how much time, because of what, and how to fix it.
//!
//! A pure function: no files, no clocks, no printing. Every slow call's time is split among the
//! [`Cause`]s by the rules in `rules`; what no rule claims stays [`Cause::Unexplained`], so that
//! the parts of a call always add up to its duration. Shorter calls count where their recorded waits
//! for locks add up, and so do recorded waits outside calls.

mod analysis;
mod cause;
mod class;
mod detail;
mod facts;
mod finding;
mod findings;
mod fixes;
mod fold;
mod grounds;
mod group;
mod index;
mod loss;
mod overlap;
mod parts;
mod peaks;
mod places;
mod rules;
mod sentence;
mod side;
mod stretch;
mod summary;

pub use cause::{About, Nature};
pub use class::{Class, classify};
pub use finding::{
    Confidence, Detail, Evidence, Example, Explanation, Finding, Fix, Kernels, Party, Place, Summary,
};
pub use loss::Loss;
pub use overlap::{Behind, Engine, LateOps, LostOverlap, Overlap, OverlapRule, overlaps};
pub use places::{place_of_stack, places};
pub use rules::Cause;
pub use sentence::{Piece, Sentence};
pub use summary::summary;

use facts::Facts;
use group::Groups;
use parts::Part;
use rules::Holders;
use stretch::Stretch;
use trace::{Ns, Selection, Trace};

/// What to look at.
#[derive(Clone, Debug)]
pub struct Options {
    /// Calls that take longer than this are slow and get explained, as do longer waits outside calls, ns.
    pub min_wait_ns: Ns,
    /// Which calls, and waits outside them, may appear as waiters; the rest of the trace still serves
    /// as evidence. Such a wait goes by the name of its library.
    pub selection: trace::Selection,
}

impl Default for Options {
    fn default() -> Self {
        Options { min_wait_ns: 100_000, selection: trace::Selection::default() }
    }
}

/// Explains what held up the calls of `trace`.
pub fn explain(trace: &Trace, options: &Options) -> Explanation {
    run(trace, options, false).0
}

/// As [`explain`], and besides every single loss that has a cause, as the rules found them: those of slow
/// calls by their start, then waits elsewhere. Each recorded wait of the trace is among them once, whether
/// or not a finding counts it.
pub fn explain_each(trace: &Trace, options: &Options) -> (Explanation, Vec<Loss>) {
    run(trace, options, true)
}

/// The overlap of operations is found beside the losses of threads: neither needs the other.
fn run(trace: &Trace, options: &Options, keep_losses: bool) -> (Explanation, Vec<Loss>) {
    std::thread::scope(|scope| {
        let overlap = scope.spawn(|| overlap::overlaps(trace, &options.selection));
        let (mut explanation, losses) = of_threads(trace, options, keep_losses);
        explanation.overlap = overlap.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (explanation, losses)
    })
}

fn of_threads(trace: &Trace, options: &Options, keep_losses: bool) -> (Explanation, Vec<Loss>) {
    let facts = Facts::new(trace, options);
    // Half as long as a slow call: what is shorter cannot cover enough of one.
    let holders = Holders::new(&facts, options.min_wait_ns / 2);
    let mut groups = Groups::new(keep_losses);
    let (mut slow_call_ns, mut slow_calls, mut explained_ns, mut unexplained_ns) = (0, 0, 0, 0);
    for call in facts.slow.iter().copied().filter(|call| facts.is_chosen(Stretch::Call(*call))) {
        let parts = rules::split(&facts, &holders, call);
        // What the call costs anyway is not lost.
        let unexplained = (parts.rest() - facts.usual(call)).max(0);
        let mut lost = parts.claimed;
        explained_ns = lost.iter().fold(explained_ns, |sum: Ns, part| sum.saturating_add(part.lost));
        if unexplained > 0 {
            let (from, to) = (facts.start(call), facts.end(call));
            lost.push(Part { reason: rules::unexplained::rest(), lost: unexplained, from, to });
        }
        slow_call_ns = Ns::saturating_add(slow_call_ns, facts.duration(call));
        slow_calls += 1;
        unexplained_ns = Ns::saturating_add(unexplained_ns, unexplained);
        groups.add(&facts, Stretch::Call(call), lost);
    }
    let (mut short_wait_ns, mut outside_wait_ns) = (0, 0);
    for (stretch, lost) in analysis::recorded_waits::elsewhere(&facts) {
        let sum = match stretch {
            Stretch::Call(_) => &mut short_wait_ns,
            Stretch::Wait(_) => &mut outside_wait_ns,
        };
        *sum = lost.iter().fold(*sum, |sum: Ns, part| sum.saturating_add(part.lost));
        groups.add(&facts, stretch, lost);
    }
    let (findings, mut losses) = findings::findings(&facts, groups);
    if keep_losses {
        loss::add_other_waits(&facts, &mut losses);
    }
    let explanation = Explanation {
        trace: Summary { selected_ns: selected_ns(trace, &options.selection), ..summary(trace) },
        chosen_calls: chosen_calls(&facts, options),
        slow_call_ns,
        slow_calls,
        explained_ns,
        own_work_ns: slow_call_ns.saturating_sub(explained_ns).saturating_sub(unexplained_ns).max(0),
        short_wait_ns,
        outside_wait_ns,
        min_wait_ns: options.min_wait_ns,
        overlap: Vec::new(),
        findings,
    };
    (explanation, losses)
}

/// How much of the trace's time is selected, where only a part is, ns.
fn selected_ns(trace: &Trace, selection: &Selection) -> Option<Ns> {
    let (start, end) = trace.span()?;
    let part = selection.of(trace).part(start, end);
    (part < end - start).then_some(part)
}

fn chosen_calls(facts: &Facts<'_>, options: &Options) -> u64 {
    let calls = &facts.trace.calls;
    match options.selection == Selection::default() {
        true => calls.len() as u64,
        false => calls.ids().filter(|call| facts.is_chosen(Stretch::Call(*call))).count() as u64,
    }
}
