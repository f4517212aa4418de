//! Threads that are in Python's code at the same time, by the ranges that an interpreter marked: Python's lock lets one of them run, so that
//! of `k` threads each waits for `(k - 1) / k` of that time. A thread in a built-in function or an operator may have released the lock.

use crate::facts::places::built_in;
use crate::result::framework::PROFILE_OF_PYTORCH;
use rustc_hash::FxHashMap;
use trace::{Ns, ProcessId, RangeId, RangeKind, ThreadId, Trace};

/// The shortest time of two threads in Python's code together that is looked at, ns: clocks of threads differ little. A choice.
const TOGETHER: Ns = 1_000;

/// How long each thread waited for Python's lock.
#[derive(Default)]
pub(super) struct Interpreters {
    /// The times of each thread in which others were in Python's code as well, in order.
    waits: Vec<Vec<Wait>>,
}

#[derive(Clone, Copy)]
struct Wait {
    start: Ns,
    end: Ns,
    /// Number of threads in Python's code.
    threads: Ns,
    /// The waits before it, ns.
    before: Ns,
}

impl Wait {
    /// The wait in the part of it before a moment, ns.
    fn until(&self, at: Ns) -> Ns {
        let length = at.clamp(self.start, self.end) - self.start;
        length - length / self.threads
    }
}

impl Interpreters {
    /// The waits of a profile of PyTorch's, which does not record them; others do.
    pub fn of(trace: &Trace) -> Interpreters {
        if trace.meta.source != PROFILE_OF_PYTORCH {
            return Interpreters::default();
        }
        let code = code_by_thread(trace);
        let mut processes = FxHashMap::<ProcessId, Vec<ThreadId>>::default();
        for thread in trace.threads.ids().filter(|thread| !code[thread.index()].is_empty()) {
            processes.entry(trace.process_of_thread(thread)).or_default().push(thread);
        }
        processes.retain(|_, threads| threads.len() > 1);
        if processes.is_empty() {
            return Interpreters::default();
        }
        let mut waits = vec![Vec::new(); trace.threads.len()];
        for threads in processes.values() {
            together(threads, &code, &mut waits);
        }
        Interpreters { waits }
    }

    /// How long a thread waited in `[from, to)`, ns.
    pub fn waited(&self, thread: ThreadId, from: Ns, to: Ns) -> Ns {
        let Some(waits) = self.waits.get(thread.index()) else { return 0 };
        let until = |at: Ns| {
            let next = waits.partition_point(|wait| wait.start < at);
            next.checked_sub(1).map_or(0, |last| waits[last].before + waits[last].until(at))
        };
        until(to) - until(from)
    }
}

/// Adds the waits of threads of one process to those of each thread.
fn together(threads: &[ThreadId], code: &[Vec<(Ns, Ns)>], waits: &mut [Vec<Wait>]) {
    let mut switches = Vec::new();
    for thread in threads {
        for (start, end) in &code[thread.index()] {
            switches.extend([(*start, true, *thread), (*end, false, *thread)]);
        }
    }
    // One that leaves comes before one that enters at the same moment.
    switches.sort_unstable();
    let mut within: Vec<ThreadId> = Vec::new();
    let mut since = Ns::MIN;
    for (at, enters, thread) in switches {
        if within.len() > 1 && at - since >= TOGETHER {
            for thread in &within {
                let waits = &mut waits[thread.index()];
                let before = waits.last().map_or(0, |last: &Wait| last.before + last.until(last.end));
                waits.push(Wait { start: since, end: at, threads: within.len() as Ns, before });
            }
        }
        since = at;
        match enters {
            true => within.push(thread),
            false => within.retain(|known| *known != thread),
        }
    }
}

/// The times at which each thread was in Python's code and in nothing that it called, in order.
fn code_by_thread(trace: &Trace) -> Vec<Vec<(Ns, Ns)>> {
    let ranges = &trace.ranges;
    if ranges.kind.iter().all(|kind| *kind != RangeKind::Python) {
        return vec![Vec::new(); trace.threads.len()];
    }
    let mut by_thread = vec![Vec::new(); trace.threads.len()];
    for range in ranges.ids() {
        let at = range.index();
        let is_code = matches!(ranges.kind[at], RangeKind::Python | RangeKind::Operator);
        if let Some(thread) = ranges.thread[at].some().filter(|_| is_code) {
            by_thread[thread.index()].push(range);
        }
    }
    by_thread.into_iter().map(|ranges| code(trace, ranges)).collect()
}

