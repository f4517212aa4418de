//! The verdict: what the GPUs lose most time to again and again and what once, how busy they were, and how long the program started.

mod costs;
mod lacking;
mod launches;
mod margins;
mod named;
mod one_line;
mod threshold;
mod work;

pub(crate) use costs::knows_costs;
pub(crate) use margins::longest as longest_of_start_up;
pub(crate) use threshold::{SMALL, least};

use crate::layout::{shorten, wrap};
use crate::units;
use costs::costs;
use explain::{
    About, AccountPart, Cause, Explanation, Finding, GpuAccount, Nature, Phase, Refusal, ThreadAccount,
};
use threshold::{LOST, SMALL_OF_BUSY, is_busy};
use trace::Ns;

/// Columns before the further lines of a sentence.
const INDENT: usize = 4;

/// The verdict in one paragraph, with names escaped.
pub fn verdict(explanation: &Explanation) -> String {
    let lines: Vec<String> = verdict_lines(explanation).into_iter().map(|line| line.text).collect();
    lines.join(" ")
}

/// A line of the verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerdictLine {
    /// The text, with names escaped.
    pub text: String,
    /// The finding that it is about; `None` if it is about none.
    pub finding: Option<String>,
}

/// The verdict: the causes that cost most, and what costs once; then the sentence about the GPUs and that about the program's start.
/// The start is first if it is nearly all, and the GPUs are if nothing costs much.
pub fn verdict_lines(explanation: &Explanation) -> Vec<VerdictLine> {
    in_columns(explanation, usize::MAX)
}

/// The lines of [`verdict_lines`], each short enough for [`named::LINES`] of so many columns.
fn in_columns(explanation: &Explanation, columns: usize) -> Vec<VerdictLine> {
    let costs = costs(explanation);
    let of = whose(explanation);
    let cost = |(at, cost): (usize, &costs::Cost)| {
        let finding = Some(cost.finding().to_owned()).filter(|id| !id.is_empty());
        VerdictLine { text: cost.line(columns, if at == 0 { of.as_str() } else { "" }), finding }
    };
    let mut lines: Vec<VerdictLine> = costs.iter().enumerate().map(cost).collect();
    lines.push(VerdictLine { text: sentence(explanation, costs.is_empty()), finding: None });
    let is_named = |lost: &Finding| costs.iter().any(|cost| cost.has(lost));
    match lost_by_a_thread(explanation) {
        Some(lost) if !is_named(lost) => {
            let text = costs::of_thread(lost, explanation, columns);
            lines.push(VerdictLine { text, finding: Some(lost.id.clone()) });
        }
        Some(_) => {}
        None => lines.extend(lost_in_short_calls(explanation).map(|(thread, part)| {
            let text = costs::of_short_calls(thread, part, columns);
            VerdictLine { text, finding: None }
        })),
    }
    for margins::Sentence { text, finding, is_first } in margins::sentences(explanation) {
        let at = if is_first { 0 } else { lines.len() };
        lines.insert(at, VerdictLine { text, finding });
    }
    lines
}

/// The finding by which a thread lost most of its time although the GPUs lost little. A thread that asks to wait for the GPU loses
/// nothing, and one that others wait for is named with them.
pub(crate) fn lost_by_a_thread(explanation: &Explanation) -> Option<&Finding> {
    let findings = &explanation.findings;
    let is_lost = |finding: &&Finding| {
        !finding.is_of_account
            && finding.share >= LOST
            && finding.worth() < SMALL_OF_BUSY
            && finding.phase == Phase::Recurring
            && !matches!(finding.cause, Cause::ExplicitSync | Cause::FirstUse | Cause::Unexplained)
            && !finding.is_waited_for(findings)
    };
    let knows = knows_costs(explanation) && explanation.trace.ops > 0;
    let lost = findings.iter().filter(|_| knows).filter(is_lost);
    lost.max_by(|one, other| one.share.total_cmp(&other.share))
}

/// The thread that lost most of its time in calls too short for a finding, and to what, if nothing else is lost to that.
fn lost_in_short_calls(explanation: &Explanation) -> Option<(&ThreadAccount, &AccountPart)> {
    let share =
        |(thread, part): &(&ThreadAccount, &AccountPart)| part.ns as f64 / thread.span_ns.max(1) as f64;
    let is_lost = |lost: &(&ThreadAccount, &AccountPart)| {
        let about = About::of(lost.1.cause);
        let is_of_rule = about.nature == Nature::Lost && !about.is_of_account();
        let is_found = || explanation.findings.iter().any(|finding| finding.cause == lost.1.cause);
        is_of_rule && lost.1.cause != Cause::FirstUse && share(lost) >= LOST && !is_found()
    };
    let is_whole = explanation.chosen_calls == explanation.trace.calls;
    let threads = explanation.accounts.threads.iter().filter(|_| is_whole && knows_costs(explanation));
    let parts = threads.flat_map(|thread| thread.parts.iter().map(move |part| (thread, part)));
    parts.filter(is_lost).max_by(|one, other| share(one).total_cmp(&share(other)))
}

/// The verdict in lines of so many columns, with names escaped; of each sentence the further lines are indented.
pub(crate) fn lines(explanation: &Explanation, columns: usize) -> Vec<String> {
    let room = columns.saturating_sub(INDENT);
    let sentences = in_columns(explanation, room);
    let wrapped = sentences.iter().flat_map(|line| {
        let lines = wrap(&shorten(&line.text, room, named::LINES), room).into_iter().enumerate();
        lines.map(|(at, line)| if at == 0 { line } else { format!("{:INDENT$}{line}", "") })
    });
    wrapped.collect()
}

