//! Lines of Python for threads that run no Python: autograd's threads run the backward of operators. A backward has the
//! number of its operator, which another thread called from a line of Python.

use super::batch::Autograd;
use super::stack::Places;
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{FrameId, ProcessId, RangeId, RangeKind, StackId, ThreadId, Trace};

/// Operators with autograd's numbers.
#[derive(Default)]
pub(super) struct Backward {
    /// Each operator with its number: a thread numbers its own operators.
    operators: Vec<(RangeId, Autograd)>,
}

/// The operator that a backward belongs to.
#[derive(Clone, Copy)]
enum Forward {
    /// The last with the number: it has the same calling line as the operators around it.
    Operator(RangeId),
    /// Several threads use the number: the backward's operator is unknown.
    Ambiguous,
}

impl Backward {
    pub fn operator(&mut self, range: RangeId, autograd: Autograd) {
        self.operators.push((range, autograd));
    }

    /// Gives a backward without a stack the place that its operator was called from.
    pub fn link(self, trace: &mut Trace, places: &mut Places) {
        let orphan = |(range, autograd): &&(RangeId, Autograd)| {
            autograd.is_backward && trace.ranges.stack[*range].is_none()
        };
        let backward: Vec<_> = self.operators.iter().filter(orphan).copied().collect();
        if backward.is_empty() {
            return;
        }
        let forward = self.forward(trace);
        let mut pairs = Vec::new();
        for (range, autograd) in backward {
            let key = (process(trace, range), autograd.sequence);
            if let Some(Forward::Operator(operator)) = forward.get(&key)
                && trace.ranges.start[*operator] <= trace.ranges.start[range]
            {
                pairs.push((*operator, range));
            }
        }
        let called = callers(trace, pairs.iter().map(|(operator, _)| *operator).collect());
        for (operator, range) in pairs {
            if let Some(frames) = called.get(&operator) {
                trace.ranges.stack[range] = places.backward(trace, frames);
            }
        }
    }

    fn forward(&self, trace: &Trace) -> FxHashMap<(ProcessId, i64), Forward> {
        let mut forward = FxHashMap::default();
        let ranges = &trace.ranges;
        for (range, autograd) in self.operators.iter().filter(|(_, autograd)| !autograd.is_backward) {
            let key = (process(trace, *range), autograd.sequence);
            let known = forward.entry(key).or_insert(Forward::Operator(*range));
            if let Forward::Operator(other) = *known {
                if ranges.thread[other] != ranges.thread[*range] {
                    *known = Forward::Ambiguous;
                } else if ranges.start[other] < ranges.start[*range] {
                    *known = Forward::Operator(*range);
                }
            }
        }
        forward
    }
}

fn process(trace: &Trace, range: RangeId) -> ProcessId {
    trace.process_of_thread(trace.ranges.thread[range])
}

/// The frames that operators were called from, outermost first: those of their own stacks, or else the Python functions
/// around them.
fn callers(trace: &Trace, mut operators: Vec<RangeId>) -> FxHashMap<RangeId, Vec<FrameId>> {
    let ranges = &trace.ranges;
    let key = |range: &RangeId| (ranges.thread[*range], ranges.start[*range], -ranges.end[*range], *range);
    operators.sort_unstable_by_key(key);
    operators.dedup();
    let is_python = |range: &RangeId| ranges.kind[*range] == RangeKind::Python;
    let mut python: Vec<_> = ranges.ids().filter(is_python).collect();
    python.sort_unstable_by_key(key);
    let (mut python, mut open) = (python.into_iter().peekable(), Vec::<RangeId>::new());
    let mut called = FxHashMap::default();
    for operator in operators {
        let (thread, start) = (ranges.thread[operator], ranges.start[operator]);
        let before = |range: &RangeId| (ranges.thread[*range], ranges.start[*range]) <= (thread, start);
        while let Some(next) = python.next_if(before) {
            close(trace, &mut open, ranges.thread[next], ranges.start[next]);
            open.push(next);
        }
        close(trace, &mut open, thread, start);
        let own = ranges.stack[operator];
        let of = |range: &RangeId| ranges.stack[*range];
        let stacks = if own.is_some() { vec![own] } else { open.iter().map(of).collect() };
        let frames: Vec<_> = stacks.into_iter().flat_map(|stack| frames(trace, stack)).collect();
        if !frames.is_empty() {
            called.insert(operator, frames);
        }
    }
    called
}

/// Closes the functions that ended by `at` or belong to another thread.
fn close(trace: &Trace, open: &mut Vec<RangeId>, thread: ThreadId, at: trace::Ns) {
    let ranges = &trace.ranges;
    let is_over = |range: &RangeId| ranges.thread[*range] != thread || ranges.end[*range] <= at;
    while open.last().is_some_and(is_over) {
        open.pop();
    }
}