/// The times of nested ranges in which the innermost one is Python's code.
fn code(trace: &Trace, mut nested: Vec<RangeId>) -> Vec<(Ns, Ns)> {
    let ranges = &trace.ranges;
    let (start, end) =
        (|range: RangeId| ranges.start[range.index()], |range: RangeId| ranges.end[range.index()]);
    nested.sort_by_key(|range| (start(*range), std::cmp::Reverse(end(*range))));
    let is_python = |range: RangeId| {
        let name = trace.text(ranges.name[range.index()]);
        ranges.kind[range.index()] == RangeKind::Python && built_in(name).is_none()
    };
    let (mut times, mut open, mut now) = (Vec::<(Ns, Ns)>::new(), Vec::<RangeId>::new(), Ns::MIN);
    let mut pass = |open: &[RangeId], from: Ns, to: Ns| {
        if from < to && open.last().is_some_and(|innermost| is_python(*innermost)) {
            match times.last_mut().filter(|last| last.1 == from) {
                Some(last) => last.1 = to,
                None => times.push((from, to)),
            }
        }
    };
    for range in nested {
        while let Some(innermost) = open.last().copied().filter(|open| end(*open) <= start(range)) {
            pass(&open, now, end(innermost));
            now = now.max(end(innermost));
            open.pop();
        }
        pass(&open, now, start(range));
        now = now.max(start(range));
        open.push(range);
    }
    while let Some(innermost) = open.last().copied() {
        pass(&open, now, end(innermost));
        now = now.max(end(innermost));
        open.pop();
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Process, Range, Thread};

    const PYTHON: RangeKind = RangeKind::Python;
    const BUILT_IN: &str = "<built-in method sleep>";

    /// Threads of one process, each with its ranges: start, end, kind and name.
    fn interpreters(threads: &[&[(Ns, Ns, RangeKind, &str)]]) -> Interpreters {
        let mut trace = Trace::default();
        trace.meta.source = PROFILE_OF_PYTORCH.to_owned();
        let process = trace.processes.push(Process::default());
        for ranges in threads {
            let thread = trace.threads.push(Thread { process, ..Thread::default() });
            for (start, end, kind, name) in *ranges {
                let name = trace.strings.intern(name);
                trace.ranges.push(Range {
                    start: *start,
                    end: *end,
                    kind: *kind,
                    name,
                    thread,
                    ..Range::default()
                });
            }
        }
        Interpreters::of(&trace)
    }

    #[test]
    fn of_two_threads_in_python_one_waits() {
        let own = [(0, 100_000, PYTHON, "train.py(1): a")];
        let other = [(40_000, 80_000, PYTHON, "train.py(9): b")];
        let waits = interpreters(&[&own, &other]);
        let [first, second] = [0, 1].map(|at| waits.waited(ThreadId::new(at), 0, 100_000));
        assert_eq!([first, second], [20_000, 20_000]);
        assert_eq!(waits.waited(ThreadId::new(0), 50_000, 60_000), 5_000);
        assert_eq!(waits.waited(ThreadId::new(0), 80_000, 100_000), 0);
    }

    #[test]
    fn a_thread_in_a_built_in_function_or_an_operator_may_have_released_the_lock() {
        let own = [(0, 100_000, PYTHON, "train.py(1): a")];
        for within in [(0, 100_000, PYTHON, BUILT_IN), (0, 100_000, RangeKind::Operator, "aten::add")] {
            let other = [(0, 100_000, PYTHON, "train.py(9): b"), within];
            assert_eq!(interpreters(&[&own, &other]).waited(ThreadId::new(0), 0, 100_000), 0);
        }
    }

    #[test]
    fn a_thread_alone_waits_for_nobody() {
        let own = [(0, 100_000, PYTHON, "train.py(1): a"), (20_000, 30_000, PYTHON, "train.py(2): c")];
        assert_eq!(interpreters(&[&own]).waited(ThreadId::new(0), 0, 100_000), 0);
    }
}
