//! Calls that failed, by function and error.

use crate::findings::errors::{self, NOT_READY};
use crate::{Place, facts::places::places};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;
use trace::{Api, CallId, Ns, Selection, Sym, ThreadId, Trace, Within};

/// Calls of one function that failed with one error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedCalls {
    /// The function.
    pub call: String,
    /// The number that it returned.
    pub error: i32,
    /// The error's name (`cudaErrorInvalidResourceHandle`); empty if unknown.
    pub error_name: &'static str,
    /// Number of calls.
    pub count: u64,
    /// Number of calls of the function, whether they failed or not.
    pub of: u64,
    /// Start of the first of them, ns from the trace's start.
    pub first_ns: Ns,
    /// Start of the last of them, ns from the trace's start.
    pub last_ns: Ns,
    /// Where they were made, most calls first.
    #[serde(rename = "where")]
    pub places: Vec<Place>,
}

/// Most places that are listed.
const PLACES: usize = 5;

/// Functions that return the error of an earlier call.
const EARLIER: [&str; 2] = ["cudaGetLastError", "cudaPeekAtLastError"];

/// Functions that ask whether work is done.
const QUERIES: [&str; 4] = ["cudaEventQuery", "cudaStreamQuery", "cuEventQuery", "cuStreamQuery"];

/// The selected calls whose result is an error, most first. Answers are no failures: that work is not done, that the process
/// ends, or the error of an earlier call. A driver call that fails within a call that fails with the same number is the same failure.
pub fn failed_calls(trace: &Trace, selection: &Selection) -> Vec<FailedCalls> {
    let calls = &trace.calls;
    if calls.result.iter().all(|result| *result == 0) {
        return Vec::new();
    }
    let (selected, old) = (selection.of(trace), Numbers::of(trace));
    let is_chosen = |call: &CallId| {
        let at = call.index();
        selected.time(calls.start[at], calls.end[at])
            && selected.caller(calls.thread[at], calls.start[at])
            && selected.name(calls.name[at])
    };
    let is_failed = |call: &CallId| {
        let (name, error) = (trace.text(calls.name[call.index()]), calls.result[call.index()]);
        error != 0 && is_chosen(call) && !old.is_answer(name, error) && !EARLIER.contains(&name)
    };
    let failed: Vec<CallId> = calls.ids().filter(is_failed).collect();
    let around = Around::new(trace, &failed);
    let mut groups = BTreeMap::<(Sym, i32), Vec<CallId>>::new();
    for call in failed.into_iter().filter(|call| !around.holds(trace, *call)) {
        groups.entry((calls.name[call.index()], calls.result[call.index()])).or_default().push(call);
    }
    let mut all: FxHashMap<Sym, u64> = groups.keys().map(|(name, _)| (*name, 0)).collect();
    for call in calls.ids() {
        if let Some(count) = all.get_mut(&calls.name[call.index()]).filter(|_| is_chosen(&call)) {
            *count += 1;
        }
    }
    let row = |((name, error), calls): ((Sym, i32), Vec<CallId>)| FailedCalls {
        of: all.get(&name).copied().unwrap_or(0),
        ..row(trace, name, error, &calls, old)
    };
    let mut rows: Vec<FailedCalls> = groups.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| (&a.call, a.error).cmp(&(&b.call, b.error))));
    rows
}

fn row(trace: &Trace, name: Sym, error: i32, calls: &[CallId], numbers: Numbers) -> FailedCalls {
    let starts = calls.iter().map(|call| trace.calls.start[call.index()]);
    let mut counts = FxHashMap::<Place, u64>::default();
    for place in places(trace, calls).into_iter().flatten() {
        *counts.entry(place).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|(a, many), (b, more)| more.cmp(many).then_with(|| a.cmp(b)));
    FailedCalls {
        call: trace.text(name).to_owned(),
        error,
        error_name: numbers
            .name(calls.first().map_or(Api::Unknown, |call| trace.calls.api[call.index()]), error),
        count: calls.len() as u64,
        of: 0,
        first_ns: starts.clone().min().unwrap_or_default(),
        last_ns: starts.max().unwrap_or_default(),
        places: counts.into_iter().take(PLACES).map(|(place, _)| place).collect(),
    }
}

/// Which numbers the runtime's errors have. Before CUDA 10.1, of which only nvprof's traces are, it had its own ones: there,
/// numbers below 100 have two meanings.
#[derive(Clone, Copy)]
struct Numbers {
    may_be_old: bool,
}

impl Numbers {
    fn of(trace: &Trace) -> Numbers {
        Numbers { may_be_old: trace.meta.source == "nvprof" }
    }

    /// Whether the number says that work is not done yet, or that the process ends: libraries free what they have then.
    fn is_answer(self, call: &str, error: i32) -> bool {
        const OLD_NOT_READY: i32 = 34;
        const ENDING: i32 = 4;
        let is_early =
            error == NOT_READY || self.may_be_old && error == OLD_NOT_READY && QUERIES.contains(&call);
        is_early || !self.may_be_old && error == ENDING
    }

