//! The sentences that text and Markdown share.

use super::sentence::{detail, lock, spoken};
use crate::escape::visible;
use crate::layout::{elide, width};
use crate::place::short as short_place;
use crate::short::{self, Level};
use crate::units;
use explain::{
    About, Cause, ChainLink, Detail, Example, Explanation, Finding, Nature, Party, Phase, Place, TreeRow,
};

/// The cause and the confidence; an unknown cause has no confidence.
pub(super) fn verdict(finding: &Finding) -> String {
    match About::of(finding.cause).nature {
        Nature::Unknown => finding.cause.id().to_owned(),
        Nature::Lost | Nature::Asked => format!("{} · {}", finding.cause.id(), finding.confidence.id()),
    }
}

/// Whether a finding's time is that of the GPUs which its root cost: its threads did it, and lost nothing by it.
fn is_of_gpus(finding: &Finding) -> bool {
    finding.short_calls > 0 || finding.is_of_account && finding.cost_ns > 0
}

/// `1.16 s (97 % of its time)`
pub(super) fn amount(finding: &Finding) -> String {
    if is_of_gpus(finding) {
        return format!(
            "{} ({} of its time)",
            units::duration(finding.cost_ns),
            units::percent(finding.cost_share)
        );
    }
    let whose = if finding.waiter.threads > 1 { "their" } else { "its" };
    format!("{} ({} of {whose} time)", units::duration(finding.lost_ns), units::percent(finding.share))
}

/// `cudaLaunchKernel`, or, for a waiter outside calls, `waiting for a lock of libc10.so`.
pub(super) fn activity(waiter: &Party) -> String {
    if waiter.call.is_empty() { detail(waiter) } else { waiter.call.clone() }
}

/// `thread 7 lost 1,163 ms (97 % of its time) in 25 × cudaLaunchKernel`, `… in 5 waits for a lock of libc10.so`
pub(super) fn sentence(finding: &Finding, many_processes: bool) -> String {
    let thread = waiters(finding, many_processes);
    let (verb, end) = match About::of(finding.cause).nature {
        Nature::Unknown => ("spent", ", cause unknown"),
        Nature::Asked => ("waited", ""),
        Nature::Lost if is_of_gpus(finding) => ("cost the GPU", ""),
        Nature::Lost => ("lost", ""),
    };
    format!("{thread} {verb} {} in {}{end}", amount(finding), times(finding))
}

/// The sentence without the amount that a headline has.
pub(super) fn brief_sentence(finding: &Finding, many_processes: bool) -> String {
    if is_of_gpus(finding) {
        short_sentence(finding, many_processes)
    } else {
        sentence(finding, many_processes)
    }
}

/// `thread 7: 25 × cudaLaunchKernel`
pub(super) fn short_sentence(finding: &Finding, many_processes: bool) -> String {
    format!("{}: {}", waiters(finding, many_processes), times(finding))
}

/// `25 × cudaLaunchKernel`, `5 waits for a lock of libc10.so`
fn times(finding: &Finding) -> String {
    let waiter = &finding.waiter;
    match &waiter.detail {
        Detail::Lock { library } if waiter.call.is_empty() => {
            format!("{} for {}", units::counted(finding.count, "wait", "waits"), visible(&lock(library)))
        }
        _ if finding.cause == Cause::LaunchLatency => units::counted(finding.count, "launch", "launches"),
        _ if finding.cause == Cause::PageMigration && finding.waiter.call.is_empty() => {
            units::counted(finding.count, "pause of the GPU", "pauses of the GPU")
        }
        _ if waiter.call.is_empty() => pauses(finding),
        _ if finding.threads.iter().any(|thread| thread.call != waiter.call) => {
            format!("{} calls, most of them {}", units::count(finding.count), visible(&waiter.call))
        }
        _ if finding.other_calls > 0 => {
            let all = finding.count + finding.short_calls;
            let (own, all) = (units::count(all - finding.other_calls), units::count(all));
            format!("{all} calls, {own} of them {}", visible(&waiter.call))
        }
        _ if finding.short_calls > 0 => {
            let all = units::count(finding.count + finding.short_calls);
            let slow = units::count(finding.count);
            format!("{all} × {}, {slow} of them slow", visible(&waiter.call))
        }
        _ => format!("{} × {}", units::count(finding.count), visible(&waiter.call)),
    }
}

