//! Host calls: what they are, how long they take, and how they follow each other.

use super::Facts;
use crate::facts::stretch::Stretch;
use rustc_hash::FxHashSet;
use trace::{CallId, Ns, OpId, ProcessId, RangeId, RangeKind, Sym, ThreadId};
use waits::Class;

/// Cost of a call if the trace has no fast call of its name, ns: about that of an ordinary launch under a tracer (3.5 µs
/// bare, 4.7 µs and more traced, on an H200).
const DEFAULT_COST: Ns = 10_000;

/// Calls of a thread between a stream's wait for an event and the work that waits then: a choice.
const ORDERED: usize = 1_000;

impl Facts<'_> {
    pub fn class(&self, call: CallId) -> Class {
        self.index.class(call)
    }

    pub fn start(&self, call: CallId) -> Ns {
        self.index.start(call)
    }

    pub fn end(&self, call: CallId) -> Ns {
        self.index.end(call)
    }

    pub fn duration(&self, call: CallId) -> Ns {
        self.end(call) - self.start(call)
    }

    pub fn thread(&self, call: CallId) -> ThreadId {
        self.trace.calls.thread[call.index()]
    }

    pub fn process(&self, call: CallId) -> ProcessId {
        self.trace.process_of_thread(self.thread(call))
    }

    /// The cost of a call of this name that waits for nothing, ns: the median of the fast ones.
    pub fn usual(&self, call: CallId) -> Ns {
        let known = self.calls.usual.get(&self.trace.calls.name[call.index()]);
        known.copied().unwrap_or(DEFAULT_COST).min(self.duration(call))
    }

    /// Most time between the end of a wait and the end of what it waited for, ns: the waiter still has its own work to
    /// do, and the holder releases a lock before it returns. On an H200 launches return 17 to 245 µs after the copy of 1
    /// to 54 ms that they waited for, in one recording up to 352 µs after 41 ms.
    pub fn tolerance(&self, call: CallId) -> Ns {
        let duration = self.duration(call);
        let most = (duration / 100).max(250_000);
        (self.usual(call).saturating_mul(2) + duration / 100 * 15).clamp(20_000, most)
    }

    /// The outermost CUDA calls of each thread, by start.
    pub fn calls_by_thread(&self) -> &[Vec<CallId>] {
        self.index.calls.by_thread()
    }

    /// The outermost CUDA call before `call` on its thread.
    pub fn previous(&self, call: CallId) -> Option<CallId> {
        let own = &self.calls_by_thread()[self.thread(call).index()];
        let at = own.partition_point(|other| self.start(*other) < self.start(call));
        own[..at].last().copied()
    }

    /// The functions of the trace by which work of a stream waits for an event or a host function.
    pub(super) fn order_names(&self) -> &FxHashSet<Sym> {
        self.habits.orders.get_or_init(|| {
            let all = self.trace.strings.iter();
            let orders = ["StreamWaitEvent", "LaunchHostFunc", "StreamAddCallback"];
            let is_one = |text: &str| orders.iter().any(|name| text.contains(name));
            all.filter(|(_, text)| is_one(text)).map(|(name, _)| name).collect()
        })
    }

    /// The last call of its thread before a call that made its stream, or an unknown one, wait for an event or a host function, if it is
    /// among the last [`ORDERED`].
    pub fn orders(&self, call: CallId) -> Option<CallId> {
        let own = &self.calls_by_thread()[self.thread(call).index()];
        let at = own.partition_point(|other| self.start(*other) < self.start(call));
        let names = self.order_names();
        if names.is_empty() {
            return None;
        }
        let stream = self.stream(call);
        let is_wait = |call: &CallId| names.contains(&self.trace.calls.name[call.index()]);
        let fits = |wait: &CallId| self.ordered(*wait).some().is_none_or(|ordered| ordered == stream);
        own[..at].iter().rev().take(ORDERED).copied().filter(is_wait).find(fits)
    }

    /// Whether a framework's operator made both calls, as the trace links them.
    pub fn share_an_operator(&self, one: CallId, other: CallId) -> bool {
        let range = |call: CallId| self.trace.calls.range[call.index()].some();
        let is_operator = |range: &RangeId| self.trace.ranges.kind[range.index()] == RangeKind::Operator;
        range(one).filter(is_operator).is_some_and(|operator| range(other) == Some(operator))
    }

    /// Whether a call of the same name in the same process and on the same device began and ended within `[from, to)`.
    /// Examines only the first calls that began there.
    pub fn has_like(&self, call: CallId, from: Ns, to: Ns) -> bool {
        const MOST: usize = 10_000;
        let name = |call: CallId| self.trace.calls.name[call.index()];
        let (wanted, process, device) = (name(call), self.process(call), self.device(call));
        if device.is_none() && self.trace.devices.len() > 1 {
            return false;
        }
        let begun = self.index.calls.by_start().partition_point(|other| self.start(*other) < from);
        let within = self.index.calls.by_start()[begun..]
            .iter()
            .take(MOST)
            .take_while(|other| self.start(**other) < to);
        within.copied().any(|other| {
            let alike = name(other) == wanted && self.end(other) < to;
            alike && self.process(other) == process && self.device(other) == device
        })
    }

    /// The calls that match `wanted`, by start.
    pub fn calls_where(&self, wanted: impl Fn(CallId) -> bool) -> Vec<CallId> {
        self.index.calls.by_start().iter().copied().filter(|call| wanted(*call)).collect()
    }

    /// The outermost call that `call` lies in: what the program called; `NONE` if there is none.
    pub fn outermost(&self, call: CallId) -> CallId {
        self.index.calls.outermost(call)
    }

    /// Whether this is an outermost call that takes longer than the threshold.
    pub fn is_slow(&self, call: CallId) -> bool {
        self.outermost(call) == call && self.duration(call) > self.calls.min_wait
    }

    /// Whether this takes longer than the threshold.
    pub fn is_long(&self, stretch: Stretch) -> bool {
        stretch.duration(self.trace) > self.calls.min_wait
    }

    /// The part of a call, or of a wait outside calls, that is not in the selected time, ns.
    pub fn beyond_selection(&self, stretch: Stretch) -> Ns {
        let (start, end) = (stretch.start(self.trace), stretch.end(self.trace));
        (end - start) - self.calls.selected.part(start, end)
    }

    /// The selected part of the time from a thread's first call or wait to its last, ns, as far as it was recorded; see
    /// [`crate::facts::index::thread_spans`].
    pub fn chosen_span(&self, thread: ThreadId) -> Ns {
        let (first, last) = self.calls.thread_span[thread.index()];
        let paused = self.trace.meta.pauses();
        let paused = paused.map(|(off, on)| self.calls.selected.part(off.max(first), on.min(last)));
        self.calls.selected.part(first, last) - paused.sum::<Ns>()
    }

    /// Whether all waits for locks in a call were recorded: one without a record waited for no lock.
    pub fn locks_watched(&self, call: CallId) -> bool {
        self.trace.meta.locks_watched && self.trace.meta.is_recorded(self.start(call))
    }

    /// Whether only calls of some threads, names or ranges may appear as waiters.
    pub fn chooses_calls(&self) -> bool {
        self.calls.selected.chooses_calls()
    }

    /// Whether calls of a thread may appear as waiters.
    pub fn is_chosen_thread(&self, thread: ThreadId) -> bool {
        self.calls.selected.range(thread, Ns::MIN, Ns::MAX)
    }

    /// Lets only what happened in a time appear as a waiter.
    pub fn choose_time(&mut self, (from, to): (Ns, Ns)) {
        self.calls.selected.set_time(from, to);
    }

    /// Whether this may appear as a waiter.
    pub fn is_chosen(&self, stretch: Stretch) -> bool {
        let trace = self.trace;
        self.calls.selected.time(stretch.start(trace), stretch.end(trace))
            && self.is_chosen_at_any_time(stretch)
    }

    /// Whether a thread's time outside calls is selected, by the thread and by the ranges that it overlaps: it has no name.
    pub fn is_chosen_time(&self, thread: ThreadId, (from, to): (Ns, Ns)) -> bool {
        self.calls.selected.range(thread, from, to) && self.calls.selected.name(Sym::EMPTY)
    }

    /// Whether an operation is selected, whatever the selected time: by its call, whose name or its own may match.
    pub fn is_chosen_operation(&self, op: OpId, call: CallId) -> bool {
        let selected = &self.calls.selected;
        let is_named = selected.name(self.trace.calls.name[call.index()])
            || selected.name(self.trace.ops.name[op.index()]);
        is_named && selected.caller(self.thread(call), self.start(call))
    }

    /// Like [`Facts::is_chosen`], but whatever the selected time.
    pub fn is_chosen_at_any_time(&self, stretch: Stretch) -> bool {
        let trace = self.trace;
        self.calls.selected.caller(stretch.thread(trace), stretch.start(trace))
            && self.calls.selected.name(stretch.name(trace))
    }
}
