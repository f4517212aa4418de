//! Where threads were in their pauses between calls: by the samples within, else by the stack of the call that ended it,
//! else by the ranges around it.

use super::outside::{Outside, Pause};
use crate::Place;
use crate::places::{marked, place_of_stack};
use rustc_hash::FxHashMap;
use trace::{Ns, Sample, StackId, ThreadId, Trace};

/// The places of pauses, each place once.
pub(super) struct Spots {
    places: Vec<Place>,
    /// By thread and the pause's start.
    of: FxHashMap<(ThreadId, Ns), u32>,
}

impl Spots {
    /// Finds the places of all pauses. A pause in a marked function that only sleeps becomes time blocked.
    pub fn new(trace: &Trace, outside: &mut Outside) -> Spots {
        let mut naming =
            Naming { trace, places: Vec::new(), known: FxHashMap::default(), stacks: FxHashMap::default() };
        let mut of = FxHashMap::default();
        let (mut moments, mut pauses) = (Vec::new(), Vec::new());
        for (thread, samples) in trace.threads.ids().zip(samples_by_thread(trace)) {
            for (at, pause) in outside.pauses(thread).iter().enumerate() {
                let from = samples.partition_point(|sample| sample.at < pause.start);
                let within = samples[from..].iter().take_while(|sample| sample.at < pause.end);
                let spot = naming.most(within.map(|sample| sample.stack)).or_else(|| {
                    let next = pause.next.some()?;
                    naming.of_stack(trace.calls.stack[next.index()])
                });
                match spot {
                    Some(spot) => drop(of.insert((thread, pause.start), spot)),
                    None => {
                        moments.push((thread, pause.start + (pause.end - pause.start) / 2));
                        pauses.push((thread, at));
                    }
                }
            }
        }
        marked(trace, &moments, |moment, marked| {
            let (thread, at) = pauses[moment];
            let start = outside.pauses(thread)[at].start;
            if let Some(place) = marked.place {
                of.insert((thread, start), naming.named(place));
            }
            let range = marked.range.map(|range| trace.text(trace.ranges.name[range.index()]));
            if range.is_some_and(sleeps) {
                outside.set_blocked(thread, at);
            }
        });
        Spots { places: naming.places, of }
    }

    /// The place of a pause; `None` if nothing tells it.
    pub fn of(&self, thread: ThreadId, pause: &Pause) -> Option<u32> {
        self.of.get(&(thread, pause.start)).copied()
    }

    pub fn row(&self, spot: u32) -> &Place {
        &self.places[spot as usize]
    }
}

fn samples_by_thread(trace: &Trace) -> Vec<Vec<Sample>> {
    let mut by_thread = vec![Vec::new(); trace.threads.len()];
    for sample in trace.samples.ids().map(|sample| trace.samples.row(sample)) {
        if let Some(thread) = sample.thread.some().filter(|_| sample.stack.is_some()) {
            by_thread[thread.index()].push(sample);
        }
    }
    by_thread.iter_mut().for_each(|samples| samples.sort_by_key(|sample| sample.at));
    by_thread
}

/// Whether a function of Python does nothing but wait: for a time, another thread, or input.
fn sleeps(function: &str) -> bool {
    let waits = [" sleep", " acquire", " poll", " select", " wait", "'recv'", "'accept'", " read "];
    function.starts_with('<') && waits.iter().any(|name| function.contains(name))
}

/// Names the places of stacks, each once.
struct Naming<'a> {
    trace: &'a Trace,
    places: Vec<Place>,
    known: FxHashMap<Place, u32>,
    stacks: FxHashMap<StackId, Option<u32>>,
}

impl Naming<'_> {
    fn of_stack(&mut self, stack: StackId) -> Option<u32> {
        if let Some(known) = self.stacks.get(&stack) {
            return *known;
        }
        let spot = place_of_stack(self.trace, stack).map(|place| self.named(place));
        self.stacks.insert(stack, spot);
        spot
    }

    fn named(&mut self, place: Place) -> u32 {
        let next = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        *self.known.entry(place).or_insert_with_key(|place| {
            self.places.push(place.clone());
            next
        })
    }

    /// The place of most stacks; of several the one that comes first.
    fn most(&mut self, stacks: impl Iterator<Item = StackId>) -> Option<u32> {
        let mut counts: Vec<(u32, usize)> = Vec::new();
        for spot in stacks.filter_map(|stack| self.of_stack(stack)) {
            match counts.iter_mut().find(|(known, _)| *known == spot) {
                Some((_, count)) => *count += 1,
                None => counts.push((spot, 1)),
            }
        }
        let most = counts.iter().map(|(_, count)| *count).max()?;
        counts.iter().find(|(_, count)| *count == most).map(|(spot, _)| *spot)
    }
}
