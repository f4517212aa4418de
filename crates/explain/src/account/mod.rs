//! The account: where all of each GPU's and each thread's time went. Its parts add up to the time, to the nanosecond.
//!
//! `activity.rs` has what the threads did: in which call, wait or pause each was. The scheduler's numbers divide the pauses
//! (`outside.rs`), and samples name their places (`sites.rs`, `settle.rs`). Each gap of a GPU (`gaps.rs`) is blamed on the thread whose
//! operation ended it, and through proven waits on the thread that it waited for (`blame.rs`).

mod activity;
mod blame;
mod busy;
pub(crate) mod collectives;
mod gaps;
mod held_back;
mod idle;
mod lateness;
mod outside;
mod parts;
mod ranks;
mod requests;
mod roots;
mod sampled;
mod settle;
mod sites;
mod start_up;
mod steps;
mod streams;

pub use busy::Busy;
pub use collectives::collectives;
pub use idle::{Idle, IdlePart, IdleReason};
pub(crate) use parts::CallParts;
pub use ranks::{Rank, Ranks};
pub(crate) use roots::{Culprit, Link, PartRoots, Root, Row};
pub(crate) use sampled::{Costs, Sampled};
pub(crate) use sites::SpotId;
pub use start_up::StartUp;
pub(crate) use streams::shared_queues;
pub use streams::{Behind, HeldBack, OperationWait, SharedQueue, StreamAccount, WaitPart};

use crate::facts::Facts;
use crate::places::place_of_stack;
use crate::refusal::Refusal;
use crate::scope::Scope;
use crate::steps::{FoundStep, Steps, busiest};
use crate::{Cause, Place};
use activity::Activity;
use blame::Blame;
use busy::OverTime;
use collectives::Collectives;
use gaps::Timeline;
use lateness::Lateness;
use outside::Outside;
use roots::{Charges, Path};
use serde::Serialize;
use sites::Sites;
use std::collections::BTreeMap;
use steps::Cutting;
use streams::Waiting;
use trace::{Ns, OpId, ThreadId, Trace};

/// The accounts of a trace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Accounts {
    /// Why the idle time of GPUs has no causes; `None` if it has.
    pub refused: Option<Refusal>,
    /// The part of the time that the accounts cover, if that is not all of the selected time.
    pub steady: Option<Steady>,
    /// The start-up, if the program has one that stands out.
    pub start_up: Option<StartUp>,
    /// The GPUs with operations, by device.
    pub gpus: Vec<GpuAccount>,
    /// The threads, in the trace's order.
    pub threads: Vec<ThreadAccount>,
    /// The streams with operations, by device, in the trace's order.
    pub streams: Vec<StreamAccount>,
    /// Which rank was late at the collectives; `None` where no collective's ranks are all known.
    pub ranks: Option<Ranks>,
    /// The idle time of the GPUs one by one, for outputs that draw it; empty unless [`crate::explain_each`] made it.
    #[serde(skip)]
    pub idle: Idle,
}

/// The part of a program's time that its accounts are of: what it repeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Steady {
    /// Start, ns from the trace's start.
    pub start_ns: Ns,
    /// End, ns from the trace's start.
    pub end_ns: Ns,
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
    /// Time with any operation of any stream, context and process, ns. A collective's kernel that waits for a later rank is
    /// none.
    pub busy_ns: Ns,
    /// `busy_ns` by what it did.
    pub busy: Busy,
    /// The busy share of each of some equal parts of its time, 0 to 1.
    #[serde(skip)]
    pub busy_over_time: Vec<f64>,
    /// The part of `busy_ns` in which nothing but communication ran: kernels that exchange data between GPUs, and copies
    /// between them.
    pub exposed_communication_ns: Ns,
    /// Idle time in which a collective's kernel waited for a later rank, ns; `None` if its collectives have no counterpart in
    /// the trace, so that this time is a part of `exposed_communication_ns`.
    pub collective_wait_ns: Option<Ns>,
    /// The rest by root cause, most first; with `busy_ns` it adds up to `span_ns`.
    pub idle: Vec<AccountPart>,
    /// The part of `busy_ns` in which there was room and an operation was ready and waited, or a call that would have asked
    /// for one waited for a lock, by cause, most first. The room is
    /// estimated from the kernels' grids, registers and shared memory.
    pub held_back: Vec<HeldBack>,
}

