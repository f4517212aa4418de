//! Finds the call that a wait or a stack belongs to.
//!
//! Waits and stacks name the driver function that the wrapper recorded, and the time of its entry. At level light,
//! that call has its own row. At level full, CUPTI's record of the same call begins within it, and some functions have
//! none. CUPTI and the wrapper take their times from different clocks.

use super::state::Process;
use super::state::later::CallStack;
use crate::suffix;
use rayon::prelude::*;
use spool::{Lock, Mode, PythonFrame, Wait};
use std::cell::Cell;
use std::ops::Range;
use trace::{Api, CallId, LockKind, LockLayer, LockMode, Ns, StackId, Sym, ThreadId, Trace};

/// Records that are searched for CUPTI's record of a call: it is among the first that begin after its wrapper was
/// entered. A few driver functions call others.
const NEARBY: usize = 8;

/// Largest difference between the clocks of CUPTI and of the wrapper, ns: both are read some 50 ns apart, ten times a
/// second or less, and the kernel changes the rate of its clock in between.
const SLACK: Ns = 1_000;

/// Calls nest a few deep; a call that began this many calls ago has ended.
const DEEPEST: usize = 64;

/// The calls of one process by thread and start, outer before inner.
pub(super) struct Index {
    calls: Vec<CallId>,
    /// When each starts.
    starts: Vec<Ns>,
    /// Where each thread's calls are.
    threads: Vec<Row>,
}

/// Where a thread's calls are.
#[derive(Clone, Default)]
struct Row {
    calls: Range<usize>,
    /// Position of the last search in them: the next search is mostly a little further on.
    last: Cell<usize>,
}

impl Index {
    fn new(trace: &Trace, first: usize) -> Index {
        let calls_of = &trace.calls;
        let mut calls = by_thread(trace, first);
        let key = |call: &CallId| {
            let at = call.index();
            (calls_of.start[at], -calls_of.end[at], *call)
        };
        let same = |a: &CallId, b: &CallId| calls_of.thread[*a] == calls_of.thread[*b];
        calls.par_chunk_by_mut(same).filter(|of_one| !of_one.is_sorted_by_key(key)).for_each(|of_one| {
            of_one.par_sort_unstable_by_key(key);
        });
        let starts = calls.iter().map(|call| calls_of.start[*call]).collect();
        let mut threads = vec![Row::default(); trace.threads.len()];
        let mut from = 0;
        for of_one in calls.chunk_by(|a, b| calls_of.thread[*a] == calls_of.thread[*b]) {
            let to = from + of_one.len();
            let thread = calls_of.thread[of_one[0].index()];
            if let Some(row) = threads.get_mut(thread.index()) {
                *row = Row { calls: from..to, last: Cell::new(0) };
            }
            from = to;
        }
        Index { calls, starts, threads }
    }

    /// Position of the first call of a thread that begins at `time` or later.
    fn from(&self, thread: ThreadId, time: Ns) -> usize {
        let Some(row) = self.threads.get(thread.index()) else { return 0 };
        let at = first_not_before(&self.starts[row.calls.clone()], row.last.get(), time);
        row.last.set(at);
        row.calls.start + at
    }

    /// The innermost call of a thread around a time.
    fn around(&self, trace: &Trace, thread: ThreadId, time: Ns) -> CallId {
        let end = self.from(thread, time.saturating_add(1));
        let before = self.calls[..end].iter().rev().take(DEEPEST);
        let mut same = before.take_while(|call| trace.calls.thread[**call] == thread);
        same.find(|call| trace.calls.end[**call] > time).copied().unwrap_or_default()
    }

    /// The calls of a thread that may be the one entered at `since`, and some that are not.
    fn nearby(&self, trace: &Trace, thread: ThreadId, since: Ns) -> &[CallId] {
        let first = self.from(thread, since.saturating_sub(SLACK));
        let behind = self.from(thread, since).saturating_add(NEARBY);
        let nearby = &self.calls[first..behind.min(self.calls.len())];
        let own = nearby.partition_point(|call| trace.calls.thread[*call] == thread);
        &nearby[..own]
    }

