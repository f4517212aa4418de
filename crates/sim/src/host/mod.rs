//! Host threads: they make their steps and calls in order, acquire locks and wait.

mod processors;
mod thread;

use crate::Use;
use crate::device::{Holder, Kind, Next, Waiter};
use crate::events::Event;
use crate::machine::{Machine, Program};
use crate::plan::{Plan, Way};
pub(crate) use thread::{HostThread, Stage, Wait};

impl<P: Program> Machine<'_, P> {
    pub(crate) fn thread(&mut self, thread: u32) -> &mut HostThread {
        &mut self.threads[thread as usize]
    }

    fn plan_of(&self, thread: u32) -> Plan<P::Effect> {
        *self.program.plan(self.threads[thread as usize].plan)
    }

    pub(crate) fn resume(&mut self, thread: u32) {
        self.wakes(thread);
        self.go_on(thread, self.now);
    }

    /// Executes the steps of a thread from `time` on, which may be in the future, up to its next call.
    pub(crate) fn go_on(&mut self, row: u32, mut time: i64) {
        loop {
            let thread = self.thread(row);
            thread.stage = Stage::Going;
            let at = thread.at;
            let step = P::step(self, row, at);
            if time > self.now && P::concerns_others(&step) {
                return self.events.plan(time, Event::Resume(row));
            }
            self.thread(row).at += 1;
            match P::execute(self, row, step, time) {
                Some(later) => time = later,
                None => return,
            }
        }
    }

    /// A thread has no further steps.
    pub(crate) fn end(&mut self, row: u32) {
        self.thread(row).stage = Stage::Finished;
        self.sleeps(row);
    }

    /// A thread waits for others between its calls.
    pub(crate) fn sleeps_between(&mut self, row: u32) {
        self.thread(row).stage = Stage::Between;
        self.sleeps(row);
    }

    /// A call begins at a time: a row of the plans, and its row in the trace.
    pub(crate) fn call(&mut self, row: u32, plan: u32, call: u32, time: i64) {
        let &Plan { before, pieces, .. } = self.program.plan(plan);
        let thread = self.thread(row);
        thread.plan = plan;
        thread.call = call;
        thread.started = time;
        thread.pieces = pieces;
        self.events.plan(time + self.on_processor(before), Event::Want(row));
    }

    /// A call acquires its locks, when its stream has room.
    pub(crate) fn want(&mut self, row: u32) {
        let plan = self.plan_of(row);
        if let Some(stream) = P::launches_into(self, &plan) {
            let stream = &mut self.streams[stream as usize];
            if stream.pending >= self.model.connections.depth {
                stream.blocked.push_back(row);
                self.thread(row).stage = Stage::Blocked;
                return;
            }
        }
        self.thread(row).stage = Stage::Calling;
        if !P::defers(self, row, &plan) {
            self.take_locks(row, &plan, 0);
        }
    }

    /// Acquires the locks of a call from `from` on; it holds those before, or does not need them.
    fn take_locks(&mut self, row: u32, plan: &Plan<P::Effect>, from: usize) {
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
    fn gets(&mut self, row: u32, plan: &Plan<P::Effect>, kind: Kind) {
        self.thread(row).has[kind as usize] = true;
        if let Some(copies) = self.staging(plan, kind) {
            *copies += 1;
        }
    }

    /// The counter of pageable copies that hold that lock, if the call is one.
    fn staging(&mut self, plan: &Plan<P::Effect>, kind: Kind) -> Option<&mut u32> {
        let copy = if kind == Kind::Context { P::pageable_copy(self, plan) } else { None };
        copy.map(|(stream, _)| &mut self.streams[stream as usize].staging)
    }

    /// Whether and how a call acquires a lock.
    fn takes(&self, plan: &Plan<P::Effect>, kind: Kind) -> Option<bool> {
        let ordered = |way: Way| {
            let copy = if self.model.copies.pageable_in_order { P::pageable_copy(self, plan) } else { None };
            copy.is_some_and(|(stream, of)| of == way && !self.streams[stream as usize].exclusive)
        };
        match kind {
            Kind::CopyIn => ordered(Way::In).then_some(true),
            Kind::CopyOut => ordered(Way::Out).then_some(true),
            Kind::Context => {
                let stream = P::issues_to(self, plan).map(|stream| &self.streams[stream as usize]);
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

    fn lock(&self, plan: &Plan<P::Effect>, kind: Kind) -> u32 {
        let context = match kind {
            Kind::Launch => self.layout.contexts[plan.context as usize].mutex,
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
        let kind = Kind::of_row(wait.lock, self.contexts.len() as u32);
        let plan = self.plan_of(row);
        self.gets(row, &plan, kind);
        // This lock is the kernel driver's: no recorder sees it.
        if kind == Kind::Memory {
            return self.spend(row);
        }
        P::waited(self, row, &wait, kind);
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
    fn locked(&mut self, row: u32, plan: &Plan<P::Effect>) {
        if P::waits_first(plan) && self.await_context(plan.context, row) {
            self.let_go_to_wait(row, plan);
            self.thread(row).waits_first = true;
            return;
        }
        self.hold(row, plan);
    }

    fn hold(&mut self, row: u32, plan: &Plan<P::Effect>) {
        let (longer, of_memory) = P::held_longer(self, plan);
        self.thread(row).held = plan.held + longer;
        if of_memory {
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
        P::act(self, row, &plan);
        if self.threads[row as usize].awaited > 0 {
            return self.let_go_to_wait(row, &plan);
        }
        self.let_go(row, &plan);
        self.finish(row, &plan);
    }

    /// An operation that a thread waits for has completed.
    pub(crate) fn arrived(&mut self, row: u32) {
        let thread = self.thread(row);
        thread.awaited -= 1;
        if thread.awaited == 0 {
            let plan = self.plan_of(row);
            P::done(self, &plan);
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
    fn finish(&mut self, row: u32, plan: &Plan<P::Effect>) {
        let end = self.now + self.on_processor(plan.after);
        P::returns(self, row, plan, end);
        self.go_on(row, end);
    }

    /// Releases the locks that a call does not hold while it waits.
    fn let_go_to_wait(&mut self, row: u32, plan: &Plan<P::Effect>) {
        self.let_go_of(row, plan, Kind::Launch);
        if !plan.keep {
            self.let_go_of(row, plan, Kind::Context);
        }
    }

    /// Releases all locks.
    fn let_go(&mut self, row: u32, plan: &Plan<P::Effect>) {
        Kind::ALL.iter().rev().for_each(|kind| self.let_go_of(row, plan, *kind));
    }

    fn let_go_of(&mut self, row: u32, plan: &Plan<P::Effect>, kind: Kind) {
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
}
