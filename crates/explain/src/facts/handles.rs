//! Handles and plans of libraries: what makes one allocates memory, makes streams and loads kernels, and what destroys it undoes that.

use super::churn::Churn;
use rustc_hash::FxHashMap;
use trace::{Frame, StackId, Trace};

/// How the names of the functions of CUDA's libraries begin.
const LIBRARIES: [&str; 14] = [
    "cublas",
    "cudnn",
    "cudss",
    "cufft",
    "curand",
    "cusolver",
    "cusparse",
    "custatevec",
    "cutensor",
    "cudensitymat",
    "nvjpeg",
    "nvcomp",
    "nvgraph",
    "nvtiff",
];

/// Tells by a function's name whether it makes or destroys a handle or a plan of a library of CUDA's: `cublasCreate_v2`, `cufftPlan1d`,
/// `custatevecDestroy`. `None` for functions that do neither.
pub(crate) fn handle(function: &str) -> Option<Made> {
    let name = LIBRARIES.iter().find_map(|library| function.strip_prefix(library))?;
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let makes =
        ["Create", "MakePlan", "Plan1d", "Plan2d", "Plan3d", "PlanMany", "GenerateSeeds", "GeneratorSeed"];
    match () {
        () if has(&["Destroy"]) => Some(Made { destroys: true }),
        () if has(&makes) => Some(Made { destroys: false }),
        () => None,
    }
}

/// Making or destroying of a handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Made {
    pub destroys: bool,
}

/// Whether handles are made and destroyed again and again, by the stacks of calls and samples.
pub(crate) fn are_churned(trace: &Trace) -> bool {
    let of_frame = |frame: &Frame| handle(trace.text(frame.function));
    let known: Vec<Option<Made>> =
        trace.frames.ids().map(|frame| of_frame(&trace.frames.row(frame))).collect();
    if known.iter().all(Option::is_none) {
        return false;
    }
    let of_stack = |stack: StackId| {
        let callers = std::iter::successors(Some(stack), |stack| trace.stacks.caller[stack.index()].some());
        let mut frames = callers.filter_map(|stack| trace.stacks.frame[stack.index()].some());
        frames.find_map(|frame| known[frame.index()])
    };
    let mut stacks = FxHashMap::<StackId, Option<Made>>::default();
    let mut threads = FxHashMap::<_, Vec<_>>::default();
    let (calls, samples) = (&trace.calls, &trace.samples);
    let of_calls = (0..calls.len()).map(|at| (calls.thread[at], calls.start[at], calls.stack[at]));
    let of_samples = (0..samples.len()).map(|at| (samples.thread[at], samples.at[at], samples.stack[at]));
    for (thread, at, stack) in of_calls.chain(of_samples) {
        let made = stack.some().and_then(|stack| *stacks.entry(stack).or_insert_with(|| of_stack(stack)));
        if let Some(made) = made {
            threads.entry(thread).or_default().push((at, made.destroys));
        }
    }
    threads.into_values().any(|mut moments| {
        let mut churn = Churn::default();
        moments.sort_unstable();
        moments.into_iter().for_each(|(_, destroys)| churn.add(destroys));
        churn.comes_back()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Call, Stack, Thread};

    #[test]
    fn functions_of_handles_are_told_by_their_names() {
        let destroys = |name: &str| handle(name).map(|made| made.destroys);
        for name in
            ["cublasCreate_v2", "cufftPlan1d", "custatevecCreate", "nvjpegCreateSimple", "cufftMakePlanMany"]
        {
            assert_eq!(destroys(name), Some(false), "{name}");
        }
        assert_eq!(destroys("cusolverDnDestroy"), Some(true));
        for name in
            ["cudaStreamCreate", "cuCtxCreate_v2", "cublasSgemm_v2", "nvtxDomainCreateA", "customCreate"]
        {
            assert_eq!(destroys(name), None, "{name}");
        }
    }

    #[test]
    fn handles_come_back_where_one_is_made_after_one_is_destroyed() {
        let churned = |functions: &[&str], repeats: usize| {
            let mut trace = Trace::default();
            let thread = trace.threads.push(Thread::default());
            let functions = functions.iter().cycle().take(functions.len() * repeats);
            for (at, function) in (0..).zip(functions) {
                let function = trace.strings.intern(function);
                let frame = trace.frames.push(Frame { function, ..Frame::default() });
                let stack = trace.stacks.push(Stack { frame, ..Stack::default() });
                trace.calls.push(Call { start: at, end: at + 1, thread, stack, ..Call::default() });
            }
            are_churned(&trace)
        };
        assert!(churned(&["cublasCreate_v2", "cublasDestroy_v2"], 8));
        assert!(!churned(&["cublasCreate_v2", "cublasDestroy_v2"], 3), "near miss: a few");
        assert!(!churned(&["cublasCreate_v2"], 8), "control: none is destroyed");
        assert!(!churned(&["solve", "update"], 8), "control: no handles");
    }
}
