//! The operations that threads issue to devices.

use super::costs::transfer_ns;
use super::plan::{Act, Copy};
use super::state::Script;
use crate::Order;
use crate::device::{COMPUTE, Op, OpRef, WITHIN};
use crate::machine::Machine;
use crate::plan::{OpPlan, Way};

impl Machine<'_, Script> {
    pub(super) fn launch(&mut self, row: u32, stream: u32, kernel: u32) {
        let op = self.kernel(row, stream, kernel, 0);
        let by = self.queues[op.queue as usize].by.replace(row);
        self.enter_queue(&op, by == Some(row));
        self.enqueue(op);
    }

    fn kernel(&self, row: u32, stream: u32, kernel: u32, node: u32) -> Op {
        let plan = &self.program.kernels[kernel as usize];
        let kind = OpPlan::Kernel { plan: kernel, node };
        Op { slots: plan.slots, clocked: plan.clocked, ..self.op(row, stream, COMPUTE, kind, plan.ns) }
    }

    /// The nodes of a graph's last capture.
    pub(super) fn captured(&self, graph: u32) -> &[u32] {
        let captured = self.program.graphs[graph as usize];
        self.program.captured.get(captured as usize).map_or(&[], |nodes| nodes)
    }

    pub(super) fn launch_graph(&mut self, row: u32, graph: u32, stream: u32) {
        let nodes = self.captured(graph).len();
        if !self.make(nodes) {
            return;
        }
        for at in 0..nodes {
            let plan = self.captured(graph)[at];
            match self.program.plans[plan as usize].effect.act {
                Act::Launch { kernel, .. } => {
                    let op = self.kernel(row, stream, kernel, at as u32 + 1);
                    self.enqueue(op);
                }
                Act::Copy(copy) => {
                    self.enqueue_copy(row, &Copy { stream, ..copy });
                }
                Act::Fill { bytes, ns, .. } => self.fill(row, stream, bytes, ns, false),
                _ => {}
            }
        }
    }

    pub(super) fn copy(&mut self, row: u32, copy: &Copy) {
        let op = self.enqueue_copy(row, copy);
        if copy.waits {
            self.await_op(op, row);
        }
    }

    fn enqueue_copy(&mut self, row: u32, copy: &Copy) -> OpRef {
        let ns = self.copy_ns(copy);
        let engine = self.engine(copy.way, copy.pinned);
        let kind = OpPlan::Copy { way: copy.way, pinned: copy.pinned, bytes: copy.bytes };
        let op = self.op(row, copy.stream, engine, kind, ns);
        self.enqueue(op)
    }

    /// The duration of a copy, which touches memory that was never touched.
    fn copy_ns(&mut self, copy: &Copy) -> i64 {
        let copies = &self.model.copies;
        let crowds = copies.to_device.beside_mb_s.or(copies.to_host.beside_mb_s).is_some();
        let beside = crowds && !copy.pinned && self.waits_to_copy(copy);
        let mut rate = |rates: &crate::Rates| {
            if copy.pinned {
                return rates.pinned_mb_s;
            }
            let buffer = &mut self.program.buffers[copy.host as usize];
            let touched = buffer.touched;
            buffer.touched |= copy.way == Way::Out;
            match rates.beside_mb_s.filter(|_| beside) {
                _ if !touched => rates.fresh_mb_s,
                Some(slower) => slower,
                None => rates.pageable_mb_s,
            }
        };
        let mb_s = match copy.way {
            Way::In => rate(&copies.to_device),
            Way::Out => rate(&copies.to_host),
            Way::Within => copies.within_mb_s,
            Way::Between => copies.between_mb_s,
        };
        let latency = match copy.way {
            Way::In => copies.to_device.latency_ns,
            Way::Out => copies.to_host.latency_ns,
            Way::Within | Way::Between => None,
        };
        latency.unwrap_or(copies.latency_ns) + transfer_ns(copy.bytes, mb_s)
    }

    /// Whether a thread waits for a lock of the copy's context to copy pageable memory in the other direction.
    fn waits_to_copy(&self, copy: &Copy) -> bool {
        let context = self.layout.streams[copy.stream as usize].context;
        self.threads.iter().filter(|thread| thread.wait.is_some()).any(|thread| {
            let plan = &self.program.plans[thread.plan as usize];
            let other = |of: Copy| !of.pinned && of.way != copy.way;
            plan.context == context && matches!(plan.effect.act, Act::Copy(of) if other(of))
        })
    }

    pub(super) fn fill(&mut self, row: u32, stream: u32, bytes: u64, ns: i64, waits: bool) {
        let op = self.op(row, stream, WITHIN, OpPlan::Fill { bytes }, ns);
        let op = self.enqueue(op);
        if waits {
            self.await_op(op, row);
        }
    }

    /// Creates a stream, with the next hardware queue of its context. It is not the stream of that name that existed before, whose
    /// operations only the context still waits for.
    pub(super) fn create_stream(&mut self, stream: u32) {
        let context = self.layout.streams[stream as usize].context;
        let mut left = std::mem::take(&mut self.contexts[context as usize].left);
        self.name_work(stream, &mut left);
        self.contexts[context as usize].left = left;
        self.streams[stream as usize].last = OpRef::DONE;
        self.streams[stream as usize].awaited.clear();
        if self.model.device.order == Order::Ready {
            let created = &mut self.contexts[context as usize].created;
            let queue = context * self.layout.connections + *created % self.layout.connections;
            *created += 1;
            self.streams[stream as usize].queue = queue;
        }
    }
}
