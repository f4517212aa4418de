//! Finds which calls of a [`trace::Trace`] lost time, because of what, and how to fix it. It reads no files and no
//! clocks, and it prints nothing.
//!
//! [`explain()`] splits the time of each slow call among [`Cause`]s; what no rule claims is [`Cause::Unexplained`], so
//! that the parts of a call always add up to its duration. Recorded waits for locks in shorter calls, and outside calls,
//! become findings too where they are long or add up.
//!
//! - [`Options`]: the threshold for slow calls, and the selection.
//! - [`Explanation`]: the sums over the trace, the findings, and the [`Overlap`] of each GPU.
//! - [`Finding`]: one cause with its lost time, the waiter and the holder ([`Party`]), [`Evidence`], [`Confidence`] and
//!   [`Fix`]es.
//! - [`Loss`]: one single wait, from [`explain_each`].
//!
//! # Example
//!
//! Thread 2 launches while thread 1 pins memory, and its launch returns when the pinning is done:
//!
//! ```
//! use explain::{Cause, Options, explain};
//! use trace::{Api, Call, Process, Thread, Trace};
//!
//! let mut trace = Trace::default();
//! let process = trace.processes.push(Process { pid: 1, ..Process::default() });
//! let pinning = trace.threads.push(Thread { process, tid: 1, ..Thread::default() });
//! let launching = trace.threads.push(Thread { process, tid: 2, ..Thread::default() });
//! let pin = trace.strings.intern("cudaMallocHost");
//! let launch = trace.strings.intern("cudaLaunchKernel");
//! let api = Api::Runtime;
//! // Times are in ns.
//! trace.calls.push(Call { start: 0, end: 40_000_000, thread: pinning, api, name: pin, ..Call::default() });
//! let (start, end) = (1_000_000, 40_005_000);
//! trace.calls.push(Call { start, end, thread: launching, api, name: launch, ..Call::default() });
//!
//! let explanation = explain(&trace, &Options::default());
//! assert_eq!(explanation.slow_calls, 2);
//! assert_eq!(explanation.slow_call_ns, 40_000_000 + 39_005_000);
//! assert!(explanation.findings.iter().any(|finding| finding.cause == Cause::DriverLock));
//! ```

mod account;
mod analysis;
pub mod diff;
mod facts;
mod findings;
pub mod gate;
mod overlap;
mod result;
mod rules;
mod steps;

pub use account::{
    AccountPart, Accounts, Behind as StreamBehind, Busy, GpuAccount, HeldBack, Idle, IdlePart, IdleReason,
    MainOperations, Margin, OneStep, Rank, Ranks, SlowStep, SmallKernels, Spent, Steady, StepTime, Steps,
    StreamAccount, ThreadAccount, WaitPart, collectives,
};
pub use facts::call_tree::TreeRow;
pub use facts::marks::MESSAGES;
pub use facts::options::Options;
pub use facts::pieces::PIECE;
pub use facts::places::{place_of_stack, places};
pub use facts::weights::{Depth, SAMPLE, weights};
pub use findings::failed::{FailedCalls, failed_calls};
pub use findings::ranks::{Unfit, compare, has_collectives, state_ranks};
pub use overlap::{Behind, LateOps, LostOverlap, Overlap, OverlapRule, overlaps};
pub use result::explanation::{Explanation, Unselected};
pub use result::finding::{ChainLink, Detail, Example, Finding, Kernels, Party, Pauses, Phase, Waiter};
pub use result::fix::{At, Effect, Fix, Form};
pub use result::framework::Framework;
pub use result::gains::{Gain, Gains, NoGains, ThreadGain};
pub use result::loss::Loss;
pub use result::place::Place;
pub use result::ranking::{holds_back, is_mended_by_itself, is_usual};
pub use result::refusal::Refusal;
pub use result::sentence::{Piece, Sentence};
pub use result::settings::Setting;
pub use result::summary::{Contents, GpuClock, Summary, summary};
pub use result::verdict::Verdict;
pub use rules::about::{About, Bound, Family, Nature};
pub use rules::kernel_build::may_build;
pub use steps::{StepSource, without_numbers};
pub use waits::{
    Cause, Class, Confidence, Engine, Evidence, beside_default, classify, collective, communicates,
    is_default,
};

use account::CallParts;
use analysis::group::Groups;
use analysis::parts::Part;
use facts::Facts;
use facts::stretch::Stretch;
use findings::Found;
use findings::scope::Scope;
use rules::Holders;
use std::collections::BTreeMap;
use std::sync::Arc;
use trace::{Ns, Selection, Trace};

