//! Takes a part of a trace.

use crate::model::*;
use crate::moved::{Marks, Renumbered};
use crate::{Ns, Selected, Selection};

impl Trace {
    /// Keeps only the calls, operations, synchronizations, waits, ranges, states, limits, samples and tallies that match
    /// `selection`; their times do not change.
    ///
    /// An operation stays with the call that asked for it. A wait stays with a call around it, or by the name of its
    /// library. The ranges around a call stay whatever their names are. The calls of a lock's holder and releaser
    /// stay with the wait; otherwise the holder would seem to have been in no call. States and samples stay by time,
    /// thread and range, limits by time. Tallies count a whole recording: none stays in a part of its time.
    pub fn cut(self, selection: &Selection) -> Trace {
        self.part(selection).0
    }

    /// Keeps only what reaches into a time for which everything was recorded ([`crate::Meta::recorded`]), as
    /// [`Trace::cut`] does, and the operations of calls that stay; also returns how many rows were removed. Call after
    /// [`Trace::join`].
    pub fn cut_unrecorded(mut self) -> (Trace, u64) {
        let Some(((from, _), (_, to))) = self.meta.recorded.first().zip(self.meta.recorded.last()) else {
            return (self, 0);
        };
        let (from, to) = (*from, *to);
        let selection = Selection { from: Some(from), to: Some(to), ..Selection::default() };
        let selected = selection.of(&self).without(self.meta.pauses().collect());
        let before = self.events();
        self.shorten_around(from, to);
        let cut = self.keep(&selection, &selected).0;
        let removed = before - cut.events();
        (cut, removed)
    }

    /// Shortens the states and limits that begin earlier or end later: a thread may be blocked for hours. What is measured
    /// over all of one cannot be divided: such a row is removed.
    fn shorten_around(&mut self, from: Ns, to: Ns) {
        let fits = |start: Ns, end: Ns| from <= start && end <= to;
        let (states, limits) = (&mut self.states, &mut self.limits);
        let stay: Vec<bool> = (0..states.len())
            .map(|at| fits(states.start[at], states.end[at]) || states.running[at] + states.runnable[at] == 0)
            .collect();
        states.retain(&stay);
        let stay: Vec<bool> = (0..limits.len())
            .map(|at| fits(limits.start[at], limits.end[at]) || limits.throttled[at] == 0)
            .collect();
        limits.retain(&stay);
        let rows = [(&mut states.start, &mut states.end), (&mut limits.start, &mut limits.end)];
        for (start, end) in rows.into_iter().flat_map(|(starts, ends)| starts.iter_mut().zip(ends)) {
            if *start < to && from < *end {
                (*start, *end) = ((*start).max(from), (*end).min(to));
            }
        }
    }

    /// Rows of all tables of events.
    fn events(&self) -> u64 {
        let host = self.calls.len() + self.syncs.len() + self.waits.len() + self.ranges.len();
        (host + self.ops.len() + self.states.len() + self.limits.len() + self.samples.len()) as u64
    }

    /// Like [`Trace::cut`], but also returns how the rows are numbered in the part.
    pub fn part(self, selection: &Selection) -> (Trace, Renumbered) {
        let selected = selection.of(&self);
        self.keep(selection, &selected)
    }

    /// Like [`Trace::cut`], but leaves the trace as it is; takes the memory of the part alone.
    pub fn copy(&self, selection: &Selection) -> Trace {
        let mut part = self.kept(&self.staying(selection, &selection.of(self)));
        part.prune_part(selection);
        part
    }

    fn keep(mut self, selection: &Selection, selected: &Selected) -> (Trace, Renumbered) {
        let numbers = self.retain(&self.staying(selection, selected));
        self.prune_part(selection);
        (self, numbers)
    }

    /// Removes what only the rest of the trace had, if this is a part of one.
    fn prune_part(&mut self, selection: &Selection) {
        if *selection != Selection::default() {
            self.prune();
            self.meta.set_part();
        }
    }

