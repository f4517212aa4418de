//! Names of places, each once, with the known work that is done there.

use crate::Place;
use crate::facts::marks::{Mark, Marks};
use crate::facts::places::{is_own_line, place_of_stack};
use rustc_hash::FxHashMap;
use trace::{RangeId, StackId, Sym, Trace};

/// A place, and what is done there: a row of [`super::sites::Sites::place`].
pub(crate) type SpotId = u32;

/// A place, and the known work that is done there.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Spot {
    pub place: Place,
    pub mark: Option<Mark>,
}

/// Names the places of stacks, each once.
pub(super) struct Naming<'a> {
    pub trace: &'a Trace,
    pub places: Vec<Spot>,
    known: FxHashMap<Spot, SpotId>,
    stacks: FxHashMap<StackId, Option<SpotId>>,
    pub marks: Marks,
    /// The known work of ranges by their names.
    ranges: FxHashMap<Sym, Option<Mark>>,
}

impl<'a> Naming<'a> {
    pub fn new(trace: &'a Trace) -> Naming<'a> {
        let (known, stacks, ranges) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        Naming { trace, places: Vec::new(), known, stacks, marks: Marks::default(), ranges }
    }

    pub fn of_stack(&mut self, stack: StackId) -> Option<SpotId> {
        if let Some(known) = self.stacks.get(&stack) {
            return *known;
        }
        let mark = self.marks.of_stack(self.trace, stack);
        let spot = place_of_stack(self.trace, stack).map(|place| self.named(Spot { place, mark }));
        self.stacks.insert(stack, spot);
        spot
    }

    /// The spot of a thread that works for the one at a place: with the work that its own stack shows.
    pub fn asked(&mut self, by: SpotId, stack: StackId) -> SpotId {
        let Spot { place, mark } = self.places[by as usize].clone();
        let own = self.marks.of_stack(self.trace, stack);
        // It works while the other one waits.
        self.named(Spot { place, mark: own.or(mark.filter(|mark| !mark.is_sleep())) })
    }

    /// The spot of a place where a kernel is built, unless it has other known work.
    pub fn building(&mut self, spot: SpotId, by: Mark) -> SpotId {
        let Spot { place, mark } = self.places[spot as usize].clone();
        self.named(Spot { place, mark: mark.or(Some(by)) })
    }

    /// The spot of a place that ranges name: the known work there is that of any of them.
    pub fn of_ranges(&mut self, place: Place, around: &[RangeId]) -> SpotId {
        let ranges = &self.trace.ranges;
        let of_name = |range: &RangeId| {
            let name = ranges.name[range.index()];
            *self.ranges.entry(name).or_insert_with(|| Mark::of_range(self.trace.text(name)))
        };
        let named = around.iter().filter_map(of_name).min();
        let stacks = around.iter().map(|range| ranges.stack[range.index()]);
        let called = stacks.filter_map(|stack| self.marks.of_stack(self.trace, stack)).min();
        let mark = [named, called].into_iter().flatten().min();
        self.named(Spot { place, mark })
    }

    /// Whether a place is a line of the program's own.
    pub fn is_own(&self, spot: SpotId) -> bool {
        is_own_line(&self.places[spot as usize].place)
    }

    fn named(&mut self, spot: Spot) -> SpotId {
        let next = self.places.len() as SpotId;
        *self.known.entry(spot).or_insert_with_key(|spot| {
            self.places.push(spot.clone());
            next
        })
    }
}
