//! Which rank was late at the collectives, how often, and why.

use super::blame::Blame;
use super::by_cause::{by_cause, charged};
use super::collectives::{Collectives, TOGETHER};
use super::gaps::Timeline;
use super::part::AccountPart;
use super::roots::Charges;
use super::settle;
use serde::Serialize;
use trace::{DeviceId, Ns, OpId, Trace};

/// The ranks that take part in collectives with each other.
#[derive(Clone, Debug, Serialize)]
pub struct Ranks {
    /// Collectives of which the kernels of all ranks are known.
    pub collectives: u64,
    /// How well the clocks of several traces agree once they are fitted: nine of ten ends of collectives are at most this
    /// apart, ns. `None` in one trace.
    pub clocks_agree_ns: Option<Ns>,
    /// Each rank, in the order of devices or traces.
    pub ranks: Vec<Rank>,
}

/// A rank: a GPU.
#[derive(Clone, Debug, Serialize)]
pub struct Rank {
    /// Its number, where the trace states it.
    pub rank: Option<i64>,
    /// Of several traces the one that it is in, from 0.
    pub trace: Option<usize>,
    /// CUDA device index.
    pub device: i64,
    /// The process that launches its collectives.
    pub pid: i64,
    /// The collectives that it takes part in.
    pub collectives: u64,
    /// Number of collectives at which it was the last, more than 50 µs after the first.
    pub late: u64,
    /// How much later than the first it began then, ns: the median.
    pub late_ns: Ns,
    /// Idle time of the other GPUs that waited for it, ns.
    pub cost_ns: Ns,
    /// Activity of the rank instead, by cause, most first; adds up to `cost_ns`.
    pub causes: Vec<AccountPart>,
    /// The device's row.
    #[serde(skip)]
    pub(crate) row: DeviceId,
}

impl Ranks {
    /// The rank that costs the others most; `None` if none does.
    pub fn latest(&self) -> Option<&Rank> {
        self.ranks.iter().filter(|rank| rank.cost_ns > 0).max_by_key(|rank| rank.cost_ns)
    }
}

/// Account of the ranks of a trace at its collectives; `None` if it has none of several ranks.
pub(super) fn ranks(
    blame: &Blame<'_>,
    timelines: &[Timeline<'_>],
    collectives: &Collectives,
    (from, to): (Ns, Ns),
) -> Option<Ranks> {
    let trace = blame.facts.trace;
    let mut of: Vec<RankSums> = trace.devices.ids().map(RankSums::new).collect();
    let mut count = 0;
    for collective in collectives.all.iter().filter(|all| from < all.end() && all.last().start < to) {
        count += 1;
        for kernel in &collective.kernels {
            let of = &mut of[kernel.device.index()];
            (of.collectives, of.op) = (of.collectives + 1, kernel.op);
        }
        if collective.late() > TOGETHER {
            of[collective.last().device.index()].late.push(collective.late());
        }
    }
    for gap in timelines.iter().flat_map(Timeline::gaps) {
        if let Some(at) = gap.awaited
            && let Some(last) = blame.lateness.waiting(at).last
        {
            let charges = &mut of[last.kernel.device.index()].charges;
            blame.lateness.charge(charges, blame.facts, &gap, at);
        }
    }
    let ranks = of.into_iter().filter(|of| of.collectives > 0).map(|of| of.rank(blame)).collect();
    (count > 0).then_some(Ranks { collectives: count, clocks_agree_ns: None, ranks })
}

/// Sums of a rank.
struct RankSums {
    device: DeviceId,
    /// One of its kernels.
    op: OpId,
    collectives: u64,
    /// How much later than the first it began where it was the last, ns.
    late: Vec<Ns>,
    /// Charges for the time in which the others waited.
    charges: Charges,
}

impl RankSums {
    fn new(device: DeviceId) -> RankSums {
        RankSums { device, op: OpId::NONE, collectives: 0, late: Vec::new(), charges: Charges::default() }
    }

    fn rank(self, blame: &Blame<'_>) -> Rank {
        let RankSums { device, op, collectives, mut late, charges } = self;
        late.sort_unstable();
        let causes =
            by_cause(blame, &charged(&settle::settle(charges.done(), blame.facts.trace, blame.sites)));
        let trace = blame.facts.trace;
        Rank {
            rank: None,
            trace: None,
            device: trace.devices.ordinal[device.index()],
            pid: pid(trace, op),
            collectives,
            late: late.len() as u64,
            late_ns: late.get(late.len() / 2).copied().unwrap_or(0),
            cost_ns: causes.iter().map(|part| part.ns).sum(),
            causes,
            row: device,
        }
    }
}

fn pid(trace: &Trace, op: OpId) -> i64 {
    let process = trace.process_of_stream(trace.ops.stream[op.index()]);
    process.some().map_or(0, |process| trace.processes.pid[process.index()])
}
