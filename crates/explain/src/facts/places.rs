//! The place in the source where a call was made: from its own stack, else from the marked ranges around it. A wait outside
//! calls has only the ranges.

use super::own_code::{is_own_code, is_own_module};
use crate::Place;
use crate::facts::peaks::Peaks;
use crate::facts::stretch::Stretch;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use trace::{CallId, Frame, Ns, RangeId, RangeKind, StackId, ThreadId, Trace};

/// The most useful place for each call: the innermost frame of the user's own code, else the innermost frame with a line,
/// else the framework operator or named range that made the call. `None` if the call has neither a stack nor a range.
pub fn places(trace: &Trace, calls: &[CallId]) -> Vec<Option<Place>> {
    let mut places = vec![None; calls.len()];
    let stretches: Vec<Stretch> = calls.iter().copied().map(Stretch::Call).collect();
    each(trace, &stretches, |at, place| places[at] = place);
    places
}

/// The most useful place of a call stack, without ranges; see [`places`].
pub fn place_of_stack(trace: &Trace, stack: StackId) -> Option<Place> {
    best(trace, frames(trace, stack))
}

/// The places of many stretches, found in one pass, each place once.
#[derive(Default)]
pub(crate) struct Places {
    places: Vec<Place>,
    of: FxHashMap<Stretch, PlaceId>,
}

/// A row of [`Places`].
pub(crate) type PlaceId = usize;

impl Places {
    /// The place of each stretch, as by [`places`]; stretches may repeat.
    pub fn new(trace: &Trace, mut stretches: Vec<Stretch>) -> Places {
        stretches.sort_unstable();
        stretches.dedup();
        let mut known = FxHashMap::<Place, PlaceId>::default();
        let mut of = FxHashMap::default();
        each(trace, &stretches, |at, place| {
            if let Some(place) = place {
                let next = known.len();
                of.insert(stretches[at], *known.entry(place).or_insert(next));
            }
        });
        let mut places: Vec<_> = known.into_iter().collect();
        places.sort_unstable_by_key(|(_, id)| *id);
        Places { places: places.into_iter().map(|(place, _)| place).collect(), of }
    }

    /// The place of a stretch; `None` if it has none or was not passed to [`Places::new`].
    pub fn of(&self, stretch: Stretch) -> Option<PlaceId> {
        self.of.get(&stretch).copied()
    }

    pub fn row(&self, id: PlaceId) -> &Place {
        &self.places[id]
    }

    /// The place of most of some calls, each with its weight, of those whose place is known.
    pub fn most(&self, calls: impl IntoIterator<Item = (CallId, Ns)>) -> Option<&Place> {
        let mut weights = BTreeMap::<PlaceId, Ns>::new();
        for (call, weight) in calls {
            if let Some(place) = self.of(Stretch::Call(call)) {
                *weights.entry(place).or_default() += weight;
            }
        }
        let most = weights.into_iter().max_by_key(|(place, weight)| (*weight, Reverse(*place)));
        most.map(|(place, _)| self.row(place))
    }
}

/// Most calls of one kind whose places are looked up: the stack of one call in dozens may be all there is.
pub(crate) const PLACED: usize = 10_000;

/// Something whose place is sought.
struct Sought {
    thread: ThreadId,
    start: Ns,
    end: Ns,
    /// Its own stack.
    stack: StackId,
    /// The range that the source links with it.
    linked: Option<RangeId>,
}

impl Sought {
    fn of(trace: &Trace, stretch: Stretch) -> Sought {
        let (stack, linked) = match stretch {
            Stretch::Call(call) => (trace.calls.stack[call.index()], trace.calls.range[call.index()].some()),
            Stretch::Wait(_) => (StackId::NONE, None),
        };
        let (start, end) = (stretch.start(trace), stretch.end(trace));
        Sought { thread: stretch.thread(trace), start, end, stack, linked }
    }
}

/// Where a thread was at a moment, by the ranges around it.
pub(crate) struct Marked {
    pub place: Option<Place>,
    /// The innermost range of a framework or an interpreter.
    pub range: Option<RangeId>,
    /// All ranges around it, innermost first.
    pub around: Vec<RangeId>,
}