impl GpuAccount {
    /// Its time before its first operation, ns.
    pub fn start_up_ns(&self) -> Ns {
        self.idle.iter().filter(|part| part.cause == Cause::StartUp).map(|part| part.ns).sum()
    }

    /// Its time from its first operation on, ns: of what shares are parts.
    pub fn working_ns(&self) -> Ns {
        self.span_ns - self.start_up_ns()
    }
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
    /// Activity of the thread by cause, most first; adds up to `span_ns`.
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
    /// The finding that has most of this time; `None` if most of it is in none.
    pub finding: Option<String>,
    /// The time at each place, or in each call, most first; adds up to `ns`.
    #[serde(skip)]
    pub spent: Vec<Spent>,
}

/// A part of a time at one place, or in or before calls of one name.
#[derive(Clone, PartialEq, Debug)]
pub struct Spent {
    /// Where in the source; `None` if it is unknown.
    pub place: Option<Place>,
    /// The call, where the place is unknown; empty if that is, too.
    pub call: String,
    /// The time, ns.
    pub ns: Ns,
}

/// Places and calls that a part shows.
const SHOWN: usize = 3;

/// The smallest part of the GPUs' time that makes a root a finding by itself, and of their time with start-up: one in this many.
/// Choices.
const WORTH: Ns = 100;
const WORTH_OF_ALL: Ns = 1_000;

/// Extent of the results that are made of a trace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Only what each root cost the GPUs.
    Costs,
    /// The accounts, too.
    Accounts,
    /// Every single part of the idle time, too.
    Each,
}

/// The accounts of the GPUs and threads of a trace within a scope, and of its steps, and what each root cost the GPUs; with
/// `each`, every single part of the idle time of the whole trace, too.
pub(crate) fn accounts(
    facts: &Facts<'_>,
    parts: &CallParts,
    scope: &Scope,
    each: bool,
) -> (Accounts, Option<Steps>, Costs) {
    make(facts, parts, scope, if each { Extent::Each } else { Extent::Accounts })
}

/// The costs of the roots of a trace: as [`accounts`], without the parts that only reports need.
pub(crate) fn costs(facts: &Facts<'_>, parts: &CallParts, scope: &Scope) -> Costs {
    make(facts, parts, scope, Extent::Costs).2
}

