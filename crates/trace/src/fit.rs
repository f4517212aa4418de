//! Makes what was measured fit the intervals it belongs to. The kernel counts a thread's time by its own clock, and the
//! releaser of a lock reads the clock before the waiter can: both may exceed the interval by a little.

use crate::{StateId, States, Trace, Waits};

impl Trace {
    /// Shortens hand-offs and parts of states that exceed their intervals, and puts the states of each thread in order,
    /// without overlap. Every importer ends with it; [`crate::read`] refuses what does not fit.
    pub fn fit(&mut self) {
        shorten_handoffs(&mut self.waits);
        if !self.states.start.is_sorted() {
            sort(&mut self.states);
        }
        separate(&mut self.states);
        shorten_parts(&mut self.states);
    }
}

fn shorten_handoffs(waits: &mut Waits) {
    for (row, handoff) in waits.handoff.iter_mut().enumerate() {
        *handoff = (*handoff).clamp(0, (waits.end[row] - waits.start[row]).max(0));
    }
}

fn sort(states: &mut States) {
    let mut order: Vec<StateId> = states.ids().collect();
    order.sort_by_key(|row| states.start[*row]);
    let mut sorted = States::default();
    for row in order {
        sorted.push(states.row(row));
    }
    *states = sorted;
}

/// Ends each state where the thread's next one starts, at the latest. The states are in order.
fn separate(states: &mut States) {
    let threads = states.thread.iter().filter_map(|thread| thread.some()).max();
    let mut next_start = vec![None; threads.map_or(0, |thread| thread.index() + 1)];
    for row in (0..states.len()).rev() {
        let Some(thread) = states.thread[row].some() else { continue };
        let next = &mut next_start[thread];
        states.end[row] = next.map_or(states.end[row], |next| states.end[row].min(next));
        *next = Some(states.start[row]);
    }
}

fn shorten_parts(states: &mut States) {
    for row in 0..states.len() {
        let length = (states.end[row] - states.start[row]).max(0);
        let running = states.running[row].clamp(0, length);
        states.running[row] = running;
        states.runnable[row] = states.runnable[row].clamp(0, length - running);
    }
}

#[cfg(test)]
mod tests {
    use crate::*;

    #[test]
    fn what_exceeds_its_interval_is_shortened_and_states_are_put_in_order() {
        let mut trace = Trace::default();
        let [a, b] = [ThreadId::new(0), ThreadId::new(1)];
        let state = |thread, start, end, running, runnable| State {
            start,
            end,
            thread,
            running,
            runnable,
            ..State::default()
        };
        trace.states.push(state(a, 20, 30, 4, 5));
        trace.states.push(state(b, 0, 50, 60, 1));
        trace.states.push(state(a, 0, 22, 15, 9));
        trace.waits.push(Wait { start: 10, end: 20, handoff: 11, ..Wait::default() });
        trace.waits.push(Wait { start: 10, end: 20, handoff: -1, ..Wait::default() });
        trace.fit();
        let rows: Vec<State> = trace.states.ids().map(|id| trace.states.row(id)).collect();
        assert_eq!(rows, [state(b, 0, 50, 50, 0), state(a, 0, 20, 15, 5), state(a, 20, 30, 4, 5)]);
        assert_eq!(trace.waits.handoff, [10, 0]);
    }
}
