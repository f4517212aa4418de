//! The calls of each thread: how they follow and contain each other. Here is the one definition of an outermost call.

use crate::sorting::sort_groups_by_times;
use std::sync::OnceLock;
use trace::{Api, CallId, Ns, ThreadId, Trace};

/// How the calls of a trace follow and contain each other.
pub struct CallOrder<'a> {
    trace: &'a Trace,
    by_start: Vec<CallId>,
    /// By call: the outermost CUDA call that it is made in.
    outer: Vec<CallId>,
    by_thread: OnceLock<Vec<Vec<CallId>>>,
}

impl<'a> CallOrder<'a> {
    /// The order of a trace's calls.
    pub fn new(trace: &'a Trace) -> CallOrder<'a> {
        let by_start = calls_by_start(trace);
        let outer = outermost_calls(trace, &by_start);
        CallOrder { trace, by_start, outer, by_thread: OnceLock::new() }
    }

    /// All calls of threads, by start, outer before inner.
    pub fn by_start(&self) -> &[CallId] {
        &self.by_start
    }

    /// The outermost CUDA call that a call is made in, itself if there is none: what the program called. `NONE` for what is no CUDA
    /// call of a thread.
    pub fn outermost(&self, call: CallId) -> CallId {
        call.some().map_or(CallId::NONE, |call| self.outer[call.index()])
    }

    /// The outermost CUDA calls of each thread, by start.
    pub fn by_thread(&self) -> &[Vec<CallId>] {
        self.by_thread.get_or_init(|| {
            let mut by_thread = vec![Vec::new(); self.trace.threads.len()];
            for call in self.by_start.iter().filter(|call| self.outer[call.index()] == **call) {
                by_thread[self.trace.calls.thread[call.index()].index()].push(*call);
            }
            by_thread
        })
    }

    /// The outermost calls of a thread, by start.
    pub fn of_thread(&self, thread: ThreadId) -> &[CallId] {
        thread.some().map_or(&[], |thread| &self.by_thread()[thread.index()])
    }

    /// The start of the first outermost call of all and the end of the last, ns.
    pub fn span(&self) -> Option<(Ns, Ns)> {
        let calls = &self.trace.calls;
        let starts = self.by_thread().iter().filter_map(|calls| calls.first());
        let ends = self.by_thread().iter().filter_map(|calls| calls.last());
        let start = starts.map(|call| calls.start[call.index()]).min()?;
        let end = ends.map(|call| calls.end[call.index()]).max()?;
        Some((start, end))
    }

    /// The outermost call of a thread that covers a moment.
    pub fn call_at(&self, thread: ThreadId, at: Ns) -> Option<CallId> {
        let (calls, of_thread) = (&self.trace.calls, self.of_thread(thread));
        let after = of_thread.partition_point(|call| calls.start[call.index()] <= at);
        let call = *of_thread.get(after.checked_sub(1)?)?;
        (at < calls.end[call.index()]).then_some(call)
    }

    /// When the last call of a thread that had ended by then ended, ns; `Ns::MIN` if there is none.
    pub fn last_end(&self, thread: ThreadId, by: Ns) -> Ns {
        let (calls, of_thread) = (&self.trace.calls, self.of_thread(thread));
        let ended = of_thread.partition_point(|call| calls.end[call.index()] <= by);
        ended.checked_sub(1).map_or(Ns::MIN, |last| calls.end[of_thread[last].index()])
    }
}

fn calls_by_start(trace: &Trace) -> Vec<CallId> {
    let calls = &trace.calls;
    let mut order: Vec<_> = calls.ids().filter(|call| calls.thread[call.index()].is_some()).collect();
    // An outer call comes before the ones within it.
    let thread = |call: CallId| calls.thread[call.index()].index();
    let times = |call: CallId| (calls.start[call.index()], -calls.end[call.index()]);
    sort_groups_by_times(&mut order, trace.threads.len(), thread, times);
    order
}

/// Whether calls of an interface are CUDA's: those of the operating system are others, and those of libraries above CUDA wait
/// in the CUDA calls that they make.
fn is_cuda_call(api: Api) -> bool {
    !matches!(api, Api::Os | Api::Library)
}

/// For each call of a trace the outermost CUDA call of its thread that it is made in, itself if there is none; `NONE` for what
/// is no CUDA call of a thread. A runtime's call and the driver's call that it makes are one wait. A call is made in another
/// that contains it, or of another interface if it begins there: clocks that are rounded let an inner call end last, and of
/// two calls of one interface the second begin before the first ends.
///
/// `order` has all calls of threads, each thread's by start, and of those that start at once the longer one first.
fn outermost_calls(trace: &Trace, order: &[CallId]) -> Vec<CallId> {
    let calls = &trace.calls;
    let mut outer = vec![CallId::NONE; calls.len()];
    let mut current = vec![CallId::NONE; trace.threads.len()];
    for call in order.iter().copied() {
        let at = call.index();
        let Some(thread) = calls.thread[at].some().filter(|_| is_cuda_call(calls.api[at])) else { continue };
        let current: &mut CallId = &mut current[ThreadId::index(thread)];
        let is_inside = current.some().is_some_and(|outer| {
            let outer = outer.index();
            let is_contained = calls.end[at] <= calls.end[outer];
            is_contained || calls.start[at] < calls.end[outer] && calls.api[at] != calls.api[outer]
        });
        if !is_inside {
            *current = call;
        }
        outer[at] = *current;
    }
    outer
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Api, Call, Thread};

    /// The calls of one thread, by interface, start and end; for each the number of its outermost call.
    fn outer(calls: &[(Api, i64, i64)]) -> Vec<Option<usize>> {
        let mut trace = Trace::default();
        let thread = trace.threads.push(Thread::default());
        for (api, start, end) in calls {
            trace.calls.push(Call { thread, api: *api, start: *start, end: *end, ..Call::default() });
        }
        let outer = outermost_calls(&trace, &trace.calls.ids().collect::<Vec<_>>());
        outer.iter().map(|call| call.some().map(CallId::index)).collect()
    }

    #[test]
    fn a_library_around_calls_is_none_of_them() {
        let (library, runtime, driver) = (Api::Library, Api::Runtime, Api::Driver);
        let plain = [(runtime, 10, 20), (driver, 12, 18), (runtime, 30, 40)];
        assert_eq!(outer(&plain), [Some(0), Some(0), Some(2)]);
        let within = [(library, 5, 50), (runtime, 10, 20), (driver, 12, 18), (runtime, 30, 40)];
        assert_eq!(outer(&within), [None, Some(1), Some(1), Some(3)]);
    }

    #[test]
    fn an_inner_call_may_end_last() {
        let (runtime, driver) = (Api::Runtime, Api::Driver);
        assert_eq!(
            outer(&[(runtime, 10, 20), (driver, 12, 21), (driver, 21, 25)]),
            [Some(0), Some(0), Some(2)]
        );
        assert_eq!(outer(&[(runtime, 10, 20), (runtime, 19, 30)]), [Some(0), Some(1)]);
        assert_eq!(outer(&[(Api::Os, 5, 50), (runtime, 10, 20), (driver, 20, 25)]), [None, Some(1), Some(2)]);
    }
}
