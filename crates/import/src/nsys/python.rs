//! Records of Python that Nsight Systems writes as NVTX events, in domains of its own: waits for the GIL as ranges, and
//! samples of stacks as marks.

use rustc_hash::{FxHashMap, FxHashSet};
use trace::{LockKind, LockLayer, Ns, Range, ThreadId, Trace, Wait};

/// The domain of the GIL, and the names of its two kinds of ranges.
const GIL: &str = "GIL Trace";
const HOLDS: &str = "Holding GIL";
const WAITS: &str = "Waiting for GIL";

/// The domain of samples: marks with a binary payload whose layout is not documented.
const SAMPLES: &str = "Python Periodic Sampling";

/// A process's id and the number of a domain in it.
pub(super) type Domain = (i64, i64);

/// The events that may be about Python: domains may be named after their events.
#[derive(Default)]
pub(super) struct Python {
    domains: FxHashSet<Domain>,
    ranges: Vec<(Domain, Range)>,
    samplers: FxHashSet<Domain>,
    marks: FxHashMap<Domain, u64>,
}

impl Python {
    /// Takes note of a domain's name.
    pub(super) fn domain(&mut self, domain: Domain, name: &str) {
        match name {
            GIL => _ = self.domains.insert(domain),
            SAMPLES => _ = self.samplers.insert(domain),
            _ => {}
        }
    }

    /// Counts a mark.
    pub(super) fn mark(&mut self, domain: Domain) {
        *self.marks.entry(domain).or_default() += 1;
    }

    /// The number of marks that are samples; call it when all domains are known.
    pub(super) fn samples(&self) -> u64 {
        self.samplers.iter().filter_map(|domain| self.marks.get(domain)).sum()
    }

    /// Keeps a range for [`Python::finish`] if it may be about the GIL; says whether it does.
    pub(super) fn takes(&mut self, domain: Domain, range: Range, name: &str) -> bool {
        let takes = name == HOLDS || name == WAITS;
        if takes {
            self.ranges.push((domain, range));
        }
        takes
    }

    /// Makes waits of the ranges of waiting threads, and ranges of the others.
    pub(super) fn finish(self, trace: &mut Trace) {
        let Python { domains, ranges, .. } = self;
        let mut holds = FxHashMap::<i64, Vec<(Ns, Ns, ThreadId)>>::default();
        let mut waits = Vec::new();
        for (domain, range) in ranges {
            let name = trace.text(range.name);
            if !domains.contains(&domain) || name != WAITS {
                if domains.contains(&domain) {
                    holds.entry(domain.0).or_default().push((range.start, range.end, range.thread));
                }
                trace.ranges.push(range);
            } else {
                waits.push((domain.0, range));
            }
        }
        let holds: FxHashMap<i64, Holds> =
            holds.into_iter().map(|(process, holds)| (process, Holds::new(holds))).collect();
        let none = Holds::new(Vec::new());
        for (process, range) in waits {
            trace.waits.push(holds.get(&process).unwrap_or(&none).wait(&range));
        }
    }
}

/// The times at which threads of a process held the GIL.
struct Holds {
    by_start: Vec<(Ns, Ns, ThreadId)>,
    /// End and thread.
    by_end: Vec<(Ns, ThreadId)>,
    /// Whether two threads held a GIL at once: the process has several interpreters, and which GIL is meant is unknown.
    several: bool,
}

impl Holds {
    fn new(mut holds: Vec<(Ns, Ns, ThreadId)>) -> Holds {
        holds.sort_unstable();
        let overlaps = |pair: &[(Ns, Ns, ThreadId)]| pair[1].0 < pair[0].1 && pair[1].2 != pair[0].2;
        let several = holds.windows(2).any(overlaps);
        let mut by_end: Vec<_> = holds.iter().map(|(_, end, thread)| (*end, *thread)).collect();
        by_end.sort_unstable();
        Holds { by_start: holds, by_end, several }
    }

    /// The thread that held the GIL at a time.
    fn holder(&self, at: Ns) -> Option<ThreadId> {
        let begun = self.by_start.partition_point(|(start, ..)| *start <= at);
        let (_, end, thread) = *self.by_start.get(begun.checked_sub(1)?)?;
        (end > at).then_some(thread)
    }

    /// The last release within a wait.
    fn release(&self, start: Ns, end: Ns) -> Option<(Ns, ThreadId)> {
        let ended = self.by_end.partition_point(|(released, _)| *released <= end);
        self.by_end[..ended].last().copied().filter(|(released, _)| *released > start)
    }

    fn wait(&self, range: &Range) -> Wait {
        let Range { start, end, thread, .. } = *range;
        let wait = Wait {
            start,
            end,
            thread,
            kind: LockKind::Gil,
            layer: LockLayer::Interpreter,
            stack: range.stack,
            ..Wait::default()
        };
        if self.several {
            return wait;
        }
        let other = |holder: &ThreadId| *holder != thread;
        let holder = self.holder(start).filter(other).unwrap_or_default();
        let release = self.release(start, end).filter(|(_, releaser)| other(releaser));
        Wait {
            holder,
            holders: holder.is_some().into(),
            releaser: release.map_or(ThreadId::NONE, |(_, thread)| thread),
            handoff: release.map_or(0, |(released, _)| end - released),
            ..wait
        }
    }
}