/// Passes where each thread was at each of some moments, with the moment's index, to `tell`; in no order.
pub(crate) fn marked(trace: &Trace, moments: &[(ThreadId, Ns)], mut tell: impl FnMut(usize, Marked)) {
    let sought = moments.iter().map(|(thread, at)| Sought {
        thread: *thread,
        start: *at,
        end: at.saturating_add(1),
        stack: StackId::NONE,
        linked: None,
    });
    search(trace, &sought.collect::<Vec<_>>(), |at, sought, open| {
        let range = open.around(&open.working, sought.end).next();
        let ends = |range: &RangeId| trace.ranges.end[range.index()] >= sought.end;
        let around = open.ranges.iter().rev().copied().filter(ends).collect();
        tell(at, Marked { place: place(trace, sought, open), range, around });
    });
}

/// Passes the place of each stretch, with the stretch's index, to `tell`; in no order.
fn each(trace: &Trace, stretches: &[Stretch], mut tell: impl FnMut(usize, Option<Place>)) {
    let sought: Vec<Sought> = stretches.iter().map(|stretch| Sought::of(trace, *stretch)).collect();
    search(trace, &sought, |at, sought, open| tell(at, place(trace, sought, open)));
}

/// Passes each of what is sought, with its index and the ranges that are open then, to `tell`; in no order.
fn search(trace: &Trace, sought: &[Sought], mut tell: impl FnMut(usize, &Sought, &Open)) {
    let mut by_thread = vec![Vec::new(); trace.threads.len()];
    for (at, one) in sought.iter().enumerate() {
        match one.thread.some() {
            Some(thread) => by_thread[thread.index()].push(at),
            None => tell(at, one, &Open::default()),
        }
    }
    let marked = ranges_by_thread(trace, &by_thread);
    for (mut wanted, marked) in by_thread.into_iter().zip(marked) {
        wanted.sort_by_key(|at| sought[*at].start);
        let mut marked = marked.into_iter().peekable();
        let mut open = Open::default();
        for at in wanted {
            let start = sought[at].start;
            while let Some(range) = marked.next_if(|range| trace.ranges.start[range.index()] <= start) {
                // Nothing that is sought from here on lies in a range that has ended.
                if trace.ranges.end[range.index()] >= start {
                    open.push(trace, range);
                }
            }
            tell(at, &sought[at], &open);
        }
    }
}

fn place(trace: &Trace, sought: &Sought, open: &Open) -> Option<Place> {
    let Sought { end, stack, linked, .. } = *sought;
    let around = linked.into_iter().chain(open.around(&open.stacked, end));
    let stacks = std::iter::once(stack).chain(around.map(|range| trace.ranges.stack[range.index()]));
    let innermost = |kind: RangeKind, of: &Peaks| {
        let linked = linked.filter(|range| trace.ranges.kind[range.index()] == kind);
        linked.or_else(|| open.around(of, end).next())
    };
    let marked = || {
        let operator = innermost(RangeKind::Operator, &open.operators);
        named(trace, operator, innermost(RangeKind::User, &open.users))
    };
    let best = best(trace, stacks.flat_map(|stack| frames(trace, stack)));
    // A range that the program marked is more useful than the library that runs unnamed code.
    let is_vague = best.as_ref().is_some_and(|best| best.line == 0) && comes_through_unnamed(trace, stack);
    if is_vague { marked().or(best) } else { best.or_else(marked) }
}

/// Whether a stack passes through unnamed code, generated at run time, before it reaches a named function of the program.
fn comes_through_unnamed(trace: &Trace, stack: StackId) -> bool {
    let is_unnamed = |frame: &Frame| {
        let nowhere = frame.module.is_empty() && frame.file.is_empty();
        nowhere && trace.text(frame.function).starts_with("0x")
    };
    frames(trace, stack).take_while(|frame| !is_own_module(trace, frame)).any(|frame| is_unnamed(&frame))
}

/// The most useful of some frames, innermost first.
fn best(trace: &Trace, frames: impl Iterator<Item = Frame> + Clone) -> Option<Place> {
    let frames = without_stubs(trace, frames);
    let is_own = |frame: &Frame| is_own_code(trace.text(frame.file)) && is_own_code(trace.text(frame.module));
    let own = frames.clone().find(|frame| frame.line > 0 && is_own(frame));
    let lined = || frames.clone().find(|frame| frame.line > 0);
    let native = || frames.clone().find(|frame| is_own_module(trace, frame));
    own.or_else(lined).or_else(native).map(|frame| of_frame(trace, &frame))
}

