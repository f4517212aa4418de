//! The places of roots: those of their samples, stacks and calls.

use super::costs::{Roots, is_chained, name, sleeps, time};
use crate::account::{Culprit, Row, Sampled, add_to, is_for_work};
use crate::analysis::group::Key;
use crate::facts::call_tree::told_of_stack;
use crate::facts::marks::Mark;
use crate::facts::places::{Marked, built_in, is_own_line, marked, place_of_stack, places};
use crate::{Cause, Place};
use rustc_hash::FxHashMap;
use trace::{CallId, Ns, Sym, ThreadId};

/// Places that a finding shows.
const PLACES: usize = 3;

/// Fewest calls with a recorded stack that tell where all of them are made: a choice.
const RECORDED: usize = 3;

/// The smallest part of calls' time whose places stand for all of it: one in this many. A choice.
const PLACED: Ns = 50;

/// Places by the weight of their functions, and in a function by their own: launches are spread over its lines.
fn by_function(mut weights: Vec<(Place, i64)>) -> Vec<Place> {
    let mut functions = Vec::new();
    let function = |place: &Place| (place.file.clone(), place.function.clone());
    weights.iter().for_each(|(place, weight)| add_to(&mut functions, function(place), *weight));
    let of_function = |place: &Place| {
        let key = function(place);
        functions.iter().find(|(known, _)| *known == key).map_or(0, |(_, weight)| *weight)
    };
    weights.sort_by_key(|(place, weight)| std::cmp::Reverse((of_function(place), *weight)));
    weights.into_iter().map(|(place, _)| place).take(PLACES).collect()
}

