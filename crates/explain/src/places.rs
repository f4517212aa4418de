//! Where in the source a call was made: its own stack, else the marked ranges around it. A wait outside
//! calls has the ranges alone.

use crate::Place;
use crate::stretch::Stretch;
use trace::{CallId, Frame, RangeId, RangeKind, StackId, ThreadId, Trace};

/// The most useful place for each call: the innermost frame of the user's own code, else the
/// innermost frame with a line, else the framework operator or named range that made the call.
/// `None` where the trace has neither stacks nor ranges.
pub fn places(trace: &Trace, calls: &[CallId]) -> Vec<Option<Place>> {
    of(trace, &calls.iter().copied().map(Stretch::Call).collect::<Vec<_>>())
}

/// The most useful place of a call stack by itself, as [`places`] has it.
pub fn place_of_stack(trace: &Trace, stack: StackId) -> Option<Place> {
    let frames: Vec<Frame> = frames(trace, stack).collect();
    best(trace, &frames)
}

/// As [`places`].
pub(crate) fn of(trace: &Trace, stretches: &[Stretch]) -> Vec<Option<Place>> {
    let around = Around::new(trace, stretches);
    let place = |at: usize| place(trace, stretches[at], &around.ranges[at]);
    (0..stretches.len()).map(place).collect()
}

fn place(trace: &Trace, stretch: Stretch, around: &[RangeId]) -> Option<Place> {
    let (stack, linked) = match stretch {
        Stretch::Call(call) => (trace.calls.stack[call.index()], trace.calls.range[call.index()].some()),
        Stretch::Wait(_) => (StackId::NONE, None),
    };
    let ranges = || linked.into_iter().chain(around.iter().copied());
    let stacks = std::iter::once(stack).chain(ranges().map(|range| trace.ranges.stack[range.index()]));
    let frames: Vec<Frame> = stacks.flat_map(|stack| frames(trace, stack)).collect();
    best(trace, &frames).or_else(|| named(trace, ranges()))
}

/// The most useful of some frames, innermost first.
fn best(trace: &Trace, frames: &[Frame]) -> Option<Place> {
    let is_own = |frame: &Frame| is_own_code(trace.text(frame.file)) && is_own_code(trace.text(frame.module));
    let own = frames.iter().find(|frame| frame.line > 0 && is_own(frame));
    let lined = || frames.iter().find(|frame| frame.line > 0);
    let native = || frames.iter().find(|frame| is_own_module(trace, frame));
    own.or_else(lined).or_else(native).map(|frame| of_frame(trace, frame))
}

/// The frames of a stack, innermost first.
fn frames(trace: &Trace, stack: StackId) -> impl Iterator<Item = Frame> + use<'_> {
    let stacks = std::iter::successors(stack.some(), |stack| trace.stacks.caller[stack.index()].some());
    stacks.filter_map(|stack| Some(trace.frames.row(trace.stacks.frame[stack.index()].some()?)))
}

fn of_frame(trace: &Trace, frame: &Frame) -> Place {
    let file = if frame.file.is_empty() { frame.module } else { frame.file };
    Place {
        file: trace.text(file).to_owned(),
        line: frame.line,
        function: trace.text(frame.function).to_owned(),
    }
}

/// Whether a source file or a module is the user's rather than a library's.
fn is_own_code(file: &str) -> bool {
    let library = ["site-packages/", "dist-packages/", "/lib/python", "<frozen", "<string>"];
    let package = ["torch/", "threading.py", "contextlib.py"];
    !library.iter().any(|part| file.contains(part)) && !package.iter().any(|start| file.starts_with(start))
}

/// Whether a native frame has a name and lies outside CUDA's, the tracer's and the C libraries.
fn is_own_module(trace: &Trace, frame: &Frame) -> bool {
    let module = trace.text(frame.module);
    let file = module.rsplit('/').next().unwrap_or(module);
    let theirs = ["libcuda", "libcupti", "libc.so", "libc-", "libpthread", "libToolsInjection", "libnvidia"];
    let function = trace.text(frame.function);
    // The runtime may be linked into the program, and wrappers in its headers always are.
    let theirs_inlined = function.starts_with("libcudart_static") || is_runtime_function(function);
    let named = !function.is_empty() && !function.starts_with("0x") && !function.starts_with('[');
    named && !theirs_inlined && !module.is_empty() && !theirs.iter().any(|start| file.starts_with(start))
}

/// `cudaMemcpyAsync`, `cudaError cudaMalloc<float>(float**, unsigned long)`
fn is_runtime_function(name: &str) -> bool {
    let name = name.rsplit(' ').find(|word| word.starts_with("cuda")).unwrap_or(name);
    name.strip_prefix("cuda").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// `aten::item in ## data_dist ##`: the operator, and the range the user named around it.
fn named(trace: &Trace, ranges: impl Iterator<Item = RangeId> + Clone) -> Option<Place> {
    let of_kind = |kind| ranges.clone().find(|range| trace.ranges.kind[range.index()] == kind);
    // PyTorch's NVTX ranges carry running numbers behind their name.
    let name = |range: RangeId| {
        let name = trace.text(trace.ranges.name[range.index()]);
        let end = [", op_id =", ", seq ="].iter().filter_map(|part| name.find(part)).min();
        &name[..end.unwrap_or(name.len())]
    };
    let function = match (of_kind(RangeKind::Operator), of_kind(RangeKind::User)) {
        (Some(operator), Some(user)) => format!("{} in {}", name(operator), name(user)),
        (Some(only), None) | (None, Some(only)) => name(only).to_owned(),
        (None, None) => return None,
    };
    Some(Place { file: String::new(), line: 0, function })
}

/// The ranges around each of some stretches, innermost first.
struct Around {
    ranges: Vec<Vec<RangeId>>,
}

impl Around {
    fn new(trace: &Trace, stretches: &[Stretch]) -> Around {
        let mut ranges = vec![Vec::new(); stretches.len()];
        let mut by_thread = vec![Vec::new(); trace.threads.len()];
        for (at, stretch) in stretches.iter().enumerate() {
            if let Some(thread) = stretch.thread(trace).some() {
                by_thread[thread.index()].push(at);
            }
        }
        let marked = ranges_by_thread(trace, &by_thread);
        for (mut wanted, marked) in by_thread.into_iter().zip(marked) {
            wanted.sort_by_key(|at| stretches[*at].start(trace));
            sweep(trace, stretches, &wanted, &marked, &mut ranges);
        }
        Around { ranges }
    }
}

/// The program's ranges of each thread that is asked for, by start, outer before inner.
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

/// Walks a thread's ranges and the wanted stretches together in time.
fn sweep(
    trace: &Trace,
    stretches: &[Stretch],
    wanted: &[usize],
    marked: &[RangeId],
    out: &mut [Vec<RangeId>],
) {
    let ranges = &trace.ranges;
    let mut open: Vec<RangeId> = Vec::new();
    let mut next = 0;
    for at in wanted {
        let (start, end) = (stretches[*at].start(trace), stretches[*at].end(trace));
        while let Some(range) = marked.get(next).filter(|range| ranges.start[range.index()] <= start) {
            // What ended before this range began cannot hold a later stretch.
            let begins = ranges.start[range.index()];
            while open.last().is_some_and(|last| ranges.end[last.index()] <= begins) {
                open.pop();
            }
            open.push(*range);
            next += 1;
        }
        let holds = |range: &&RangeId| ranges.end[range.index()] >= end;
        out[*at] = open.iter().rev().filter(holds).copied().collect();
    }
}