fn make(
    facts: &Facts<'_>,
    parts: &CallParts,
    scope: &Scope,
    extent: Extent,
) -> (Accounts, Option<Steps>, Costs) {
    let window = scope.window;
    let (each, for_people) = (extent == Extent::Each, extent != Extent::Costs);
    let trace = facts.trace;
    let activity = Activity::new(facts, parts);
    let spans = activity::spans(trace);
    let mut outside = Outside::new(facts, &activity, &spans);
    let found = scope.steps.as_ref();
    let found = found.map(|found| requests::apart(facts, &activity, &mut outside, found, &spans));
    let found = found.as_ref();
    let sites = Sites::new(trace, &activity, &mut outside);
    let collectives = Collectives::of(facts);
    let lateness = &Lateness::default();
    let blame = Blame { facts, activity: &activity, outside: &outside, sites: &sites, lateness };
    let lateness = &Lateness::of(&blame, &collectives);
    let blame = Blame { lateness, ..blame };
    let timelines = gaps::timelines(trace, window, &collectives);
    let of_steps = found.and_then(|found| busiest(trace, trace.process_of_thread(found.thread)));
    let cuts = |timeline: &Timeline<'_>| {
        let found = found.filter(|_| of_steps == Some(timeline.device));
        found.map_or(&[][..], |found| &found.steps)
    };
    let gpus = || {
        timelines
            .iter()
            .map(|timeline| gpu(&blame, timeline, &collectives, cuts(timeline), each))
            .collect::<Vec<_>>()
    };
    let refused = Refusal::of(trace);
    let of_streams = |timeline| {
        let waiting = Waiting::of(facts, timeline, window, floor(trace, timeline));
        let held_back = held_back::rows(&blame, timeline, &waiting);
        (waiting, held_back)
    };
    let streams =
        || timelines.iter().filter(|_| refused.is_none()).map(of_streams).unzip::<_, _, Vec<_>, Vec<_>>();
    let chosen = spans.iter().map(|(first, last)| ((*first).max(window.0), (*last).min(window.1)));
    let threads: Vec<_> =
        trace.threads.ids().zip(chosen).filter(|(_, (first, last))| for_people && first < last).collect();
    let of_these = |threads: &[(ThreadId, (Ns, Ns))]| {
        threads.iter().map(|(thread, span)| self::thread(&blame, *thread, *span)).collect::<Vec<_>>()
    };
    let (some, others) = threads.split_at(threads.len() / 2);
    // None needs the others. On few processors, those that are short end first, and the threads take two to the end.
    let (gpus, (waiting, held_back), threads) = std::thread::scope(|scope| {
        let (gpus, streams, others) =
            (scope.spawn(gpus), scope.spawn(streams), scope.spawn(|| of_these(others)));
        let threads = of_these(some);
        (join(gpus), join(streams), threads.into_iter().chain(join(others)))
    });
    let (threads, of_threads) = threads.unzip();
    let mut parts = PartRoots { threads: of_threads, ..PartRoots::default() };
    let (mut accounts, mut rows, mut charged_steps, mut idle) =
        (Vec::new(), Vec::new(), None, Idle::default());
    let mut held_back = held_back.into_iter();
    for (at, (timeline, mut gpu)) in timelines.iter().zip(gpus).enumerate() {
        if let (Some(waiting), Some((ready, asking))) = (waiting.get(at), held_back.next()) {
            gpu.account.held_back = waiting.held_back(trace);
            gpu.account.held_back.extend(held_back::of_calls(&asking));
            gpu.account.held_back.sort_by_key(|held| (std::cmp::Reverse(held.part.ns), held.part.cause));
            parts.held_back.push(charged(ready.iter().chain(&asking)));
            if for_people {
                parts.streams.extend(held_back::of_streams(&blame, waiting));
            }
            rows.extend(ready.into_iter().chain(asking));
        }
        parts.gpus.push(charged(&gpu.rows));
        accounts.push(gpu.account);
        idle.append(gpu.idle);
        rows.extend(gpu.rows);
        if of_steps == Some(timeline.device) {
            charged_steps = Some((timeline, gpu.steps));
        }
    }
    for rest in scope.rest().into_iter().filter(|_| each && scope.is_steady) {
        for timeline in gaps::timelines(trace, rest, &collectives) {
            idle.append(gpu(&blame, &timeline, &collectives, &[], true).idle);
        }
    }
    idle.parts.sort_by_key(|part| (part.device, part.start));
    let steps = found.filter(|_| for_people).map(|found| steps::steps(&blame, found, charged_steps, each));
    let steps = steps.map(|(steps, roots)| {
        parts.steps = roots;
        steps
    });
    let known = if refused.is_some() { 0 } else { accounts.iter().map(GpuAccount::working_ns).sum() };
    let all: Ns = accounts.iter().map(|gpu| gpu.span_ns).sum();
    let worth_ns = (known / WORTH).max(all / WORTH_OF_ALL).max(1);
    let rows = if known == 0 { Vec::new() } else { roots::united(rows) };
    let streams = waiting.into_iter().flat_map(|waiting| waiting.streams).collect();
    let is_known = for_people && refused.is_none();
    let ranks = is_known.then(|| ranks::ranks(&blame, &timelines, &collectives, window)).flatten();
    let steady = scope.is_steady.then_some(Steady { start_ns: window.0, end_ns: window.1 });
    let started = scope.started.filter(|_| for_people);
    let start_up = started.map(|started| start_up::of(&blame, &spans, started));
    (
        Accounts { refused, steady, start_up, gpus: accounts, threads, streams, ranks, idle },
        steps,
        Costs { rows, gpu_ns: known, worth_ns, parts, window, sites },
    )
}