    /// The call of `function` that a thread entered at `since` and was in at `at`; otherwise the innermost call
    /// around it.
    fn entered(
        &self,
        trace: &Trace,
        thread: ThreadId,
        is_function: impl Fn(Sym) -> bool,
        since: Ns,
        at: Ns,
    ) -> CallId {
        let calls = &trace.calls;
        let begins = |call: &CallId| calls.start[*call];
        let is_it =
            |call: &&CallId| begins(call) <= at.saturating_add(SLACK) && is_function(calls.name[**call]);
        // Consecutive calls of a function may be shorter than the difference between the clocks.
        let candidates = self.nearby(trace, thread, since).iter().filter(is_it);
        let own = candidates.min_by_key(|call| begins(call).abs_diff(since)).copied();
        own.unwrap_or_else(|| self.around(trace, thread, since))
    }
}

/// The calls from `first` on, by thread, those of a thread in the order of their rows.
fn by_thread(trace: &Trace, first: usize) -> Vec<CallId> {
    // Calls without a thread come last.
    let place = |thread: ThreadId| thread.some().map_or(trace.threads.len(), ThreadId::index);
    let mut next = vec![0; trace.threads.len() + 2];
    let threads = &trace.calls.thread[first..];
    threads.iter().for_each(|thread| next[place(*thread) + 1] += 1);
    (1..next.len()).for_each(|at| next[at] += next[at - 1]);
    let mut calls = vec![CallId::NONE; threads.len()];
    for (thread, call) in threads.iter().zip(trace.calls.ids().skip(first)) {
        let next = &mut next[place(*thread)];
        calls[*next] = call;
        *next += 1;
    }
    calls
}

/// Position of the first of `starts` that is `time` or later, searched from `near` in steps that double.
fn first_not_before(starts: &[Ns], near: usize, time: Ns) -> usize {
    let near = near.min(starts.len());
    let mut step = 1;
    let between = if starts.get(near).is_some_and(|start| *start < time) {
        while starts.get(near + step).is_some_and(|start| *start < time) {
            step *= 2;
        }
        near + step / 2..(near + step).min(starts.len())
    } else {
        while near >= step && starts[near - step] >= time {
            step *= 2;
        }
        near.saturating_sub(step)..near - step / 2
    };
    between.start + starts[between].partition_point(|start| *start < time)
}

impl Process<'_, '_> {
    /// Assigns waits and stacks to their calls.
    pub(super) fn link(&mut self) {
        let (waits, stacks) = (std::mem::take(&mut self.later.waits), std::mem::take(&mut self.later.stacks));
        let thread_waits = std::mem::take(&mut self.later.thread_waits);
        if waits.is_empty() && stacks.is_empty() && thread_waits.is_empty() {
            return;
        }
        let index = Index::new(&self.all.trace, self.first_call);
        self.thread_waits(&index, thread_waits);
        for (tid, library, wait) in waits {
            self.wait(&index, tid, library, wait);
        }
        for stacked in &stacks {
            self.stack(&index, stacked);
        }
    }

    fn wait(&mut self, index: &Index, tid: u32, library: u32, wait: Wait) {
        let Wait {
            start,
            end,
            lock,
            kind,
            mode,
            holders,
            holder,
            holder_function,
            releaser,
            holder_since,
            releaser_function,
            function,
            releaser_since,
            since,
        } = wait;
        let Some((start, end)) = self.ticks(start, end) else { return };
        let row = trace::Wait {
            start,
            end,
            thread: self.thread(tid),
            call: self.call_in(index, (tid, function, since), start),
            lock: lock.cast_signed(),
            kind: self.lock_kind(kind),
            mode: self.lock_mode(mode),
            library: self.texts.get(library),
            holder: self.party(holder),
            holder_call: self.call_in(index, (holder, holder_function, holder_since), start),
            holders,
            releaser: self.party(releaser),
            releaser_call: self.call_in(index, (releaser, releaser_function, releaser_since), end),
            layer: self.layer(library),
            ..trace::Wait::default()
        };
        self.all.trace.waits.push(row);
    }

    /// The kind of a lock; counts a number that is none, but for 0.
    fn lock_kind(&mut self, number: u32) -> LockKind {
        let kind = |lock| match lock {
            Lock::Mutex => LockKind::Mutex,
            Lock::Rwlock => LockKind::RwLock,
            Lock::Spin => LockKind::Spin,
        };
        match number {
            0 => LockKind::Unknown,
            _ => self.valid(Lock::from_number(number).map(kind)),
        }
    }

