//! A workload that shows a finding, made from its trace.
//!
//! [`replay`] recovers what each thread asked for; here the threads of the finding are chosen, their steps folded into the round that
//! repeats (`fold.rs`), and written in the words of a workload. Whether it shows the finding is found out, not assumed: `check.rs` runs
//! it on the model of the trace's GPU and explains the run.

mod act;
mod balance;
mod build;
mod check;
mod chosen;
mod fold;
mod items;
mod links;
mod made;
mod states;
mod writer;

pub use check::Shown;
use check::shown;
pub use chosen::Role;

use crate::explain_with::Explain;
use act::Thing;
use chosen::Chosen;
use explain::{Cause, Explanation, Loss, Phase};
use fold::median;
use items::{Graphs, LeftOut, Reader, Sources};
use made::{Member, Parts};
use replay::Recovered;
use rustc_hash::{FxHashMap, FxHashSet};
use sim::Model;
use states::Activity;
use std::collections::BTreeMap;
use trace::{CopyKind, MemoryKind, Ns, OpId, Trace};
use waits::Index;
use workload::{StreamKind, Workload};

/// A workload that is to show a finding.
pub struct Reproduction {
    /// The workload.
    pub workload: Workload,
    /// The model on which it was run.
    pub model: String,
    /// Whether it shows the finding there.
    pub shown: Shown,
    /// The number of GPUs that it uses.
    pub gpus: u32,
    /// The number of GPUs that its threads use in the trace.
    pub gpus_in_trace: u32,
    /// How often its times and sizes are shorter than those of the trace.
    pub shrinks: i64,
    /// The number of its threads.
    pub threads: usize,
    /// The number of threads with calls in the trace.
    pub threads_in_trace: usize,
    /// Things that no step stands for, with counts.
    pub left_out: Vec<(&'static str, usize)>,
}

/// How long the rounds of a workload take together in the trace, ns.
const LASTS: Ns = 1_000_000_000;

/// Makes a workload for a finding, and runs it.
///
/// # Errors
/// Why there is none, in a few words.
pub fn reproduce(
    trace: &Trace,
    explanation: &Explanation,
    row: usize,
    losses: &[Loss],
    gpus: Option<u32>,
    explain: Explain<'_>,
) -> Result<Reproduction, String> {
    let finding = &explanation.findings[row];
    let recovered = replay::recover(trace).map_err(|error| error.to_string())?;
    let model = model(trace).map_err(|error| error.to_string())?;
    let chosen = chosen::chosen(trace, finding, row as u32, losses);
    let all = chosen::all(trace, &chosen);
    let window = window(trace, explanation, row, losses);
    let material = Material::of(trace, &recovered, &model, window, finding.cause != Cause::FirstUse);
    let mut best: Option<Reproduction> = None;
    for threads in [&chosen, &all] {
        let drafts = material.drafts(threads);
        for count in counts(drafts.gpus, gpus) {
            // Fewer GPUs are tried for what those of the trace show.
            if best.as_ref().is_some_and(|best| count < best.gpus && !best.shown.is_first) {
                break;
            }
            let Some(made) = material.run(&drafts, count, finding, explain) else { continue };
            if best.as_ref().is_none_or(|best| is_better(&made, best)) {
                best = Some(made);
            }
        }
        if best.as_ref().is_some_and(|best| best.shown.is_first) || all == chosen {
            break;
        }
    }
    best.ok_or_else(|| String::from("the threads of the finding make no calls that a workload has steps for"))
}

/// Numbers of GPUs to try: as many as in the trace, then two and one; or the wanted number alone.
fn counts(in_trace: u32, wanted: Option<u32>) -> Vec<u32> {
    let fewer = [2, 1].into_iter().filter(|count| *count < in_trace);
    match wanted {
        Some(count) => vec![count.clamp(1, in_trace)],
        None => std::iter::once(in_trace).chain(fewer).collect(),
    }
}

/// Whether a workload shows the finding better than another one, or as well on fewer GPUs.
fn is_better(one: &Reproduction, other: &Reproduction) -> bool {
    let rank =
        |of: &Reproduction| (of.shown.is_first, of.shown.finding.is_some(), std::cmp::Reverse(of.gpus));
    rank(one) > rank(other)
}

/// The built-in model of the trace's GPU, or of the nearest older one.
pub fn model(trace: &Trace) -> Result<Model, sim::Error> {
    let device = trace.devices.ids().next().map(|device| trace.devices.row(device));
    let compute = device.as_ref().map_or((9, 0), |device| (device.compute_major, device.compute_minor));
    Model::nearest(compute, device.as_ref().map_or("", |device| trace.text(device.name)))
}

/// The time whose steps are taken: what the program repeats; else the time in which the finding lost time; all of it if it is of something
/// that happens once.
fn window(trace: &Trace, explanation: &Explanation, row: usize, losses: &[Loss]) -> (Ns, Ns) {
    let (start, end) = trace.span().unwrap_or_default();
    let all = (start, end.saturating_add(1));
    if explanation.findings[row].phase == Phase::Once {
        return all;
    }
    let steady = explanation.accounts.steady.map(|steady| (steady.start_ns, steady.end_ns));
    let mine = || losses.iter().filter(|loss| loss.finding == Some(row as u32) && loss.lost_ns > 0);
    let lost = || Some((mine().map(|loss| loss.start).min()?, mine().map(|loss| loss.end).max()?));
    steady.or_else(lost).filter(|(from, to)| from < to).unwrap_or(all)
}

/// Sizes of the copies to pageable memory that took as long as those into memory that was never touched take on a model: pages are mapped
/// meanwhile, and no record says so.
fn fresh(trace: &Trace, model: &Model) -> FxHashSet<i64> {
    /// The smallest copy in which page faults show, bytes.
    const LEAST: i64 = 64 << 10;
    let ops = &trace.ops;
    let mut rates: FxHashMap<i64, Vec<i64>> = FxHashMap::default();
    for at in 0..ops.len() {
        let is_out = ops.copy[at] == CopyKind::DtoH && ops.dst[at] == MemoryKind::Pageable;
        if is_out && ops.bytes[at] >= LEAST {
            let ns = (ops.end[at] - ops.start[at]).max(1);
            rates.entry(ops.bytes[at]).or_default().push(ops.bytes[at].saturating_mul(1000) / ns);
        }
    }
    let of = &model.copies.to_host;
    // The middle of two rates by their ratio.
    let middle = (of.fresh_mb_s as f64 * of.pageable_mb_s as f64).sqrt() as i64;
    rates
        .into_iter()
        .filter(|(_, rates)| median(rates.iter().copied()) < middle)
        .map(|(bytes, _)| bytes)
        .collect()
}

/// Material of the workloads of a trace.
struct Material<'a> {
    trace: &'a Trace,
    index: Index<'a>,
    recovered: &'a Recovered,
    model: &'a Model,
    window: (Ns, Ns),
    /// By operation of the recovered steps: the first operation of the trace.
    ops: Vec<OpId>,
    activity: Activity,
    fresh: FxHashSet<i64>,
    kinds: Vec<StreamKind>,
    warms_up: bool,
}

