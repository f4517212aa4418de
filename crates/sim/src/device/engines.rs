//! Engines, which run operations, and contexts that take turns.

use super::{COMPUTE, Op, OpRef, Ops, Part, Turn, Waits};
use crate::events::Event;
use crate::machine::{Machine, Program};
use crate::plan::{NONE, OpPlan};
use crate::{Error, Order};
use workload::StreamKind;

/// The most operations in flight, of about 150 bytes each; a graph has at most half of them.
const MOST_OPEN: usize = 2_000_000;

impl<P: Program> Machine<'_, P> {
    /// Issues an operation to its stream. It starts when everything that it waits for has completed.
    pub(crate) fn enqueue(&mut self, op: Op) -> OpRef {
        let earliest = self.now + op.earliest;
        if self.ops.open() >= MOST_OPEN {
            self.error = Some(Error::TooMuch { most: MOST_OPEN });
            return OpRef::DONE;
        }
        let new = self.ops.add(Op { earliest, ..op });
        if self.observer.is_some() {
            self.observe_issue(new);
        }
        let mut awaited = self.await_streams(op.stream, new.row);
        self.streams[op.stream as usize].last = new;
        if op.plan.is_launched() {
            // Copies and graphs have their own queues and never wait for another stream's kernels: 32 threads with one graph
            // each are as fast with 16 connections as with 32.
            let queue = &mut self.queues[op.queue as usize];
            let before = std::mem::replace(&mut queue.last, new);
            awaited += match queue.in_order {
                true => self.await_start(before, new.row),
                false => self.await_op_in(before, new.row),
            };
        }
        self.ops.rows[new.row as usize].awaited = awaited;
        if self.model.device.order == Order::Issue {
            self.issue(new);
        }
        if awaited == 0 {
            self.events.plan(earliest, Event::Ready(new.row));
        }
        new
    }

    /// Makes an operation wait for what precedes it in its stream, in streams that its stream waits for, and for events.
    fn await_streams(&mut self, stream: u32, row: u32) -> u32 {
        let mut awaited = self.await_op_in(self.streams[stream as usize].last, row);
        while let Some(mark) = self.streams[stream as usize].awaited.pop() {
            awaited += self.await_op_in(mark, row);
        }
        let plan = self.layout.streams[stream as usize];
        match plan.kind {
            StreamKind::NonBlocking => {}
            StreamKind::Blocking => {
                let default = self.layout.contexts[plan.context as usize].default_stream;
                awaited += self.await_op_in(self.streams[default as usize].last, row);
            }
            StreamKind::Default => {
                for at in 0..self.contexts[plan.context as usize].streams.len() {
                    let other = self.contexts[plan.context as usize].streams[at] as usize;
                    if self.layout.streams[other].kind == StreamKind::Blocking {
                        awaited += self.await_op_in(self.streams[other].last, row);
                    }
                }
            }
        }
        awaited
    }

    /// Makes an operation wait for another one. Returns 0 if that one has completed, else 1.
    fn await_op_in(&mut self, before: OpRef, row: u32) -> u32 {
        let open = self.ops.await_(before, Waits::Op(row));
        if open && self.model.device.delayed_signals {
            let last = self.devices[self.ops.rows[row as usize].device as usize].last_issued;
            let together = |ops: &Ops| {
                let batch = ops.rows[before.row as usize].batch;
                before == last || batch != NONE && batch == ops.rows[last.row as usize].batch
            };
            let follows = self.ops.is_open(last) && together(&self.ops);
            self.ops.rows[row as usize].follows |= follows;
        }
        u32::from(open)
    }

    /// Makes a kernel wait until the one before it in its hardware queue has started. Returns 0 if that has, or is of the same stream and
    /// so has to end first, else 1.
    fn await_start(&mut self, before: OpRef, row: u32) -> u32 {
        let stream = self.ops.rows[row as usize].stream;
        let waits = self.ops.is_open(before) && {
            let before = &mut self.ops.rows[before.row as usize];
            let waits = !before.started && before.stream != stream;
            before.follower = if waits { row } else { NONE };
            waits
        };
        u32::from(waits)
    }

    /// Puts an operation into its engine's queue when it is issued, ready or not.
    fn issue(&mut self, new: OpRef) {
        let op = self.ops.rows[new.row as usize];
        let device = &mut self.devices[op.device as usize];
        let last = std::mem::replace(&mut device.last_issued, OpRef::DONE);
        if op.engine != COMPUTE {
            return device.engines[op.engine as usize].queue.push_back(new.row);
        }
        device.groups[op.group as usize].queue.push_back(new.row);
        if self.model.device.delayed_signals {
            device.last_issued = new;
            if self.ops.is_open(last) && !op.follows {
                let batch = device.join_batch(&mut self.ops.rows[last.row as usize]);
                self.ops.rows[new.row as usize].batch = batch;
            }
        }
    }

    /// Everything that an operation waits for has completed.
    pub(crate) fn ready(&mut self, row: u32) {
        let queued = self.model.device.order == Order::Issue;
        let op = &mut self.ops.rows[row as usize];
        op.ready = true;
        let (device, engine, group) = (op.device, op.engine, op.group);
        self.observe(row, |seen, now| seen.ready = now);
        if engine != COMPUTE {
            if !queued {
                self.device(device).engines[engine as usize].queue.push_back(row);
            }
            return self.start_copy(device, engine);
        }
        let earliest = self.issued(row);
        self.ops.rows[row as usize].earliest = earliest;
        if !queued {
            self.device(device).groups[group as usize].queue.push_back(row);
        }
        self.start_kernels(device);
    }

    /// The earliest start of a kernel that is ready.
    fn issued(&mut self, row: u32) -> i64 {
        let rule = &self.model.device;
        let op = &self.ops.rows[row as usize];
        let device = &mut self.devices[op.device as usize];
        match op.plan {
            _ if op.gap >= 0 => self.now,
            OpPlan::Kernel { node: 2.., .. } => self.now + rule.graph_gap_ns,
            OpPlan::Kernel { node: 1, .. } => self.now + rule.gap_ns,
            _ => {
                let issued = self.now.max(device.next_issue);
                let others = i64::from(device.groups[op.group as usize].queues.saturating_sub(1));
                device.next_issue = issued + rule.issue_ns + rule.queue_issue_ns * others;
                issued + rule.gap_ns + rule.queue_gap_ns * others
            }
        }
    }

    fn start_copy(&mut self, device: u32, engine: u32) {
        let of = &mut self.devices[device as usize].engines[engine as usize];
        let Some(row) = of.queue.front().copied().filter(|_| of.runs.is_none()) else { return };
        let op = &mut self.ops.rows[row as usize];
        if op.ready {
            of.queue.pop_front();
            of.runs = Some(row);
            op.begin = self.now;
            self.events.plan(self.now + op.ns, Event::Copied { device, engine });
            self.observe(row, |seen, now| seen.taken = now);
        }
    }

    pub(crate) fn copied(&mut self, device: u32, engine: u32) {
        if let Some(row) = self.device(device).engines[engine as usize].runs.take() {
            self.observe(row, |seen, now| seen.ran = now);
            self.complete(row);
        }
        self.start_copy(device, engine);
    }

    /// Starts the kernels that fit, in order.
    fn start_kernels(&mut self, device: u32) {
        while self.start_kernel(device) {}
        if self.device(device).groups.len() > 1 {
            self.take_turns(device);
        }
        self.observe_room(device);
    }

    /// Starts the next kernel, if there is one and it fits. Returns whether all of it started: a kernel uses the room that there
    /// is, and more when others end.
    fn start_kernel(&mut self, device: u32) -> bool {
        let state = &mut self.devices[device as usize];
        let turns = state.groups.len() > 1;
        let group = &mut state.groups[state.active as usize];
        let Some(row) = group.queue.front().copied().filter(|_| !state.switching) else { return false };
        let op = &mut self.ops.rows[row as usize];
        let full = !op.started && group.running >= self.model.device.concurrent_kernels;
        let slots = op.slots.min(group.room);
        if !op.ready || full || slots == 0 {
            return false;
        }
        let start = self.now.max(op.earliest);
        let follower = std::mem::replace(&mut op.follower, NONE);
        if !op.started {
            op.started = true;
            op.begin = start;
            group.running += 1;
        }
        op.slots -= slots;
        op.parts += 1;
        group.room -= slots;
        let (whole, part) = (op.slots == 0, Part { op: row, slots, generation: op.generation });
        let (op, time) = (*op, start + op.ns);
        if whole {
            group.queue.pop_front();
        }
        if turns {
            group.parts.push(Turn { op: row, slots, time });
        }
        // A kernel that can be suspended, since contexts take turns on its device, has its own time.
        if !P::kernel_begins(self, &op, (!turns).then_some(part), start) {
            self.events.plan(time, Event::Ran { op: row, slots, generation: part.generation });
        }
        self.observe(row, |seen, now| seen.taken = seen.taken.min(now));
        if follower != NONE {
            self.follow(follower, start);
        }
        whole
    }

    /// The kernel before it in its hardware queue has started.
    fn follow(&mut self, row: u32, start: i64) {
        let op = &mut self.ops.rows[row as usize];
        op.earliest = op.earliest.max(start);
        op.awaited -= 1;
        if op.awaited == 0 {
            self.events.plan(op.earliest, Event::Ready(row));
        }
    }

    /// A part of a kernel has ended.
    pub(crate) fn ran(&mut self, row: u32, slots: u32, generation: u32) {
        let op = &mut self.ops.rows[row as usize];
        if op.generation != generation {
            return;
        }
        op.parts -= 1;
        let ended = op.parts == 0 && op.slots == 0;
        let (device, group, batch) = (op.device, op.group, op.batch);
        let of = &mut self.devices[device as usize].groups[group as usize];
        of.room += slots;
        if let Some(at) =
            of.parts.iter().position(|part| part.op == row && part.slots == slots && part.time == self.now)
        {
            of.parts.swap_remove(at);
        }
        if ended {
            of.running -= 1;
            self.observe(row, |seen, now| seen.ran = now);
            match batch {
                NONE => self.complete(row),
                batch => self.end_in_batch(device, batch, row),
            }
        }
        self.start_kernels(device);
    }

    /// The last kernel of a group to end signals for all.
    fn end_in_batch(&mut self, device: u32, batch: u32, row: u32) {
        let state = self.device(device);
        let of = &mut state.batches[batch as usize];
        of.open -= 1;
        of.ended.push(row);
        if of.open == 0 {
            let ended = std::mem::take(&mut of.ended);
            state.free_batches.push(batch);
            ended.into_iter().for_each(|row| self.complete(row));
        }
    }

    /// Ends the turn of a context if another one has kernels and this one has none, or has used its time slice.
    fn take_turns(&mut self, device: u32) {
        let state = &mut self.devices[device as usize];
        let Some(next) = state.next_group(state.active).filter(|_| !state.switching) else { return };
        let group = &state.groups[state.active as usize];
        if group.running == 0 && group.queue.is_empty() {
            self.switch(device, next);
        } else if !state.ends {
            state.ends = true;
            let over = (state.turn_began + self.model.sharing.slice_ns).max(self.now);
            self.events.plan(over, Event::TurnOver { device, turn: state.turn });
        }
    }

    fn switch(&mut self, device: u32, group: u32) {
        let state = self.device(device);
        state.switching = true;
        state.ends = false;
        state.turn += 1;
        self.events.plan(self.now + self.model.sharing.switch_ns, Event::Switched { device, group });
    }

    /// The time slice of a turn has ended: its kernels are suspended.
    pub(crate) fn turn_over(&mut self, device: u32, turn: u32) {
        let state = &mut self.devices[device as usize];
        if state.turn != turn || state.switching {
            return;
        }
        state.ends = false;
        let Some(next) = state.next_group(state.active) else { return };
        let group = &mut state.groups[state.active as usize];
        for part in group.parts.drain(..) {
            let serial = self.ops.serial();
            let op = &mut self.ops.rows[part.op as usize];
            op.generation = serial;
            // The remaining time, except of kernels that end by the clock.
            let time = if op.clocked { part.time } else { part.time - self.now };
            group.suspended.push(Turn { time, ..part });
        }
        self.switch(device, next);
        self.observe_room(device);
    }

    /// Starts the next context's turn: its suspended kernels continue.
    pub(crate) fn switched(&mut self, device: u32, group: u32) {
        let state = &mut self.devices[device as usize];
        state.switching = false;
        state.active = group;
        state.turn_began = self.now;
        let group = &mut state.groups[group as usize];
        for Turn { op, slots, time } in group.suspended.drain(..) {
            let Op { clocked, generation, .. } = self.ops.rows[op as usize];
            let time = if clocked { time.max(self.now) } else { self.now + time };
            self.events.plan(time, Event::Ran { op, slots, generation });
            group.parts.push(Turn { op, slots, time });
        }
        self.start_kernels(device);
    }

    /// An operation has completed: whatever waits for it continues.
    fn complete(&mut self, row: u32) {
        let op = self.ops.rows[row as usize];
        P::completed(self, &op);
        self.observe(row, |seen, now| seen.completed = now);
        if op.plan.is_launched() {
            self.leave_queue(&op);
        }
        let mut waiting = self.ops.done(row);
        while let Some(waits) = self.ops.next_waiting(&mut waiting) {
            match waits {
                Waits::Thread(thread) => self.arrived(thread),
                Waits::Event(event) => P::passed(self, event),
                Waits::Op(next) => self.come_nearer(next, &op),
            }
        }
    }

    /// An operation waits for one thing less. One that takes no time is one that a change of a recorded program dropped: it signals nothing.
    fn come_nearer(&mut self, row: u32, before: &Op) {
        let op = &mut self.ops.rows[row as usize];
        if op.gap >= 0 {
            op.earliest = op.earliest.max(self.now + op.gap);
        } else if op.engine != before.engine && before.ns > 0 {
            op.earliest = op.earliest.max(self.now + self.model.device.signal_ns);
        }
        op.awaited -= 1;
        if op.awaited == 0 {
            match op.earliest > self.now {
                true => self.events.plan(op.earliest, Event::Ready(row)),
                false => self.ready(row),
            }
        }
    }
}
