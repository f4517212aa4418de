//! Steps that somebody marked: ranges of one thread whose names are the same but for a number.

use super::found::{FEWEST, Found, FoundStep, Outliers, StepSource, asked, without_numbers};
use crate::facts::marks::{Mark, is_of_library};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use trace::{CallId, Ns, OpId, RangeId, RangeKind, Sym, ThreadId, Times, Trace};

/// The ranges with which PyTorch's profiler marks the steps of its schedule. Two is its documentation's number of active steps;
/// with three a median exists.
const PROFILER_STEP: (&str, usize) = ("ProfilerStep#", 3);

/// Words that programs use for their steps, in lower case.
const WORDS: [&str; 5] = ["step", "iter", "batch", "request", "token"];

/// Most groups that are compared: those that take most time.
const COMPARED: usize = 16;

/// Most operations that are looked at to see whether a group covers the GPU's work: every n-th of them shows it, too.
const LOOKED_AT: usize = 100_000;

/// The ranges of a thread whose names are the same without their numbers.
struct Group {
    thread: ThreadId,
    /// The name, `#` for each number.
    pattern: u32,
    count: usize,
    sum: Ns,
}

/// Author of the ranges: a library's are parts of a step, or hold several, unless nothing else shows any.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    Program,
    Library,
}

/// Finds the steps that somebody marked in a window.
pub(super) fn find(trace: &Trace, window: (Ns, Ns), author: Author) -> Option<Found> {
    marked(trace, window, author).map(|found| until_done(trace, window, found))
}

fn marked(trace: &Trace, window: (Ns, Ns), author: Author) -> Option<Found> {
    let mut patterns = Patterns::new(trace);
    let groups = groups(trace, window, author, &mut patterns);
    let mut candidates: Vec<_> = groups
        .iter()
        .filter_map(|group| {
            let found = gather(trace, window, &patterns, group)?;
            let durations = Outliers::of(&found.lengths());
            let pattern = &patterns.texts[group.pattern as usize];
            let is_profilers = pattern.starts_with(PROFILER_STEP.0);
            let lower = pattern.to_lowercase();
            let is_named = WORDS.iter().any(|word| lower.contains(word));
            let rank =
                (is_profilers, is_named, durations.median_ns, found.steps.len(), Reverse(found.thread));
            Some((rank, found))
        })
        .collect();
    candidates.sort_by_key(|(rank, _)| Reverse(*rank));
    let is_work = |(rank, found): &(_, Found)| {
        let (is_profilers, ..): &(bool, bool, Ns, usize, Reverse<ThreadId>) = rank;
        *is_profilers || covers_work(trace, window, found)
    };
    candidates.into_iter().find(is_work).map(|(_, found)| found)
}

/// The groups of an author that are large enough, those that take most time first; at most [`COMPARED`].
fn groups(trace: &Trace, window: (Ns, Ns), author: Author, patterns: &mut Patterns<'_>) -> Vec<Group> {
    let mut sums = FxHashMap::<(ThreadId, u32), (usize, Ns)>::default();
    for range in trace.ranges.ids().filter(|range| is_candidate(trace, *range, window)) {
        let at = range.index();
        let pattern = patterns.of(trace.ranges.name[at]);
        let (count, sum) = sums.entry((trace.ranges.thread[at], pattern)).or_default();
        *count += 1;
        *sum += trace.ranges.end[at] - trace.ranges.start[at];
    }
    let group = |((thread, pattern), (count, sum))| Group { thread, pattern, count, sum };
    let mut groups: Vec<Group> = sums.into_iter().map(group).collect();
    groups.retain(|group| patterns.author(group.pattern) == Some(author));
    groups.retain(|group| group.count >= patterns.fewest(group.pattern));
    groups.sort_unstable_by_key(|group| (Reverse(group.sum), group.thread, group.pattern));
    groups.truncate(COMPARED);
    groups
}

/// Whether a range may be a step: the program's own, of one thread, and wholly in the window.
fn is_candidate(trace: &Trace, range: RangeId, (from, to): (Ns, Ns)) -> bool {
    let (ranges, at) = (&trace.ranges, range.index());
    ranges.kind[at] == RangeKind::User
        && ranges.thread[at].is_some()
        && ranges.start[at] < ranges.end[at]
        && from <= ranges.start[at]
        && ranges.end[at] <= to
}

/// The steps of a group; `None` if its ranges overlap.
fn gather(trace: &Trace, window: (Ns, Ns), patterns: &Patterns<'_>, group: &Group) -> Option<Found> {
    let ranges = &trace.ranges;
    let is_its = |range: &RangeId| {
        let at = range.index();
        ranges.thread[at] == group.thread
            && patterns.known(ranges.name[at]) == Some(group.pattern)
            && is_candidate(trace, *range, window)
    };
    let row = |range: RangeId| {
        let at = range.index();
        (ranges.start[at], ranges.end[at], ranges.name[at])
    };
    let mut rows: Vec<(Ns, Ns, Sym)> = ranges.ids().filter(is_its).map(row).collect();
    rows.sort_unstable_by_key(|(start, end, name)| (*start, Reverse(*end), name.index()));
    // A range within another one of its group is no step: a function that calls itself.
    let all = rows.len();
    rows.dedup_by(|inner, outer| inner.0 < outer.1);
    let is_nested = (all - rows.len()) * 10 > all;
    if is_nested || rows.len() < patterns.fewest(group.pattern) {
        return None;
    }
    let is_one_name = rows.iter().all(|row| row.2 == rows[0].2);
    let name = if is_one_name { trace.text(rows[0].2) } else { patterns.title(group.pattern) };
    let step = |(start, end, name): &(Ns, Ns, Sym)| FoundStep {
        start: *start,
        end: *end,
        name: *name,
        thread: group.thread,
        call: CallId::NONE,
        is_first: false,
    };
    let steps = rows.iter().map(step).collect();
    Some(Found::new(name.to_owned(), StepSource::Ranges, group.thread, steps))
}

