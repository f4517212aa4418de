//! The account: where all of each GPU's and each thread's time went. Its parts add up to the time, to the nanosecond.
//!
//! `activity.rs` has what the threads did: in which call, wait or pause each was. The scheduler's numbers divide the pauses
//! (`outside.rs`), and samples name their places (`spots.rs`). Each gap of a GPU (`gaps.rs`) is blamed on the thread whose
//! operation ended it, and through proven waits on the thread that it waited for (`blame.rs`).

mod activity;
mod blame;
mod gaps;
mod idle;
mod outside;
mod parts;
mod roots;
mod spots;

pub use idle::{Idle, IdlePart, IdleReason};
pub(crate) use parts::CallParts;

use crate::facts::Facts;
use crate::{Cause, Place};
use activity::Activity;
use blame::Blame;
use gaps::Timeline;
use outside::Outside;
use roots::{Charges, Culprit};
use serde::Serialize;
use spots::Spots;
use std::collections::BTreeMap;
use trace::{Clock, Ns, OpId, ThreadId, Trace};

/// The accounts of a trace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Accounts {
    /// Why the idle time of GPUs has no causes; `None` if it has.
    pub refused: Option<Refusal>,
    /// The GPUs with operations, by device.
    pub gpus: Vec<GpuAccount>,
    /// The threads, in the trace's order.
    pub threads: Vec<ThreadAccount>,
    /// The idle time of the GPUs one by one, for outputs that draw it; empty unless [`crate::explain_each`] made it.
    #[serde(skip)]
    pub idle: Idle,
}

/// What keeps a trace from showing why GPUs were idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// More than one record in a thousand was lost: a GPU that seems idle may have worked.
    Lost,
    /// The clocks of host and GPU cannot be compared.
    Clock,
}

impl Refusal {
    fn of(trace: &Trace) -> Option<Refusal> {
        let lost = &trace.meta.lost;
        let kept = (trace.calls.len() + trace.ops.len()) as u64;
        if lost.records.saturating_mul(1000) > kept || lost.truncated {
            return Some(Refusal::Lost);
        }
        (trace.meta.clock == Clock::Separate).then_some(Refusal::Clock)
    }
}

/// A GPU's time.
#[derive(Clone, Debug, Serialize)]
pub struct GpuAccount {
    /// CUDA device index.
    pub device: i64,
    /// Marketing name.
    pub name: String,
    /// From the first call of any process that uses it to the end of its last operation, ns.
    pub span_ns: Ns,
    /// Time with any operation of any stream, context and process, ns.
    pub busy_ns: Ns,
    /// The rest by root cause, most first; with `busy_ns` it adds up to `span_ns`.
    pub idle: Vec<AccountPart>,
}

/// A thread's time.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadAccount {
    /// Process id.
    pub pid: i64,
    /// Thread id, as the source gives it.
    pub tid: i64,
    /// The thread's name.
    pub name: String,
    /// From its first event to its last, ns.
    pub span_ns: Ns,
    /// Number of its CUDA calls; nested ones count once.
    pub calls: u64,
    /// That time by what the thread did, most first; adds up to `span_ns`.
    pub parts: Vec<AccountPart>,
}

/// A part of a time.
#[derive(Clone, Debug, Serialize)]
pub struct AccountPart {
    /// The cause.
    pub cause: Cause,
    /// Its time, ns.
    pub ns: Ns,
    /// Where in the source, most time first; at most three.
    #[serde(rename = "where")]
    pub places: Vec<Place>,
    /// The calls in which, or before which, the time passed, most first; at most three.
    pub calls: Vec<String>,
}

/// Places and calls that a part shows.
const SHOWN: usize = 3;

/// The accounts of the GPUs and threads of a trace within a window; with `each`, every single part of the idle time too.
pub(crate) fn accounts(facts: &Facts<'_>, parts: &CallParts, window: (Ns, Ns), each: bool) -> Accounts {
    let trace = facts.trace;
    let activity = Activity::new(facts, parts);
    let spans = activity::spans(trace);
    let mut outside = Outside::new(facts, &activity, &spans);
    let spots = Spots::new(trace, &mut outside);
    let blame = Blame { facts, activity: &activity, outside: &outside, spots: &spots };
    let gpus = || {
        let mut idle = Idle::default();
        let timelines = gaps::timelines(trace, window);
        let gpus =
            timelines.iter().map(|timeline| gpu(&blame, timeline, each.then_some(&mut idle))).collect();
        (gpus, idle)
    };
    let chosen = spans.into_iter().map(|(first, last)| (first.max(window.0), last.min(window.1)));
    let threads = trace.threads.ids().zip(chosen).filter(|(_, (first, last))| first < last);
    // Neither needs the other.
    let ((gpus, idle), threads) = std::thread::scope(|scope| {
        let gpus = scope.spawn(gpus);
        let threads = threads.map(|(thread, span)| self::thread(&blame, thread, span)).collect();
        (gpus.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), threads)
    });
    Accounts { refused: Refusal::of(trace), gpus, threads, idle }
}

