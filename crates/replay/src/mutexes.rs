//! The mutexes of CUDA's libraries that threads waited for: whoever launches needs one, and they pass from thread to thread.

use crate::calls::Cost;
use crate::threads::Threads;
use explain::{Class, classify};
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{CallId, LockKind, Ns, ProcessId, Trace};

/// If at least one of so many calls of a process that issue operations is seen to need a mutex, all need it.
const ONE_OF: usize = 10;

/// The mutexes that were waited for.
pub(crate) struct Mutexes {
    /// The row of each, by process and address.
    rows: FxHashMap<(ProcessId, i64), u32>,
    /// What each outermost call needs that was seen to need one: the row of the last.
    of: FxHashMap<CallId, u32>,
    /// The mutex that all calls of a process that issue operations need.
    all: FxHashMap<ProcessId, u32>,
    /// Waits: the mutex, the call that released it, and the end, ns.
    waits: Vec<(u32, CallId, Ns)>,
}

impl Mutexes {
    pub fn of(trace: &Trace, threads: &Threads) -> Mutexes {
        let mut mutexes = Mutexes {
            rows: FxHashMap::default(),
            of: FxHashMap::default(),
            all: FxHashMap::default(),
            waits: Vec::new(),
        };
        let waits = &trace.waits;
        for at in
            (0..waits.len()).filter(|at| waits.kind[*at] == LockKind::Mutex && waits.layer[*at].is_cuda())
        {
            let process = trace.process_of_thread(waits.thread[at]);
            let next = mutexes.rows.len() as u32;
            let row = *mutexes.rows.entry((process, waits.lock[at])).or_insert(next);
            let releaser = threads.outer(waits.releaser_call[at]);
            for call in [threads.outer(waits.call[at]), threads.outer(waits.holder_call[at]), releaser] {
                mutexes.of.extend(call.some().map(|call| (call, row)));
            }
            mutexes.waits.push((row, releaser, waits.end[at]));
        }
        mutexes.find_common(trace, threads);
        mutexes
    }

    /// Finds the mutexes that all calls need that issue operations.
    fn find_common(&mut self, trace: &Trace, threads: &Threads) {
        let mut issuing: FxHashMap<ProcessId, usize> = FxHashMap::default();
        let mut seen: FxHashMap<(ProcessId, u32), usize> = FxHashMap::default();
        for call in trace.threads.ids().flat_map(|thread| threads.calls(thread)) {
            if issues(trace, *call) {
                let process = trace.process_of_thread(trace.calls.thread[call.index()]);
                *issuing.entry(process).or_default() += 1;
                if let Some(row) = self.of.get(call) {
                    *seen.entry((process, *row)).or_default() += 1;
                }
            }
        }
        let mut common: Vec<((ProcessId, u32), usize)> = seen.into_iter().collect();
        common.retain(|((process, _), count)| count * ONE_OF >= issuing[process]);
        common.sort_unstable_by_key(|((process, row), count)| (*process, *count, *row));
        self.all.extend(common.into_iter().map(|((process, row), _)| (process, row)));
    }

    /// The mutex that a call needs.
    pub fn of_call(&self, trace: &Trace, call: CallId) -> Option<u32> {
        let common = || {
            let process = trace.process_of_thread(trace.calls.thread[call.index()]);
            self.all.get(&process).copied().filter(|_| issues(trace, call))
        };
        self.of.get(&call).copied().or_else(common)
    }

    /// How long each takes to pass to a thread that waits, ns: the median from a call's effect to the end of the wait for it.
    pub fn hand_over(&self, trace: &Trace, costs: &FxHashMap<CallId, Cost>) -> Vec<Ns> {
        let mut times: Vec<Vec<Ns>> = vec![Vec::new(); self.rows.len()];
        let mut of: FxHashSet<(u32, CallId)> = FxHashSet::default();
        for (row, releaser, end) in &self.waits {
            let Some(cost) = costs.get(releaser) else { continue };
            let returned = trace.calls.end[releaser.index()];
            if of.insert((*row, *releaser)) && (cost.effect..returned).contains(end) {
                times[*row as usize].push(end - cost.effect);
            }
        }
        let median = |mut times: Vec<Ns>| {
            let middle = times.len() / 2;
            if times.is_empty() { 0 } else { *times.select_nth_unstable(middle).1 }
        };
        times.into_iter().map(median).collect()
    }
}

/// Whether a call issues operations.
fn issues(trace: &Trace, call: CallId) -> bool {
    let class = classify(trace.text(trace.calls.name[call.index()]));
    matches!(class, Class::Launch | Class::Fill | Class::Copy { .. })
}