/// A part of a slow call's time with a cause: [`call_parts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallShare {
    /// The call.
    pub call: trace::CallId,
    /// Start of the part, ns.
    pub start: Ns,
    /// Its end, ns.
    pub end: Ns,
    /// Cause of the part.
    pub cause: Cause,
    /// The call that it waited for; `NONE` if none or unknown.
    pub holder: trace::CallId,
}

/// Explains why the calls of `trace` took long.
pub fn explain(trace: &Trace, options: &Options) -> Explanation {
    run(trace, options, false).0
}

/// Like [`explain()`], but with every single loss that has a cause: first those of slow calls, by start, then waits elsewhere.
/// Each recorded wait of the trace is among them once, whether or not a finding counts it.
pub fn explain_each(trace: &Trace, options: &Options) -> (Explanation, Vec<Loss>) {
    run(trace, options, true)
}

/// The findings of [`explain()`] alone, on one core: the overlap of operations is not looked at.
pub fn findings(trace: &Trace, options: &Options) -> Vec<Finding> {
    let (facts, scope) = scoped(Facts::new(trace, options), options);
    of_threads(&facts, &scope, options, false).0.findings
}

/// The cause of the first of [`findings()`], which costs the GPUs most: as that, without the words, places and examples of findings.
pub fn first_cause(trace: &Trace, options: &Options) -> Option<Cause> {
    let (facts, scope) = scoped(Facts::new(trace, options), options);
    let Lost { mut groups, of_calls, .. } = in_slow_calls(&facts, &scope, options, false);
    let costs = account::costs(&facts, &of_calls, &scope);
    // Short waits take long to look at, and often none of them could be first.
    findings::costs::first_in_any_case(&facts, &costs).or_else(|| {
        analysis::recorded_waits::add_sums_elsewhere(&facts, &mut groups);
        findings::first_cause(&facts, groups, &costs)
    })
}

/// Where all of each GPU's and each thread's time went, in the selected time. Selected threads and names have no effect.
pub fn accounts(trace: &Trace, selection: &Selection) -> Accounts {
    let facts = Facts::new(trace, &Options { selection: selection.clone(), ..Options::default() });
    let holders = Holders::new(&facts, Options::default().min_wait_ns / 2);
    let mut parts = CallParts::default();
    for call in facts.slow.iter().copied() {
        parts.add(&facts, call, &rules::passes::split(&facts, &holders, call));
    }
    let scope = Scope { steps: None, ..Scope::selected(&facts, selection) };
    account::accounts(&facts, &parts, &scope, false).0
}

/// The parts of every slow call that have a cause, by call and start.
pub fn call_parts(trace: &Trace, min_wait_ns: Ns) -> Vec<CallShare> {
    let options = Options { min_wait_ns, ..Options::default() };
    let facts = Facts::new(trace, &options);
    let holders = Holders::new(&facts, min_wait_ns / 2);
    let mut shares = Vec::new();
    for call in facts.slow.iter().copied() {
        let parts = rules::passes::split(&facts, &holders, call);
        let share = |(start, end, claim): (Ns, Ns, usize)| CallShare {
            call,
            start,
            end,
            cause: parts.claimed[claim].reason.cause,
            holder: match parts.claimed[claim].reason.holder {
                analysis::parts::Holder::Call(call) => call,
                analysis::parts::Holder::Nobody | analysis::parts::Holder::Thread(_) => trace::CallId::NONE,
            },
        };
        shares.extend(parts.pieces().map(share));
    }
    shares
}

/// The scope of an explanation, and the facts within.
fn scoped<'a>(mut facts: Facts<'a>, options: &Options) -> (Facts<'a>, Scope) {
    let scope = Scope::find(&facts, &options.selection);
    if scope.is_steady {
        facts.choose_time(scope.window);
    }
    (facts, scope)
}

/// Finds the overlap of operations, with what the trace has, and the losses of threads in parallel: neither needs the other.
fn run(trace: &Trace, options: &Options, keep_losses: bool) -> (Explanation, Vec<Loss>) {
    let (facts, scope) = scoped(Facts::new(trace, options), options);
    let index = Arc::clone(&facts.index);
    let (from, to) = scope.window;
    let within = match scope.is_steady {
        true => Selection { from: Some(from), to: Some(to), ..options.selection.clone() },
        false => options.selection.clone(),
    };
    std::thread::scope(|threads| {
        let overlap = threads.spawn(|| {
            let selected_ns = selected_ns(trace, &options.selection);
            let overlaps = overlap::with_index(trace, &within, || Arc::clone(&index));
            (overlaps, Summary { selected_ns, ..summary(trace) })
        });
        let (mut explanation, losses) = of_threads(&facts, &scope, options, keep_losses);
        let joined = overlap.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (explanation.overlap, explanation.trace) = joined;
        (explanation, losses)
    })
}