/// Threads with their rounds.
struct Drafts {
    members: Vec<Member>,
    gpus: u32,
    graphs: Graphs,
    sizes: BTreeMap<Thing, u64>,
    left_out: LeftOut,
}

impl<'a> Material<'a> {
    fn of(
        trace: &'a Trace,
        recovered: &'a Recovered,
        model: &'a Model,
        window: (Ns, Ns),
        warms_up: bool,
    ) -> Material<'a> {
        let mut ops = vec![OpId::NONE; recovered.recorded.works.len()];
        for (op, (work, offset)) in recovered.works.iter().enumerate().rev() {
            if *offset == 0 {
                ops[*work as usize] = OpId::new(op);
            }
        }
        let (index, activity) = (Index::of(trace), Activity::of(trace));
        let (kinds, fresh) = (replay::stream_kinds(trace), fresh(trace, model));
        Material { trace, index, recovered, model, window, ops, activity, fresh, kinds, warms_up }
    }

    /// The rounds of these threads.
    fn drafts(&self, threads: &Chosen) -> Drafts {
        let (mut graphs, mut left_out) = (Graphs::default(), LeftOut::new());
        let mut own: FxHashMap<Thing, Vec<Ns>> = FxHashMap::default();
        let mut members = Vec::new();
        let from = Sources {
            trace: self.trace,
            index: &self.index,
            recovered: self.recovered,
            ops: &self.ops,
            activity: &self.activity,
            fresh: &self.fresh,
            window: self.window,
        };
        for (row, thread) in self.recovered.threads.iter().enumerate() {
            let Some((thread, role)) = thread.and_then(|thread| Some((thread, *threads.get(&thread)?)))
            else {
                continue;
            };
            let mut reader = Reader::new(&from, row, &mut graphs, &mut left_out);
            let items = reader.read();
            std::mem::take(&mut reader.own)
                .into_iter()
                .for_each(|(of, ns)| own.entry(of).or_default().extend(ns));
            let Some(mut round) = fold::round(fold::fold(items)) else { continue };
            let changed = balance::balance(&mut round.body);
            if changed > 0 {
                *left_out
                    .entry("ends of what a round did not make, or missing ends of what it made")
                    .or_default() += changed;
            }
            if !round.body.is_empty() {
                members.push(Member { thread, role, round });
            }
        }
        members.truncate(workload::MOST_THREADS);
        members.sort_by_key(|member| (member.role, member.thread));
        let sizes = own
            .into_iter()
            .filter_map(|(thing, ns)| Some((thing, self.bytes(thing, median(ns.into_iter()))?)));
        let gpus = made::devices(self.trace, &members);
        Drafts { members, gpus, graphs, sizes: sizes.collect(), left_out }
    }

    /// The size of memory that takes so long to allocate on the model: traces do not have it.
    fn bytes(&self, thing: Thing, ns: Ns) -> Option<u64> {
        /// The unit of device memory, and of host memory, in bytes.
        const BLOCK: u64 = 2 << 20;
        const PAGE: u64 = 4096;
        let calls = &self.model.calls;
        let (rule, fixed, unit, most) = match thing {
            Thing::Device | Thing::Managed => (&calls.allocate, calls.blocks_ns, BLOCK, 512),
            Thing::Pinned => (&calls.host_allocate, 0, PAGE, 65_536),
            Thing::Registration => (&calls.register, 0, PAGE, 65_536),
            Thing::Pool => return Some(BLOCK),
            Thing::Stream | Thing::Event => return None,
        };
        let own = ns - rule.before_ns - rule.held_ns - rule.after_ns - fixed;
        let units = own.max(0) as f64 / rule.unit_ns.max(1.0);
        Some(unit * (units as u64).clamp(1, most))
    }

    /// Makes the workload on so many GPUs and runs it; `None` if there is nothing to run.
    fn run(
        &self,
        drafts: &Drafts,
        gpus: u32,
        finding: &explain::Finding,
        explain: Explain<'_>,
    ) -> Option<Reproduction> {
        if drafts.members.is_empty() {
            return None;
        }
        let parts = Parts {
            trace: self.trace,
            model: self.model,
            kinds: &self.kinds,
            shares: (gpus.min(drafts.gpus), drafts.gpus),
            graphs: &drafts.graphs.all,
            sizes: &drafts.sizes,
            warms_up: self.warms_up,
            shrinks: build::shrinks(&drafts.members, LASTS),
            lasts: LASTS,
        };
        let workload = build::build(&parts, &drafts.members, gpus);
        let mut model = self.model.clone();
        model.device.count = model.device.count.max(gpus);
        Some(Reproduction {
            shown: shown(&workload, &model, finding, explain),
            workload,
            model: self.model.name.clone(),
            gpus,
            gpus_in_trace: drafts.gpus,
            shrinks: parts.shrinks,
            threads: drafts.members.len(),
            threads_in_trace: self.recovered.threads.iter().flatten().count(),
            left_out: drafts.left_out.iter().map(|(what, count)| (*what, *count)).collect(),
        })
    }
}