fn gpu(blame: &Blame<'_>, timeline: &Timeline<'_>, mut each: Option<&mut Idle>) -> GpuAccount {
    let trace = blame.facts.trace;
    let floor = floor(trace, timeline);
    let mut charges = Charges::kept(each.is_some());
    let first = each.as_ref().map_or(0, |each| each.parts.len());
    let mut idle = 0;
    for gap in timeline.gaps() {
        blame.gap(&mut charges, timeline.device, &gap, floor);
        idle += gap.length();
        if let (Some(each), Some(trail)) = (&mut each, charges.trail()) {
            each.add(timeline.device, &gap, trail);
        }
    }
    if let Some(each) = each {
        each.name(blame, &mut charges, first);
    }
    let span_ns = timeline.span.1 - timeline.span.0;
    GpuAccount {
        device: trace.devices.ordinal[timeline.device.index()],
        name: trace.text(trace.devices.name[timeline.device.index()]).to_owned(),
        span_ns,
        busy_ns: span_ns - idle,
        idle: by_cause(blame, &charges),
    }
}

/// The time that a launch into an idle GPU takes to start once its call returned, ns: the 10th percentile of those that
/// ended a gap.
fn floor(trace: &Trace, timeline: &Timeline<'_>) -> Ns {
    let latency = |op: OpId| {
        let call = trace.ops.call[op.index()].some()?;
        let took = trace.ops.start[op.index()] - trace.calls.end[call.index()];
        (took > 0).then_some(took)
    };
    let mut latencies: Vec<Ns> = timeline.gaps().filter_map(|gap| latency(gap.next)).collect();
    if latencies.is_empty() {
        return 0;
    }
    let tenth = latencies.len() / 10;
    *latencies.select_nth_unstable(tenth).1
}

fn thread(blame: &Blame<'_>, thread: ThreadId, (first, last): (Ns, Ns)) -> ThreadAccount {
    let trace = blame.facts.trace;
    let mut charges = Charges::default();
    blame.activity.walk(thread, first, last, |segment| blame.alone(&mut charges, thread, &segment));
    let row = trace.threads.row(thread);
    ThreadAccount {
        pid: row.process.some().map_or(0, |process| trace.processes.pid[process.index()]),
        tid: row.tid,
        name: trace.text(row.name).to_owned(),
        span_ns: last - first,
        calls: blame.facts.calls_by_thread()[thread.index()].len() as u64,
        parts: by_cause(blame, &charges),
    }
}

/// What was charged, by cause, most time first.
fn by_cause(blame: &Blame<'_>, charges: &Charges) -> Vec<AccountPart> {
    let mut causes = BTreeMap::<Cause, (Ns, Vec<(Ns, Culprit)>)>::new();
    for (root, ns) in charges.rows() {
        let (sum, culprits) = causes.entry(root.cause).or_default();
        *sum += ns;
        culprits.push((*ns, root.culprit));
    }
    let part = |(cause, (ns, mut culprits)): (Cause, (Ns, Vec<(Ns, Culprit)>))| {
        culprits.sort_by_key(|(ns, culprit)| (std::cmp::Reverse(*ns), *culprit));
        let (mut places, mut calls) = (Vec::new(), Vec::new());
        for (_, culprit) in culprits {
            name(blame, culprit, &mut places, &mut calls);
        }
        AccountPart { cause, ns, places, calls }
    };
    let mut parts: Vec<AccountPart> = causes.into_iter().map(part).collect();
    parts.sort_by_key(|part| (std::cmp::Reverse(part.ns), part.cause));
    parts
}

/// Adds the place or the call of a culprit, as far as there is room.
fn name(blame: &Blame<'_>, culprit: Culprit, places: &mut Vec<Place>, calls: &mut Vec<String>) {
    let mut call = |name: &str| {
        if calls.len() < SHOWN && !name.is_empty() && !calls.iter().any(|known| known == name) {
            calls.push(name.to_owned());
        }
    };
    match culprit {
        Culprit::Part(key) => call(blame.facts.trace.text(key.waiter.name())),
        Culprit::Call(_, name) | Culprit::Before(_, name) => call(blame.facts.trace.text(name)),
        Culprit::Spot(_, spot) => {
            let place = blame.spots.row(spot);
            if places.len() < SHOWN && !places.contains(place) {
                places.push(place.clone());
            }
        }
        Culprit::Lock(..) | Culprit::Between(_) | Culprit::Device(_) => {}
    }
}