/// The steps, each until the GPU has done what was asked for in it, and from the end of the one before if that is later than its
/// range's start. Nothing of a window ends behind it.
fn until_done(trace: &Trace, window: (Ns, Ns), mut found: Found) -> Found {
    let process = trace.process_of_thread(found.thread);
    let mut ends: Vec<Ns> = found.steps.iter().map(|step| step.end).collect();
    for op in trace.ops.ids() {
        let at = asked(trace, op);
        let step = found.steps.partition_point(|step| step.end <= at);
        let is_in = found.steps.get(step).is_some_and(|step| step.start <= at);
        if is_in && trace.process_of_stream(trace.ops.stream[op.index()]) == process {
            ends[step] = ends[step].max(trace.ops.end[op.index()].min(window.1));
        }
    }
    let mut before = window.0;
    for (step, end) in found.steps.iter_mut().zip(ends) {
        step.start = before.max(step.start);
        before = before.max(end);
        step.end = before;
    }
    found
}

/// Whether at least half of the time of the process's operations in the window was asked for within steps; without operations,
/// half of its calls. An autotuner's many short ones are little time.
fn covers_work(trace: &Trace, (from, to): (Ns, Ns), found: &Found) -> bool {
    let times = Times::of(found.steps.iter().map(|step| (step.start, step.end)));
    let process = trace.process_of_thread(found.thread);
    let (mut all, mut within): (i128, i128) = (0, 0);
    let mut look = |at: Ns, took: Ns| {
        if from <= at && at < to {
            all += i128::from(took);
            within += if times.hold(at) { i128::from(took) } else { 0 };
        }
    };
    if trace.ops.is_empty() {
        let is_its = |at: &usize| trace.process_of_thread(trace.calls.thread[*at]) == process;
        let every = (trace.calls.len() / LOOKED_AT).max(1);
        let calls = (0..trace.calls.len()).step_by(every).filter(is_its);
        calls.for_each(|at| look(trace.calls.start[at], 1));
    } else {
        let is_its = |op: &OpId| trace.process_of_stream(trace.ops.stream[op.index()]) == process;
        let every = (trace.ops.len() / LOOKED_AT).max(1);
        let took = |op: OpId| trace.ops.end[op.index()] - trace.ops.start[op.index()];
        trace.ops.ids().step_by(every).filter(is_its).for_each(|op| look(asked(trace, op), took(op)));
    }
    all > 0 && within * 2 >= all
}

/// The names of ranges without their numbers, each once.
struct Patterns<'a> {
    trace: &'a Trace,
    texts: Vec<String>,
    known: FxHashMap<String, u32>,
    /// By the symbol of a name.
    of: FxHashMap<Sym, u32>,
}

impl<'a> Patterns<'a> {
    fn new(trace: &'a Trace) -> Patterns<'a> {
        Patterns { trace, texts: Vec::new(), known: FxHashMap::default(), of: FxHashMap::default() }
    }

    fn of(&mut self, name: Sym) -> u32 {
        if let Some(known) = self.of.get(&name) {
            return *known;
        }
        let text = without_numbers(self.trace.text(name));
        let next = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let pattern = *self.known.entry(text).or_insert_with_key(|text| {
            self.texts.push(text.clone());
            next
        });
        self.of.insert(name, pattern);
        pattern
    }

    fn known(&self, name: Sym) -> Option<u32> {
        self.of.get(&name).copied()
    }

    /// Author of the ranges of a pattern; `None` if a library marks time with them that is no step: it builds kernels, or loads data.
    fn author(&self, pattern: u32) -> Option<Author> {
        let name = &self.texts[pattern as usize];
        match (is_of_library(name), Mark::of_range(name)) {
            (_, Some(_)) => None,
            (true, None) => Some(Author::Library),
            (false, None) => Some(Author::Program),
        }
    }

    /// Fewest ranges of a pattern that are steps.
    fn fewest(&self, pattern: u32) -> usize {
        let (name, fewest) = PROFILER_STEP;
        if self.texts[pattern as usize].starts_with(name) { fewest } else { FEWEST }
    }

    /// `ProfilerStep` of `ProfilerStep##`, `step` of `step #`.
    fn title(&self, pattern: u32) -> &str {
        let text = &self.texts[pattern as usize];
        match text.trim_end_matches(['#', ' ', '_', '-', ':', '=']) {
            "" => text,
            title => title,
        }
    }
}
