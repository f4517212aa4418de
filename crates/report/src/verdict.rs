//! The verdict: how busy the GPUs were, what they lost most time to again and again, and what they lost once.

use crate::escape::visible;
use crate::layout::{cut, elide, width, wrap};
use crate::units;
use explain::{Cause, Explanation, Finding, Fix, GpuAccount, Phase, Place, Refusal};
use trace::Ns;

/// Part of its time, in percent, from which on a GPU that is busy is held up by nobody on the host.
const BUSY: Ns = 95;

/// Smallest part of the GPUs' time that matters, 0 to 1.
pub(crate) const SMALL: f64 = 0.01;

/// As [`SMALL`] where all GPUs are busy: no more can be idle, and so only what holds them back.
const SMALL_OF_BUSY: f64 = 0.05;

/// Most lines of the verdict.
const LINES: usize = 4;

/// Most causes that the verdict names of what recurs.
const NAMED: usize = 2;

/// Most fixes of a cause that the verdict names.
const FIXES: usize = 2;

/// Longest place, columns.
const PLACE: usize = 40;

/// The verdict in one paragraph, with names escaped.
pub fn verdict(explanation: &Explanation) -> String {
    lines(explanation, usize::MAX).join(" ")
}

/// A line of the verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerdictLine {
    /// The text, with names escaped.
    pub text: String,
    /// The finding that it is about; `None` for the first line, and for what is no finding.
    pub finding: Option<String>,
}

/// The verdict for a page: the sentence about the GPUs, the causes that cost most, and what costs once.
pub fn verdict_lines(explanation: &Explanation) -> Vec<VerdictLine> {
    let mut lines = vec![VerdictLine { text: sentence(explanation), finding: None }];
    lines.extend(costs(explanation).into_iter().map(|cost| {
        let finding = Some(cost.finding().to_owned()).filter(|id| !id.is_empty());
        VerdictLine { text: cost.line(usize::MAX), finding }
    }));
    lines
}

/// The verdict in at most four lines of so many columns, one of which has what costs once; with names escaped.
pub(crate) fn lines(explanation: &Explanation, columns: usize) -> Vec<String> {
    let mut lines = wrap(&sentence(explanation), columns);
    lines.extend(costs(explanation).into_iter().map(|cost| cost.line(columns)));
    lines.truncate(LINES);
    lines
}

/// `GPU 0 was idle 64 % of the 1.9 s after start-up (0.8 s).`
fn sentence(explanation: &Explanation) -> String {
    let accounts = &explanation.accounts;
    match accounts.gpus.as_slice() {
        [] => without_gpus(explanation),
        [gpu] => of_gpu(gpu, accounts.refused),
        several => of_gpus(several, accounts.refused),
    }
}

/// The sentence about one GPU.
fn of_gpu(gpu: &GpuAccount, refused: Option<Refusal>) -> String {
    let (number, span) = (gpu.device, units::duration(gpu.span_ns));
    if let Some(refused) = refused {
        let busy = units::duration(gpu.busy_ns);
        return format!("GPU {number} has records for {busy} of {span}; {}", unknown(refused));
    }
    let time = time(gpu);
    let percent = |ns| units::percent(share(ns, gpu));
    let held = held_back(gpu);
    match (is_busy(gpu), matters(held, gpu)) {
        (true, false) => {
            format!("GPU {number} was busy {} of {time}: {}", percent(gpu.busy_ns), work(&[gpu]))
        }
        (true, true) => format!(
            "GPU {number} was busy {} of {time}, but held back {} (estimated).",
            percent(gpu.busy_ns),
            percent(held)
        ),
        (false, false) => format!("GPU {number} was idle {} of {time}.", percent(idle(gpu))),
        (false, true) => format!(
            "GPU {number} was idle {} of {time}, and held back {} (estimated).",
            percent(idle(gpu)),
            percent(held)
        ),
    }
}

