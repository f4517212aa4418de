//! Effects of calls that hold their locks.

use super::plan::{Act, Effect};
use super::state::Script;
use crate::Error;
use crate::device::Waits;
use crate::machine::Machine;
use crate::plan::{Plan, whole};

impl Machine<'_, Script> {
    /// The time that a call holds its locks beyond its plan, ns, and whether it needs the lock of memory for that.
    pub(super) fn held_longer(&mut self, plan: &Plan<Effect>) -> (i64, bool) {
        let locked = self.model.locks.memory.is_some();
        let of_blocks = |ns: i64| (ns, ns > 0 && locked);
        match plan.effect.act {
            Act::Launch { kernel, .. } => (self.first_use(plan.context, kernel), false),
            Act::Graph { graph, .. } => {
                let nodes = self.captured(graph).len() as f64;
                (whole(self.model.calls.graph_launch.unit_ns * nodes), false)
            }
            Act::Reserve { buffer, pooled: false } => of_blocks(self.allocation_ns(plan, buffer)),
            Act::Release { buffer, waits: true } => of_blocks(self.free_ns(plan, buffer)),
            _ => (0, false),
        }
    }

    /// The additional time of the first launch of a kernel in a context.
    fn first_use(&mut self, context: u32, kernel: u32) -> i64 {
        let bit = 1 << self.program.kernels[kernel as usize].bit;
        let loaded = &mut self.program.loaded[context as usize];
        let first = *loaded & bit == 0;
        *loaded |= bit;
        if first { self.model.calls.first_launch_ns } else { 0 }
    }

    pub(super) fn act(&mut self, row: u32, plan: &Plan<Effect>) {
        match plan.effect.act {
            Act::Nothing | Act::Unload => {}
            Act::Launch { stream, kernel } => self.launch(row, stream, kernel),
            Act::Graph { graph, stream } => self.launch_graph(row, graph, stream),
            Act::Copy(copy) => self.copy(row, &copy),
            Act::Fill { stream, bytes, ns, waits } => self.fill(row, stream, bytes, ns, waits),
            Act::Reserve { buffer, .. } => self.reserve(row, plan.context, buffer),
            Act::Release { buffer, .. } => self.give_back(plan.context, buffer),
            Act::Pin { buffer } => {
                let buffer = &mut self.program.buffers[buffer as usize];
                (buffer.pinned, buffer.touched, buffer.reserved) = (true, true, 0);
            }
            Act::Unpin { buffer } => self.program.buffers[buffer as usize].pinned = false,
            Act::Record { event, stream } => self.mark(event, stream),
            Act::Wait { event, stream } => {
                let awaited = &mut self.streams[stream as usize].awaited;
                self.program.marks[event as usize].iter().for_each(|mark| self.ops.name_in(awaited, *mark));
            }
            Act::SynchronizeEvent { event } => {
                for at in 0..self.program.marks[event as usize].len() {
                    self.await_op(self.program.marks[event as usize][at], row);
                }
            }
            Act::Elapsed { from, to } => self.elapsed(row, from, to),
            Act::SynchronizeStream { stream } => self.await_stream(stream, row),
            Act::SynchronizeContext => _ = self.await_context(plan.context, row),
            Act::CreateStream { stream } => self.create_stream(stream),
            // Not the stream of that name that existed before.
            Act::CreateEvent { event } => self.program.marks[event as usize].clear(),
            Act::Captured { graph, body } => self.program.graphs[graph as usize] = body,
        }
    }

    /// Keeps an event's operations, and when it completes.
    fn mark(&mut self, event: u32, stream: u32) {
        let mut marks = std::mem::take(&mut self.program.marks[event as usize]);
        marks.clear();
        self.name_work(stream, &mut marks);
        self.program.passed[event as usize] = self.now;
        for mark in &marks {
            self.ops.await_(*mark, Waits::Event(event));
        }
        self.program.marks[event as usize] = marks;
    }

    /// Measures between two events. As in the driver, both must have completed.
    fn elapsed(&mut self, row: u32, from: u32, to: u32) {
        let marks = &self.program.marks;
        let open = |event: u32| marks[event as usize].iter().any(|mark| self.ops.is_open(*mark));
        if open(from) || open(to) {
            let (thread, process) = self.names_of(row);
            let problem =
                "asks for the time between events before both have completed: synchronize first".to_owned();
            self.error = Some(Error::Step { process, thread, problem });
            return;
        }
        let script = &mut self.program;
        let ns = script.passed[to as usize] - script.passed[from as usize];
        let (sum, count) = &mut script.threads[row as usize].rounds.between_events;
        (*sum, *count) = (*sum + i128::from(ns), *count + 1);
    }
}
