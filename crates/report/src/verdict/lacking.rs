//! Records that a trace lacks, and how to get them from the tool that made it.

use super::named::time_of_threads;
use crate::units;
use explain::{Explanation, GpuAccount, Summary};

/// The verdict on a trace without GPU operations: `No GPU operation was recorded; threads spent 54 % of their time in …`
pub(super) fn gpu_operations(explanation: &Explanation) -> String {
    let trace = &explanation.trace;
    if trace.calls == 0 {
        return calls_and_operations(trace);
    }
    if trace.unmatched_calls > 0 {
        let launches = units::counted(trace.unmatched_calls, "launch has", "launches have");
        return format!(
            "The trace lost all GPU records: {launches} none. Profiling ended before the GPU was done, or the profiler could not read the GPU's \
             records: synchronize before profiling ends."
        );
    }
    let spent = time_of_threads(explanation);
    let slow = units::percent(explanation.slow_call_ns as f64 / spent.max(1) as f64);
    let threshold = units::duration(explanation.min_wait_ns);
    format!("No GPU operation was recorded; threads spent {slow} of their time in calls over {threshold}.")
}

/// The verdict on a trace with neither calls nor GPU operations.
fn calls_and_operations(trace: &Summary) -> String {
    let contents = trace.contents;
    let is_empty = contents.ranges + contents.os_calls + contents.samples + contents.thread_states == 0;
    let sentence = match (trace.source.as_str(), is_empty) {
        ("kineto", true) => {
            "The trace is empty: nothing ran in the profiler's active steps. Call its `step()` once in each step, or profile without a schedule."
        }
        ("kineto", false) if contents.devices == 0 => {
            "The trace has operators and no CUDA call: no GPU was visible, or this PyTorch has no CUDA. Check `torch.cuda.is_available()` and \
             `CUDA_VISIBLE_DEVICES`."
        }
        ("kineto", false) => {
            "The trace has operators and no CUDA call, although there is a GPU: profile with \
             `activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]`, or move the model to the GPU."
        }
        ("nsys", _) => {
            "The trace has no CUDA calls: record with `nsys profile --trace=cuda,nvtx,osrt`, and check that the program uses a GPU."
        }
        ("holdup", _) => {
            "No CUDA call was recorded: check that the program uses a GPU (`CUDA_VISIBLE_DEVICES`)."
        }
        _ => "The trace has neither calls nor GPU operations.",
    };
    sentence.to_owned()
}

/// Streams run at once on average, of all; fewer than this part of them, and one may have held up another: a choice.
const AT_ONCE: f64 = 0.5;

/// The streams of a busy GPU that had no operation while others ran, in a trace that does not say whether they had to wait:
/// `with 1.2 of its 4 streams at a time: the trace does not say whether the others waited; the CUDA calls would.`
pub(super) fn others(explanation: &Explanation, gpu: &GpuAccount) -> Option<String> {
    let trace = &explanation.trace;
    let streams: Vec<_> =
        explanation.accounts.streams.iter().filter(|one| one.device == gpu.device).collect();
    let busy: i64 = streams.iter().map(|one| one.busy_ns).sum();
    let at_once = busy as f64 / gpu.busy_ns.max(1) as f64;
    if trace.calls > 0 || at_once >= streams.len() as f64 * AT_ONCE {
        return None;
    }
    let (count, record) = (streams.len(), reasons(trace));
    Some(format!(
        "with {at_once:.1} of its {count} streams at a time: the trace does not say whether the others waited{record}."
    ))
}

/// Ways to record why a GPU was idle, as the end of a sentence; empty for a recording of our own, which has what there is.
pub(super) fn reasons(trace: &Summary) -> String {
    let contents = trace.contents;
    let option = match trace.source.as_str() {
        "kineto" if trace.calls == 0 => "`activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]`",
        "nsys" if trace.calls == 0 => "the CUDA calls (`--trace=cuda`; `--report cuda_api_trace`)",
        "nvprof" if trace.calls == 0 => "the CUDA calls (`--print-api-trace`)",
        "kineto" if contents.stacks == 0 => "`with_stack=True`",
        "nsys" if contents.os_calls == 0 => "`nsys profile --trace=cuda,nvtx,osrt`",
        "nsys" if contents.samples == 0 || contents.thread_states == 0 => {
            "`nsys profile --sample=process-tree --cpuctxsw=process-tree`"
        }
        "kineto" | "nsys" | "nvprof" => return String::from("; `holdup record` would"),
        _ => return String::new(),
    };
    format!("; {option} or `holdup record` would")
}

#[cfg(test)]
mod tests {
    use super::*;
    use explain::Contents;

    fn trace(source: &str, calls: u64, contents: Contents) -> Summary {
        Summary { source: source.to_owned(), calls, contents, ..Summary::default() }
    }

    #[test]
    fn a_trace_without_calls_and_operations_says_why() {
        let said = |devices, ranges| {
            calls_and_operations(&trace("kineto", 0, Contents { devices, ranges, ..Contents::default() }))
        };
        assert!(said(1, 0).starts_with("The trace is empty"));
        assert!(said(0, 9).contains("no GPU was visible"));
        assert!(said(1, 9).contains("ProfilerActivity.CUDA"));
    }

    /// The option that a recording had is not what it lacks.
    #[test]
    fn the_option_that_is_lacking_is_named() {
        let nsys = |os_calls, samples, calls| {
            reasons(&trace("nsys", calls, Contents { os_calls, samples, ..Contents::default() }))
        };
        assert!(nsys(0, 0, 5).contains("osrt"));
        assert!(nsys(7, 0, 5).contains("--sample=process-tree") && !nsys(7, 0, 5).contains("osrt"));
        assert!(nsys(0, 0, 0).contains("cuda_api_trace"));
        let kineto = |stacks| reasons(&trace("kineto", 5, Contents { stacks, ..Contents::default() }));
        assert_eq!(kineto(0), "; `with_stack=True` or `holdup record` would");
        assert_eq!(kineto(9), "; `holdup record` would");
        assert_eq!(reasons(&trace("holdup", 5, Contents::default())), "");
    }
}
