//! Comparison of a rank that was late at a collective with one that waited: what its GPU did more than that of the rank that waited, since the end of the last
//! collective after which both were in step. Both times are as long, so what the late GPU did more is what the early one waited.

use super::blame::Blame;
use super::collectives::{Collectives, Kernel, LastRank, Waiting};
use super::gaps::{Gap, Timeline, timelines};
use super::lateness::{Lateness, Share, of_rank, thread};
use super::roots::{Charges, Culprit, Link, Root, Row};
use super::settle::settle_short;
use crate::facts::places::place_of_stack;
use crate::{Cause, Place};
use rustc_hash::FxHashMap;
use trace::{DeviceId, Ns, OpId, OpKind, Sym, ThreadId, Times, Trace};
use waits::Communicating;

/// Finds why ranks were late while GPUs had nothing else to do. `blame` knows nothing of lateness yet.
pub(super) fn lateness(blame: &Blame<'_>, collectives: &Collectives) -> Lateness {
    let lateness = Lateness::new(&collectives.waiting);
    if lateness.is_empty() {
        return lateness;
    }
    let timelines = timelines(blame.facts.trace, (Ns::MIN, Ns::MAX), collectives);
    let mut gpus = FxHashMap::default();
    let mut matters = vec![false; lateness.len()];
    for timeline in timelines {
        let gpu = Gpu::new(blame, &timeline);
        gpu.gaps.iter().filter_map(|gap| gap.awaited).for_each(|at| matters[at] = true);
        gpus.insert(timeline.device, gpu);
    }
    let mut comparing = Comparing { blame, collectives, gpus, lateness };
    // By the start of the late rank: what made that rank late is known then.
    for at in (0..matters.len()).filter(|at| matters[*at]) {
        if let Some(last) = comparing.lateness.waiting(at).last {
            let shares = comparing.shares(at, last);
            comparing.lateness.explain(at, shares);
        }
    }
    comparing.lateness
}

/// A GPU's idle time, and when it worked on something other than communication.
struct Gpu {
    gaps: Vec<Gap>,
    floor: Ns,
    computes: Times,
}

impl Gpu {
    fn new(blame: &Blame<'_>, timeline: &Timeline<'_>) -> Gpu {
        let trace = blame.facts.trace;
        Gpu {
            gaps: timeline.gaps().collect(),
            floor: timeline.floor(),
            computes: computes(trace, timeline).unwrap_or_default(),
        }
    }
}

/// When a GPU works on something other than communication; `None` if it never communicates.
pub(super) fn computes(trace: &Trace, timeline: &Timeline<'_>) -> Option<Times> {
    let mut communicating = Communicating::new(trace);
    let communicates = timeline.ops().iter().any(|op| communicating.has(*op));
    communicates.then(|| {
        let work = timeline.work().filter(|work| !communicating.has(work.op));
        Times::of(work.map(|work| (work.start, work.end)))
    })
}

/// Whether a GPU has kernels that exchange data with other GPUs' kernels, and may wait for them; a copy to another GPU waits for nobody.
pub(super) fn exchanges(trace: &Trace, timeline: &Timeline<'_>) -> bool {
    let mut communicating = Communicating::new(trace);
    let is_kernel = |op: &OpId| trace.ops.kind[op.index()] == OpKind::Kernel;
    timeline.ops().iter().any(|op| is_kernel(op) && communicating.has(*op))
}

/// Busy and idle time of a GPU in a stretch of time.
struct Account {
    busy: Ns,
    idle: Vec<Row>,
}

/// Compares GPUs.
struct Comparing<'a, 'b> {
    blame: &'a Blame<'b>,
    collectives: &'a Collectives,
    gpus: FxHashMap<DeviceId, Gpu>,
    /// Reasons that are known so far.
    lateness: Lateness,
}

impl Comparing<'_, '_> {
    /// Why a kernel waited for the last rank.
    fn shares(&self, at: usize, last: LastRank) -> Vec<Share> {
        let (Waiting { kernel, until, .. }, late) = (*self.lateness.waiting(at), last.kernel);
        let (late, early) = match self.since(kernel, last) {
            Some((early_from, late_from)) => (
                self.account(late.device, (late_from, until), true),
                self.account(kernel.device, (early_from, until), false),
            ),
            // What the late rank did meanwhile.
            None => (
                self.account(late.device, (kernel.start, until), true),
                Account { busy: 0, idle: Vec::new() },
            ),
        };
        self.more(at, last, late, early)
    }

    /// From when on two GPUs are compared: the ends of the last collective after which both were in step.
    fn since(&self, kernel: Kernel, last: LastRank) -> Option<(Ns, Ns)> {
        /// Collectives that are looked at.
        const MOST: usize = 256;
        let late = last.kernel;
        let before = self.collectives.all[..last.collective].iter().rev().take(MOST);
        before.into_iter().find_map(|before| {
            let exchange = before.last().start;
            let end = |device: DeviceId, start: Ns| {
                before
                    .of(device)
                    .filter(|of| of.end <= start && self.is_in_step(of, exchange))
                    .map(|of| of.end)
            };
            Some((end(kernel.device, kernel.start)?, end(late.device, late.start)?))
        })
    }