/// The wait of each operation, by GPU; none if the account is refused.
pub(crate) fn operation_waits(facts: &Facts<'_>) -> Vec<OperationWait> {
    let timelines = gaps::timelines(facts.trace, (Ns::MIN, Ns::MAX), &Collectives::default());
    let timelines = timelines.iter().filter(|_| Refusal::of(facts.trace).is_none());
    timelines
        .flat_map(|timeline| streams::operation_waits(facts, timeline, floor(facts.trace, timeline)))
        .collect()
}

fn join<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A GPU's time.
struct Gpu {
    account: GpuAccount,
    /// Cost of each root to it.
    rows: Vec<Row>,
    /// Charges of each of some steps.
    steps: Vec<Vec<Row>>,
    idle: Idle,
}

fn gpu(
    blame: &Blame<'_>,
    timeline: &Timeline<'_>,
    collectives: &Collectives,
    steps: &[FoundStep],
    each: bool,
) -> Gpu {
    let trace = blame.facts.trace;
    let mut cutting = Cutting::new(blame, timeline.device, floor(trace, timeline), steps, each);
    let (mut idle_ns, mut wait_ns, mut over_time) = (0, 0, OverTime::new(timeline.span));
    for gap in timeline.gaps() {
        cutting.charge(&gap);
        over_time.add(&gap);
        idle_ns += gap.length();
        wait_ns += if gap.awaited.is_some() { gap.length() } else { 0 };
    }
    let (mut charges, steps) = cutting.done();
    let span_ns = timeline.span.1 - timeline.span.0;
    let trail = charges.trail();
    let rows = charges.done();
    let idle = trail.map_or_else(Idle::default, |trail| Idle::of(blame, timeline.device, &rows, trail));
    let rows = settle::settle(rows, blame.sites);
    let computing_ns =
        lateness::computes(trace, timeline).map(|times| times.part(timeline.span.0, timeline.span.1));
    let is_known = computing_ns.is_none() || collectives.have(timeline.device);
    let busy_ns = span_ns - idle_ns;
    let account = GpuAccount {
        device: trace.devices.ordinal[timeline.device.index()],
        name: trace.text(trace.devices.name[timeline.device.index()]).to_owned(),
        span_ns,
        busy_ns,
        busy: Busy::of(trace, timeline),
        busy_over_time: over_time.busy(),
        exposed_communication_ns: computing_ns.map_or(0, |computing| busy_ns - computing),
        collective_wait_ns: is_known.then_some(wait_ns),
        idle: by_cause(blame, &charged(&rows)),
        held_back: Vec::new(),
    };
    Gpu { account, rows, steps, idle }
}

/// The time that a launch into an idle GPU takes to start once its call returned, ns: the 10th percentile of those that
/// ended a gap.
fn floor(trace: &Trace, timeline: &Timeline<'_>) -> Ns {
    let latency = |op: OpId| {
        let call = trace.ops.call[op.index()].some()?;
        let took = trace.ops.start[op.index()] - trace.calls.end[call.index()];
        (took > 0).then_some(took)
    };
    let mut latencies: Vec<Ns> =
        timeline.gaps().filter(|gap| gap.awaited.is_none()).filter_map(|gap| latency(gap.next)).collect();
    if latencies.is_empty() {
        return 0;
    }
    let tenth = latencies.len() / 10;
    *latencies.select_nth_unstable(tenth).1
}