/// `4 GPUs were idle 12 to 64 % of their time.`
fn of_gpus(gpus: &[GpuAccount], refused: Option<Refusal>) -> String {
    let count = units::count(gpus.len() as u64);
    let span: Ns = gpus.iter().map(|gpu| gpu.span_ns).max().unwrap_or(0);
    let span = units::duration(span);
    if let Some(refused) = refused {
        return format!("{count} GPUs have records for parts of {span}; {}", unknown(refused));
    }
    let range = |of: fn(&GpuAccount) -> Ns| {
        let shares = gpus.iter().map(|gpu| share(of(gpu), gpu));
        let (least, most) = shares.fold((1.0, 0.0), |(a, b): (f64, f64), share| (a.min(share), b.max(share)));
        let (least, most) = (units::percent(least), units::percent(most));
        if least == most {
            most
        } else {
            format!("{} to {most}", least.trim_end_matches([' ', '%', '\u{a0}']))
        }
    };
    let busy = gpus.iter().all(is_busy);
    let held = gpus.iter().any(|gpu| matters(held_back(gpu), gpu));
    let held_back = || format!("held back {} (estimated).", range(held_back));
    match (busy, held) {
        (true, false) => {
            let work = work(&gpus.iter().collect::<Vec<_>>());
            format!("{count} GPUs were busy {} of {span}: {work}", range(|gpu| gpu.busy_ns))
        }
        (true, true) => {
            format!("{count} GPUs were busy {} of {span}, but {}", range(|gpu| gpu.busy_ns), held_back())
        }
        (false, false) => format!("{count} GPUs were idle {} of {span}.", range(idle)),
        (false, true) => format!("{count} GPUs were idle {} of {span}, and {}", range(idle), held_back()),
    }
}

/// `no GPU operation was recorded; threads spent 54 % of their time in slow CUDA calls.`
fn without_gpus(explanation: &Explanation) -> String {
    let threads = &explanation.accounts.threads;
    let spent: Ns = threads.iter().filter(|thread| thread.calls > 0).map(|thread| thread.span_ns).sum();
    if explanation.trace.calls == 0 {
        return String::from("The trace has neither calls nor GPU operations.");
    }
    let slow = units::percent(explanation.slow_call_ns as f64 / spent.max(1) as f64);
    let threshold = units::duration(explanation.min_wait_ns);
    format!("No GPU operation was recorded; threads spent {slow} of their time in calls over {threshold}.")
}

/// What keeps the idle time from having causes.
fn unknown(refused: Refusal) -> String {
    let why = match refused {
        Refusal::Lost => "records were lost",
        Refusal::Clock => "the clocks of host and GPU cannot be compared",
    };
    format!("why it was idle is unknown: {why}.")
}

/// What busy GPUs do.
fn work(gpus: &[&GpuAccount]) -> String {
    let busy: Ns = gpus.iter().map(|gpu| gpu.busy_ns).sum();
    let copies: Ns = gpus.iter().map(|gpu| gpu.busy.copies_ns).sum();
    let communication: Ns = gpus.iter().map(|gpu| gpu.exposed_communication_ns).sum();
    let what = match () {
        () if communication > busy - communication => "communication is",
        () if copies > busy - copies => "copies are",
        () => "kernels are",
    };
    format!("nothing on the host holds it up; {what} where time is.")
}

/// `1.9 s`, or `the 1.9 s after start-up (0.8 s)`
fn time(gpu: &GpuAccount) -> String {
    let start_up = gpu.start_up_ns();
    let working = units::duration(gpu.working_ns());
    match start_up as f64 >= gpu.span_ns as f64 * SMALL && start_up > 0 {
        true => format!("the {working} after start-up ({})", units::duration(start_up)),
        false => working,
    }
}

pub(crate) fn is_busy(gpu: &GpuAccount) -> bool {
    gpu.busy_ns * 100 >= gpu.working_ns() * BUSY
}

/// The smallest part of the GPUs' time that a finding must cost to matter, 0 to 1.
pub(crate) fn least(gpus: &[GpuAccount]) -> f64 {
    if !gpus.is_empty() && gpus.iter().all(is_busy) { SMALL_OF_BUSY } else { SMALL }
}

fn idle(gpu: &GpuAccount) -> Ns {
    gpu.working_ns() - gpu.busy_ns
}

fn held_back(gpu: &GpuAccount) -> Ns {
    gpu.held_back.iter().map(|held| held.part.ns).sum()
}

fn matters(held: Ns, gpu: &GpuAccount) -> bool {
    share(held, gpu) >= if is_busy(gpu) { SMALL_OF_BUSY } else { SMALL }
}

/// A part of a GPU's time after start-up.
fn share(ns: Ns, gpu: &GpuAccount) -> f64 {
    ns as f64 / gpu.working_ns().max(1) as f64
}

/// A cause that the verdict names.
struct Named {
    /// The finding's id; empty for a cause that is none.
    id: String,
    cause: Cause,
    share: f64,
    /// `threads wait for Python's lock (GIL)`
    what: String,
    /// `, behind cudaMemcpyAsync`, where the call that was waited for is known.
    behind: String,
    /// `serve.py:17`, or a call
    place: String,
    fixes: Vec<&'static str>,
}