    /// The rows that stay.
    fn staying(&self, selection: &Selection, selected: &Selected) -> Marks {
        let mut calls: Vec<bool> = (0..self.calls.len())
            .map(|at| {
                selected.time(self.calls.start[at], self.calls.end[at])
                    && selected.caller(self.calls.thread[at], self.calls.start[at])
                    && selected.name(self.calls.name[at])
            })
            .collect();
        let waits = self.waits_of(&calls, selection, selected);
        self.holders(&waits).into_iter().for_each(|at| calls[at] = true);
        let ops: Vec<bool> = (0..self.ops.len())
            .map(|at| {
                let call = self.ops.call[at].some();
                let asked = call.is_some_and(|call| calls[call]);
                let (thread, called) = self.caller(call);
                let chosen = selected.caller(thread, called) && selected.name(self.ops.name[at]);
                let in_time = selected.time(self.ops.start[at], self.ops.end[at]);
                in_time && (asked || chosen) || asked && selected.follows_calls
            })
            .collect();
        let syncs: Vec<bool> = (0..self.syncs.len())
            .map(|at| match self.syncs.call[at].some() {
                Some(call) => calls[call],
                None => selected.time(self.syncs.start[at], self.syncs.end[at]),
            })
            .collect();
        let ranges: Vec<bool> = (0..self.ranges.len())
            .map(|at| {
                let (start, end) = (self.ranges.start[at], self.ranges.end[at]);
                selected.time(start, end) && selected.range(self.ranges.thread[at], start, end)
            })
            .collect();
        let arguments: Vec<bool> =
            self.arguments.call.iter().map(|call| call.is_some() && calls[*call]).collect();
        Marks {
            calls: Some(calls),
            arguments: Some(arguments),
            ops: Some(ops),
            syncs: Some(syncs),
            waits: Some(waits),
            ranges: Some(ranges),
            ..self.around(selected)
        }
    }

    /// Which waits stay beside these calls.
    fn waits_of(&self, calls: &[bool], selection: &Selection, selected: &Selected) -> Vec<bool> {
        let around = selection.name.is_some().then(|| StayingCalls::new(self, calls));
        let stays = |at: usize| {
            let wait = self.waits.row(WaitId::new(at));
            let named = around.as_ref().is_none_or(|around| {
                let stays = wait.call.some().map(|call| calls[call]);
                let by_library = stays.is_none() && selected.name(wait.library);
                by_library || stays == Some(true) || around.holds(wait.thread, wait.start, wait.end)
            });
            named && selected.time(wait.start, wait.end) && selected.caller(wait.thread, wait.start)
        };
        (0..self.waits.len()).map(stays).collect()
    }

    /// Which states, limits, samples and tallies stay: what was recorded of threads and processes at the selected times,
    /// whatever they called.
    fn around(&self, selected: &Selected) -> Marks {
        let (states, limits, samples) = (&self.states, &self.limits, &self.samples);
        let state = |at: usize| {
            let (start, end) = (states.start[at], states.end[at]);
            selected.time(start, end) && selected.range(states.thread[at], start, end)
        };
        let limit = |at: usize| selected.time(limits.start[at], limits.end[at]);
        let sample = |at: usize| {
            let moment = samples.at[at];
            selected.time(moment, moment + 1) && selected.caller(samples.thread[at], moment)
        };
        let tally = |at: usize| {
            let (thread, name) = (self.tallies.thread[at], self.tallies.name[at]);
            selected.always() && selected.thread(thread) && selected.name(name)
        };
        Marks {
            states: Some((0..states.len()).map(state).collect()),
            limits: Some((0..limits.len()).map(limit).collect()),
            samples: Some((0..samples.len()).map(sample).collect()),
            tallies: Some((0..self.tallies.len()).map(tally).collect()),
            ..Marks::default()
        }
    }

    /// The thread of a call and the time of its entry, ns; no thread and 0 without a call.
    pub fn caller(&self, call: Option<CallId>) -> (ThreadId, Ns) {
        call.map_or((ThreadId::NONE, 0), |call| (self.calls.thread[call], self.calls.start[call]))
    }

    /// The calls in which the holders and releasers of the waited-for locks were, and the calls around these.
    fn holders(&self, waits: &[bool]) -> Vec<usize> {
        let calls = &self.calls;
        let kept = (0..waits.len()).filter(|at| waits[*at]);
        let held = kept.flat_map(|at| [self.waits.holder_call[at], self.waits.releaser_call[at]]);
        let of = |at: usize| (calls.thread[at], calls.start[at], calls.end[at]);
        let mut held: Vec<_> = held.filter_map(|call| call.some()).map(|call| of(call.index())).collect();
        held.sort_unstable();
        // Calls of a thread are nested or disjoint.
        let holds = |at: &usize| {
            let (thread, start, end) = of(*at);
            let next = held.partition_point(|(other, begun, _)| (*other, *begun) < (thread, start));
            held.get(next).is_some_and(|(other, _, over)| *other == thread && *over <= end)
        };
        (0..calls.len()).filter(holds).collect()
    }