/// Losses of slow calls.
struct Lost {
    groups: Groups,
    of_calls: CallParts,
    slow_call_ns: Ns,
    slow_calls: u64,
    explained_ns: Ns,
    unexplained_ns: Ns,
}

fn in_slow_calls(facts: &Facts<'_>, scope: &Scope, options: &Options, keep_losses: bool) -> Lost {
    // Calls shorter than half of the threshold cannot cover enough of a slow call.
    let holders = Holders::new(facts, options.min_wait_ns / 2);
    let mut groups = Groups::new(keep_losses);
    let (mut slow_call_ns, mut slow_calls, mut explained_ns, mut unexplained_ns) = (0, 0, 0, 0);
    let mut of_calls = CallParts::default();
    for call in facts.slow.iter().copied() {
        let parts = rules::passes::split(facts, &holders, call);
        of_calls.add(facts, call, &parts);
        if !facts.is_chosen(Stretch::Call(call)) {
            if scope.is_steady && facts.is_chosen_at_any_time(Stretch::Call(call)) {
                groups.keep_all(facts, Stretch::Call(call), &parts.claimed);
            }
            continue;
        }
        // The usual cost of the call is not lost.
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
        groups.add(facts, Stretch::Call(call), lost);
    }
    Lost { groups, of_calls, slow_call_ns, slow_calls, explained_ns, unexplained_ns }
}

fn of_threads(
    facts: &Facts<'_>,
    scope: &Scope,
    options: &Options,
    keep_losses: bool,
) -> (Explanation, Vec<Loss>) {
    let Lost { mut groups, of_calls, slow_call_ns, slow_calls, explained_ns, unexplained_ns } =
        in_slow_calls(facts, scope, options, keep_losses);
    let (mut short_wait_ns, mut outside_wait_ns) = (0, 0);
    for (stretch, lost) in analysis::recorded_waits::elsewhere(facts) {
        let sum = match stretch {
            Stretch::Call(_) => &mut short_wait_ns,
            Stretch::Wait(_) => &mut outside_wait_ns,
        };
        *sum = lost.iter().fold(*sum, |sum: Ns, part| sum.saturating_add(part.lost));
        groups.add(facts, stretch, lost);
    }
    let (mut accounts, mut steps, costs) = account::accounts(facts, &of_calls, scope, keep_losses);
    let Found { findings, unselected, mut losses, links } = findings::findings(facts, groups, &costs);
    links.link(&mut accounts, steps.as_mut(), &costs.parts);
    if keep_losses {
        analysis::recorded_waits::add_other_losses(facts, &mut losses);
    }
    let explanation = Explanation {
        trace: Summary::default(),
        chosen_calls: chosen_calls(facts, options),
        slow_call_ns,
        slow_calls,
        explained_ns,
        own_work_ns: slow_call_ns.saturating_sub(explained_ns).saturating_sub(unexplained_ns).max(0),
        short_wait_ns,
        outside_wait_ns,
        min_wait_ns: options.min_wait_ns,
        failed_calls: failed_calls(facts.trace, &options.selection),
        overlap: Vec::new(),
        verdict: Verdict::of(&accounts),
        accounts,
        steps,
        findings,
        unselected,
        gains: Gains::default(),
        source_lines: BTreeMap::new(),
    };
    (explanation, losses)
}

/// The selected part of the trace's time, ns; `None` if all of it is selected.
fn selected_ns(trace: &Trace, selection: &Selection) -> Option<Ns> {
    let (start, end) = trace.span()?;
    let selected = selection.of(trace);
    let part = match trace.meta.recorded.as_slice() {
        [] => selected.part(start, end),
        recorded => recorded.iter().map(|(from, to)| selected.part(start.max(*from), end.min(*to))).sum(),
    };
    (part < trace.meta.recorded_part(start, end)).then_some(part)
}

fn chosen_calls(facts: &Facts<'_>, options: &Options) -> u64 {
    let calls = &facts.trace.calls;
    match options.selection == Selection::default() {
        true => calls.len() as u64,
        false => calls.ids().filter(|call| facts.is_chosen(Stretch::Call(*call))).count() as u64,
    }
}