/// The frames of a stack, innermost first.
fn frames(trace: &Trace, stack: StackId) -> impl Iterator<Item = Frame> + Clone + use<'_> {
    let stacks = std::iter::successors(stack.some(), |stack| trace.stacks.caller[stack.index()].some());
    stacks.filter_map(|stack| Some(trace.frames.row(trace.stacks.frame[stack.index()].some()?)))
}

/// The frames without those that nvcc makes of a kernel: its stub, which launches it, and the function of the kernel's name, which
/// calls the stub. The frame after them is where the program launches the kernel.
fn without_stubs(
    trace: &Trace,
    frames: impl Iterator<Item = Frame> + Clone,
) -> impl Iterator<Item = Frame> + Clone {
    let made = frames.scan("", |stub, frame| {
        let function = trace.text(frame.function);
        let is_kernel = !stub.is_empty() && is_mangled(function, stub);
        *stub = function.strip_prefix("__device_stub__").unwrap_or("");
        Some((stub.is_empty() && !is_kernel).then_some(frame))
    });
    made.flatten()
}

/// Whether a mangled name may be that of a function: it contains the function's name with its length.
fn is_mangled(function: &str, mangled: &str) -> bool {
    let function = function.replace("(anonymous namespace)::", "");
    let end = function.find(['(', '<']).unwrap_or(function.len());
    let name = function[..end].rsplit([':', ' ']).next().unwrap_or_default();
    !name.is_empty() && mangled.contains(&format!("{}{name}", name.len()))
}

pub(crate) fn of_frame(trace: &Trace, frame: &Frame) -> Place {
    let file = if frame.file.is_empty() { frame.module } else { frame.file };
    Place {
        file: trace.text(file).to_owned(),
        line: frame.line,
        function: trace.text(frame.function).to_owned(),
    }
}

/// The name of one of Python's built-in functions, as a profiler writes it: `<built-in method NAME of type object at 0x7f80>`,
/// `<method 'NAME' of 'socket' objects>`.
pub(crate) fn built_in(function: &str) -> Option<&str> {
    let starts = ["<built-in function ", "<built-in method ", "<method "];
    let rest = starts.iter().find_map(|start| function.strip_prefix(start))?;
    let name = rest.split([' ', '>']).next().unwrap_or(rest).trim_matches('\'');
    Some(name.rsplit('.').next().unwrap_or(name))
}

/// Whether a place is a line of the program's own.
pub(crate) fn is_own_line(place: &Place) -> bool {
    place.line > 0 && is_own_code(&place.file)
}

/// `aten::item in ## data_dist ##`: the operator, and the range the user named around it.
fn named(trace: &Trace, operator: Option<RangeId>, user: Option<RangeId>) -> Option<Place> {
    // PyTorch's NVTX ranges have running numbers after their name.
    let name = |range: RangeId| {
        let name = trace.text(trace.ranges.name[range.index()]);
        let end = [", op_id =", ", seq ="].iter().filter_map(|part| name.find(part)).min();
        &name[..end.unwrap_or(name.len())]
    };
    // PyTorch has this one around every collective.
    let says_nothing = |operator: RangeId| user.is_some() && name(operator) == "record_param_comms";
    let function = match (operator.filter(|operator| !says_nothing(*operator)), user) {
        (Some(operator), Some(user)) => format!("{} in {}", name(operator), name(user)),
        (Some(only), None) | (None, Some(only)) => name(only).to_owned(),
        (None, None) => return None,
    };
    Some(Place { file: String::new(), line: 0, function })
}

/// The program's ranges of each thread that has wanted stretches, by start, outer before inner.
fn ranges_by_thread(trace: &Trace, wanted: &[Vec<usize>]) -> Vec<Vec<RangeId>> {
    let ranges = &trace.ranges;
    let mut marked = vec![Vec::new(); wanted.len()];
    for range in ranges.ids() {
        let thread: ThreadId = ranges.thread[range.index()];
        let asked = thread.some().is_some_and(|thread| !wanted[thread.index()].is_empty());
        if asked && ranges.kind[range.index()] != RangeKind::Overhead {
            marked[thread.index()].push(range);
        }
    }
    let key = |range: &RangeId| (ranges.start[range.index()], -ranges.end[range.index()]);
    for marked in &mut marked {
        if !marked.is_sorted_by_key(key) {
            marked.sort_by_key(key);
        }
    }
    marked
}