impl Roots<'_> {
    /// The operator or the built-in function that a thread ran at a line in most of the longest pauses of a row: a line may have many.
    pub(super) fn operator_within(&self, row: &Row, places: &[Place]) -> Option<Place> {
        let line = places.first().filter(|place| place.line > 0)?;
        let trace = self.facts.trace;
        let name = self.in_most_pauses(row, |marked| {
            let range = marked.range.filter(|_| marked.place.as_ref() == Some(line))?;
            let name = trace.text(trace.ranges.name[range.index()]);
            built_in(name).or(Some(name).filter(|name| name.contains("::")))
        })?;
        Some(Place { file: String::new(), line: 0, function: name.to_owned() })
    }

    /// The function that calls the library that does known work in most of the longest pauses of a row, by the ranges around them; `None`
    /// if the program's own line does.
    pub(super) fn caller_of(&self, row: &Row, places: &[Place], mark: Mark) -> Option<Place> {
        // What loads data works for a line above it, which waits.
        let loads = mark.cause() == Cause::DataLoading;
        let line = places.first().filter(|place| place.line > 0 && !loads)?;
        let trace = self.facts.trace;
        self.in_most_pauses(row, |marked| {
            let stacks = marked.around.iter().map(|range| trace.ranges.stack[range.index()]);
            let mut callers = stacks.filter_map(|stack| told_of_stack(trace, stack.some()?));
            callers.by_ref().find(|place| mark.is_in(place))?;
            callers.find(|place| !mark.is_in(place)).filter(|place| place != line)
        })
    }

    /// The answer that most of the longest pauses of a row give.
    fn in_most_pauses<T: PartialEq>(&self, row: &Row, tell: impl Fn(Marked) -> Option<T>) -> Option<T> {
        let [thread] = row.blamed[..] else { return None };
        let moments =
            row.longest.iter().filter(|(ns, _)| *ns > 0).map(|(ns, start)| (thread, start + ns / 2));
        let moments: Vec<_> = moments.collect();
        let mut found = Vec::new();
        marked(self.facts.trace, &moments, |_, marked| {
            tell(marked).into_iter().for_each(|told| add_to(&mut found, told, 1));
        });
        found.into_iter().find(|(_, count)| count * 2 > moments.len()).map(|(told, _)| told)
    }

    /// The places of samples in some threads' calls of a function, most first.
    pub(super) fn places_in_calls(&self, waiters: &[(ThreadId, Ns)], name: Sym) -> Vec<Place> {
        let threads: Vec<ThreadId> = waiters.iter().map(|(thread, _)| *thread).collect();
        let mut places = self.costs.places_in_calls(self.facts, &threads, name).places;
        places.truncate(PLACES);
        places
    }

    /// The places of some rows, most time first, with what is below the first; where the stacks of most calls were not recorded, those
    /// of samples in such calls.
    pub(super) fn places(&self, rows: &[&Row], parts: &FxHashMap<Key, Place>) -> Sampled {
        let mut found = Sampled::default();
        let mut known = 0;
        for row in rows {
            let Some(place) = self.place(row.root.culprit, parts) else { continue };
            known += row.ns;
            if found.places.len() < PLACES && !found.places.contains(&place) {
                if let (Culprit::Spot(_, spot), true) = (row.root.culprit, found.places.is_empty()) {
                    let (trace, asleep) = (self.facts.trace, sleeps(row.root.cause));
                    found.tree = self.costs.tree(trace, &row.blamed, spot, asleep);
                    found.mark = self.costs.mark(spot);
                }
                found.places.push(place);
            }
        }
        let Some(name) = name(rows[0].root.culprit) else {
            // What lies between calls is where these are.
            let between = found.places.is_empty() && matches!(rows[0].root.culprit, Culprit::Between(_));
            found.places = if between { self.marked_places(rows) } else { found.places };
            return found;
        };
        if known * 2 < time(rows) && !is_chained(rows[0]) {
            let recorded = self.recorded_places(rows);
            if !recorded.is_empty() {
                return Sampled { places: recorded, ..Sampled::default() };
            }
            let threads: Vec<ThreadId> = rows[0].waiters.iter().map(|(thread, _)| *thread).collect();
            let mut sampled = self.costs.places_in_calls(self.facts, &threads, name);
            if !sampled.places.is_empty() {
                sampled.places.truncate(PLACES);
                return sampled;
            }
            let marked = self.marked_places(rows);
            if !marked.is_empty() {
                return Sampled { places: marked, ..Sampled::default() };
            }
            if known * PLACED < time(rows) {
                return Sampled::default();
            }
        }
        found
    }

    /// The places of the calls that rows were charged for whose stacks were recorded, most calls first; none if these are few.
    fn recorded_places(&self, rows: &[&Row]) -> Vec<Place> {
        let trace = self.facts.trace;
        let place = |call: CallId| {
            let place = place_of_stack(trace, trace.calls.stack[call.index()].some()?)?;
            // A thread of a library works for the line at which the program's own waits.
            let asked = || self.costs.asked_at(self.facts.thread(call), self.facts.start(call)).cloned();
            if is_own_line(&place) { Some(place) } else { asked().or(Some(place)) }
        };
        let calls = rows.iter().flat_map(|row| &row.calls.calls);
        let places: Vec<Place> = calls.filter_map(|(call, _)| place(*call)).collect();
        if places.len() < RECORDED {
            return Vec::new();
        }
        let mut counts = Vec::new();
        places.into_iter().for_each(|place| add_to(&mut counts, place, 1));
        by_function(counts)
    }

    /// The places of the calls that rows were charged for, most time first, by the ranges around them; none if most have none.
    fn marked_places(&self, rows: &[&Row]) -> Vec<Place> {
        let calls: Vec<_> = rows.iter().flat_map(|row| row.calls.calls.iter().copied()).collect();
        let found = places(self.facts.trace, &calls.iter().map(|(call, _)| *call).collect::<Vec<_>>());
        let (mut times, mut none) = (Vec::new(), 0);
        for (place, (_, ns)) in found.into_iter().zip(&calls) {
            match place {
                Some(place) => add_to(&mut times, place, *ns),
                None => none += ns,
            }
        }
        if times.iter().map(|(_, ns)| ns).sum::<Ns>() <= none {
            return Vec::new();
        }
        by_function(times)
    }

    /// Where threads wait for the program's lock that some rows are due to, most time first: who holds it less long changes that place.
    pub(super) fn places_of_lock(&self, rows: &[&Row]) -> Vec<Place> {
        let (trace, root) = (self.facts.trace, rows[0].root);
        let Culprit::Lock(process, lock, _) = root.culprit else { return Vec::new() };
        if root.cause != Cause::Lock {
            return Vec::new();
        }
        let waits = &trace.waits;
        let is_of = |at: &usize| {
            let thread = waits.thread[*at].some();
            waits.lock[*at] == lock
                && !is_for_work(waits.kind[*at])
                && thread.is_some_and(|thread| trace.process_of_thread(thread) == process)
        };
        let mut times = Vec::new();
        for at in (0..waits.len()).filter(is_of) {
            if let Some(place) = place_of_stack(trace, waits.stack[at]) {
                add_to(&mut times, place, waits.end[at] - waits.start[at]);
            }
        }
        times.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        times.into_iter().map(|(place, _)| place).take(PLACES).collect()
    }

    pub(super) fn place(&self, culprit: Culprit, parts: &FxHashMap<Key, Place>) -> Option<Place> {
        match culprit {
            Culprit::Spot(_, spot) | Culprit::Lock(_, _, Some(spot)) => Some(self.costs.place(spot).clone()),
            Culprit::Call(_, _, stack) => place_of_stack(self.facts.trace, stack),
            Culprit::Part(key) => parts.get(&key).cloned(),
            Culprit::Lock(_, _, None)
            | Culprit::Before(..)
            | Culprit::Between(_)
            | Culprit::Device(_)
            | Culprit::Site(_)
            | Culprit::Held(..) => None,
        }
    }
}
