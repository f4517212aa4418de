//! System calls of threads by their own stacks: where a thread slept of which a profiler takes samples only while it runs.

use super::naming::SpotId;
use crate::facts::weights::SAMPLE;
use rustc_hash::FxHashMap;
use trace::{Api, CallId, Ns, StackId, ThreadId, Trace};

/// The time for which a system call counts like a sample, ns, as at the usual rate of 1,000 a second.
const SAMPLED: u64 = 1_000_000;

/// A system call in which a thread may have slept.
#[derive(Clone, Copy)]
struct Call {
    start: Ns,
    end: Ns,
    spot: SpotId,
}

/// The system calls of each thread whose stacks have a place, by start.
pub(super) struct Slept(Vec<Vec<Call>>);

impl Slept {
    /// `spots` are the places of stacks.
    pub fn of(trace: &Trace, spots: &FxHashMap<StackId, SpotId>) -> Slept {
        let calls = &trace.calls;
        let placed = |call: CallId| {
            let (start, end) = (calls.start[call.index()], calls.end[call.index()]);
            Some(Call { start, end, spot: *spots.get(&calls.stack[call.index()])? })
        };
        let of = |own: Vec<CallId>| own.into_iter().filter_map(placed).collect();
        Slept(system_calls(trace).into_iter().map(of).collect())
    }

    /// None known: samples tell.
    pub fn none(threads: usize) -> Slept {
        Slept(vec![Vec::new(); threads])
    }

    /// The places of a thread's system calls in `[from, to)`, each with the weight that samples of it would have.
    pub fn places(&self, thread: ThreadId, from: Ns, to: Ns) -> impl Iterator<Item = (SpotId, u64)> {
        let own = &self.0[thread.index()];
        let first = own.partition_point(|call| call.end <= from);
        let within = own[first..].iter().take_while(move |call| call.start < to);
        within.map(move |call| {
            let ns = call.end.min(to) - call.start.max(from);
            (call.spot, (ns as u64).saturating_mul(SAMPLE) / SAMPLED)
        })
    }
}

/// The outermost system calls of each thread that have a stack, by start.
pub(super) fn system_calls(trace: &Trace) -> Vec<Vec<CallId>> {
    let calls = &trace.calls;
    let mut by_thread = vec![Vec::new(); trace.threads.len()];
    for call in calls.ids().filter(|call| calls.api[call.index()] == Api::Os) {
        let at = call.index();
        if let (Some(thread), Some(_)) = (calls.thread[at].some(), calls.stack[at].some()) {
            by_thread[thread.index()].push(call);
        }
    }
    for own in &mut by_thread {
        own.sort_by_key(|call| (calls.start[call.index()], std::cmp::Reverse(calls.end[call.index()])));
        let mut over = Ns::MIN;
        own.retain(|call| {
            let is_outermost = calls.end[call.index()] > over;
            over = over.max(calls.end[call.index()]);
            is_outermost
        });
    }
    by_thread
}
