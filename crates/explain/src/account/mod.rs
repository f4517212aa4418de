//! The account: where all of each GPU's and each thread's time went. Its parts add up to the time, to the nanosecond.
//!
//! `activity.rs` has what the threads did: in which call, wait or pause each was. The scheduler's numbers divide the pauses
//! (`outside.rs`), and samples name their places (`sites.rs`, `settle.rs`). Each gap of a GPU (`gaps.rs`) is blamed on the thread whose
//! operation ended it, and through proven waits on the thread that it waited for (`blame.rs`).

mod activity;
mod blame;
mod busy;
mod by_cause;
pub(crate) mod collectives;
mod contended;
mod division;
mod filling;
mod gaps;
mod held_back;
mod idle;
mod interpreters;
mod known_calls;
mod late;
mod lateness;
mod margin;
mod model;
mod naming;
mod outside;
mod part;
mod parts;
mod ranks;
mod requests;
mod roots;
mod sampled;
mod segment;
mod settle;
mod shared;
mod sites;
mod slept;
mod steps;
mod streams;
mod sums;
mod thread;
mod trail;

pub use busy::{Busy, MainOperations};
pub use collectives::collectives;
pub use filling::SmallKernels;
pub use idle::{Idle, IdlePart, IdleReason};
pub use margin::Margin;
pub use model::{Accounts, GpuAccount, Steady};
pub(crate) use naming::SpotId;
pub use part::{AccountPart, Spent, ThreadAccount};
pub(crate) use parts::CallParts;
pub use ranks::{Rank, Ranks};
pub(crate) use roots::{Culprit, Link, PartRoots, Root, Row};
pub(crate) use sampled::{Costs, Sampled};
pub(crate) use segment::is_for_work;
pub use steps::{OneStep, SlowStep, StepTime, Steps};
pub use streams::{Behind, HeldBack, StreamAccount, WaitPart};
pub(crate) use sums::add_to;

