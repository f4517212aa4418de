//! Threads that act in turns with another one: PyTorch's autograd computes the gradients while the thread that asked for them waits. Traces
//! of PyTorch's profiler have no waits, but show the turns: no call of one thread lies between the first and the last of the other's turn.

use super::signal::{Signal, SignalKind};
use crate::calls::CallOrder;
use trace::{CallId, Ns, RangeKind, ThreadId, Trace, WaitId};

/// Beginning of the names of the ranges in which autograd computes gradients (PyTorch 1.8 to 2.11).
const GRADIENTS: &str = "autograd::engine::evaluate_function";

/// Fewest turns that show that two threads act so: a choice.
const FEWEST: usize = 3;

/// Of so many turns one may be disturbed, as by a thread of another name's call: a choice.
const DISTURBED: usize = 20;

/// Turn of the helping thread, ns: the end of the other one's call before it, its own first and last moment, and the start of the other
/// one's next call.
struct Turn {
    asked: Ns,
    start: Ns,
    end: Ns,
    goes_on: Option<Ns>,
}

/// The waits of the threads of autograd for those that ask for gradients, and of these for them; none where waits are recorded.
pub(super) fn turns(trace: &Trace, order: &CallOrder<'_>) -> Vec<Signal> {
    if !trace.waits.is_empty() {
        return Vec::new();
    }
    let helpers = helpers(trace);
    let asker = |helper: &ThreadId| {
        let process = trace.process_of_thread(*helper);
        let is_peer =
            |thread: &ThreadId| trace.process_of_thread(*thread) == process && !helpers.contains(thread);
        trace.threads.ids().filter(is_peer).max_by_key(|thread| order.of_thread(*thread).len())
    };
    let pairs = helpers.iter().filter_map(|helper| Some((*helper, asker(helper)?)));
    pairs.flat_map(|(helper, asker)| of_pair(trace, order, helper, asker)).collect()
}

/// The threads that compute gradients.
fn helpers(trace: &Trace) -> Vec<ThreadId> {
    let ranges = &trace.ranges;
    let mut computes = vec![0; trace.threads.len()];
    for at in (0..ranges.len()).filter(|at| ranges.kind[*at] == RangeKind::Operator) {
        if let Some(thread) = ranges.thread[at].some() {
            computes[thread.index()] += usize::from(trace.text(ranges.name[at]).starts_with(GRADIENTS));
        }
    }
    trace.threads.ids().filter(|thread| computes[thread.index()] >= FEWEST).collect()
}

/// The waits of two threads for each other, if they act in turns.
fn of_pair(trace: &Trace, order: &CallOrder<'_>, helper: ThreadId, asker: ThreadId) -> Vec<Signal> {
    let (turns, disturbed) = turns_of(trace, order.of_thread(helper), order.of_thread(asker));
    if turns.len() < FEWEST || disturbed * DISTURBED > turns.len() {
        return Vec::new();
    }
    let (kind, wait) = (SignalKind::Turn, WaitId::NONE);
    let mut since = None;
    let mut signals = Vec::with_capacity(2 * turns.len());
    for Turn { asked, start, end, goes_on } in turns {
        signals.push(Signal {
            kind,
            wait,
            waiter: helper,
            by: asker,
            start: since.unwrap_or(asked),
            end: start,
            at: asked,
        });
        signals.extend(goes_on.map(|goes_on| Signal {
            kind,
            wait,
            waiter: asker,
            by: helper,
            start,
            end: goes_on,
            at: end,
        }));
        since = Some(end);
    }
    signals
}

/// The turns of the calls of one thread between those of another, and how many are disturbed: some call of the other one is within.
fn turns_of(trace: &Trace, helper: &[CallId], asker: &[CallId]) -> (Vec<Turn>, usize) {
    let (starts, ends) = (&trace.calls.start, &trace.calls.end);
    let (mut turns, mut disturbed) = (Vec::<Turn>::new(), 0);
    let mut next = 0;
    for call in helper {
        let (start, end) = (starts[*call], ends[*call]);
        while asker.get(next).is_some_and(|other| starts[*other] < end) {
            next += 1;
        }
        let Some(before) = next.checked_sub(1).map(|at| asker[at]) else { continue };
        let (asked, goes_on) = (ends[before], asker.get(next).map(|other| starts[*other]));
        match turns.last_mut().filter(|turn| turn.asked == asked) {
            Some(turn) => turn.end = end,
            None if asked > start => disturbed += 1,
            None => turns.push(Turn { asked, start, end, goes_on }),
        }
    }
    (turns, disturbed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Api, Call, Range, Thread, Wait};

    /// A thread that makes a call at 0, 100, 200 … ns, and one with two calls at `from` and `from + 20` behind each.
    fn trace(from: Ns, name: &str) -> Trace {
        let mut trace = Trace::default();
        let [asker, helper] = [1, 2].map(|tid| trace.threads.push(Thread { tid, ..Thread::default() }));
        let name = trace.strings.intern(name);
        for start in (0..5).map(|turn| turn * 100) {
            let mut call = |thread, start, end| {
                trace.calls.push(Call { thread, start, end, api: Api::Runtime, ..Call::default() });
            };
            call(asker, start, start + 10);
            call(helper, start + from, start + from + 10);
            call(helper, start + from + 20, start + from + 30);
            let (thread, kind) = (helper, RangeKind::Operator);
            trace.ranges.push(Range {
                thread,
                kind,
                name,
                start: start + from,
                end: start + from + 30,
                ..Range::default()
            });
        }
        trace
    }

    fn found(trace: &Trace) -> Vec<(u32, Ns, Ns, Ns)> {
        let turns = turns(trace, &CallOrder::new(trace));
        turns.iter().map(|turn| (turn.waiter.index() as u32, turn.start, turn.end, turn.at)).collect()
    }

    #[test]
    fn threads_that_act_in_turns_wait_for_each_other() {
        let found = found(&trace(30, "autograd::engine::evaluate_function: MmBackward0"));
        assert_eq!(found[..3], [(1, 10, 30, 10), (0, 30, 100, 60), (1, 60, 130, 110)]);
        assert_eq!(found.len(), 9, "nobody goes on after the last turn");
    }

    #[test]
    fn threads_that_compute_no_gradients_act_as_they_like() {
        assert_eq!(found(&trace(30, "aten::mm")), []);
    }

    /// The helper's second call begins within the other thread's next one.
    #[test]
    fn calls_at_the_same_time_are_no_turns() {
        assert_eq!(found(&trace(85, "autograd::engine::evaluate_function: MmBackward0")), []);
    }

    #[test]
    fn recorded_waits_say_more() {
        let mut trace = trace(30, "autograd::engine::evaluate_function: MmBackward0");
        trace.waits.push(Wait::default());
        assert_eq!(found(&trace), []);
    }
}