/// `61,039 pauses, most of it 149 × 39.1 ms before cuLibraryLoadData`; a single kind of pauses alone. Of pauses of which few make up
/// the time, the mean says nothing.
fn pauses(finding: &Finding) -> String {
    let all = units::counted(finding.count, "pause", "pauses");
    let Some(most) = finding.pauses.as_ref().filter(|most| most.count > 0) else { return all };
    let mean = most.ns / most.count.max(1) as i64;
    if most.count > 1 && finding.max_ns > 2 * mean {
        return format!("{all}, most of it before {}", visible(&most.before));
    }
    let most_of_it =
        format!("{} × {} before {}", units::count(most.count), units::duration(mean), visible(&most.before));
    if most.count == finding.count { most_of_it } else { format!("{all}, most of it {most_of_it}") }
}

/// `59 % of the GPU's time, 1,676 ms, again and again`; empty if it costs the GPU nothing.
pub(super) fn cost(finding: &Finding) -> String {
    let (when, time) = (when(finding), units::duration(finding.cost_ns));
    let (share, worth) = (units::percent(finding.cost_share), units::percent(finding.worth()));
    match (finding.exposes(), finding.cost_ns) {
        (true, _) => format!("{worth} of the GPU's time with what it exposes, {when}"),
        (false, 0) => String::new(),
        (false, _) => format!("{share} of the GPU's time, {time}, {when}"),
    }
}

/// The phase in words: `once` if few stretches are most of a finding.
pub(crate) fn when(finding: &Finding) -> &'static str {
    /// Stretches that are counted on the fingers of a hand.
    const FEW: u64 = 5;
    match finding.phase {
        Phase::Recurring => "again and again",
        Phase::Once if finding.cause == Cause::FirstUse => "at first uses",
        Phase::Once if finding.count > FEW => "in a few long stretches",
        Phase::Once => "once",
    }
}

/// The threads that waited for each other: `thread C (first-use) ← thread B (driver-lock) ← thread A (gil)`; empty for fewer
/// than three, which the waiter and the holder show.
pub(super) fn chain(finding: &Finding) -> String {
    if finding.chain.len() < 3 {
        return String::new();
    }
    let link = |(at, link): (usize, &ChainLink)| {
        let call = link.call.as_ref().map_or(String::new(), |call| format!(" in {}", visible(call)));
        let doing = if at == 0 { "" } else { "waits, " };
        let place = link.place.as_ref().map_or(String::new(), |place| format!(" at {}", short_place(place)));
        format!("thread {}{call} ({doing}{}{place})", visible(&link.thread), link.cause.id())
    };
    finding.chain.iter().enumerate().map(link).collect::<Vec<_>>().join(" ← ")
}

/// The evidence with its figures, with names escaped.
pub(super) fn because(finding: &Finding) -> String {
    visible(&super::sentence::sentence(&finding.because)).into_owned()
}

/// `thread 8 in cudaMemcpyAsync: device to pageable host, 64 MiB, stream 7`. A longer detail, such as one with a kernel's
/// name, is cut in the middle to `columns`.
pub(super) fn party(party: &Party, many_processes: bool, columns: usize) -> String {
    let mut text = party_in_call(party, many_processes);
    let detail = spoken(party);
    if !detail.is_empty() {
        text.push_str(": ");
        text.push_str(&elide(&visible(&detail), columns));
    }
    text
}

/// `thread 8 in cudaMemcpyAsync`
pub(super) fn party_in_call(party: &Party, many_processes: bool) -> String {
    let thread = thread(party, many_processes);
    if party.call.is_empty() { thread } else { format!("{thread} in {}", visible(&party.call)) }
}

/// Like [`thread`], but for threads of several processes, too: `16 threads of 2 processes`.
fn waiters(finding: &Finding, many_processes: bool) -> String {
    let mut processes: Vec<i64> = finding.threads.iter().map(|thread| thread.pid).collect();
    processes.sort_unstable();
    processes.dedup();
    match processes.len() {
        0 | 1 => thread(&finding.waiter, many_processes),
        several => format!("{} of {several} processes", thread(&finding.waiter, false)),
    }
}

/// `thread pt_autograd_0 (7)`, or `16 threads`; `a thread` if nobody knows which.
fn thread(party: &Party, many_processes: bool) -> String {
    let mut text = match party.threads {
        0 | 1 if party.tid == 0 => return String::from("a thread"),
        0 | 1 => format!("thread {}", visible(&party.thread)),
        several => format!("{} threads", units::count(several)),
    };
    if party.threads <= 1 && party.thread != party.tid.to_string() {
        text.push_str(&format!(" ({})", party.tid));
    }
    if many_processes {
        text.push_str(&format!(" of process {}", party.pid));
    }
    text
}

