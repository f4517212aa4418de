//! The order of findings, once it is known what the program would gain without each.

use crate::Cause;
use crate::account::Accounts;
use crate::account::Steps;
use crate::findings::links::id;
use crate::result::explanation::Explanation;
use crate::result::finding::{Finding, Party, Phase};
use crate::result::loss::Loss;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Findings that gain as much to so many parts of the time rank by what they cost: a choice.
const PARTS: f64 = 100.0;

/// Whether every program has some of a cause: what mends that, as a graph does, mends more than the one cause.
pub fn is_usual(cause: Cause) -> bool {
    matches!(cause, Cause::HostCode | Cause::OwnWork | Cause::LaunchLatency)
}

/// Whether a cause costs time of the host that goes if the cause does, wait for the GPU or not: a file is written elsewhere, memory is
/// pinned once, a loader gets more workers. A wait for the GPU that exposes that time is not its cause.
pub fn is_mended_by_itself(cause: Cause) -> bool {
    use Cause::*;
    matches!(
        cause,
        Allocation
            | ApplicationLock
            | Blocked
            | DataLoading
            | DriverLock
            | Feeding
            | FileWriting
            | FileReading
            | GarbageCollection
            | Gil
            | KernelBuild
            | Lock
            | NoCpu
            | ObjectChurn
            | PageFaults
    )
}

/// Whether a cause holds back operations of a busy GPU, so that its cost is the time in which the GPU had room for them: an estimate, which says
/// nothing of what would hold them back next. On a P40's model 16 threads that launch wait for shared queues 60 % of the time, and with a
/// queue each for the context's lock: 12 % are gained.
pub fn holds_back(cause: Cause) -> bool {
    cause == Cause::ConnectionAliasing
}

impl Finding {
    /// Part of the time that mending it is worth, 0 to 1: its cost, or what the program gains without what it finds if that is more, or if the
    /// cost is an estimate.
    pub fn worth(&self) -> f64 {
        match self.removal {
            Some(gain) if self.is_estimated() => gain.clamp(0.0, self.cost_share),
            Some(gain) => gain.max(self.cost_share),
            None => self.cost_share,
        }
    }

    /// Whether its cost is an estimate, and what it gains again and again is known better.
    fn is_estimated(&self) -> bool {
        holds_back(self.cause) && self.phase == Phase::Recurring
    }

    /// Whether a wait costs more than the GPUs' idle time that it is the root of: it empties a queue, so that work of the host after it
    /// counts, which was hidden before.
    pub fn exposes(&self) -> bool {
        (self.worth() - self.cost_share) * PARTS >= 1.0
    }

    /// Whether another finding is that threads wait for this one's calls: that one has the cost.
    pub fn is_waited_for(&self, findings: &[Finding]) -> bool {
        let is_own = |holder: &Party| {
            let own = &self.waiter;
            (holder.pid, holder.tid, &holder.call) == (own.pid, own.tid, &own.call)
        };
        findings.iter().filter_map(|finding| finding.holder.as_ref()).any(is_own)
    }
}

impl Explanation {
    /// Orders the findings by what mending each is worth, and those of about the same worth as they were. Their ids, and all that names
    /// them, follow.
    pub fn rank(&mut self, losses: &mut [Loss]) {
        let mut order: Vec<usize> = (0..self.findings.len()).collect();
        order.sort_by_key(|at| Reverse((self.findings[*at].worth() * PARTS).round() as i64));
        let mut positions = vec![0; order.len()];
        order.iter().enumerate().for_each(|(to, from)| positions[*from] = to);
        let ids: HashMap<String, String> =
            self.findings.iter().zip(&positions).map(|(finding, to)| (finding.id.clone(), id(*to))).collect();
        self.findings.iter_mut().zip(&positions).for_each(|(finding, to)| finding.id = id(*to));
        let mut placed: Vec<_> = positions.iter().zip(std::mem::take(&mut self.findings)).collect();
        placed.sort_by_key(|(to, _)| **to);
        self.findings = placed.into_iter().map(|(_, finding)| finding).collect();
        for name in named(&mut self.accounts, self.steps.as_mut()) {
            if let Some(id) = name.as_ref().and_then(|name| ids.get(name)) {
                *name = Some(id.clone());
            }
        }
        for loss in losses {
            loss.finding = loss.finding.map(|at| positions[at as usize] as u32);
        }
    }
}

/// All that names a finding.
fn named<'a>(
    accounts: &'a mut Accounts,
    steps: Option<&'a mut Steps>,
) -> impl Iterator<Item = &'a mut Option<String>> {
    let gpus = accounts.gpus.iter_mut().flat_map(|gpu| {
        let idle = gpu.idle.iter_mut().map(|part| &mut part.finding);
        idle.chain(gpu.held_back.iter_mut().map(|held| &mut held.part.finding))
    });
    let threads = accounts.threads.iter_mut().flat_map(|thread| &mut thread.parts);
    let streams = accounts.streams.iter_mut().flat_map(|stream| &mut stream.waiting);
    let steps = steps.into_iter().flat_map(|steps| {
        let slow = steps.slow.iter_mut().flat_map(|slow| &mut slow.more);
        steps.median.idle.iter_mut().chain(&mut steps.total.idle).chain(slow)
    });
    gpus.chain(threads.chain(steps).map(|part| &mut part.finding))
        .chain(streams.map(|part| &mut part.finding))
}
