//! The hardware queues of recorded kernels.

use super::replay::{Pools, Replay};
use super::{Queue, Recorded};
use crate::device::{HardwareQueue, Op, OpRef};
use crate::machine::Machine;
use std::ops::Range;

/// Gives each stream its hardware queue, or queues to choose from.
pub(super) fn create(machine: &mut Machine<'_, Replay<'_>>, recorded: &Recorded) -> Pools {
    let streams = machine.streams.len() as u32;
    let (mut count, mut pools) = (2 * streams, Pools::default());
    for stream in 0..streams {
        let queue = recorded.queues.get(stream as usize).copied().flatten();
        let queue = queue.filter(|queue| queue.number < streams);
        let own = own_queue(stream, streams);
        machine.streams[stream as usize].queue = match queue {
            Some(Queue { number, count: of @ 2.., .. }) => {
                pools.entry(number).or_insert_with(|| {
                    count += of;
                    count - of..count
                });
                own
            }
            Some(Queue { number, .. }) => number,
            None => own,
        };
    }
    machine.queues = (0..count).map(|_| HardwareQueue::default()).collect();
    pools
}

/// The queue that a stream shares with no other.
fn own_queue(stream: u32, streams: u32) -> u32 {
    streams + stream
}

impl Machine<'_, Replay<'_>> {
    /// A launched kernel enters the hardware queue of its stream, or if `alone` none that others enter. Several queues are a cache of streams:
    /// a stream stays in its queue until another one is launched into it.
    pub(super) fn enter_recorded_queue(&mut self, op: Op, alone: bool) -> Op {
        let replay = &self.program;
        let queue = replay.recorded.queues.get(op.stream as usize).copied().flatten();
        let pool = queue.and_then(|queue| replay.pools.get(&queue.number)).cloned();
        let streams = self.streams.len() as u32;
        let stream = &mut self.streams[op.stream as usize];
        let is_its = self.queues[stream.queue as usize].stream == Some(op.stream);
        let stays = |pool: &Range<u32>| is_its && !alone && pool.contains(&stream.queue);
        if let Some(pool) = pool.filter(|pool| !stays(pool)) {
            let (queues, ops) = (&self.queues, &self.ops);
            // A kernel that only starts, a few microseconds after its launch, does not wait: so says `benches/queues`.
            let waits = |last: OpRef| ops.is_open(last) && ops.rows[last.row as usize].awaited > 0;
            let order = |queue: &u32| {
                let last = queues[*queue as usize].last;
                (waits(last), last.serial)
            };
            let next = pool.min_by_key(order).filter(|_| !alone);
            stream.queue = next.unwrap_or(own_queue(op.stream, streams));
        }
        self.queues[stream.queue as usize].stream = Some(op.stream);
        let op = Op { queue: stream.queue, ..op };
        self.enter_queue(&op, queue.is_some_and(|queue| queue.in_order));
        op
    }
}