use crate::facts::Facts;
use crate::findings::scope::Scope;
use crate::result::refusal::Refusal;
use crate::steps::{FoundStep, busiest};
use activity::Activity;
use blame::Blame;
use busy::OverTime;
use by_cause::{by_cause, charged};
use collectives::Collectives;
use contended::ContendedLocks;
use gaps::Timeline;
use held_back::HeldRows;
use lateness::Lateness;
use outside::Outside;
use sites::Sites;
use steps::Cutting;
use streams::Waiting;
use trace::{DeviceId, Ns, ThreadId};

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
    let (trace, window) = (facts.trace, scope.window);
    let (each, for_people) = (extent == Extent::Each, extent != Extent::Costs);
    let activity = Activity::new(facts, parts);
    let spans = activity::spans(trace);
    let mut outside = Outside::new(facts, &activity, &spans);
    let apart = |found| requests::apart(facts, &activity, &mut outside, found, &spans);
    let found = scope.steps.as_ref().map(apart);
    let found = found.as_ref();
    let sites = Sites::new(trace, &activity, &mut outside);
    let collectives = Collectives::of(facts);
    let (lateness, contended) = (&Lateness::default(), &ContendedLocks::of(facts, &sites));
    let blame = Blame { facts, activity: &activity, outside: &outside, sites: &sites, lateness, contended };
    let lateness = &late::lateness(&blame, &collectives);
    let blame = Blame { lateness, ..blame };
    let timelines = gaps::timelines(trace, window, &collectives);
    let of_steps = found.and_then(|found| busiest(trace, trace.process_of_thread(found.thread)));
    let refused = Refusal::of(trace);
    let cuts = |device| found.filter(|_| of_steps == Some(device)).map_or(&[][..], |found| &found.steps);
    let gpu_of = |timeline: &Timeline<'_>| gpu(&blame, timeline, &collectives, cuts(timeline.device), each);
    let known = if refused.is_none() { &timelines[..] } else { &[] };
    let threads = if for_people { within(&spans, window) } else { Vec::new() };
    let (gpus, (waiting, held_back), threads) = side_by_side(
        || timelines.iter().map(gpu_of).collect::<Vec<_>>(),
        || known.iter().map(|timeline| of_streams(&blame, timeline, window)).unzip::<_, _, Vec<_>, Vec<_>>(),
        |(thread, span)| thread::thread(&blame, thread, span),
        &threads,
    );
    let (threads, of_threads) = threads.into_iter().unzip();
    let held = waiting.iter().zip(held_back);
    let mut charges = Charges::of(&blame, (&timelines, of_steps), gpus, held, for_people);
    charges.parts.threads = of_threads;
    for rest in scope.rest().into_iter().filter(|_| each && scope.is_steady) {
        let others = gaps::timelines(trace, rest, &collectives);
        others.iter().for_each(|other| charges.idle.append(gpu(&blame, other, &collectives, &[], true).idle));
    }
    let Charges { gpus, rows, mut parts, mut idle, steps: of_steps } = charges;
    idle.parts.sort_by_key(|part| (part.device, part.start));
    let steps = found.filter(|_| for_people).map(|found| {
        let (steps, roots) = steps::steps(&blame, found, of_steps, each);
        parts.steps = roots;
        steps
    });
    let (gpu_ns, worth_ns) = worth(&gpus, refused.is_some());
    let rows = if gpu_ns == 0 { Vec::new() } else { roots::united(rows) };
    let streams = waiting.into_iter().flat_map(|waiting| waiting.streams).collect();
    let is_known = for_people && refused.is_none();
    let ranks = is_known.then(|| ranks::ranks(&blame, &timelines, &collectives, window)).flatten();
    let steady = scope.is_steady.then_some(Steady { start_ns: window.0, end_ns: window.1 });
    let margin = |span: (Ns, Ns)| for_people.then(|| margin::of(&blame, &spans, span));
    let start_up = scope.started.and_then(|started| margin((Ns::MIN, started)));
    let ending = scope.ended.and_then(|ended| margin((ended, Ns::MAX)));
    let accounts = Accounts { refused, steady, start_up, ending, gpus, threads, streams, ranks, idle };
    (accounts, steps, Costs { rows, gpu_ns, worth_ns, parts, window, sites })
}

/// The time that costs are shares of, and the least of it that makes a root a finding, ns.
fn worth(gpus: &[GpuAccount], is_refused: bool) -> (Ns, Ns) {
    let gpu_ns = if is_refused { 0 } else { gpus.iter().map(GpuAccount::working_ns).sum() };
    let all: Ns = gpus.iter().map(|gpu| gpu.span_ns).sum();
    (gpu_ns, (gpu_ns / WORTH).max(all / WORTH_OF_ALL).max(1))
}

/// Charges of the GPUs' times so far.
#[derive(Default)]
struct Charges<'a> {
    gpus: Vec<GpuAccount>,
    rows: Vec<Row>,
    parts: PartRoots,
    idle: Idle,
    /// The GPU that the steps are of, and the charges of each.
    steps: Option<(&'a Timeline<'a>, Vec<Vec<Row>>)>,
}

impl<'a> Charges<'a> {
    /// Charges of GPUs, each with what held it back if that is known. `of_steps` is the one that the steps are of.
    fn of<'w>(
        blame: &Blame<'_>,
        (timelines, of_steps): (&'a [Timeline<'a>], Option<DeviceId>),
        gpus: Vec<Gpu>,
        mut held: impl Iterator<Item = (&'w Waiting, HeldRows)>,
        for_people: bool,
    ) -> Charges<'a> {
        let mut charges = Charges::default();
        for (timeline, gpu) in timelines.iter().zip(gpus) {
            let steps = charges.add(blame, gpu, held.next(), for_people);
            if of_steps == Some(timeline.device) {
                charges.steps = Some((timeline, steps));
            }
        }
        charges
    }

    /// Adds a GPU, and what held it back: what waited although it was ready, what the calls that ask cost, and pages for which kernels waited. Returns the charges of
    /// its steps.
    fn add(
        &mut self,
        blame: &Blame<'_>,
        mut gpu: Gpu,
        held: Option<(&Waiting, HeldRows)>,
        for_people: bool,
    ) -> Vec<Vec<Row>> {
        if let Some((waiting, HeldRows { ready, asking, running })) = held {
            gpu.account.held_back = waiting.held_back(blame.facts.trace);
            gpu.account.held_back.extend(held_back::of_calls(&asking));
            gpu.account.held_back.extend(held_back::of_calls(&running));
            gpu.account.held_back.sort_by_key(|held| (std::cmp::Reverse(held.part.ns), held.part.cause));
            self.parts.held_back.push(charged(ready.iter().chain(&asking).chain(&running)));
            if for_people {
                self.parts.streams.extend(held_back::of_streams(blame, waiting));
            }
            self.rows.extend(ready.into_iter().chain(asking).chain(running));
        }
        self.parts.gpus.push(charged(&gpu.rows));
        self.gpus.push(gpu.account);
        self.idle.append(gpu.idle);
        self.rows.extend(gpu.rows);
        gpu.steps
    }
}