    /// Keeps only the stacks that other tables refer to, and their frames: a part shows nothing outside it.
    fn prune(&mut self) {
        let mut marks = Marks { stacks: Some(vec![false; self.stacks.len()]), ..Marks::default() };
        macro_rules! mark {
            ($($(#[$doc:meta])* $field:ident $columns:ident $id:ident;)*) => {$(
                mark!(@ $field);
            )*};
            // A stack refers to its callers: only those of stacks that stay count.
            (@ stacks) => {};
            (@ $field:ident) => {
                self.$field.mark(&mut marks);
            };
        }
        tables!(mark);
        if let Some(stay) = &mut marks.stacks {
            // Callers are in earlier rows.
            for stack in (0..stay.len()).rev() {
                if let Some(caller) = self.stacks.caller[stack].some().filter(|_| stay[stack]) {
                    stay[caller] = true;
                }
            }
        }
        self.retain(&marks);
        let mut marks = Marks { frames: Some(vec![false; self.frames.len()]), ..Marks::default() };
        self.stacks.mark(&mut marks);
        self.retain(&marks);
    }
}

/// The calls that stay, by thread and start, each with the latest end so far.
struct StayingCalls(Vec<(ThreadId, Ns, Ns)>);

impl StayingCalls {
    fn new(trace: &Trace, stays: &[bool]) -> StayingCalls {
        let calls = &trace.calls;
        let staying = (0..calls.len()).filter(|at| stays[*at]);
        let mut rows: Vec<_> = staying.map(|at| (calls.thread[at], calls.start[at], calls.end[at])).collect();
        rows.sort_unstable();
        for at in 1..rows.len() {
            if rows[at].0 == rows[at - 1].0 {
                rows[at].2 = rows[at].2.max(rows[at - 1].2);
            }
        }
        StayingCalls(rows)
    }