/// Columns of a function's name from which on its parameters and template arguments are left out.
const LONG: usize = 60;

/// `train.py:42 in step`, or the known part of that.
pub fn place(place: &Place) -> String {
    let level = if width(&place.function) > LONG { Level::Template } else { Level::Whole };
    let function = short::at(&place.function, level);
    let mut text = visible(&place.file).into_owned();
    if place.line > 0 {
        text.push_str(&format!(":{}", place.line));
    }
    match (text.is_empty(), function.is_empty()) {
        (_, true) => text,
        (true, false) => visible(&function).into_owned(),
        (false, false) => format!("{text} in {}", visible(&function)),
    }
}

/// The stacks below a finding's place, a function in each line with its part of the samples: `71 %   forward, lib.py:9`.
pub fn tree(finding: &Finding) -> Vec<String> {
    /// Columns of a function's name.
    const FUNCTION: usize = 48;
    let line = |row: &TreeRow| {
        let function = short::fit(&[&row.place.function], FUNCTION).pop().unwrap_or_default();
        let file = row.place.file.rsplit('/').next().unwrap_or("");
        let line = if row.place.line > 0 { format!(":{}", row.place.line) } else { String::new() };
        let (indent, share) = (2 * row.depth as usize, units::percent(row.share));
        // A library without symbols has no name for it.
        let function = if function.is_empty() { String::new() } else { format!("{}, ", visible(&function)) };
        format!("{share:>6}  {:indent$}{function}{}{line}", "", visible(file))
    };
    finding.tree.iter().map(line).collect()
}

/// The longest waits and their starts.
pub(super) fn examples(finding: &Finding) -> String {
    finding.examples.iter().map(example).collect::<Vec<_>>().join(", ")
}

/// `53.8 ms at 0.412 s`
pub(super) fn example(example: &Example) -> String {
    let start = example.start_ns as f64 / 1e9;
    format!("{} at {start:.3} s", units::duration(example.duration_ns))
}

/// `explained 99 % of the 2,324 ms spent in calls over 100 µs`, then the calls' own work, the unexplained rest, and the
/// waits in shorter calls and outside calls.
pub(super) fn conclusion(explanation: &Explanation) -> Vec<String> {
    if explanation.chosen_calls == 0 && explanation.trace.calls > 0 && explanation.findings.is_empty() {
        return vec!["no calls match the selection".to_owned()];
    }
    let threshold = units::duration(explanation.min_wait_ns);
    let waits =
        [("in shorter calls", explanation.short_wait_ns), ("outside calls", explanation.outside_wait_ns)];
    let waits = waits.into_iter().filter(|(_, time)| *time > 0);
    let waits: Vec<String> = waits
        .map(|(place, time)| format!("waits for locks {place} add up to {}", units::duration(time)))
        .collect();
    if explanation.slow_call_ns <= 0 {
        let rest = match waits.as_slice() {
            [] if explanation.trace.calls == 0 => {
                return vec!["the trace has no calls".to_owned()];
            }
            [] => "nothing held up a host thread".to_owned(),
            waits => waits.join("; "),
        };
        return vec![format!("no call took longer than {threshold}; {rest}")];
    }
    let share = |part: i64| units::percent(part as f64 / explanation.slow_call_ns as f64);
    let slow = units::duration(explanation.slow_call_ns);
    let explained = share(explanation.explained_ns);
    let mut lines = vec![format!("explained {explained} of the {slow} spent in calls over {threshold}")];
    if explanation.own_work_ns > 0 {
        let own = explanation.own_work_ns;
        lines.push(format!("the calls' own work {} of it, {}", share(own), units::duration(own)));
    }
    let rest = explanation.slow_call_ns - explanation.explained_ns - explanation.own_work_ns;
    if rest > 0 {
        lines.push(format!("unexplained {} of it, {}", share(rest), units::duration(rest)));
    }
    lines.extend(waits);
    lines
}

/// `and 12 more findings, 1.90 ms of host time`; `None` if there are none.
pub(super) fn folded(findings: &[&Finding]) -> Option<String> {
    if findings.is_empty() {
        return None;
    }
    let number = units::counted(findings.len() as u64, "more finding", "more findings");
    let lost = findings.iter().map(|finding| finding.lost_ns).sum();
    Some(format!("and {number}, {} of host time", units::duration(lost)))
}
