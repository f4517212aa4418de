//! Trees of weighed stacks below the program's own line, and the function or library in one that explains most of it.

use crate::Place;
use crate::facts::own_code::is_telling;
use crate::facts::places::of_frame;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::cmp::Reverse;
use trace::{FrameId, StackId, Sym, Trace};

/// A function in a tree of calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TreeRow {
    /// Number of functions of the tree around it.
    pub depth: u32,
    /// The function, with the line that has most samples.
    #[serde(flatten)]
    pub place: Place,
    /// The part of all samples that lie in it, 0 to 1.
    pub share: f64,
}

/// A function; of one that has several lines in the stacks all count together, and of a library all functions without names.
type Function = (Sym, Sym, Sym);

/// Functions that only pass a call on: nobody learns anything of them. The last parts of their names.
const PASSED_ON: [&str; 12] = [
    "_call_impl",
    "_wrapped_call_impl",
    "decorate_context",
    "wrapper",
    "wrapped",
    "wrapped_fn",
    "inner",
    "<lambda>",
    "reraise_with_filtered_traceback",
    "__call__",
    "_use_grad",
    "maybe_fallback",
];

/// The smallest part of the samples that makes a row, in percent, and most rows. Choices.
const SMALL: u64 = 5;
const ROWS: usize = 24;

/// The tree of some weighed stacks below a place: each function before those that it calls, of those the one with most samples first.
pub(crate) fn tree(trace: &Trace, stacks: &[(StackId, u64)], place: &Place) -> Vec<TreeRow> {
    let all: u64 = stacks.iter().map(|(_, weight)| weight).sum();
    let paths: Vec<Path> = stacks
        .iter()
        .map(|(stack, weight)| Path { frames: below(trace, *stack, place), weight: *weight })
        .collect();
    let mut growing = Growing { trace, all, rows: Vec::new() };
    growing.grow(&paths.iter().collect::<Vec<_>>(), 0, None);
    growing.rows
}

/// The deepest function with a line that has at least half of a tree's samples, and the deepest one, or the library, without.
pub(crate) fn inner(tree: &[TreeRow]) -> Vec<Place> {
    inner_above(tree, |_| false)
}

/// Like [`inner`], of the functions above the first one of some library.
pub(crate) fn inner_above(tree: &[TreeRow], is_of_library: impl Fn(&Place) -> bool) -> Vec<Place> {
    let (mut lined, mut native) = (None, None);
    for (row, depth) in tree.iter().zip(0..) {
        if row.depth != depth || row.share < 0.5 || is_of_library(&row.place) {
            break;
        }
        match row.place.line {
            0 => native = Some(row.place.clone()),
            _ => (lined, native) = (Some(row.place.clone()), None),
        }
    }
    lined.into_iter().chain(native).collect()
}

/// A stack below the program's line.
struct Path {
    /// Outermost first.
    frames: Vec<FrameId>,
    weight: u64,
}

struct Growing<'a> {
    trace: &'a Trace,
    all: u64,
    rows: Vec<TreeRow>,
}

impl Growing<'_> {
    /// Adds the functions that some paths have at an index, and what is below them, under a row.
    fn grow(&mut self, paths: &[&Path], at: usize, under: Option<usize>) {
        let mut groups = FxHashMap::<Function, (u64, Vec<&Path>)>::default();
        for path in paths.iter().filter(|path| at < path.frames.len()) {
            let (weight, of) = groups.entry(function(self.trace, path.frames[at])).or_default();
            *weight += path.weight;
            of.push(path);
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.retain(|(_, (weight, _))| weight * 100 >= self.all * SMALL);
        groups.sort_by_key(|(function, (weight, _))| (Reverse(*weight), *function));
        for (_, (weight, of)) in groups {
            if self.rows.len() >= ROWS {
                return;
            }
            let frame = most(of.iter().map(|path| (path.frames[at], path.weight)));
            let told = frame.and_then(|frame| told(self.trace, frame));
            let above = under.map(|row| &self.rows[row].place);
            let under = match told.filter(|told| above != Some(told)) {
                Some(place) => {
                    let depth = under.map_or(0, |row| self.rows[row].depth + 1);
                    self.rows.push(TreeRow { depth, place, share: weight as f64 / self.all.max(1) as f64 });
                    Some(self.rows.len() - 1)
                }
                None => under,
            };
            self.grow(&of, at + 1, under);
        }
    }
}

/// The place of a frame that tells something: a function, or the library of one without a name.
fn told(trace: &Trace, frame: FrameId) -> Option<Place> {
    let row = trace.frames.row(frame);
    let function = trace.text(row.function);
    let last = function.rsplit('.').next().unwrap_or(function);
    let tells = if row.line > 0 { !PASSED_ON.contains(&last) } else { is_telling(trace, &row) };
    let place = of_frame(trace, &row);
    tells.then(|| if is_unnamed(function) { Place { function: String::new(), ..place } } else { place })
}