    /// How a lock is held; counts a number that is none, but for 0.
    pub(super) fn lock_mode(&mut self, number: u32) -> LockMode {
        let mode = |mode| match mode {
            Mode::Exclusive => LockMode::Exclusive,
            Mode::Shared => LockMode::Shared,
        };
        match number {
            0 => LockMode::Unknown,
            _ => self.valid(Mode::from_number(number).map(mode)),
        }
    }

    /// Layer of a lock, by the library whose code waited.
    fn layer(&self, library: u32) -> LockLayer {
        match self.all.trace.text(self.texts.get(library)) {
            name if name.starts_with("libcuda.so") => LockLayer::Driver,
            _ => LockLayer::Library,
        }
    }

    pub(super) fn party(&mut self, tid: u32) -> ThreadId {
        if tid == 0 { ThreadId::NONE } else { self.thread(tid) }
    }

    /// The call in which a thread was at a time: by the thread (0 for none), the function's name (0 for unknown), and its
    /// entry, ticks.
    pub(super) fn call_in(&mut self, index: &Index, call: (u32, u32, i64), at: Ns) -> CallId {
        let (tid, function, since) = call;
        if tid == 0 {
            return CallId::NONE;
        }
        let (thread, since) = (self.thread(tid), self.clocks.ns(since));
        let wanted = self.texts.get(function);
        if wanted.is_empty() {
            return index.around(&self.all.trace, thread, at);
        }
        let trace = &self.all.trace;
        let bare = suffix::bare(trace.text(wanted));
        let is_function = |name: Sym| name == wanted || suffix::bare(trace.text(name)) == bare;
        index.entered(trace, thread, is_function, since, at)
    }

    /// Assigns a stack to the driver call it was taken in, and to the runtime call around that.
    fn stack(&mut self, index: &Index, stacked: &CallStack) {
        let Some((start, end)) = self.times(stacked.start, stacked.end) else { return };
        let thread = self.thread(stacked.tid);
        let stack = self.stack_row(stacked);
        if stack.is_none() {
            return;
        }
        let trace = &mut self.all.trace;
        let calls = &trace.calls;
        // Its middle lies within the call, even if the clocks disagree about its ends.
        let is_within = |call: &&CallId| {
            let (begun, ended) = (calls.start[**call], calls.end[**call]);
            let middle = begun + (ended - begun) / 2;
            let fits = (start..=end).contains(&middle) && ended <= end.saturating_add(SLACK);
            fits && calls.api[**call] == Api::Driver
        };
        let within = index.nearby(trace, thread, start).iter().find(is_within).copied();
        let around = index.around(trace, thread, start);
        // A call of another driver function may contain this one: its own stack comes later.
        let around = (calls.api.get(around.index()) == Some(&Api::Runtime)).then_some(around);
        if within.is_none() && around.is_none() {
            return trace.meta.leave_out("stacks of calls that are not in the trace", 1);
        }
        for call in within.into_iter().chain(around) {
            let row = &mut trace.calls.stack[call];
            if row.is_none() {
                *row = stack;
            }
        }
    }

    fn stack_row(&mut self, stacked: &CallStack) -> StackId {
        self.stack_of(&stacked.native, &stacked.python)
    }

    /// The row of a stack, whose frames are innermost first.
    pub(super) fn stack_of(&mut self, native: &[u64], python: &[PythonFrame]) -> StackId {
        let all = &mut *self.all;
        let python: Vec<_> = python
            .iter()
            .map(|frame| (self.texts.get(frame.file), self.texts.get(frame.function), frame.line))
            .collect();
        all.places.stack(&mut all.trace, native, &python)
    }
}

#[cfg(test)]
mod tests {
    use super::first_not_before;

    #[test]
    fn a_search_from_any_start_finds_the_same() {
        let starts: Vec<i64> = (0..40).map(|at| at / 3 * 10).collect();
        for near in 0..=starts.len() + 1 {
            for time in -5..150 {
                let expected = starts.partition_point(|start| *start < time);
                assert_eq!(first_not_before(&starts, near, time), expected, "{near} {time}");
            }
        }
        assert_eq!(first_not_before(&[], 3, 7), 0);
    }
}
