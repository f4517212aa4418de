//! Activity of threads between their calls, by the scheduler's records.

use trace::{Ns, ThreadId, Trace};

/// The rows of the scheduler's records by thread, in order.
pub(super) struct Activity(Vec<Vec<usize>>);

impl Activity {
    /// The rows of a trace.
    pub fn of(trace: &Trace) -> Activity {
        let mut rows = vec![Vec::new(); trace.threads.len()];
        for (row, thread) in trace.states.thread.iter().enumerate() {
            if let Some(thread) = thread.some() {
                rows[thread.index()].push(row);
            }
        }
        Activity(rows)
    }

    /// Whether a thread slept for most of a time; no without a record.
    pub fn sleeps(&self, trace: &Trace, thread: ThreadId, from: Ns, to: Ns) -> bool {
        let (states, rows) = (&trace.states, &self.0[thread.index()]);
        let first = rows.partition_point(|row| states.end[*row] <= from);
        let mut slept: Ns = 0;
        for row in rows[first..].iter().take_while(|row| states.start[**row] < to) {
            let (start, end) = (states.start[*row], states.end[*row]);
            let part = end.min(to) - start.max(from);
            let asleep = end - start - states.running[*row] - states.runnable[*row];
            slept += (i128::from(asleep.max(0)) * i128::from(part) / i128::from((end - start).max(1))) as Ns;
        }
        slept > (to - from) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{State, Thread};

    #[test]
    fn a_thread_sleeps_if_it_does_so_for_most_of_the_time() {
        let mut trace = Trace::default();
        let thread = trace.threads.push(Thread::default());
        let state = |start, end, running| State { start, end, thread, running, ..State::default() };
        trace.states.push(state(0, 100, 100));
        trace.states.push(state(100, 300, 20));
        let activity = Activity::of(&trace);
        let sleeps = |from, to| activity.sleeps(&trace, thread, from, to);
        assert!(sleeps(100, 300) && sleeps(90, 200) && !sleeps(0, 120) && !sleeps(300, 400));
    }
}