impl Named {
    fn of(finding: &Finding, explanation: &Explanation, knows_costs: bool) -> Named {
        let about = finding.cause.about();
        let behind = finding.holder.as_ref().filter(|holder| !holder.call.is_empty());
        let behind = behind.map_or(String::new(), |holder| format!(", behind {}", visible(&holder.call)));
        let once = if finding.phase == Phase::Once { ", once" } else { "" };
        let gains =
            |fix: &&Fix| explanation.gains.of(fix).is_none_or(|gain| !super::explanation::is_loss(gain));
        Named {
            id: finding.id.clone(),
            cause: finding.cause,
            share: if knows_costs { finding.cost_share } else { finding.share },
            what: format!("{}{once}", about.brief),
            behind,
            place: at(finding).map_or_else(|| visible(&finding.waiter.call).into_owned(), short),
            fixes: finding.fixes.iter().filter(gains).map(|fix| fix.id).take(FIXES).collect(),
        }
    }

    /// ` (serve.py:16 → own-stream)`: a place and so many fixes.
    fn hint(&self, place: &str, fixes: usize) -> String {
        let fixes = self.fixes[..fixes.min(self.fixes.len())].join(", ");
        let arrow = if fixes.is_empty() { "" } else { "→ " };
        let fixes = format!("{arrow}{fixes}");
        let hint = [place, &fixes].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
        if hint.is_empty() { hint } else { format!(" ({hint})") }
    }

    /// `31 %: calls wait for the driver's lock, behind cudaMemcpyAsync (serve.py:16 → own-stream).` What does not fit is left out:
    /// fixes, the call, the place.
    fn line(&self, columns: usize) -> String {
        let with = |behind: &str, place: &str, fixes: usize| {
            let hint = self.hint(place, fixes);
            format!("{}: {}{behind}{hint}.", units::percent(self.share), self.what)
        };
        let all = self.fixes.len();
        let (behind, place) = (self.behind.as_str(), self.place.as_str());
        let named = (0..=all).rev().map(|fixes| with(behind, place, fixes));
        let shorter = (0..=all).rev().map(|fixes| with("", place, fixes));
        let mut lines = named.chain(shorter).chain([with("", "", 0)]);
        lines.find(|line| width(line) <= columns).unwrap_or_else(|| elide(&with("", "", 0), columns))
    }
}

/// What the GPUs lost time to, in a line.
enum Cost {
    /// A cause that recurs, or the only one that costs once.
    One(Named),
    /// Several causes that cost once.
    Once(Once),
}

impl Cost {
    fn share(&self) -> f64 {
        match self {
            Cost::One(cause) => cause.share,
            Cost::Once(once) => once.share,
        }
    }

    /// The finding that it is about; empty if it is about none.
    fn finding(&self) -> &str {
        match self {
            Cost::One(cause) => &cause.id,
            Cost::Once(once) => &once.id,
        }
    }

    fn line(&self, columns: usize) -> String {
        match self {
            Cost::One(cause) => cause.line(columns),
            Cost::Once(once) => once.line(columns),
        }
    }
}

/// What the GPUs lost most time to: two causes that recur at most, and what costs once, by what they cost.
fn costs(explanation: &Explanation) -> Vec<Cost> {
    if explanation.accounts.refused.is_some() {
        return Vec::new();
    }
    let knows_costs = super::explanation::knows_costs(explanation);
    let least = least(&explanation.accounts.gpus);
    let findings: Vec<&Finding> = explanation.findings.iter().collect();
    let (once, again): (Vec<&Finding>, Vec<&Finding>) =
        findings.into_iter().partition(|finding| knows_costs && finding.phase == Phase::Once);
    let again = again.into_iter().map(|finding| Named::of(finding, explanation, knows_costs));
    let mut named: Vec<Named> = again.chain(unfound(explanation)).collect();
    named.retain(|cause| cause.share >= least);
    named.sort_by(|a, b| b.share.total_cmp(&a.share));
    named.truncate(NAMED);
    let mut costs: Vec<Cost> = named.into_iter().map(Cost::One).collect();
    costs.extend(cost_of_once(explanation, &once, least));
    costs.sort_by(|a, b| b.share().total_cmp(&a.share()));
    costs
}

/// What costs once; `None` if that is little. One cause is named as those that recur are.
fn cost_of_once(explanation: &Explanation, findings: &[&Finding], least: f64) -> Option<Cost> {
    let start_up = start_up_of_several(&explanation.accounts.gpus);
    let share: f64 = findings.iter().map(|finding| finding.cost_share).sum();
    let known: Vec<&&Finding> = findings.iter().filter(|finding| finding.cost_share >= SMALL).collect();
    match (known.as_slice(), start_up) {
        ([one], None) if one.cost_share >= least => Some(Cost::One(Named::of(one, explanation, true))),
        _ if share < least && start_up.is_none() => None,
        ([], None) => None,
        (known, start_up) => Some(Cost::Once(Once::of(explanation, known, share, start_up))),
    }
}

