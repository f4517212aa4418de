//! Costs of the roots of the GPUs' idle time, and the samples at their places.

use super::naming::SpotId;
use super::roots::{PartRoots, Row};
use super::sites::{NEAR, Sites};
use super::sums::add_to;
use crate::facts::Facts;
use crate::facts::call_tree::{TreeRow, tree};
use crate::facts::marks::Mark;
use crate::facts::places::is_own_line;
use crate::{Cause, Place};
use trace::{Ns, ProcessId, Sym, ThreadId, Trace};

/// Samples in calls that tell where such calls are made. A choice.
const FEW: usize = 8;

/// The costs of the roots of the GPUs' idle time.
pub(crate) struct Costs {
    /// Each root once.
    pub rows: Vec<Row>,
    /// The time of all GPUs together without start-up, ns; 0 where it is not known what they lost.
    pub gpu_ns: Ns,
    /// The smallest cost that makes a root a finding by itself, ns.
    pub worth_ns: Ns,
    /// The roots of each part of the accounts.
    pub parts: PartRoots,
    /// The time that they cover, ns.
    pub(super) window: (Ns, Ns),
    pub(super) sites: Sites,
}

impl Costs {
    pub fn place(&self, spot: SpotId) -> &Place {
        self.sites.place(spot)
    }

    /// The line of the program's own for which a thread worked at a time, by its nearest sample.
    pub fn asked_at(&self, thread: ThreadId, at: Ns) -> Option<&Place> {
        let near = self.sites.samples(thread, at - NEAR, at + NEAR).iter().filter(|seen| !seen.asleep);
        let spot = near.min_by_key(|seen| (seen.at - at).abs())?.spot?;
        Some(self.place(spot)).filter(|place| is_own_line(place))
    }

    /// The known work at a place, if there is some.
    pub fn mark(&self, spot: SpotId) -> Option<Mark> {
        self.sites.mark(spot)
    }

    /// The tree of the samples of threads at a place: asleep, awake, or both. For a build it is made of the stacks of the calls that loaded
    /// the result: these also have the library.
    pub fn tree(
        &self,
        trace: &Trace,
        threads: &[ThreadId],
        spot: SpotId,
        asleep: Option<bool>,
    ) -> Vec<TreeRow> {
        let loads: Vec<_> = self.sites.loads(spot).map(|stack| (stack, 1)).collect();
        if loads.len() >= FEW {
            return tree(trace, &loads, self.place(spot));
        }
        let seen =
            threads.iter().flat_map(|thread| self.sites.samples(*thread, self.window.0, self.window.1));
        let seen = seen.filter(|seen| seen.spot == Some(spot) && asleep.is_none_or(|of| of == seen.asleep));
        tree(trace, &seen.map(|seen| (seen.stack, seen.weight)).collect::<Vec<_>>(), self.place(spot))
    }

    /// The program's own line at which most samples of a process's children load data; `None` if these are few.
    pub fn loads_in_children(&self, trace: &Trace, process: ProcessId) -> Option<&Place> {
        let of_child = |thread: &ThreadId| {
            let of = trace.process_of_thread(*thread).some();
            of.is_some_and(|of| trace.processes.parent[of.index()] == process && of != process)
        };
        let threads = trace.threads.ids().filter(of_child);
        let seen = threads.flat_map(|thread| self.sites.samples(thread, self.window.0, self.window.1));
        let mut counts = Vec::new();
        for spot in seen.filter_map(|seen| seen.spot) {
            let loads = self.mark(spot).is_some_and(|mark| mark.cause() == Cause::DataLoading);
            if loads && is_own_line(self.place(spot)) {
                add_to(&mut counts, spot, 1usize);
            }
        }
        let (spot, count) =
            counts.into_iter().max_by_key(|(spot, count)| (*count, std::cmp::Reverse(*spot)))?;
        (count >= FEW).then(|| self.place(spot))
    }

    /// The places of samples in calls of a function, most first, with the tree below the first; where samples are few, those of calls whose
    /// stacks were recorded; none if these are few, too: a sample near a call of microseconds may be beside it.
    pub fn places_in_calls(&self, facts: &Facts<'_>, threads: &[ThreadId], name: Sym) -> Sampled {
        let (mut counts, mut stacks) = (Vec::new(), Vec::new());
        for seen in threads.iter().flat_map(|thread| self.sites.in_calls(facts, *thread, name, self.window)) {
            if let Some(spot) = seen.spot {
                add_to(&mut counts, spot, 1u64);
                stacks.push((spot, seen.stack));
            }
        }
        // The stacks of calls that were slow or came after a pause are no sample of all: they count where nothing else does.
        let few = stacks.len() < FEW;
        let recorded = threads.iter().filter(|_| few);
        for stack in recorded.flat_map(|thread| facts.recorded_stacks(*thread, name, self.window)) {
            if let Some(spot) = self.sites.of_stack(stack) {
                add_to(&mut counts, spot, 1u64);
                stacks.push((spot, stack));
            }
        }
        if stacks.len() < FEW {
            return Sampled::default();
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let first = counts[0].0;
        let at_first = stacks.iter().filter(|(spot, _)| *spot == first);
        let stacks: Vec<_> = at_first.map(|(_, stack)| (*stack, 1)).collect();
        let mut places: Vec<Place> = Vec::new();
        for place in counts.iter().map(|(spot, _)| self.place(*spot)) {
            if !places.contains(place) {
                places.push(place.clone());
            }
        }
        Sampled { places, tree: tree(facts.trace, &stacks, self.place(first)), mark: self.mark(first) }
    }
}

/// The places of some samples.
#[derive(Default)]
pub(crate) struct Sampled {
    /// The places, most samples first.
    pub places: Vec<Place>,
    /// The tree below the first one.
    pub tree: Vec<TreeRow>,
    /// The known work there, if there is some.
    pub mark: Option<Mark>,
}
