//! The event queue, in order of time; of two events at one time, the one that was scheduled first is first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event. Numbers are rows of threads, operations, locks, devices and engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A thread continues with its next step.
    Resume(u32),
    /// A thread gives up its wait for a signal.
    TimesOut { thread: u32, signal: u32 },
    /// A thread's call acquires its locks.
    Want(u32),
    /// A thread has been handed the lock that it waited for.
    Granted(u32),
    /// A thread that waited for a lock has woken up and tries to acquire it.
    Woken(u32),
    /// A thread's call has spent its time with the locks.
    Held(u32),
    /// The operations that a thread's call waits for have completed.
    Noticed(u32),
    /// A recorded call lets those behind it go on.
    LetsGoOn(u32),
    /// Everything that an operation waits for has completed.
    Ready(u32),
    /// An engine's copy or fill has ended.
    Copied { device: u32, engine: u32 },
    /// Some of a kernel's threads have ended, unless it was suspended since.
    Ran { op: u32, slots: u32, generation: u32 },
    /// A context's turn is over, if it is still the same turn.
    TurnOver { device: u32, turn: u32 },
    /// The next context's turn begins.
    Switched { device: u32, group: u32 },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    time: i64,
    number: u64,
    event: Event,
}

/// The scheduled events.
#[derive(Default)]
pub(crate) struct Queue {
    /// The earliest event scheduled since the last one was removed, outside of the heap because it is often the next.
    next: Option<Entry>,
    heap: BinaryHeap<Reverse<Entry>>,
    planned: u64,
}

impl Queue {
    pub(crate) fn plan(&mut self, time: i64, event: Event) {
        self.planned += 1;
        let new = Entry { time, number: self.planned, event };
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
    fn events_are_in_order_of_time_and_then_of_scheduling() {
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
