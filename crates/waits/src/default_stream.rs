//! Legacy default streams, and the streams that synchronize with them.

use crate::class::communicates;
use rustc_hash::FxHashMap;
use trace::{Ns, RangeKind, StackId, StreamId, Trace};

/// The number that CUPTI gives the legacy default stream of a process's first context.
const DEFAULT_STREAM: i64 = 7;

/// Whether this is, by its number, a legacy default stream.
pub fn is_default(trace: &Trace, stream: StreamId) -> bool {
    stream.some().is_some_and(|stream| trace.streams.number[stream.index()] == DEFAULT_STREAM)
}

/// Whether it is known of each stream that neither waits for the other, it and its context's default stream: they ran at once, or PyTorch
/// made the stream. `ops` are operations, by start, with their streams and times.
pub fn beside_default(trace: &Trace, ops: impl Iterator<Item = (StreamId, Ns, Ns)>) -> Vec<bool> {
    let mut beside = of_pool(trace);
    // When the last operation ends: of each context's default stream, and of its other streams.
    let mut default_end = vec![Ns::MIN; trace.contexts.len()];
    let mut end = vec![Ns::MIN; trace.streams.len()];
    // The other streams of each context that may still run.
    let mut running = vec![Vec::<StreamId>::new(); trace.contexts.len()];
    for (stream, start, until) in ops {
        let Some(context) = trace.context_of_stream(stream).some() else { continue };
        let running = &mut running[context.index()];
        if is_default(trace, stream) {
            running.retain(|stream| {
                let runs = end[stream.index()] > start;
                beside[stream.index()] |= runs;
                end[stream.index()] = if runs { end[stream.index()] } else { Ns::MIN };
                runs
            });
            default_end[context.index()] = until.max(default_end[context.index()]);
        } else {
            let end = &mut end[stream.index()];
            if *end == Ns::MIN {
                running.push(stream);
            }
            *end = until.max(*end);
            beside[stream.index()] |= default_end[context.index()] > start;
        }
    }
    beside
}

/// Whether each stream is likely of PyTorch's pool, whose streams are non-blocking (`getStreamFromPool`, c10/cuda/CUDAStream.h): what runs
/// in it is an operator's, or a collective, whose streams PyTorch takes from there.
fn of_pool(trace: &Trace) -> Vec<bool> {
    match trace.meta.source.as_str() {
        "kineto" => of_operators(trace),
        "holdup" => of_stacks(trace),
        _ => vec![false; trace.streams.len()],
    }
}

/// The streams into which PyTorch's code puts operations, by the stacks of the calls.
fn of_stacks(trace: &Trace) -> Vec<bool> {
    let is_torch = |text: &str| text.contains("/torch/") || text.contains("libtorch");
    let torch: Vec<bool> = trace.strings.iter().map(|(_, text)| is_torch(text)).collect();
    let mut pool = vec![false; trace.streams.len()];
    if !torch.contains(&true) {
        return pool;
    }
    let of_frame = |stack: StackId| {
        let frame = trace.frames.row(trace.stacks.frame[stack.index()].some()?);
        Some([frame.file, frame.module].iter().any(|text| torch[text.index()]))
    };
    let of_stack = |stack: StackId| {
        let callers = std::iter::successors(Some(stack), |stack| trace.stacks.caller[stack.index()].some());
        callers.filter_map(of_frame).any(|is_torch| is_torch)
    };
    let mut known = FxHashMap::<StackId, bool>::default();
    for op in trace.ops.ids() {
        let Some(stream) = trace.ops.stream[op.index()].some() else { continue };
        if pool[stream.index()] || is_default(trace, stream) {
            continue;
        }
        let call = trace.ops.call[op.index()].some();
        let stack = call.and_then(|call| trace.calls.stack[call.index()].some());
        pool[stream.index()] =
            stack.is_some_and(|stack| *known.entry(stack).or_insert_with(|| of_stack(stack)));
    }
    pool
}

/// The streams in which operators run, by the ranges around the calls.
fn of_operators(trace: &Trace) -> Vec<bool> {
    let mut pool = vec![false; trace.streams.len()];
    let is_operator = |name: &str| name.starts_with("aten::") || name.starts_with("record_param_comms");
    let operators: Vec<bool> = trace
        .ranges
        .ids()
        .map(|row| {
            trace.ranges.kind[row.index()] == RangeKind::Operator
                && is_operator(trace.text(trace.ranges.name[row.index()]))
        })
        .collect();
    for op in trace.ops.ids() {
        let Some(stream) = trace.ops.stream[op.index()].some() else { continue };
        if pool[stream.index()] || is_default(trace, stream) {
            continue;
        }
        let range = trace.ops.call[op.index()].some().and_then(|call| trace.calls.range[call.index()].some());
        pool[stream.index()] = range.is_some_and(|range| operators[range.index()])
            || communicates(trace.text(trace.ops.name[op.index()]));
    }
    pool
}
