//! What is to happen, in order of time; what was planned first comes first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something to happen. Numbers are rows: of threads, operations, locks, devices, engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A thread goes on with its next step.
    Resume(u32),
    /// A thread's call wants its locks.
    Want(u32),
    /// A thread has been handed the lock that it waited for.
    Granted(u32),
    /// A thread that waited for a lock has woken up and tries to take it.
    Woken(u32),
    /// A thread's call has spent its time with the locks.
    Held(u32),
    /// A thread's call has what it waited for from the device.
    Noticed(u32),
    /// An operation has all that it waited for.
    Ready(u32),
    /// An engine's copy or fill has ended.
    Copied { device: u32, engine: u32 },
    /// Some of a kernel's threads have ended, if it was not suspended since.
    Ran { op: u32, slots: u32, generation: u32 },
    /// A context's turn is over, if it is still the same turn.
    TurnOver { device: u32, turn: u32 },
    /// The next context's turn begins.
    Switched { device: u32, group: u32 },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Timed {
    time: i64,
    number: u64,
    event: Event,
}

/// Events to come.
#[derive(Default)]
pub(crate) struct Queue {
    /// The earliest one planned since the last was taken, kept out of the heap: often it comes next.
    next: Option<Timed>,
    heap: BinaryHeap<Reverse<Timed>>,
    planned: u64,
}

impl Queue {
    pub(crate) fn plan(&mut self, time: i64, event: Event) {
        self.planned += 1;
        let new = Timed { time, number: self.planned, event };
        match self.next {
            None => self.next = Some(new),
            Some(next) if new < next => {
                self.next = Some(new);
                self.heap.push(Reverse(next));
            }
            Some(_) => self.heap.push(Reverse(new)),
        }
    }

    pub(crate) fn take(&mut self) -> Option<(i64, Event)> {
        let in_heap = self.heap.peek().map(|Reverse(timed)| *timed);
        let timed = match (self.next, in_heap) {
            (Some(next), Some(first)) if first < next => self.heap.pop()?.0,
            (Some(next), _) => {
                self.next = None;
                next
            }
            (None, _) => self.heap.pop()?.0,
        };
        Some((timed.time, timed.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_in_order_of_time_and_then_of_planning() {
        let mut queue = Queue::default();
        let planned = [(5, 0), (3, 1), (9, 2), (3, 3), (1, 4), (9, 5)];
        for (time, thread) in planned {
            queue.plan(time, Event::Resume(thread));
        }
        assert_eq!(queue.take(), Some((1, Event::Resume(4))));
        queue.plan(2, Event::Resume(6));
        queue.plan(4, Event::Resume(7));
        let mut rest = Vec::new();
        while let Some((time, Event::Resume(thread))) = queue.take() {
            rest.push((time, thread));
        }
        assert_eq!(rest, [(2, 6), (3, 1), (3, 3), (4, 7), (5, 0), (9, 2), (9, 5)]);
    }
}