/// A thread's ranges that have begun and may not have ended, the latest last.
///
/// Nested ranges leave it when they end. Overlapping ranges, such as those of asynchronous work, pile up in it: [`Peaks`]
/// finds those that have not ended.
#[derive(Default)]
struct Open {
    ranges: Vec<RangeId>,
    /// Ends of the operators, ns, by their index in `ranges`.
    operators: Peaks,
    /// Ends of the ranges that the user named, ns.
    users: Peaks,
    /// Ends of the ranges with a source place, ns.
    stacked: Peaks,
    /// Ends of those that a framework or an interpreter marks: the thread works in them, ns.
    working: Peaks,
}

impl Open {
    fn push(&mut self, trace: &Trace, range: RangeId) {
        let ranges = &trace.ranges;
        // A range that ended before this one began cannot contain a later stretch.
        let begins = ranges.start[range.index()];
        while self.ranges.last().is_some_and(|last| ranges.end[last.index()] <= begins) {
            self.pop();
        }
        let (at, end) = (self.ranges.len(), ranges.end[range.index()]);
        self.ranges.push(range);
        match ranges.kind[range.index()] {
            RangeKind::Operator => self.operators.set(at, end),
            // The number of a step is no place.
            RangeKind::User if !trace.text(ranges.name[range.index()]).starts_with("ProfilerStep#") => {
                self.users.set(at, end);
            }
            _ => {}
        }
        if ranges.stack[range.index()].is_some() {
            self.stacked.set(at, end);
        }
        if matches!(ranges.kind[range.index()], RangeKind::Operator | RangeKind::Python) {
            self.working.set(at, end);
        }
    }

    fn pop(&mut self) {
        self.ranges.pop();
        for ends in [&mut self.operators, &mut self.users, &mut self.stacked, &mut self.working] {
            ends.clear(self.ranges.len());
        }
    }