/// ` of GPU 0's time`, or of the threads' where the GPUs' idle time has no causes: of what the first share is a part.
fn whose(explanation: &Explanation) -> String {
    let threads = explanation.accounts.threads.iter().filter(|thread| thread.calls > 0).count();
    match explanation.accounts.gpus.as_slice() {
        _ if !knows_costs(explanation) && threads > 1 => format!(" of {threads} threads' time"),
        _ if !knows_costs(explanation) => String::from(" of the thread's time"),
        [gpu] => format!(" of GPU {}'s time", gpu.device),
        _ => String::from(" of the GPUs' time"),
    }
}

/// `GPU 0 was idle 64 % of the 1.9 s after start-up (0.8 s).` `is_free`: nothing that can be mended was named.
fn sentence(explanation: &Explanation, is_free: bool) -> String {
    let accounts = &explanation.accounts;
    match accounts.gpus.as_slice() {
        [] => lacking::gpu_operations(explanation),
        [gpu] => of_gpu(gpu, explanation, is_free),
        several => of_gpus(several, explanation, is_free),
    }
}

/// The sentence about one GPU.
fn of_gpu(gpu: &GpuAccount, explanation: &Explanation, is_free: bool) -> String {
    let (number, span) = (gpu.device, units::duration(gpu.span_ns));
    if let Some(refused) = explanation.accounts.refused {
        let busy = units::duration(gpu.busy_ns);
        return format!("GPU {number} has records for {busy} of {span}; {}", unknown(refused));
    }
    let time = time(gpu, explanation);
    let percent = |ns| units::percent(share(ns, gpu));
    let held = held_back(gpu);
    match (is_busy(gpu), matters(held, gpu)) {
        (true, false) => {
            let busy = percent(gpu.busy_ns);
            match lacking::others(explanation, gpu) {
                Some(others) => format!("GPU {number} was busy {busy} of {time}, {others}"),
                None => format!("GPU {number} was busy {busy} of {time}: {}", work(&[gpu], is_free)),
            }
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
fn of_gpus(gpus: &[GpuAccount], explanation: &Explanation, is_free: bool) -> String {
    let count = units::count(gpus.len() as u64);
    let longest = gpus.iter().max_by_key(|gpu| gpu.working_ns());
    let span = longest.map_or_else(String::new, |gpu| time(gpu, explanation));
    if let Some(refused) = explanation.accounts.refused {
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
            let work = work(&gpus.iter().collect::<Vec<_>>(), is_free);
            format!("{count} GPUs were busy {} of {span}: {work}", range(|gpu| gpu.busy_ns))
        }
        (true, true) => {
            format!("{count} GPUs were busy {} of {span}, but {}", range(|gpu| gpu.busy_ns), held_back())
        }
        (false, false) => format!("{count} GPUs were idle {} of {span}.", range(idle)),
        (false, true) => format!("{count} GPUs were idle {} of {span}, and {}", range(idle), held_back()),
    }
}

/// Reason why the idle time has no causes.
fn unknown(refused: Refusal) -> String {
    let why = match refused {
        Refusal::Lost => "records were lost",
        Refusal::Clock => "the clocks of host and GPU cannot be compared",
    };
    format!("why it was idle is unknown: {why}.")
}

/// Work of busy GPUs.
fn work(gpus: &[&GpuAccount], is_free: bool) -> String {
    let busy: Ns = gpus.iter().map(|gpu| gpu.busy_ns).sum();
    let copies: Ns = gpus.iter().map(|gpu| gpu.busy.copies_ns).sum();
    let communication: Ns = gpus.iter().map(|gpu| gpu.exposed_communication_ns).sum();
    let what = match () {
        () if copies > busy - copies => "copies are",
        () if communication > busy - communication => "communication is",
        () if copies as f64 >= busy as f64 * work::COPYING => "kernels and copies are",
        () => "kernels are",
    };
    match is_free {
        true => format!("nothing on the host holds it up; {what} where time is."),
        false => format!("{what} where time is."),
    }
}

/// `1.9 s`, `the 1.9 s after start-up (0.8 s)`, or `159 steps (median 32.2 ms, 31.2/s)`
fn time(gpu: &GpuAccount, explanation: &Explanation) -> String {
    let is_steady = explanation.accounts.steady.is_some();
    if let Some(steps) = explanation.steps.as_ref().filter(|_| is_steady) {
        return crate::steps::rate(steps);
    }
    let start_up = gpu.start_up_ns();
    let working = units::duration(gpu.working_ns());
    match start_up as f64 >= gpu.span_ns as f64 * SMALL && start_up > 0 {
        true => format!("the {working} after start-up ({})", units::duration(start_up)),
        false => working,
    }
}

fn idle(gpu: &GpuAccount) -> Ns {
    gpu.working_ns() - gpu.busy_ns
}

fn held_back(gpu: &GpuAccount) -> Ns {
    gpu.held_back.iter().map(|held| held.part.ns).sum()
}

fn matters(held: Ns, gpu: &GpuAccount) -> bool {
    share(held, gpu) >= least(std::slice::from_ref(gpu))
}

/// A part of a GPU's time after start-up.
fn share(ns: Ns, gpu: &GpuAccount) -> f64 {
    ns as f64 / gpu.working_ns().max(1) as f64
}