/// The frames of a stack, outermost first.
fn frames(trace: &Trace, stack: StackId) -> Vec<FrameId> {
    let stacks = std::iter::successors(stack.some(), |stack| trace.stacks.caller[*stack].some());
    let mut frames: Vec<_> = stacks.map(|stack| trace.stacks.frame[stack]).collect();
    frames.reverse();
    frames
}

/// Adds a note if the profiler recorded lines of Python, but not those of all threads that called CUDA.
pub(super) fn remark(trace: &mut Trace) {
    let mut lined = FxHashSet::default();
    let mut has_python = false;
    for range in trace.ranges.ids() {
        has_python |= trace.ranges.kind[range] == RangeKind::Python;
        if trace.ranges.stack[range].is_some() {
            lined.insert(trace.ranges.thread[range]);
        }
    }
    let calling: FxHashSet<_> = trace.calls.thread.iter().filter(|thread| thread.is_some()).collect();
    let without = calling.iter().filter(|thread| !lined.contains(**thread)).count();
    if has_python && without > 0 {
        let all = calling.len();
        trace.meta.notes.push(format!(
            "the Python lines of {without} of {all} threads with CUDA calls are not in the trace: torch.profiler \
             follows the threads that run Python when it starts"
        ));
    }
}

#[cfg(test)]
mod tests {
    use crate::kineto::{Text, import};
    use trace::Trace;

    /// Thread 1 runs Python and the forward, thread 2 the backward, each operator with its number.
    fn read(more: &str) -> Trace {
        let text = format!(
            r#"{{"schemaVersion": 1, "traceEvents": [
            {{"ph": "X", "cat": "python_function", "name": "train.py(9): main", "pid": 7, "tid": 1, "ts": 0, "dur": 90, "args": {{}}}},
            {{"ph": "X", "cat": "python_function", "name": "train.py(3): gone", "pid": 7, "tid": 1, "ts": 1, "dur": 2, "args": {{}}}},
            {{"ph": "X", "cat": "python_function", "name": "train.py(5): step", "pid": 7, "tid": 1, "ts": 5, "dur": 20, "args": {{}}}},
            {{"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 7, "tid": 1, "ts": 6, "dur": 9, "args": {{"Sequence number": 4, "Fwd thread id": 0}}}},
            {{"ph": "X", "cat": "cpu_op", "name": "MulBackward0", "pid": 7, "tid": 2, "ts": 40, "dur": 9, "args": {{"Sequence number": 4, "Fwd thread id": 1}}}},
            {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 2, "ts": 41, "dur": 2, "args": {{"correlation": 1}}}},
            {more}
            {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 1, "ts": 7, "dur": 2, "args": {{"correlation": 2}}}}]}}"#
        );
        import(Text::Whole(text.as_bytes()), &mut |_| {}).unwrap()
    }

    /// The stack of the backward, innermost first.
    fn backward(trace: &Trace) -> Vec<String> {
        let is_it = |name: &&trace::Sym| trace.text(**name) == "MulBackward0";
        let at = trace.ranges.name.iter().position(|name| is_it(&name)).unwrap();
        super::frames(trace, trace.ranges.stack[at])
            .into_iter()
            .rev()
            .map(|frame| {
                let frame = trace.frames.row(frame);
                format!("{}:{} {}", trace.text(frame.file), frame.line, trace.text(frame.function))
            })
            .collect()
    }

    #[test]
    fn a_backward_has_the_lines_of_its_operator() {
        let trace = read("");
        assert_eq!(backward(&trace), ["train.py:5 backward of step", "train.py:9 backward of main"]);
        assert_eq!(trace.meta.notes, Vec::<String>::new());
    }

    #[test]
    fn a_number_that_two_threads_use_is_ambiguous_and_a_later_operator_is_ignored() {
        let same = r#"{"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 7, "tid": 3, "ts": 6, "dur": 9, "args": {"Sequence number": 4, "Fwd thread id": 0}},"#;
        let trace = read(same);
        assert_eq!(backward(&trace), Vec::<String>::new());
        let note = "the Python lines of 1 of 2 threads with CUDA calls are not in the trace: torch.profiler follows the \
                    threads that run Python when it starts";
        assert_eq!(trace.meta.notes, [note]);
        assert_eq!(
            backward(&read(&same.replace("\"tid\": 3, \"ts\": 6", "\"tid\": 1, \"ts\": 60"))),
            Vec::<String>::new()
        );
        // Another process has its own numbers.
        assert_eq!(backward(&read(&same.replace("\"pid\": 7", "\"pid\": 8"))).len(), 2);
    }
}