    fn name(self, api: Api, error: i32) -> &'static str {
        if self.may_be_old && api == Api::Runtime && error < 100 { "" } else { errors::name(api, error) }
    }
}

/// The failed calls of the runtime, by error.
struct Around(FxHashMap<i32, Within>);

impl Around {
    fn new(trace: &Trace, failed: &[CallId]) -> Around {
        let calls = &trace.calls;
        let mut by_error = FxHashMap::<i32, Vec<(ThreadId, Ns, Ns)>>::default();
        for at in failed.iter().map(|call| call.index()).filter(|at| calls.api[*at] == Api::Runtime) {
            let interval = (calls.thread[at], calls.start[at], calls.end[at]);
            by_error.entry(calls.result[at]).or_default().push(interval);
        }
        Around(by_error.into_iter().map(|(error, intervals)| (error, Within::of(intervals))).collect())
    }

    /// Whether a driver call lies within a runtime call that failed with the same number.
    fn holds(&self, trace: &Trace, call: CallId) -> bool {
        let (calls, at) = (&trace.calls, call.index());
        let within = self.0.get(&calls.result[at]).filter(|_| calls.api[at] == Api::Driver);
        within.is_some_and(|within| within.holds(calls.thread[at], calls.start[at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Call, Frame, Stack, StackId, Thread};

    fn trace(calls: &[(&str, Api, Ns, Ns, i32)]) -> Trace {
        let mut trace = Trace::default();
        let thread = trace.threads.push(Thread { tid: 7, ..Thread::default() });
        for &(name, api, start, end, result) in calls {
            let name = trace.strings.intern(name);
            trace.calls.push(Call { start, end, thread, api, name, result, ..Call::default() });
        }
        trace
    }

    fn failed(trace: &Trace) -> Vec<(String, i32, &'static str, u64, Ns, Ns)> {
        let rows = failed_calls(trace, &Selection::default()).into_iter();
        rows.map(|row| (row.call, row.error, row.error_name, row.count, row.first_ns, row.last_ns)).collect()
    }

    #[test]
    fn calls_that_failed_are_counted_and_answers_are_not() {
        let (runtime, driver) = (Api::Runtime, Api::Driver);
        let trace = trace(&[
            ("cudaLaunchKernel", runtime, 0, 10, 400),
            ("cuLaunchKernel", driver, 2, 8, 400),
            ("cudaLaunchKernel", runtime, 20, 30, 400),
            ("cudaLaunchKernel", runtime, 40, 50, 0),
            ("cuLaunchKernel", driver, 42, 48, 701),
            ("cudaGetLastError", runtime, 60, 61, 400),
            ("cudaEventQuery", runtime, 70, 71, 600),
            ("cuStreamQuery", driver, 80, 81, 600),
            ("cuMemAlloc", driver, 90, 95, 2),
        ]);
        let launch = (String::from("cudaLaunchKernel"), 400, "cudaErrorInvalidResourceHandle", 2, 0, 20);
        let inner = (String::from("cuLaunchKernel"), 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", 1, 42, 42);
        let memory = (String::from("cuMemAlloc"), 2, "CUDA_ERROR_OUT_OF_MEMORY", 1, 90, 90);
        assert_eq!(failed(&trace), [launch, inner, memory]);
        let late = Selection { from: Some(15), name: Some(String::from("launch")), ..Selection::default() };
        let counts: Vec<u64> = failed_calls(&trace, &late).iter().map(|row| row.count).collect();
        assert_eq!(counts, [1, 1]);
    }

    #[test]
    fn the_place_with_most_failures_is_first() {
        let mut trace = trace(&[("cudaFree", Api::Runtime, 0, 1, 1); 3]);
        let stacks = ["once.py", "twice.py"].map(|file| {
            let file = trace.strings.intern(file);
            let frame = trace.frames.push(Frame { file, line: 5, ..Frame::default() });
            trace.stacks.push(Stack { frame, caller: StackId::NONE })
        });
        trace.calls.stack = vec![stacks[0], stacks[1], stacks[1]];
        let rows = failed_calls(&trace, &Selection::default());
        let files: Vec<&str> = rows[0].places.iter().map(|place| place.file.as_str()).collect();
        assert_eq!(files, ["twice.py", "once.py"]);
    }

    #[test]
    fn old_numbers_of_the_runtime_have_no_name() {
        let calls = [
            ("cudaEventQuery", Api::Runtime, 0, 1, 34),
            ("cudaMalloc", Api::Runtime, 2, 3, 34),
            ("cuMemAlloc", Api::Driver, 4, 5, 2),
        ];
        let mut trace = trace(&calls);
        assert_eq!(failed(&trace).len(), 3);
        trace.meta.source = String::from("nvprof");
        let names: Vec<_> = failed(&trace).into_iter().map(|(call, _, name, ..)| (call, name)).collect();
        let expected = [("cuMemAlloc", "CUDA_ERROR_OUT_OF_MEMORY"), ("cudaMalloc", "")];
        assert_eq!(names, expected.map(|(call, name)| (call.to_owned(), name)));
    }
}
