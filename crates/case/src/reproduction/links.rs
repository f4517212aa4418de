//! Waits for operations that an event stands for: of the host, and of other streams.

use super::act::{Act, Item, Pause};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use trace::StreamId;

/// A wait for an operation that the same thread issued.
#[derive(Clone, Copy, Debug)]
pub(super) enum Link {
    /// Of the host, in a step.
    Host {
        /// The step.
        at: usize,
    },
    /// Of a stream, before a step.
    Stream {
        /// The step.
        at: usize,
        /// The stream.
        stream: StreamId,
    },
}

impl Link {
    fn at(self) -> usize {
        match self {
            Link::Host { at } | Link::Stream { at, .. } => at,
        }
    }
}

/// The waits of one thread.
#[derive(Default)]
pub(super) struct Links {
    /// By operation: the step that issued it.
    issued: FxHashMap<usize, usize>,
    /// The step after which an event is recorded, and the wait for it.
    waits: Vec<(usize, Link)>,
}

impl Links {
    /// Remembers the step that issues an operation.
    pub fn issued(&mut self, work: usize, at: usize) {
        self.issued.insert(work, at);
    }

    /// Adds a wait for an operation; returns whether the thread issued it in a step that is known.
    pub fn waits(&mut self, work: usize, link: Link) -> bool {
        let from = self.issued.get(&work).copied();
        self.waits.extend(from.map(|from| (from, link)));
        from.is_some()
    }

    /// The steps with the events' records and waits between them.
    pub fn applied(&mut self, items: Vec<Item>) -> Vec<Item> {
        let slots = self.slots();
        let mut records: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        let mut waits: BTreeMap<usize, Vec<(u32, Link)>> = BTreeMap::new();
        for ((from, link), slot) in self.waits.iter().zip(slots) {
            // What is last in its stream needs no event.
            let of = items[*from].act.stream();
            let is_last = items[from + 1..link.at()].iter().all(|item| item.act.stream() != of);
            if is_last && matches!(link, Link::Host { .. }) {
                continue;
            }
            let here = records.entry(*from).or_default();
            if !here.contains(&slot) {
                here.push(slot);
            }
            waits.entry(link.at()).or_default().push((slot, *link));
        }
        let mut result = Vec::with_capacity(items.len());
        let added = |act| Item { pause: Pause::default(), act, kernel_ns: 0, took: 0 };
        for (at, mut item) in items.into_iter().enumerate() {
            for (slot, link) in waits.get(&at).into_iter().flatten() {
                match link {
                    Link::Host { .. } => item.act = Act::SynchronizeEvent(*slot),
                    Link::Stream { stream, .. } => result.push(added(Act::Wait(*slot, *stream))),
                }
            }
            let stream = item.act.stream();
            result.push(item);
            let slots = records.get(&at).into_iter().flatten();
            result.extend(slots.filter_map(|slot| Some(added(Act::Record(*slot, stream?)))));
        }
        result
    }

    /// An event for each wait: one that no other wait needs between the record and the wait. Waits for one operation share it.
    fn slots(&self) -> Vec<u32> {
        let mut order: Vec<usize> = (0..self.waits.len()).collect();
        order.sort_by_key(|row| (self.waits[*row].0, self.waits[*row].1.at()));
        // By event: the step that recorded it, and the last one that waits for it.
        let mut busy: Vec<(usize, usize)> = Vec::new();
        let mut slots = vec![0; self.waits.len()];
        for row in order {
            let (from, to) = (self.waits[row].0, self.waits[row].1.at());
            let free = busy.iter().position(|(record, until)| *record == from || *until <= from);
            let slot = free.unwrap_or(busy.len());
            match busy.get_mut(slot) {
                Some(of) if of.0 == from => of.1 = of.1.max(to),
                Some(of) => *of = (from, to),
                None => busy.push((from, to)),
            }
            slots[row] = slot as u32;
        }
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::StreamId;

    fn launch(stream: usize) -> Item {
        let act = Act::Fill { stream: StreamId::new(stream), bytes: 4 };
        Item { pause: Pause::default(), act, kernel_ns: 0, took: 0 }
    }

    #[test]
    fn a_wait_for_an_earlier_operation_has_an_event() {
        let mut links = Links::default();
        let items = vec![launch(0), launch(0), launch(1), Item { act: Act::SynchronizeContext, ..launch(0) }];
        links.issued(7, 0);
        links.waits(7, Link::Stream { at: 2, stream: StreamId::new(1) });
        links.waits(7, Link::Host { at: 3 });
        links.waits(9, Link::Host { at: 3 });
        let acts: Vec<Act> = links.applied(items).into_iter().map(|item| item.act).collect();
        let [zero, one] = [0, 1].map(StreamId::new);
        assert_eq!(
            acts,
            [
                Act::Fill { stream: zero, bytes: 4 },
                Act::Record(0, zero),
                Act::Fill { stream: zero, bytes: 4 },
                Act::Wait(0, one),
                Act::Fill { stream: one, bytes: 4 },
                Act::SynchronizeEvent(0),
            ]
        );
    }

    #[test]
    fn waits_at_the_same_time_have_events_of_their_own() {
        let mut links = Links::default();
        (0..4).for_each(|work| links.issued(work, work));
        links.waits(0, Link::Host { at: 2 });
        links.waits(1, Link::Host { at: 3 });
        links.waits(2, Link::Host { at: 4 });
        assert_eq!(links.slots(), [0, 1, 0]);
    }
}