/// The longest start-up of several GPUs, ns: the sentence about one GPU has it.
fn start_up_of_several(gpus: &[GpuAccount]) -> Option<Ns> {
    let start_up = gpus.iter().map(GpuAccount::start_up_ns).max()?;
    let all = gpus.iter().map(|gpu| gpu.span_ns).max()?;
    (gpus.len() > 1 && start_up > 0 && start_up as f64 >= all as f64 * SMALL).then_some(start_up)
}

/// What costs once.
struct Once {
    /// The finding that costs most; empty if start-up is all.
    id: String,
    /// The part of the GPUs' time after start-up.
    share: f64,
    /// `first-use 430 ms (serve.py:3 → eager-loading)`, by what they cost.
    items: Vec<String>,
}

impl Once {
    fn of(explanation: &Explanation, findings: &[&&Finding], share: f64, start_up: Option<Ns>) -> Once {
        let mut items: Vec<(Named, Ns)> = Vec::new();
        for finding in findings {
            let new = Named::of(finding, explanation, true);
            let is_same =
                |one: &Named| (one.cause, &one.behind, &one.place) == (new.cause, &new.behind, &new.place);
            match items.iter_mut().find(|(one, _)| is_same(one)) {
                Some((_, ns)) => *ns += finding.cost_ns,
                None => items.push((new, finding.cost_ns)),
            }
        }
        items.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        let id = items.first().map_or_else(String::new, |(named, _)| named.id.clone());
        let items = items.iter().enumerate().map(|(at, (named, ns))| {
            // There is room for the fix of what costs most.
            let hint = named.hint(&named.place, usize::from(at == 0));
            format!("{} {}{}{hint}", named.cause.id(), units::duration(*ns), named.behind)
        });
        let start_up = start_up.map(|ns| format!("{} {}", Cause::StartUp.id(), units::duration(ns)));
        Once { id, share, items: items.chain(start_up).collect() }
    }

    /// `63 % once: host-code 1.2 s (train.py:3), first-use 430 ms (train.py:8).`
    fn line(&self, columns: usize) -> String {
        let share =
            if self.id.is_empty() { String::new() } else { format!("{} ", units::percent(self.share)) };
        cut(&format!("{share}once: {}.", self.items.join(", ")), columns)
    }
}

/// Parts of the GPUs' time that are no findings, because nobody can act on them.
fn unfound(explanation: &Explanation) -> impl Iterator<Item = Named> {
    let gpus = &explanation.accounts.gpus;
    let all: Ns = gpus.iter().map(GpuAccount::working_ns).sum();
    [Cause::NotRecorded, Cause::Dependency].into_iter().map(move |cause| {
        let parts = gpus.iter().flat_map(|gpu| &gpu.idle).filter(|part| part.cause == cause);
        let advice = if cause == Cause::NotRecorded { would_record(explanation) } else { "" };
        Named {
            share: parts.map(|part| part.ns).sum::<Ns>() as f64 / all.max(1) as f64,
            id: String::new(),
            cause,
            what: format!("{}{advice}", cause.about().brief),
            behind: String::new(),
            place: String::new(),
            fixes: Vec::new(),
        }
    })
}

/// What would record what the trace does not say, for the tool that made it.
fn would_record(explanation: &Explanation) -> &'static str {
    match explanation.trace.source.as_str() {
        "kineto" => "; `with_stack=True` or `holdup record` would",
        "nsys" => "; `--trace=cuda,nvtx,osrt` or `holdup record` would",
        "nvprof" => "; `holdup record` would",
        _ => "",
    }
}

/// Where a finding's time is lost: the waiter's place, else the holder's, else the root's.
fn at(finding: &Finding) -> Option<&Place> {
    let holder = finding.holder.iter().flat_map(|holder| &holder.places);
    let root = finding.chain.iter().filter_map(|link| link.place.as_ref());
    finding.places.iter().chain(holder).chain(root).next()
}

/// `serve.py:17`, or the function without a line.
pub(crate) fn short(place: &Place) -> String {
    let text = match (place.file.rsplit('/').next().unwrap_or(""), place.line) {
        ("", _) => place.function.clone(),
        (file, 0) => format!("{} {file}", place.function),
        (file, line) => format!("{file}:{line}"),
    };
    visible(&elide(&text, PLACE)).into_owned()
}
