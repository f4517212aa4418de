//! Observations of the machine while it runs.

use super::{OpLife, Room};
use crate::device::OpRef;
use crate::machine::{Machine, Program};
use workload::StreamKind;

impl<P: Program> Machine<'_, P> {
    /// Keeps what a new operation must wait for; `new` is not in its stream yet.
    pub(crate) fn observe_issue(&mut self, new: OpRef) {
        let op = &self.ops.rows[new.row as usize];
        let open = |before: OpRef| self.ops.is_open(before).then_some(before.serial);
        let stream = &self.streams[op.stream as usize];
        let plan = self.layout.streams[op.stream as usize];
        let depends: Vec<u32> = stream.awaited.iter().filter_map(|mark| open(*mark)).collect();
        let context = &self.contexts[plan.context as usize];
        let default = self.layout.contexts[plan.context as usize].default_stream;
        let blocking = |stream: &u32| self.layout.streams[*stream as usize].kind == StreamKind::Blocking;
        let last = |stream: u32| open(self.streams[stream as usize].last);
        let joins: Vec<u32> = match plan.kind {
            StreamKind::NonBlocking => Vec::new(),
            StreamKind::Blocking => last(default).into_iter().collect(),
            StreamKind::Default => {
                context.streams.iter().copied().filter(blocking).filter_map(last).collect()
            }
        };
        let is_launch = op.plan.is_launched();
        let queue = &self.queues[op.queue as usize];
        let seen = OpLife {
            device: op.device,
            engine: op.engine,
            group: op.group,
            issued: self.now,
            stream: open(stream.last),
            queue: is_launch.then(|| open(queue.last)).flatten().map(|before| (before, queue.in_order)),
            depends,
            joins,
            taken: i64::MAX,
            ..OpLife::default()
        };
        if let Some(observer) = &mut self.observer {
            observer.seen.insert(new.serial, seen);
        }
    }

    /// Keeps a moment in the life of an operation.
    pub(crate) fn observe(&mut self, row: u32, note: impl FnOnce(&mut OpLife, i64)) {
        let Some(observer) = &mut self.observer else { return };
        if let Some(seen) = observer.seen.get_mut(&self.ops.rows[row as usize].serial) {
            note(seen, self.now);
        }
    }

    /// Keeps whether each group of a device could start one more kernel.
    pub(crate) fn observe_room(&mut self, device: u32) {
        let Some(observer) = &mut self.observer else { return };
        let state = &self.devices[device as usize];
        let turns = state.groups.len() > 1;
        for (at, group) in (0..).zip(&state.groups) {
            let away = turns && (state.switching || state.active != at);
            let full = group.room == 0 || group.running >= self.model.device.concurrent_kernels;
            let room = match (away, full) {
                (true, _) => Room::Away,
                (false, true) => Room::Full,
                (false, false) => Room::Free,
            };
            let log = observer.rooms.entry((device, at)).or_default();
            if log.last().is_none_or(|(_, last)| *last != room) {
                log.push((self.now, room));
            }
        }
    }
}
