//! Operations for streams and hardware queues, and waits for them.

use super::{Device, IN, OUT, Op, OpRef, PIECES_IN, PIECES_OUT, Stream, WITHIN, Waits};
use crate::events::Event;
use crate::machine::{Machine, Program};
use crate::plan::{NONE, OpPlan, Way};

impl<P: Program> Machine<'_, P> {
    pub(super) fn device(&mut self, device: u32) -> &mut Device {
        &mut self.devices[device as usize]
    }

    /// An operation for a stream, not issued yet.
    pub(crate) fn op(&self, row: u32, stream: u32, engine: u32, plan: OpPlan, ns: i64) -> Op {
        let context = self.layout.streams[stream as usize].context;
        let context = &self.layout.contexts[context as usize];
        Op {
            plan,
            stream,
            device: context.device,
            group: context.group,
            queue: self.streams[stream as usize].queue,
            engine,
            call: self.threads[row as usize].call,
            ns,
            begin: 0,
            earliest: self.model.device.latency_ns,
            gap: -1,
            work: NONE,
            slots: 0,
            parts: 0,
            clocked: false,
            generation: 0,
            batch: NONE,
            follows: false,
            ready: false,
            started: false,
            follower: NONE,
            serial: 0,
            awaited: 0,
            edges: (NONE, NONE),
        }
    }

    /// The engine of a copy.
    pub(crate) fn engine(&self, way: Way, pinned: bool) -> u32 {
        let pieces = !pinned && self.model.copies.pageable_in_pieces;
        match way {
            Way::In if pieces => PIECES_IN,
            Way::Out if pieces => PIECES_OUT,
            Way::In => IN,
            Way::Out if self.model.device.copy_engines == 1 => IN,
            Way::Out => OUT,
            Way::Within | Way::Between => WITHIN,
        }
    }

    /// A launched kernel takes room in its stream. `in_order`: it only waits for the start of the one before it in its hardware queue.
    pub(crate) fn enter_queue(&mut self, op: &Op, in_order: bool) {
        let queue = &mut self.queues[op.queue as usize];
        queue.kernels += 1;
        queue.in_order = in_order;
        if queue.kernels == 1 {
            self.devices[op.device as usize].groups[op.group as usize].queues += 1;
        }
        self.streams[op.stream as usize].pending += 1;
    }

    /// A launched kernel leaves room in its stream.
    pub(super) fn leave_queue(&mut self, op: &Op) {
        let queue = &mut self.queues[op.queue as usize];
        queue.kernels -= 1;
        if queue.kernels == 0 {
            self.devices[op.device as usize].groups[op.group as usize].queues -= 1;
        }
        let stream = &mut self.streams[op.stream as usize];
        stream.pending -= 1;
        if let Some(thread) = stream.blocked.pop_front() {
            self.events.plan(self.now, Event::Want(thread));
        }
    }

    /// Lists the incomplete operations of a stream, and those that it waits for.
    pub(crate) fn name_work(&self, stream: u32, list: &mut Vec<OpRef>) {
        let Stream { last, awaited, .. } = &self.streams[stream as usize];
        self.ops.name_in(list, *last);
        awaited.iter().for_each(|op| self.ops.name_in(list, *op));
    }

    /// Makes a thread wait for an operation.
    pub(crate) fn await_op(&mut self, op: OpRef, row: u32) {
        let open = self.ops.await_(op, Waits::Thread(row));
        self.thread(row).awaited += u32::from(open);
    }

    /// Makes a thread wait for all operations of a stream.
    pub(crate) fn await_stream(&mut self, stream: u32, row: u32) {
        self.await_op(self.streams[stream as usize].last, row);
        for at in 0..self.streams[stream as usize].awaited.len() {
            self.await_op(self.streams[stream as usize].awaited[at], row);
        }
    }

    /// Makes a thread wait for all operations of a context. Returns whether it has any.
    pub(crate) fn await_context(&mut self, context: u32, row: u32) -> bool {
        for at in 0..self.contexts[context as usize].streams.len() {
            self.await_stream(self.contexts[context as usize].streams[at], row);
        }
        for at in 0..self.contexts[context as usize].left.len() {
            self.await_op(self.contexts[context as usize].left[at], row);
        }
        self.threads[row as usize].awaited > 0
    }
}
