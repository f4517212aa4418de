//! Which calls are made within which: the one definition of an outermost call.

use crate::{Api, CallId, ThreadId, Trace};

/// Whether calls of an interface are CUDA's: those of the operating system are others, and those of libraries above CUDA wait
/// in the CUDA calls that they make.
pub fn is_cuda_call(api: Api) -> bool {
    !matches!(api, Api::Os | Api::Library)
}

/// For each call of a trace the outermost CUDA call of its thread that it is made in, itself if there is none; `NONE` for what
/// is no CUDA call of a thread. A runtime's call and the driver's call that it makes are one wait. A call is made in another
/// that contains it, or of another interface if it begins there: clocks that are rounded let an inner call end last, and of
/// two calls of one interface the second begin before the first ends.
///
/// `order` has all calls of threads, each thread's by start, and of those that start at once the longer one first.
pub fn outermost_calls(trace: &Trace, order: impl IntoIterator<Item = CallId>) -> Vec<CallId> {
    let calls = &trace.calls;
    let mut outer = vec![CallId::NONE; calls.len()];
    let mut current = vec![CallId::NONE; trace.threads.len()];
    for call in order {
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
    use crate::{Call, Thread};

    /// The calls of one thread, by interface, start and end; for each the number of its outermost call.
    fn outer(calls: &[(Api, i64, i64)]) -> Vec<Option<usize>> {
        let mut trace = Trace::default();
        let thread = trace.threads.push(Thread::default());
        for (api, start, end) in calls {
            trace.calls.push(Call { thread, api: *api, start: *start, end: *end, ..Call::default() });
        }
        let outer = outermost_calls(&trace, trace.calls.ids());
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