/// The place of the innermost frame of a stack, if it has a line and tells something.
pub(crate) fn told_of_stack(trace: &Trace, stack: StackId) -> Option<Place> {
    told(trace, trace.stacks.frame[stack.index()].some()?).filter(|place| place.line > 0)
}

fn is_unnamed(function: &str) -> bool {
    function.is_empty() || function.starts_with("0x")
}

/// The frame with most weight.
fn most(frames: impl Iterator<Item = (FrameId, u64)>) -> Option<FrameId> {
    let mut weights = FxHashMap::<FrameId, u64>::default();
    frames.for_each(|(frame, weight)| *weights.entry(frame).or_default() += weight);
    weights.into_iter().max_by_key(|(frame, weight)| (*weight, Reverse(*frame))).map(|(frame, _)| frame)
}

/// The frames of a stack below the innermost one at a place, outermost first; all, if none is there.
fn below(trace: &Trace, stack: StackId, place: &Place) -> Vec<FrameId> {
    let stacks = std::iter::successors(stack.some(), |stack| trace.stacks.caller[stack.index()].some());
    let frames = stacks.filter_map(|stack| trace.stacks.frame[stack.index()].some());
    let is_place = |frame: &FrameId| {
        let row = trace.frames.row(*frame);
        row.line == place.line && of_frame(trace, &row) == *place
    };
    let mut below: Vec<FrameId> = frames.take_while(|frame| !is_place(frame)).collect();
    below.reverse();
    below
}

fn function(trace: &Trace, frame: FrameId) -> Function {
    let row = trace.frames.row(frame);
    let name = if is_unnamed(trace.text(row.function)) { Sym::default() } else { row.function };
    (row.file, row.module, name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Frame, Stack};

    /// The frames of a stack, outermost first: file, function and line; with its weight.
    type Weighed<'a> = (&'a [(&'a str, &'a str, u32)], u64);

    fn rows(stacks: &[Weighed<'_>]) -> Vec<TreeRow> {
        let mut trace = Trace::default();
        let weighed: Vec<_> = stacks
            .iter()
            .map(|(frames, weight)| {
                let stack = frames.iter().fold(StackId::NONE, |caller, (file, function, line)| {
                    let [file, function] = [file, function].map(|text| trace.strings.intern(text));
                    let module = if *line == 0 { file } else { Sym::default() };
                    let file = if *line == 0 { Sym::default() } else { file };
                    let frame = trace.frames.push(Frame { function, file, module, line: *line });
                    trace.stacks.push(Stack { frame, caller })
                });
                (stack, *weight)
            })
            .collect();
        let place = Place { file: "train.py".into(), line: 3, function: "main".into() };
        tree(&trace, &weighed, &place)
    }

    const MAIN: (&str, &str, u32) = ("train.py", "main", 3);

    fn deepest(stacks: &[Weighed<'_>]) -> Vec<String> {
        inner(&rows(stacks)).into_iter().map(|place| place.function).collect()
    }

    #[test]
    fn the_deepest_function_with_half_of_the_samples_is_named() {
        let (step, one) = (("lib.py", "step", 9), ("lib.py", "one", 20));
        let other_line = ("lib.py", "one", 21);
        let stacks: &[Weighed<'_>] =
            &[(&[MAIN, step, one], 3), (&[MAIN, step, other_line], 3), (&[MAIN, step], 2), (&[MAIN], 2)];
        assert_eq!(deepest(stacks), ["one"], "six of ten, on two lines");
        let stacks: &[Weighed<'_>] = &[(&[MAIN, step, one], 4), (&[MAIN, step], 2), (&[MAIN], 4)];
        assert_eq!(deepest(stacks), ["step"], "four of ten are below");
        assert!(deepest(&[(&[MAIN, step], 4), (&[MAIN], 6)]).is_empty());
    }

    #[test]
    fn a_library_is_named_below_the_line_that_calls_it() {
        let (call, native) = (("lib.py", "forward", 9), ("/usr/lib/libfft.so", "fft::plan", 0));
        assert_eq!(deepest(&[(&[MAIN, call, native], 9)]), ["forward", "fft::plan"]);
    }

    #[test]
    fn a_function_is_named_that_calls_a_library() {
        let (calls, run, build) = (("rotary.py", "apply", 9), ("jit.py", "run", 4), ("jit.py", "compile", 7));
        let above = |path: &[(&str, &str, u32)]| {
            let places = inner_above(&rows(&[(path, 9)]), |place| place.file == "jit.py");
            places.into_iter().map(|place| place.function).collect::<Vec<_>>()
        };
        assert_eq!(above(&[MAIN, calls, run, build]), ["apply"]);
        assert!(above(&[MAIN, run, build]).is_empty(), "the program's own line calls it");
    }

    #[test]
    fn functions_that_pass_a_call_on_are_left_out() {
        let (passed, done) = (("module.py", "Module._call_impl", 5), ("lib.py", "Linear.forward", 9));
        let rows = rows(&[(&[MAIN, passed, done], 9)]);
        let told: Vec<_> = rows.iter().map(|row| (row.depth, row.place.function.as_str())).collect();
        assert_eq!(told, [(0, "Linear.forward")]);
    }
}