    fn holds(&self, thread: ThreadId, start: Ns, end: Ns) -> bool {
        let begun = self.0.partition_point(|(other, begin, _)| (*other, *begin) <= (thread, start));
        self.0[..begun].last().is_some_and(|(other, _, latest)| *other == thread && *latest >= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Call, Frame, Limit, Op, Process, Range, RangeKind, Sample, Stack, State, Tally, Thread, Wait,
    };

    /// Four calls of two threads, 100 ns apart, each with an operation and in a range.
    fn trace() -> Trace {
        let mut trace = Trace::default();
        let process = trace.processes.push(Process::default());
        let threads = [7, 8].map(|tid| trace.threads.push(Thread { process, tid, ..Thread::default() }));
        let names = ["copy", "launch"].map(|name| trace.strings.intern(name));
        for at in 0..4usize {
            let (start, thread) = (at as i64 * 100, threads[at % 2]);
            let range = trace.ranges.push(Range { start, end: start + 50, thread, ..Range::default() });
            let name = names[at / 2];
            let call = Call { start, end: start + 50, thread, name, range, ..Call::default() };
            let call = trace.calls.push(call);
            trace.ops.push(Op {
                start: start + 40,
                end: start + 60,
                call,
                bytes: at as i64,
                ..Op::default()
            });
        }
        trace
    }

    fn bytes_of_calls(trace: &Trace) -> Vec<(i64, i64)> {
        let row = |op: OpId| {
            let op = trace.ops.row(op);
            (op.bytes, op.call.some().map_or(-1, |call| trace.calls.row(call).start))
        };
        trace.ops.ids().map(row).collect()
    }

    #[test]
    fn a_copy_of_a_part_is_the_part() {
        let trace = trace();
        for (from, to) in [(None, None), (Some(100), Some(260)), (Some(900), None)] {
            let selection = Selection { from, to, ..Selection::default() };
            let (copy, cut) = (trace.copy(&selection), trace.clone().cut(&selection));
            assert_eq!((&copy.calls, &copy.ops, &copy.ranges), (&cut.calls, &cut.ops, &cut.ranges));
            assert_eq!((&copy.threads, &copy.stacks, &copy.frames), (&cut.threads, &cut.stacks, &cut.frames));
            assert_eq!(copy.meta.is_part(), cut.meta.is_part());
        }
    }

    #[test]
    fn everything_stays_without_conditions() {
        let (whole, same) = (trace(), trace().cut(&Selection::default()));
        assert_eq!((whole.calls, whole.ops, whole.ranges), (same.calls, same.ops, same.ranges));
        assert!(same.meta.notes.is_empty());
    }

    #[test]
    fn operations_and_ranges_follow_their_calls() {
        let thread = Selection { thread: Some("8".to_owned()), ..Selection::default() };
        let cut = trace().cut(&thread);
        assert_eq!(bytes_of_calls(&cut), [(1, 100), (3, 300)]);
        let name = Selection { name: Some("LAUNCH".to_owned()), ..Selection::default() };
        assert_eq!(bytes_of_calls(&trace().cut(&name)), [(2, 200), (3, 300)]);
        let time = Selection { from: Some(120), to: Some(230), ..Selection::default() };
        let cut = trace().cut(&time);
        assert_eq!(bytes_of_calls(&cut), [(1, 100)]);
        assert_eq!(cut.ranges.len(), cut.calls.len());
        assert!(cut.calls.range.iter().all(|range| range.index() < cut.ranges.len()));
    }

    #[test]
    fn calls_stay_within_the_ranges_of_their_thread() {
        let mut trace = trace();
        let names = ["solve", "load"].map(|name| trace.strings.intern(name));
        let mut push = |start, end, thread, name, kind| {
            trace.ranges.push(Range { start, end, thread, name, kind, ..Range::default() });
        };
        let [first, second] = [ThreadId::new(0), ThreadId::new(1)];
        push(190, 320, first, names[0], RangeKind::User);
        push(90, 120, first, names[0], RangeKind::User);
        push(290, 320, ThreadId::NONE, names[1], RangeKind::User);
        push(0, 400, second, names[0], RangeKind::Overhead);
        let within = |name: &str| Selection { range: Some(name.to_owned()), ..Selection::default() };
        // The second thread's calls at 100 and 300 lie in no range of its own.
        let cut = trace.clone().cut(&within("SOLV"));
        assert_eq!(bytes_of_calls(&cut), [(2, 200)]);
        assert_eq!(bytes_of_calls(&trace.clone().cut(&within("load"))), [(3, 300)], "for every thread");
        assert!(within("solve").has_range(&trace) && !within("train").has_range(&trace));
        assert!(trace.cut(&within("train")).calls.is_empty());
    }

    #[test]
    fn stacks_that_nothing_refers_to_go_with_their_frames() {
        let mut trace = trace();
        let frames = ["main", "work", "sleep"].map(|name| {
            let function = trace.strings.intern(name);
            trace.frames.push(Frame { function, ..Frame::default() })
        });
        let gone = trace.stacks.push(Stack { frame: frames[2], ..Stack::default() });
        let main = trace.stacks.push(Stack { frame: frames[0], ..Stack::default() });
        let work = trace.stacks.push(Stack { frame: frames[1], caller: main });
        (trace.calls.stack[0], trace.calls.stack[2]) = (gone, work);
        let name = Selection { name: Some("launch".to_owned()), ..Selection::default() };
        let cut = trace.cut(&name);
        assert_eq!((cut.stacks.len(), cut.frames.len()), (2, 2));
        let (work, main) = (cut.stacks.row(cut.calls.stack[0]), cut.stacks.row(cut.stacks.caller[1]));
        let function = |stack: Stack| cut.text(cut.frames.row(stack.frame).function);
        assert_eq!((function(work), function(main)), ("work", "main"));
        assert!(cut.calls.stack[1].is_none());
    }

    #[test]
    fn states_samples_limits_and_tallies_stay_by_time_and_thread() {
        let mut trace = trace();
        let [first, second] = [ThreadId::new(0), ThreadId::new(1)];
        let names = ["copy", "launch"].map(|name| trace.strings.intern(name));
        for (at, thread) in [first, second, first, second].into_iter().enumerate() {
            let start = at as i64 * 100;
            trace.states.push(State { start, end: start + 100, thread, ..State::default() });
            trace.limits.push(Limit { start, end: start + 100, ..Limit::default() });
            trace.samples.push(Sample { at: start, thread, ..Sample::default() });
            trace.tallies.push(Tally { thread, name: names[at / 2], count: 1, ..Tally::default() });
        }
        let kept = |selection: Selection| {
            let cut = trace.clone().cut(&selection);
            let tallies = cut.tallies.len();
            (cut.states.start, cut.limits.start, cut.samples.at, tallies)
        };
        let time = Selection { from: Some(100), to: Some(250), ..Selection::default() };
        assert_eq!(kept(time), (vec![100, 200], vec![100, 200], vec![100, 200], 0));
        let thread = Selection { thread: Some(String::from("8")), ..Selection::default() };
        assert_eq!(kept(thread), (vec![100, 300], vec![0, 100, 200, 300], vec![100, 300], 2));
        let name = Selection { name: Some(String::from("copy")), ..Selection::default() };
        assert_eq!(kept(name), (vec![0, 100, 200, 300], vec![0, 100, 200, 300], vec![0, 100, 200, 300], 2));
    }

    #[test]
    fn what_was_not_recorded_is_cut_off() {
        let mut trace = trace();
        let thread = ThreadId::new(0);
        trace.meta.recorded = vec![(40, 120), (290, 400)];
        for (start, end, running) in [(0, 30, 0), (20, 500, 0), (30, 50, 1), (50, 60, 9)] {
            trace.states.push(State { start, end, thread, running, ..State::default() });
        }
        trace.limits.push(Limit { start: 0, end: 50, throttled: 1, ..Limit::default() });
        let (cut, removed) = trace.cut_unrecorded();
        // Calls begin each hundred and take fifty; their operations end ten later.
        assert_eq!((cut.calls.start, cut.ops.start), (vec![0, 100, 300], vec![40, 140, 340]));
        assert_eq!((cut.states.start, cut.states.end, cut.limits.len()), (vec![40, 50], vec![400, 60], 0));
        // One call with its range and operation, two states and a limit.
        assert_eq!((removed, cut.meta.is_part()), (6, true));
    }

    #[test]
    fn the_stacks_of_waits_and_samples_stay_with_them() {
        let mut trace = trace();
        let [gone, waiter, holder, releaser, sampled] = ["gone", "w", "h", "r", "s"].map(|name| {
            let function = trace.strings.intern(name);
            let frame = trace.frames.push(Frame { function, ..Frame::default() });
            trace.stacks.push(Stack { frame, ..Stack::default() })
        });
        let thread = ThreadId::new(0);
        trace.samples.push(Sample { at: 50, thread, stack: gone, ..Sample::default() });
        trace.samples.push(Sample { at: 250, thread, stack: sampled, ..Sample::default() });
        trace.waits.push(Wait {
            start: 200,
            end: 210,
            thread,
            stack: waiter,
            holder_stack: holder,
            releaser_stack: releaser,
            ..Wait::default()
        });
        let cut = trace.cut(&Selection { from: Some(200), ..Selection::default() });
        let place = |stack: StackId| cut.text(cut.frames.row(cut.stacks.row(stack).frame).function);
        let waits = &cut.waits;
        let places = [waits.stack[0], waits.holder_stack[0], waits.releaser_stack[0], cut.samples.stack[0]];
        assert_eq!(places.map(place), ["w", "h", "r", "s"]);
        assert_eq!((cut.stacks.len(), cut.frames.len()), (4, 4));
    }

    #[test]
    fn waits_stay_with_a_call_around_them_or_by_their_library() {
        let mut trace = trace();
        let thread = trace.calls.thread[0];
        let [inner, library] = ["cuCopy", "libcopy.so"].map(|name| trace.strings.intern(name));
        let within = Call { start: 10, end: 40, thread, name: inner, ..Call::default() };
        let call = trace.calls.push(within);
        let wait = |start, call| Wait { start, end: start + 10, thread, call, library, ..Wait::default() };
        for (start, call) in [(20, call), (20, CallId::NONE), (200, CallId::new(2)), (500, CallId::NONE)] {
            trace.waits.push(wait(start, call));
        }
        let starts = |name: &str| {
            let selection = Selection { name: Some(name.to_owned()), ..Selection::default() };
            trace.clone().cut(&selection).waits.start
        };
        assert_eq!(starts("launch"), [200]);
        assert_eq!(starts("copy"), [20, 20, 500]);
        assert_eq!(starts("cuCopy"), [20, 20]);
    }

    #[test]
    fn the_holder_of_a_lock_stays_with_the_wait_for_it() {
        let mut trace = trace();
        let (holder, waiter) = (trace.calls.thread[0], trace.calls.thread[1]);
        let name = trace.strings.intern("cuCopy");
        let inner = trace.calls.push(Call { start: 10, end: 40, thread: holder, name, ..Call::default() });
        let (call, holder_call) = (CallId::new(1), inner);
        trace.waits.push(Wait {
            start: 110,
            end: 120,
            thread: waiter,
            call,
            holder,
            holder_call,
            ..Wait::default()
        });
        let selection = Selection { thread: Some(String::from("8")), ..Selection::default() };
        let (cut, numbers) = trace.part(&selection);
        // The holder's inner call, the one around it, and the waiter's two.
        assert_eq!(cut.calls.start, [0, 100, 300, 10]);
        assert_eq!(cut.calls.start[cut.waits.holder_call[0].index()], 10);
        assert_eq!((numbers.call(inner), numbers.call(CallId::new(2))), (CallId::new(3), CallId::NONE));
    }
}