/// A thread's time, and the roots of its parts.
fn thread(blame: &Blame<'_>, thread: ThreadId, (first, last): (Ns, Ns)) -> (ThreadAccount, Vec<(Root, Ns)>) {
    let trace = blame.facts.trace;
    let mut charges = Charges::default();
    blame.activity.walk(thread, first, last, |segment| {
        blame.alone(&mut charges, &Path::of(thread), &segment);
    });
    let row = trace.threads.row(thread);
    let roots = charged(&settle::settle(charges.done(), blame.sites));
    let account = ThreadAccount {
        pid: row.process.some().map_or(0, |process| trace.processes.pid[process.index()]),
        tid: row.tid,
        name: trace.text(row.name).to_owned(),
        span_ns: last - first,
        calls: blame.facts.calls_by_thread()[thread.index()].len() as u64,
        parts: by_cause(blame, &roots),
    };
    (account, roots)
}

/// The time of each root.
fn charged<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Vec<(Root, Ns)> {
    rows.into_iter().map(|row| (row.root, row.ns)).collect()
}

/// Charged time by cause, most first.
fn by_cause(blame: &Blame<'_>, charges: &[(Root, Ns)]) -> Vec<AccountPart> {
    let mut causes = BTreeMap::<Cause, BTreeMap<Culprit, Ns>>::new();
    for (root, ns) in charges {
        *causes.entry(root.cause).or_default().entry(root.culprit).or_default() += ns;
    }
    let part = |(cause, culprits): (Cause, BTreeMap<Culprit, Ns>)| {
        let ns = culprits.values().sum();
        let mut culprits: Vec<(Ns, Culprit)> =
            culprits.into_iter().map(|(culprit, ns)| (ns, culprit)).collect();
        culprits.sort_by_key(|(ns, culprit)| (std::cmp::Reverse(*ns), *culprit));
        let (mut places, mut calls) = (Vec::new(), Vec::new());
        for (_, culprit) in &culprits {
            name(blame, *culprit, &mut places, &mut calls);
        }
        AccountPart { cause, ns, places, calls, finding: None, spent: spent(blame, &culprits) }
    };
    let mut parts: Vec<AccountPart> = causes.into_iter().map(part).collect();
    parts.sort_by_key(|part| (std::cmp::Reverse(part.ns), part.cause));
    parts
}

/// The times of culprits by place or call, most first.
fn spent(blame: &Blame<'_>, culprits: &[(Ns, Culprit)]) -> Vec<Spent> {
    let mut sums = BTreeMap::<(Option<Place>, String), Ns>::new();
    for (ns, culprit) in culprits {
        let (mut places, mut calls) = (Vec::new(), Vec::new());
        name(blame, *culprit, &mut places, &mut calls);
        *sums.entry((places.pop(), calls.pop().unwrap_or_default())).or_default() += ns;
    }
    let mut spent: Vec<_> = sums
        .into_iter()
        .map(|((place, call), ns)| Spent { place, call, ns })
        .filter(|row| row.ns != 0)
        .collect();
    spent.sort_by_key(|row| std::cmp::Reverse(row.ns));
    spent
}

/// Adds the place or the call of a culprit, as far as there is room.
fn name(blame: &Blame<'_>, culprit: Culprit, places: &mut Vec<Place>, calls: &mut Vec<String>) {
    let mut call = |name: &str| {
        if calls.len() < SHOWN && !name.is_empty() && !calls.iter().any(|known| known == name) {
            calls.push(name.to_owned());
        }
    };
    let mut place = |place: &Place| {
        if places.len() < SHOWN && !places.contains(place) {
            places.push(place.clone());
        }
    };
    let trace = blame.facts.trace;
    match culprit {
        Culprit::Part(key) => call(trace.text(key.waiter.name())),
        Culprit::Call(_, name, stack) => {
            call(trace.text(name));
            place_of_stack(trace, stack).iter().for_each(place);
        }
        Culprit::Before(_, name) => call(trace.text(name)),
        Culprit::Spot(_, spot) | Culprit::Lock(_, _, Some(spot)) => place(blame.sites.place(spot)),
        Culprit::Lock(_, _, None) | Culprit::Between(_) | Culprit::Device(_) => {}
        // Settled.
        Culprit::Site(_) | Culprit::Held(..) => {}
    }
}
