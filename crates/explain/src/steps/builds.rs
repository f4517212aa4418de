//! When threads build kernels, as the ranges of their compilers tell. What they launch meanwhile is measured to choose among kernels: it is
//! no step, however many operations it has.

use super::found::asked;
use crate::Cause;
use crate::facts::marks::Mark;
use rustc_hash::FxHashMap;
use trace::{Ns, OpId, ThreadId, Times, Trace};

/// The times of each thread that builds kernels.
pub(super) struct Builds(FxHashMap<ThreadId, Times>);

impl Builds {
    pub fn of(trace: &Trace) -> Builds {
        let is_build =
            |text: &str| Mark::of_range(text).is_some_and(|mark| mark.cause() == Cause::KernelBuild);
        let builds: Vec<bool> = trace.strings.iter().map(|(_, text)| is_build(text)).collect();
        let mut times = FxHashMap::<ThreadId, Vec<(Ns, Ns)>>::default();
        for range in trace.ranges.ids().filter(|range| builds[trace.ranges.name[range.index()].index()]) {
            let at = range.index();
            let time = (trace.ranges.start[at], trace.ranges.end[at]);
            times.entry(trace.ranges.thread[at]).or_default().push(time);
        }
        Builds(times.into_iter().map(|(thread, times)| (thread, Times::of(times))).collect())
    }

    /// Whether an operation was asked for while its thread built a kernel.
    pub fn hold(&self, trace: &Trace, op: OpId) -> bool {
        let call = trace.ops.call[op.index()].some();
        let of_thread = call.and_then(|call| self.0.get(&trace.calls.thread[call.index()]));
        of_thread.is_some_and(|times| times.hold(asked(trace, op)))
    }
}
