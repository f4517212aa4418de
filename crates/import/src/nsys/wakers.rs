//! Threads that ended other threads' waits, which Nsight Systems does not say: the one that signalled or posted as a wait ended, else the only
//! other one of its process that was awake. The listing has each wait of the system's library, and so all times at which threads slept.

use rustc_hash::FxHashMap;
use trace::{Api, CallId, LockKind, Ns, ProcessId, ThreadId, ThreadState, Times, Trace};

/// How long before a wait's end it may have been ended, ns: a thread that is woken continues some 50 µs later, and the one that woke it may
/// sleep by then. A choice.
const WOKEN: Ns = 100_000;

/// Names the thread that must have ended each wait; none where several may have, or where it ends by itself. Returns how many it names.
pub(super) fn name(trace: &mut Trace) -> u64 {
    if trace.waits.is_empty() {
        return 0;
    }
    let wakers = Wakers { occupied: occupied(trace), posts: posts(trace) };
    let mut named = 0;
    for at in 0..trace.waits.len() {
        if trace.waits.releaser[at].is_none() {
            let releaser = wakers.releaser(trace, at);
            trace.waits.releaser[at] = releaser;
            named += u64::from(releaser.is_some());
        }
    }
    named
}

/// Times of all threads by which a waiter's waker is found.
struct Wakers {
    /// The waits and calls of each thread, and the times for which it was blocked.
    occupied: Vec<Times>,
    /// The calls by which threads of each process end other threads' waits: when they begin, in order.
    posts: FxHashMap<ProcessId, Vec<(Ns, ThreadId)>>,
}

impl Wakers {
    /// The thread that called what ends a wait as a thread's wait ended, else the only other one of its process that was awake.
    fn releaser(&self, trace: &Trace, at: usize) -> ThreadId {
        let waits = &trace.waits;
        let is_ended = waits.call[at].some().is_some_and(|call| is_ended_by_others(trace, call));
        let kinds = [LockKind::Condition, LockKind::Semaphore, LockKind::Barrier];
        if !is_ended || !kinds.contains(&waits.kind[at]) {
            return ThreadId::NONE;
        }
        let (own, end) = (waits.thread[at], waits.end[at]);
        let from = (end - WOKEN).max(waits.start[at]);
        let process = trace.process_of_thread(own);
        let posts = self.posts.get(&process).map_or(&[][..], Vec::as_slice);
        let first = posts.partition_point(|(start, _)| *start < from);
        let posted = posts[first..].iter().take_while(|(start, _)| *start <= end).map(|(_, thread)| *thread);
        let is_awake = |thread: &ThreadId| is_free(self.occupied[thread.index()].intervals(), (from, end));
        let others = trace.threads.ids().filter(|thread| trace.process_of_thread(*thread) == process);
        let awake = || only(others.filter(|thread| *thread != own).filter(is_awake));
        only(posted.filter(|thread| *thread != own)).unwrap_or_else(|| awake().unwrap_or(ThreadId::NONE))
    }
}

/// The only thread of some, `NONE` if there are several, and `None` if there are none.
fn only(mut threads: impl Iterator<Item = ThreadId>) -> Option<ThreadId> {
    let first = threads.next()?;
    Some(if threads.all(|thread| thread == first) { first } else { ThreadId::NONE })
}

/// The calls by which threads end other threads' waits.
fn posts(trace: &Trace) -> FxHashMap<ProcessId, Vec<(Ns, ThreadId)>> {
    let names = ["pthread_cond_signal", "pthread_cond_broadcast", "sem_post"];
    let calls = &trace.calls;
    let posts: Vec<bool> = trace.strings.iter().map(|(_, name)| names.contains(&name)).collect();
    let mut found = FxHashMap::<ProcessId, Vec<(Ns, ThreadId)>>::default();
    for at in (0..calls.len()).filter(|at| calls.api[*at] == Api::Os && posts[calls.name[*at].index()]) {
        let thread = calls.thread[at];
        found.entry(trace.process_of_thread(thread)).or_default().push((calls.start[at], thread));
    }
    found.values_mut().for_each(|posts| posts.sort_unstable());
    found
}

/// Whether a call of the system's library waits until another thread ends that, and for no time.
fn is_ended_by_others(trace: &Trace, call: CallId) -> bool {
    let name = trace.text(trace.calls.name[call.index()]);
    trace.calls.api[call.index()] == Api::Os && !name.contains("timed") && !name.contains("clock")
}

/// Whether a thread is free of waits and calls at some moment of a time, between the first and the last of them.
fn is_free(occupied: &[(Ns, Ns)], (from, to): (Ns, Ns)) -> bool {
    let next = occupied.partition_point(|(start, _)| *start <= from);
    let is_within = next > 0 && occupied.last().is_some_and(|(_, end)| *end >= to);
    is_within && occupied[next - 1].1 < to
}

/// The waits and calls of each thread, and the times for which it was blocked.
fn occupied(trace: &Trace) -> Vec<Times> {
    let mut all = vec![Vec::new(); trace.threads.len()];
    let mut add = |thread: ThreadId, start: Ns, end: Ns| {
        if let Some(thread) = thread.some().filter(|_| end > start) {
            all[thread.index()].push((start, end));
        }
    };
    let (waits, states, calls) = (&trace.waits, &trace.states, &trace.calls);
    waits.ids().map(|id| id.index()).for_each(|at| add(waits.thread[at], waits.start[at], waits.end[at]));
    calls.ids().map(|id| id.index()).for_each(|at| add(calls.thread[at], calls.start[at], calls.end[at]));
    let asleep = states.ids().map(|id| id.index()).filter(|at| {
        matches!(
            states.state[*at],
            ThreadState::Blocked | ThreadState::Uninterruptible | ThreadState::Stopped
        )
    });
    asleep.for_each(|at| add(states.thread[at], states.start[at], states.end[at]));
    all.into_iter().map(Times::of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_slept_all_the_while_woke_nobody() {
        let occupied = [(0, 100), (200, 300), (900, 950)];
        assert!(is_free(&occupied, (150, 250)), "it slept only after it had woken the other one");
        assert!(is_free(&occupied, (400, 500)));
        assert!(!is_free(&occupied, (210, 290)));
        assert!(!is_free(&occupied, (960, 970)), "it has ended");
        assert!(!is_free(&[], (0, 10)), "nothing is known of it");
    }
}