/// The threads that have a time in a window, with it, of which `spans` are the times.
fn within(spans: &[(Ns, Ns)], window: (Ns, Ns)) -> Vec<(ThreadId, (Ns, Ns))> {
    let cut = |(first, last): &(Ns, Ns)| ((*first).max(window.0), (*last).min(window.1));
    let of = spans.iter().enumerate().map(|(row, span)| (ThreadId::new(row), cut(span)));
    of.filter(|(_, (first, last))| first < last).collect()
}

/// Waits of a GPU's operations, and their cost to it.
fn of_streams(blame: &Blame<'_>, timeline: &Timeline<'_>, window: (Ns, Ns)) -> (Waiting, HeldRows) {
    let waiting = Waiting::of(blame.facts, timeline, window);
    let mut held_back = held_back::rows(blame, timeline, &waiting);
    held_back.running.extend(shared::rows(blame, timeline, &waiting));
    (waiting, held_back)
}

/// Runs what needs none of the others. On few processors, those that are short end first, and the items take two to the end.
fn side_by_side<A: Send, B: Send, Item: Copy + Sync, C: Send>(
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B + Send,
    each: impl Fn(Item) -> C + Sync,
    items: &[Item],
) -> (A, B, Vec<C>) {
    let (some, others) = items.split_at(items.len() / 2);
    let of = |items: &[Item]| items.iter().map(|item| each(*item)).collect::<Vec<C>>();
    std::thread::scope(|scope| {
        let (one, other, others) = (scope.spawn(one), scope.spawn(other), scope.spawn(|| of(others)));
        let mut some = of(some);
        let (one, other) = (join(one), join(other));
        some.extend(join(others));
        (one, other, some)
    })
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
    let mut cutting = Cutting::new(blame, timeline.device, timeline.floor(), steps, each);
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
    let rows = settle::settle(rows, blame.facts.trace, blame.sites);
    let computing = late::computes(trace, timeline);
    let computing_ns = computing.as_ref().map(|times| times.part(timeline.span.0, timeline.span.1));
    let is_known = collectives.have(timeline.device) || !late::exchanges(trace, timeline);
    let busy_ns = span_ns - idle_ns;
    let busy = Busy::of(trace, timeline);
    let account = GpuAccount {
        device: trace.devices.ordinal[timeline.device.index()],
        name: trace.text(trace.devices.name[timeline.device.index()]).to_owned(),
        span_ns,
        busy_ns,
        main_copies: MainOperations::copies(blame.facts, timeline, &busy),
        small_kernels: SmallKernels::of(blame.facts, timeline, &busy),
        busy,
        busy_over_time: over_time.busy(),
        exposed_communication_ns: computing_ns.map_or(0, |computing| busy_ns - computing),
        main_communication: MainOperations::communication(blame.facts, timeline, computing.as_ref()),
        collective_wait_ns: is_known.then_some(wait_ns),
        idle: by_cause(blame, &charged(&rows)),
        held_back: Vec::new(),
    };
    Gpu { account, rows, steps, idle }
}
