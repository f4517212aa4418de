//! The times for which engines were busy, together and separately.

use super::queue::{Blocks, Queue, common, either, length};
use trace::Ns;
use waits::Engine;

/// The busy times of a device's engines within a window, ns.
pub(super) struct Times {
    engines: [Ns; Engine::ALL.len()],
    units: [Ns; 3],
    /// With any operation.
    pub busy: Ns,
    /// With copies or kernels.
    working: Ns,
    pub at_least_two: Ns,
    pub all_three: Ns,
    /// The separate engine that was busy longest.
    pub busiest: usize,
    /// The times at which others were busy and that one was not.
    pub gaps: Vec<Gap>,
}

/// A time in which the busiest engine was idle while others were busy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    /// End of its last work before, ns; `Ns::MIN` for none.
    pub from: Ns,
    /// Start of its next work, ns; `Ns::MAX` for none.
    pub to: Ns,
    /// Time for which others were busy meanwhile, ns.
    pub ns: Ns,
    /// Start of the others' first work, ns.
    pub first: Ns,
    /// End of the others' last work, ns.
    pub last: Ns,
}

impl Times {
    pub fn of(queue: &Queue, window: (Ns, Ns)) -> Times {
        let engines = queue.engines.each_ref().map(|blocks| cut(blocks, window));
        let units = queue.units.each_ref().map(|blocks| cut(blocks, window));
        let [copies_in, copies_out, kernels, other] = &engines;
        let working = units.iter().fold(Blocks::new(), |all, unit| either(&all, unit));
        let pairs = [(copies_in, copies_out), (copies_in, kernels), (copies_out, kernels)];
        let two = pairs.iter().fold(Blocks::new(), |all, (a, b)| either(&all, &common(a, b)));
        let times = units.each_ref().map(length);
        // Of equally busy ones the last: the kernels' engine.
        let busiest = (0..units.len()).max_by_key(|unit| times[*unit]).unwrap_or_default();
        Times {
            engines: engines.each_ref().map(length),
            units: times,
            busy: length(&either(&working, other)),
            working: length(&working),
            at_least_two: length(&two),
            all_three: length(&common(&common(copies_in, copies_out), kernels)),
            busiest,
            gaps: gaps(&units[busiest], &working),
        }
    }

    pub fn of_engine(&self, engine: Engine) -> Ns {
        self.engines[engine.bit()]
    }

    fn sum(&self) -> Ns {
        self.units.iter().fold(0, |sum: Ns, ns| sum.saturating_add(*ns))
    }

    /// Time saved if all run beside the busiest engine, ns.
    pub fn possible(&self) -> Ns {
        self.sum() - self.units[self.busiest]
    }

    /// Time that was saved, ns.
    pub fn reached(&self) -> Ns {
        self.sum() - self.working
    }
}

/// The part of blocks in a window.
fn cut(blocks: &Blocks, (from, to): (Ns, Ns)) -> Blocks {
    let cut = blocks.iter().map(|(start, end)| ((*start).max(from), (*end).min(to)));
    cut.filter(|(start, end)| start < end).collect()
}

/// The times in `working` that are not in `busiest`, which is a part of it.
fn gaps(busiest: &Blocks, working: &Blocks) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let starts = busiest.iter().map(|block| block.0).chain([Ns::MAX]);
    let ends = [Ns::MIN].into_iter().chain(busiest.iter().map(|block| block.1));
    let mut next = 0;
    for (from, to) in ends.zip(starts) {
        let mut gap = Gap { from, to, ns: 0, first: Ns::MAX, last: Ns::MIN };
        while let Some((start, end)) = working.get(next).filter(|(start, _)| *start < to) {
            let (start, stop) = ((*start).max(from), (*end).min(to));
            if start < stop {
                gap.ns = gap.ns.saturating_add(stop.saturating_sub(start));
                gap.first = gap.first.min(start);
                gap.last = gap.last.max(stop);
            }
            if *end > to {
                break;
            }
            next += 1;
        }
        if gap.ns > 0 {
            gaps.push(gap);
        }
    }
    gaps
}
