//! Host threads: they make their calls in order, acquire locks and wait.

use crate::calls::whole;
use crate::events::Event;
use crate::locks::{Holder, Kind, Next, Waiter};
use crate::machine::{Buffer, Machine, Stream};
use crate::ops::{OpRef, Waits};
use crate::plan::{Act, Copy, Plan, Way};
use crate::recorded::Until;
use crate::thread::{HostThread, Stage, Wait};
use crate::{Error, Use};

impl Machine<'_> {
    pub(crate) fn thread(&mut self, thread: u32) -> &mut HostThread {
        &mut self.threads[thread as usize]
    }

    fn plan_of(&self, thread: u32) -> Plan {
        self.program.plans[self.threads[thread as usize].plan as usize]
    }

    /// A call begins.
    pub(crate) fn call(&mut self, row: u32, plan: u32, time: i64) {
        let plan = self.as_it_is(plan);
        let Plan { name, before, pieces, .. } = self.program.plans[plan as usize];
        let call = match &self.replay {
            Some(replay) => replay.at(row).step,
            None => self.record.call(row, name, time),
        };
        let thread = self.thread(row);
        thread.plan = plan;
        thread.call = call;
        thread.started = time;
        thread.pieces = pieces;
        self.begins(row, plan, time);
        self.events.plan(time + self.on_processor(before), Event::Want(row));
    }

    /// The call of a copy: another one if its pageable memory has been page-locked.
    fn as_it_is(&self, plan: u32) -> u32 {
        match self.program.plans[plan as usize].act {
            Act::Copy(copy) if !copy.pinned && self.buffers[copy.host as usize].pinned => copy.registered,
            _ => plan,
        }
    }

    /// A call acquires its locks, when its stream has room.
    pub(crate) fn want(&mut self, row: u32) {
        let plan = self.plan_of(row);
        if let Some(stream) = self.launches_into(&plan.act) {
            let stream = &mut self.streams[stream as usize];
            if stream.pending >= self.model.connections.depth {
                stream.blocked.push_back(row);
                self.thread(row).stage = Stage::Blocked;
                return;
            }
        }
        self.thread(row).stage = Stage::Calling;
        if self.meets_staging(row, &plan) || self.is_behind(row, &plan) {
            return;
        }
        self.take_locks(row, &plan, 0);
    }

    /// Acquires the locks of a call from `from` on; it holds those before, or does not need them.
    fn take_locks(&mut self, row: u32, plan: &Plan, from: usize) {
        for kind in &Kind::ALL[from..] {
            let Some(exclusive) = self.takes(plan, *kind) else { continue };
            let lock = self.lock(plan, *kind);
            if !self.take(row, lock, exclusive) {
                return;
            }
            self.gets(row, plan, *kind);
        }
        self.locked(row, plan);
    }

    /// A call holds a lock from now on.
    fn gets(&mut self, row: u32, plan: &Plan, kind: Kind) {
        self.thread(row).has[kind as usize] = true;
        if let Some(copies) = self.staging(plan, kind) {
            *copies += 1;
        }
    }

    /// The counter of pageable copies that hold that lock, if the call is one.
    fn staging(&mut self, plan: &Plan, kind: Kind) -> Option<&mut u32> {
        let stream = match (kind, plan.act) {
            (Kind::Context, Act::Copy(Copy { stream, pinned: false, .. })) => Some(stream),
            (Kind::Context, Act::Issue { .. }) => self.stages(plan).map(|(stream, _)| stream),
            _ => None,
        };
        stream.map(|stream| &mut self.streams[stream as usize].staging)
    }

    /// Whether and how a call acquires a lock.
    fn takes(&self, plan: &Plan, kind: Kind) -> Option<bool> {
        let ordered = |way: Way| match plan.act {
            Act::Copy(copy) => !copy.pinned && copy.way == way && self.model.copies.pageable_in_order,
            Act::Issue { .. } if self.model.copies.pageable_in_order => {
                let copy = self.stages(plan);
                copy.is_some_and(|(stream, of)| of == way && !self.streams[stream as usize].exclusive)
            }
            _ => false,
        };
        match kind {
            Kind::CopyIn => ordered(Way::In).then_some(true),
            Kind::CopyOut => ordered(Way::Out).then_some(true),
            Kind::Context => {
                let stream = match plan.act {
                    Act::Issue { works, .. } => self.work(works.first).map(|work| work.stream),
                    _ => plan.act.stream(),
                };
                let stream = stream.map(|stream| &self.streams[stream as usize]);
                let staged = stream.is_some_and(|stream| stream.staging > 0);
                let lock = if staged { plan.staged_lock } else { plan.lock };
                let exclusive = lock == Use::Exclusive || stream.is_some_and(|stream| stream.exclusive);
                (lock != Use::None).then_some(exclusive)
            }
            Kind::Launch => plan.mutex.then_some(true),
            // Only when it is known whether blocks are allocated or freed.
            Kind::Memory => None,
        }
    }

    fn lock(&self, plan: &Plan, kind: Kind) -> u32 {
        let context = match kind {
            Kind::Launch => self.program.contexts[plan.context as usize].mutex,
            Kind::Memory => 0,
            _ => plan.context,
        };
        kind.row(context, self.contexts.len() as u32)
    }

    fn take(&mut self, row: u32, lock: u32, exclusive: bool) -> bool {
        let who = Holder { thread: row, call: self.threads[row as usize].call };
        let contexts = self.contexts.len() as u32;
        let state = &mut self.locks[lock as usize];
        let holder = state.holders.first().copied();
        let holders = state.holders.len() as u32;
        let had = self.threads[row as usize].had[Kind::of_row(lock, contexts) as usize];
        let recent = state.recent_ns().is_none_or(|ns| self.now.saturating_sub(had) <= ns);
        let taken = state.take(Waiter { who, exclusive, recent, late: 0 });
        if !taken {
            // A lock that is not free has a holder.
            let holder = holder.unwrap_or(who);
            let since = self.now;
            self.threads[row as usize].wait = Some(Wait { lock, exclusive, late: 0, since, holder, holders });
            self.sleeps(row);
        }
        taken
    }

    /// A thread has acquired the lock that it waited for.
    pub(crate) fn granted(&mut self, row: u32) {
        let Some(wait) = self.thread(row).wait.take() else { return };
        self.wakes(row);
        let releaser = self.locks[wait.lock as usize].releaser;
        let kind = Kind::of_row(wait.lock, self.contexts.len() as u32);
        let plan = self.plan_of(row);
        self.gets(row, &plan, kind);
        // This lock is the kernel driver's: no recorder sees it.
        if kind == Kind::Memory {
            return self.spend(row);
        }
        let call = self.threads[row as usize].call;
        match &mut self.replay {
            Some(replay) => replay.waited(row, &wait, self.now),
            None => self.record.wait(row, &wait, self.now, call, releaser, kind != Kind::Context),
        }
        self.take_locks(row, &plan, kind as usize + 1);
    }

    /// A thread that was woken for a lock tries to acquire it.
    pub(crate) fn woken(&mut self, row: u32) {
        let Some(wait) = &mut self.threads[row as usize].wait else { return };
        wait.late += 1;
        let Wait { lock, exclusive, late, .. } = *wait;
        let who = Holder { thread: row, call: self.threads[row as usize].call };
        if self.locks[lock as usize].take(Waiter { who, exclusive, recent: true, late }) {
            self.granted(row);
        }
    }

    /// A call has acquired its locks.
    fn locked(&mut self, row: u32, plan: &Plan) {
        let frees = matches!(plan.act, Act::Release { waits: true, .. } | Act::Unload);
        if frees && self.await_context(plan.context, row) {
            self.let_go_to_wait(row, plan);
            self.thread(row).waits_first = true;
            return;
        }
        self.hold(row, plan);
    }

    fn hold(&mut self, row: u32, plan: &Plan) {
        let more = match plan.act {
            Act::Launch { kernel, .. } => self.first_use(plan.context, kernel),
            Act::Graph { graph, .. } => {
                let nodes = self.captured(graph).len() as f64;
                whole(self.model.calls.graph_launch.unit_ns * nodes)
            }
            Act::Reserve { buffer, pooled: false } => {
                let bytes = self.program.buffers[buffer as usize].bytes;
                let blocks = self.contexts[plan.context as usize].blocks.take(bytes);
                self.blocks_ns(blocks, self.model.calls.allocate.unit_ns)
            }
            Act::Release { buffer, waits: true } => {
                let bytes = self.buffers[buffer as usize].reserved;
                let blocks = self.contexts[plan.context as usize].blocks.give_back(bytes);
                self.blocks_ns(blocks, self.model.calls.free.unit_ns)
            }
            _ => 0,
        };
        self.thread(row).held = plan.held + more;
        let of_memory = matches!(plan.act, Act::Reserve { .. } | Act::Release { .. });
        if of_memory && more > 0 && self.model.locks.memory.is_some() {
            if !self.take(row, self.lock(plan, Kind::Memory), true) {
                return;
            }
            self.gets(row, plan, Kind::Memory);
        }
        self.spend(row);
    }

    /// A call holds all its locks and spends its time with them.
    fn spend(&mut self, row: u32) {
        let held = self.on_processor(self.threads[row as usize].held);
        self.events.plan(self.now + held, Event::Held(row));
    }

    /// The time of the device to allocate or free so many blocks of memory.
    fn blocks_ns(&self, blocks: u64, unit_ns: f64) -> i64 {
        let any = if blocks > 0 { self.model.calls.blocks_ns } else { 0 };
        any + whole(unit_ns * blocks as f64)
    }

    /// The additional time of the first launch of a kernel in a context.
    fn first_use(&mut self, context: u32, kernel: u32) -> i64 {
        let bit = 1 << self.program.kernels[kernel as usize].bit;
        let loaded = &mut self.contexts[context as usize].loaded;
        let first = *loaded & bit == 0;
        *loaded |= bit;
        if first { self.model.calls.first_launch_ns } else { 0 }
    }

    pub(crate) fn captured(&self, graph: u32) -> &[u32] {
        let captured = self.graphs[graph as usize];
        self.program.captured.get(captured as usize).map_or(&[], |nodes| nodes)
    }

    /// A call has spent its time with its locks: it takes effect, releases them, and waits or returns.
    pub(crate) fn held(&mut self, row: u32) {
        let plan = self.plan_of(row);
        if self.thread(row).pieces > 1 {
            if !self.make(1) {
                return;
            }
            self.thread(row).pieces -= 1;
            self.let_go(row, &plan);
            return self.take_locks(row, &plan, 0);
        }
        self.act(row, &plan);
        self.comes_to(&plan, Until::Effect);
        if self.threads[row as usize].awaited > 0 {
            return self.let_go_to_wait(row, &plan);
        }
        self.let_go(row, &plan);
        self.finish(row, &plan);
    }

    fn act(&mut self, row: u32, plan: &Plan) {
        match plan.act {
            Act::Nothing | Act::Unload => {}
            Act::Launch { stream, kernel } => self.launch(row, stream, kernel),
            Act::Graph { graph, stream } => self.launch_graph(row, graph, stream),
            Act::Copy(copy) => self.copy(row, &copy),
            Act::Fill { stream, bytes, ns, waits } => self.fill(row, stream, bytes, ns, waits),
            Act::Reserve { buffer, .. } => self.reserve(row, plan.context, buffer),
            Act::Release { buffer, .. } => self.give_back(plan.context, buffer),
            Act::Pin { buffer } => {
                self.buffers[buffer as usize] = Buffer { pinned: true, touched: true, reserved: 0 };
            }
            Act::Unpin { buffer } => self.buffers[buffer as usize].pinned = false,
            Act::Record { event, stream } => {
                let mut marks = std::mem::take(&mut self.marks[event as usize]);
                marks.clear();
                self.name_work(stream, &mut marks);
                self.passed[event as usize] = self.now;
                for mark in &marks {
                    self.ops.await_(*mark, Waits::Event(event));
                }
                self.marks[event as usize] = marks;
            }
            Act::Wait { event, stream } => {
                let awaited = &mut self.streams[stream as usize].awaited;
                self.marks[event as usize].iter().for_each(|mark| self.ops.name_in(awaited, *mark));
            }
            Act::SynchronizeEvent { event } => {
                for at in 0..self.marks[event as usize].len() {
                    self.await_op(self.marks[event as usize][at], row);
                }
            }
            Act::Elapsed { from, to } => self.elapsed(row, from, to),
            Act::SynchronizeStream { stream } => self.await_stream(stream, row),
            Act::SynchronizeContext => {
                self.await_context(plan.context, row);
            }
            Act::CreateStream { stream } => self.create_stream(stream),
            // Not the stream of that name that existed before.
            Act::CreateEvent { event } => self.marks[event as usize].clear(),
            Act::Captured { graph, body } => self.graphs[graph as usize] = body,
            Act::Issue { works, waits } => self.issue_recorded(row, works, waits),
            Act::AwaitWorks(works) => self.await_works(row, works),
        }
    }

    /// Measures between two events. As in the driver, both must have completed.
    fn elapsed(&mut self, row: u32, from: u32, to: u32) {
        let open = |event: u32| self.marks[event as usize].iter().any(|mark| self.ops.is_open(*mark));
        if open(from) || open(to) {
            let (thread, process) = self.names_of(row);
            let problem =
                "asks for the time between events before both have completed: synchronize first".to_owned();
            self.error = Some(Error::Step { process, thread, problem });
            return;
        }
        let ns = self.passed[to as usize] - self.passed[from as usize];
        let (sum, count) = &mut self.thread(row).between_events;
        (*sum, *count) = (*sum + i128::from(ns), *count + 1);
    }

    /// Makes a thread wait for an operation.
    pub(crate) fn await_op(&mut self, op: OpRef, row: u32) {
        let open = self.ops.await_(op, Waits::Thread(row));
        self.thread(row).awaited += u32::from(open);
    }

    /// Lists the incomplete operations of a stream, and those that it waits for.
    pub(crate) fn name_work(&self, stream: u32, list: &mut Vec<OpRef>) {
        let Stream { last, awaited, .. } = &self.streams[stream as usize];
        self.ops.name_in(list, *last);
        awaited.iter().for_each(|op| self.ops.name_in(list, *op));
    }

    /// Makes a thread wait for all operations of a stream.
    fn await_stream(&mut self, stream: u32, row: u32) {
        self.await_op(self.streams[stream as usize].last, row);
        for at in 0..self.streams[stream as usize].awaited.len() {
            self.await_op(self.streams[stream as usize].awaited[at], row);
        }
    }

    /// Makes a thread wait for all operations of a context. Returns whether it has any.
    fn await_context(&mut self, context: u32, row: u32) -> bool {
        for at in 0..self.contexts[context as usize].streams.len() {
            self.await_stream(self.contexts[context as usize].streams[at], row);
        }
        for at in 0..self.contexts[context as usize].left.len() {
            self.await_op(self.contexts[context as usize].left[at], row);
        }
        self.threads[row as usize].awaited > 0
    }

    /// An operation that a thread waits for has completed.
    pub(crate) fn arrived(&mut self, row: u32) {
        let thread = self.thread(row);
        thread.awaited -= 1;
        if thread.awaited == 0 {
            let plan = self.plan_of(row);
            self.comes_to(&plan, Until::Done);
            let notice = plan.notice + self.model.device.notice_ns + self.off_processor();
            self.events.plan(self.now + notice, Event::Noticed(row));
        }
    }

    /// A thread notices that everything it waited for has completed.
    pub(crate) fn noticed(&mut self, row: u32) {
        let plan = self.plan_of(row);
        if std::mem::take(&mut self.thread(row).waits_first) {
            return self.hold(row, &plan);
        }
        self.let_go(row, &plan);
        self.finish(row, &plan);
    }

    /// A call returns.
    fn finish(&mut self, row: u32, plan: &Plan) {
        self.comes_to(plan, Until::Done);
        let end = self.now + self.on_processor(plan.after);
        if let Some((number, Until::Return)) = plan.holds {
            self.events.plan(end, Event::LetsGoOn(number));
        }
        let thread = &mut self.threads[row as usize];
        let took = end - thread.started;
        if thread.in_body {
            thread.add(plan.name, took);
        }
        self.record.returned(thread.call, end);
        self.record.synchronized(&plan.act, thread.started, end, thread.call, &self.program);
        self.go_on(row, end);
    }

    /// Releases the locks that a call does not hold while it waits.
    fn let_go_to_wait(&mut self, row: u32, plan: &Plan) {
        self.let_go_of(row, plan, Kind::Launch);
        if !plan.keep {
            self.let_go_of(row, plan, Kind::Context);
        }
    }

    /// Releases all locks.
    fn let_go(&mut self, row: u32, plan: &Plan) {
        Kind::ALL.iter().rev().for_each(|kind| self.let_go_of(row, plan, *kind));
    }

    fn let_go_of(&mut self, row: u32, plan: &Plan, kind: Kind) {
        if std::mem::take(&mut self.thread(row).has[kind as usize]) {
            if let Some(copies) = self.staging(plan, kind) {
                *copies -= 1;
            }
            self.thread(row).had[kind as usize] = self.now;
            self.release(row, self.lock(plan, kind));
        }
    }

    fn release(&mut self, row: u32, lock: u32) {
        let mut next = std::mem::take(&mut self.after_release);
        self.locks[lock as usize].release(row, &mut next, &mut self.chance);
        for next in next.drain(..) {
            let (event, ns) = match next {
                Next::Granted(thread, ns) => (Event::Granted(thread), ns),
                Next::Wakes(waiter, ns) => (Event::Woken(waiter.who.thread), ns),
            };
            self.events.plan(self.now + self.on_processor(ns), event);
        }
        self.after_release = next;
    }

    fn reserve(&mut self, row: u32, context: u32, buffer: u32) {
        let device = self.program.contexts[context as usize].device;
        let bytes = self.program.buffers[buffer as usize].bytes;
        let free = self.model.device.memory_bytes - self.devices[device as usize].used;
        if bytes > free {
            let (thread, process) = self.names_of(row);
            let buffer = self.name_of_buffer(row, buffer);
            self.error = Some(Error::OutOfMemory { process, thread, buffer, bytes, free, device });
            return;
        }
        self.devices[device as usize].used += bytes;
        self.buffers[buffer as usize].reserved += bytes;
    }

    fn name_of_buffer(&self, row: u32, buffer: u32) -> String {
        let process = self.program.threads[row as usize].process as usize;
        let before: usize = self.workload.processes[..process].iter().map(|of| of.buffers.len()).sum();
        self.workload.processes[process].buffers[buffer as usize - before].name.clone()
    }

    fn give_back(&mut self, context: u32, buffer: u32) {
        let device = self.program.contexts[context as usize].device;
        self.devices[device as usize].used -= std::mem::take(&mut self.buffers[buffer as usize].reserved);
    }
}