    /// The ranges among `ends` that do not end before `end`, innermost first.
    fn around<'a>(&'a self, ends: &'a Peaks, end: Ns) -> impl Iterator<Item = RangeId> + Clone + 'a {
        ends.above(end.saturating_sub(1), self.ranges.len()).map(|at| self.ranges[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Call, Range, Sym};

    const KINDS: [RangeKind; 3] = [RangeKind::Operator, RangeKind::User, RangeKind::Python];

    /// A thread with a call from 4 to 6 and ranges of these times and kinds, each named after its number; Python ranges have
    /// a stack.
    fn trace(ranges: &[(Ns, Ns, RangeKind)]) -> Trace {
        let mut trace = Trace::default();
        let thread = trace.threads.push(trace::Thread::default());
        trace.calls.push(Call { start: 4, end: 6, thread, ..Call::default() });
        for (at, (start, end, kind)) in ranges.iter().copied().enumerate() {
            let name: Sym = trace.strings.intern(&at.to_string());
            let mut stack = StackId::NONE;
            if kind == RangeKind::Python {
                let frame = Frame { line: 1, file: name, function: name, ..Frame::default() };
                let frame = trace.frames.push(frame);
                stack = trace.stacks.push(trace::Stack { frame, ..trace::Stack::default() });
            }
            trace.ranges.push(Range { start, end, kind, name, thread, stack, ..Range::default() });
        }
        trace
    }

    /// The place by a full scan of the ranges.
    fn naive(ranges: &[(Ns, Ns, RangeKind)]) -> Option<String> {
        let mut around: Vec<_> =
            (0..ranges.len()).filter(|at| ranges[*at].0 <= 4 && ranges[*at].1 >= 6).collect();
        around.sort_by_key(|at| (ranges[*at].0, -ranges[*at].1));
        let innermost = |kind| around.iter().rev().find(|at| ranges[**at].2 == kind).map(|at| at.to_string());
        let [operator, user, python] = KINDS.map(innermost);
        let both = operator.iter().zip(&user).map(|(operator, user)| format!("{operator} in {user}")).next();
        python.or(both).or(operator).or(user)
    }

    #[test]
    fn a_kernel_is_launched_where_its_stub_is_called() {
        let place = |functions: &[&str]| {
            let mut trace = Trace::default();
            let mut caller = StackId::NONE;
            for (at, function) in functions.iter().enumerate().rev() {
                let (function, file) = (trace.strings.intern(function), trace.strings.intern("a.cu"));
                let line = u32::try_from(at).unwrap_or(0) + 1;
                let frame = trace.frames.push(Frame { line, file, function, ..Frame::default() });
                caller = trace.stacks.push(trace::Stack { frame, caller });
            }
            place_of_stack(&trace, caller).map(|place| place.function)
        };
        for kernel in ["work", "work(long)", "void ns::work<int>(long)", "(anonymous namespace)::work(long)"]
        {
            let stack = ["__device_stub__ZN2ns4workIiEEvl", kernel, "launch", "main"];
            assert_eq!(place(&stack).as_deref(), Some("launch"), "{kernel}");
        }
        assert_eq!(place(&["__device_stub__Z4workl", "launch", "main"]).as_deref(), Some("launch"));
        assert_eq!(place(&["work", "main"]).as_deref(), Some("work"));
    }

    #[test]
    fn overlapping_ranges_match_a_full_scan() {
        let times = [(0, 5), (1, 6), (2, 4), (2, 9), (3, 7), (4, 6), (4, 8), (5, 9)];
        let any = || times.iter().flat_map(|(start, end)| KINDS.map(|kind| (*start, *end, kind)));
        for first in any() {
            for second in any() {
                for third in any() {
                    let ranges = [first, second, third];
                    let found = places(&trace(&ranges), &[CallId::new(0)]);
                    let found = found[0].as_ref().map(|place| place.function.clone());
                    assert_eq!(found, naive(&ranges), "{ranges:?}");
                }
            }
        }
    }

    #[test]
    fn a_marked_range_is_preferred_to_a_library_that_runs_unnamed_code() {
        // Innermost first: function, module, line.
        let place = |stack: &[(&str, &str, u32)], kind| {
            let mut trace = trace(&[(0, 9, kind)]);
            let mut caller = StackId::NONE;
            for (function, module, line) in stack.iter().rev() {
                let [function, module] = [function, module].map(|text| trace.strings.intern(text));
                let frame = trace.frames.push(Frame { function, module, line: *line, ..Frame::default() });
                caller = trace.stacks.push(trace::Stack { frame, caller });
            }
            trace.calls.stack[0] = caller;
            places(&trace, &[CallId::new(0)])[0].as_ref().map(|place| place.function.clone()).unwrap()
        };
        let (driver, made, runs) = (("f", "libcuda.so.1", 0), ("0x7f00", "", 0), ("apply", "libruby.so", 0));
        let user = RangeKind::User;
        assert_eq!(place(&[driver, made, runs], user), "0");
        // A name or a line is preferred to a range; without a range, only the library remains.
        assert_eq!(place(&[driver, ("step!", "[made at run time]", 0), runs], user), "step!");
        assert_eq!(place(&[driver, made, ("main", "program", 7)], user), "main");
        assert_eq!(place(&[driver, runs, made], user), "apply");
        assert_eq!(place(&[driver, made, runs], RangeKind::Overhead), "apply");
    }

    #[test]
    fn many_stretches_get_the_same_places_as_each_by_itself() {
        let ranges = (0..40).map(|at| (at, at + 3 + at * 7 % 5, KINDS[at as usize % 2]));
        let mut trace = trace(&ranges.collect::<Vec<_>>());
        let thread = trace.calls.thread[0];
        for start in (0..40).rev() {
            trace.calls.push(Call { start, end: start + 1 + start % 3, thread, ..Call::default() });
        }
        let all: Vec<_> = trace.calls.ids().map(Stretch::Call).collect();
        let together = Places::new(&trace, all.iter().chain(&all).copied().collect());
        for call in trace.calls.ids() {
            let place = together.of(Stretch::Call(call)).map(|id| together.row(id).clone());
            assert_eq!(place, places(&trace, &[call])[0]);
        }
    }
}