    /// Whether a GPU had nothing else to do when a collective ended: it computed for a quarter at most of the time from
    /// `exchange`, when data was exchanged, and not at the end. A GPU in the middle of its work computes all along. What an
    /// earlier collective brought may be stored meanwhile: in a training with DistributedDataParallel on two H200s that is 45 of
    /// 259 µs of a step's last collective, where 145 of 342 µs of the one before are computed. The quarter is a choice.
    fn is_in_step(&self, kernel: &Kernel, exchange: Ns) -> bool {
        let Some(gpu) = self.gpus.get(&kernel.device) else { return false };
        let computed = |from: Ns| gpu.computes.part(from, kernel.end);
        computed(exchange) <= (kernel.end - exchange) / 4 && computed(kernel.end - 1) == 0
    }

    /// Account of a GPU in a time; with `waits`, its waits for later ranks are a part of that.
    fn account(&self, device: DeviceId, (from, to): (Ns, Ns), waits: bool) -> Account {
        let Some(gpu) = self.gpus.get(&device) else { return Account { busy: 0, idle: Vec::new() } };
        let (mut charges, mut idle) = (Charges::default(), 0);
        let first = gpu.gaps.partition_point(|gap| gap.end <= from);
        for gap in gpu.gaps[first..].iter().take_while(|gap| gap.start < to) {
            let part = Gap { start: gap.start.max(from), end: gap.end.min(to), ..*gap };
            idle += part.length();
            match part.awaited {
                None => self.blame.gap(&mut charges, device, &part, gpu.floor),
                Some(at) if waits => self.lateness.charge(&mut charges, self.blame.facts, &part, at),
                Some(_) => {}
            }
        }
        Account {
            busy: to - from - idle,
            idle: settle_short(charges.done(), self.blame.facts.trace, self.blame.sites),
        }
    }

    /// Shares of the time that the late GPU spent more than the early one.
    fn more(&self, at: usize, last: LastRank, late: Account, early: Account) -> Vec<Share> {
        let rank = of_rank(self.blame.facts, self.lateness.waiting(at));
        let mut usual = FxHashMap::<(Cause, Alike), Ns>::default();
        early.idle.iter().for_each(|row| *usual.entry(self.alike(row.root)).or_default() += row.ns);
        let mut shares = Vec::new();
        for row in late.idle {
            let usual = usual.entry(self.alike(row.root)).or_default();
            let less = row.ns.min(*usual);
            *usual -= less;
            let chain = self.chain(last, rank, &row.chain);
            shares.push(Share { root: row.root, ns: row.ns - less, chain });
        }
        let of_gpu = |ns: Ns| Share { root: rank, ns, chain: self.chain(last, rank, &[]) };
        shares.push(of_gpu(late.busy - early.busy));
        shares.retain(|share| share.ns > 0);
        if shares.is_empty() {
            shares.push(of_gpu(1));
        }
        shares
    }

    /// The threads behind the one that waited: the late rank's, and those that it waited for.
    fn chain(&self, last: LastRank, rank: Root, links: &[Link]) -> Vec<(ThreadId, Root)> {
        let late = links.last().map(|link| link.thread).or_else(|| thread(self.blame.facts, last.kernel.op));
        let first = late.map(|late| (late, rank));
        let behind = links.windows(2).rev().filter_map(|pair| Some((pair[0].thread, pair[1].wait?)));
        first.into_iter().chain(behind).collect()
    }

    /// Cause and culprit that roots of two ranks have in common.
    fn alike(&self, root: Root) -> (Cause, Alike) {
        let trace = self.blame.facts.trace;
        let alike = match root.culprit {
            Culprit::Part(key) => Alike::Call(key.waiter.name(), None),
            Culprit::Call(_, name, stack) => Alike::Call(name, place_of_stack(trace, stack)),
            Culprit::Lock(_, _, Some(spot)) | Culprit::Spot(_, spot) => {
                Alike::Place(self.blame.sites.place(spot).clone())
            }
            Culprit::Before(_, name) => Alike::Before(name),
            Culprit::Lock(_, _, None) | Culprit::Between(_) | Culprit::Device(_) => Alike::Any,
            // Settled.
            Culprit::Site(_) | Culprit::Held(..) => Alike::Any,
        };
        (root.cause, alike)
    }
}

/// A culprit, whichever rank it is on.
#[derive(PartialEq, Eq, Hash)]
enum Alike {
    Place(Place),
    Call(Sym, Option<Place>),
    Before(Sym),
    Any,
}
