//! The costs and the locks of each call, by the model's rules.

use super::functions::Function;
use super::memory::pages;
use super::plan::{Act, Copy, Effect, KernelPlan};
use crate::plan::{ContextPlan, LONGEST, NONE, Plan, Way, whole};
use crate::{Model, Rule};
use workload::{BufferId, Call, ContextId, Kernel, Memory, Process, StreamId, StreamKind};

/// The first row of a process in the lists of all processes.
#[derive(Clone, Copy, Default)]
pub(super) struct Base {
    pub context: u32,
    pub stream: u32,
    pub event: u32,
    pub buffer: u32,
    pub graph: u32,
}

impl Base {
    /// The first rows of the process after this one.
    pub(super) fn after(self, process: &Process) -> Base {
        Base {
            context: self.context + process.contexts.len() as u32,
            stream: self.stream + process.streams.len() as u32,
            event: self.event + process.events.len() as u32,
            buffer: self.buffer + process.buffers.len() as u32,
            graph: self.graph + process.graphs.len() as u32,
        }
    }
}

/// Plans the calls of one thread.
#[derive(Clone, Copy)]
pub(super) struct Costs<'a> {
    pub model: &'a Model,
    pub process: &'a Process,
    pub base: Base,
    pub contexts: &'a [ContextPlan],
    /// The thread's.
    pub context: u32,
}

/// The time of `bytes` at `mb_s` (10⁶ bytes per second), ns.
pub(super) fn transfer_ns(bytes: u64, mb_s: u64) -> i64 {
    let ns = u128::from(bytes) * 1000 / u128::from(mb_s);
    at_most(ns)
}

/// A whole number of nanoseconds, at most the longest time.
pub(super) fn at_most(ns: impl TryInto<i64>) -> i64 {
    ns.try_into().map_or(LONGEST, |ns| ns.min(LONGEST))
}

impl Costs<'_> {
    /// The time of the host to write or read so many bytes, ns.
    pub(super) fn host_ns(&self, bytes: u64) -> i64 {
        transfer_ns(bytes, self.model.host.mb_s)
    }

    pub(super) fn launch(&self, stream: StreamId, kernel: u32) -> Plan<Effect> {
        let (stream, context) = self.stream(Some(stream));
        let rule = &self.model.calls.launch;
        plan(Function::Launch, rule, 0, context, Act::Launch { stream, kernel })
    }

    /// The plan of a copy; if its pageable memory may be registered, there is a second plan for then, in row `registered`.
    pub(super) fn copy(
        &self,
        from: BufferId,
        to: BufferId,
        bytes: u64,
        stream: Option<StreamId>,
        registered: u32,
    ) -> (Plan<Effect>, Option<Plan<Effect>>) {
        let buffer = |row: BufferId| &self.process.buffers[row];
        let (source, target) = (buffer(from), buffer(to));
        let (way, host, name) = match (source.memory.is_host(), target.memory.is_host()) {
            (true, _) => (Way::In, from.0, [Function::CopyIn, Function::CopyInAsync]),
            (_, true) => (Way::Out, to.0, [Function::CopyOut, Function::CopyOutAsync]),
            _ if self.device(source.context) == self.device(target.context) => {
                (Way::Within, NONE, [Function::CopyWithin, Function::CopyWithinAsync])
            }
            _ => (Way::Between, NONE, [Function::CopyBetween, Function::CopyBetweenAsync]),
        };
        let (name, blocking) = (name[usize::from(stream.is_some())], stream.is_none());
        let (stream, context) = self.stream(stream);
        let memory = if way == Way::In { source.memory } else { target.memory };
        let pageable = host != NONE && memory != Memory::Pinned;
        let host = if host == NONE { NONE } else { self.base.buffer + host };
        let copy = Copy { stream, way, bytes, host, pinned: true, waits: blocking, registered: NONE };
        let calls = &self.model.calls;
        let pinned = plan(name, &calls.copy, 0, context, Act::Copy(copy));
        let staged = way == Way::In && bytes <= calls.staged_at_once_bytes;
        let copy = Copy { pinned: false, waits: blocking || !staged, registered, ..copy };
        let staged = plan(name, &calls.pageable_copy, 0, context, Act::Copy(copy));
        (pinned, pageable.then_some(staged))
    }

    /// Loading a module and unloading it.
    pub(super) fn module(&self) -> [Plan<Effect>; 2] {
        let calls = &self.model.calls;
        [
            plan(Function::ModuleLoad, &calls.module_load, 0, self.context, Act::Nothing),
            plan(Function::ModuleUnload, &calls.module_unload, 0, self.context, Act::Unload),
        ]
    }

    pub(super) fn captured(&self, graph: u32, body: u32, nodes: usize) -> Plan<Effect> {
        let act = Act::Captured { graph, body };
        plan(Function::Capture, &self.model.calls.capture, nodes as u64, self.context, act)
    }

    /// Any call except those above.
    pub(super) fn other(&self, call: &Call) -> Plan<Effect> {
        let calls = &self.model.calls;
        match *call {
            Call::Allocate { buffer, .. } => self.allocate(buffer),
            Call::Free { buffer, .. } => self.free(buffer),
            Call::Register { buffer } | Call::Unregister { buffer } => self.pin(call, buffer),
            Call::Fill { buffer, stream, .. } => self.fill(buffer, stream),
            Call::LaunchGraph { graph, stream } => {
                let (stream, context) = self.stream(Some(stream));
                let act = Act::Graph { graph: self.base.graph + graph.0, stream };
                plan(Function::GraphLaunch, &calls.graph_launch, 0, context, act)
            }
            Call::RecordEvent { event, stream } => {
                let (stream, context) = self.stream(Some(stream));
                let act = Act::Record { event: self.base.event + event.0, stream };
                plan(Function::EventRecord, &calls.order, 0, context, act)
            }
            Call::WaitEvent { event, stream } => {
                let (stream, context) = self.stream(Some(stream));
                let act = Act::Wait { event: self.base.event + event.0, stream };
                plan(Function::StreamWait, &calls.order, 0, context, act)
            }
            Call::CreateStream { stream } => {
                let (stream, context) = self.stream(Some(stream));
                plan(Function::StreamCreate, &calls.stream, 0, context, Act::CreateStream { stream })
            }
            Call::DestroyStream { stream } => {
                let (_, context) = self.stream(Some(stream));
                let rule = calls.stream_destroy.as_ref().unwrap_or(&calls.stream);
                plan(Function::StreamDestroy, rule, 0, context, Act::Nothing)
            }
            _ => self.plain(call),
        }
    }

    /// Calls that lock and change nothing, on the thread's context.
    fn plain(&self, call: &Call) -> Plan<Effect> {
        let calls = &self.model.calls;
        let event = |event: workload::EventId| self.base.event + event.0;
        let (name, rule, act) = match *call {
            Call::CreateEvent { event: row } => {
                (Function::EventCreate, &calls.event, Act::CreateEvent { event: event(row) })
            }
            Call::DestroyEvent { .. } => (Function::EventDestroy, &calls.event, Act::Nothing),
            Call::QueryEvent { .. } => (Function::EventQuery, &calls.query, Act::Nothing),
            Call::QueryStream { .. } => (Function::StreamQuery, &calls.query, Act::Nothing),
            Call::Elapsed { from, to } => {
                (Function::EventElapsed, &calls.query, Act::Elapsed { from: event(from), to: event(to) })
            }
            Call::SynchronizeEvent { event: row } => {
                let act = Act::SynchronizeEvent { event: event(row) };
                (Function::EventSynchronize, &calls.synchronize, act)
            }
            Call::SynchronizeStream { stream } => {
                let act = Act::SynchronizeStream { stream: self.stream(Some(stream)).0 };
                (Function::StreamSynchronize, &calls.synchronize, act)
            }
            _ => (Function::ContextSynchronize, &calls.synchronize, Act::SynchronizeContext),
        };
        plan(name, rule, 0, self.context, act)
    }

    fn allocate(&self, id: BufferId) -> Plan<Effect> {
        let calls = &self.model.calls;
        let buffer = &self.process.buffers[id];
        let row = self.base.buffer + id.0;
        let reserve = Act::Reserve { buffer: row, pooled: buffer.memory == Memory::Pool };
        let (name, rule, units, act) = match buffer.memory {
            Memory::Pool => (Function::AllocatePool, &calls.pool, 0, reserve),
            Memory::Managed => (Function::AllocateManaged, &calls.allocate, 0, reserve),
            Memory::Pinned => {
                (Function::HostAllocate, &calls.host_allocate, pages(buffer.bytes), Act::Nothing)
            }
            _ => (Function::Allocate, &calls.allocate, 0, reserve),
        };
        plan(name, rule, units, self.base.context + buffer.context.0, act)
    }

    fn free(&self, id: BufferId) -> Plan<Effect> {
        let calls = &self.model.calls;
        let buffer = &self.process.buffers[id];
        let row = self.base.buffer + id.0;
        let (name, rule, units, act) = match buffer.memory {
            Memory::Pool => (Function::FreePool, &calls.pool, 0, Act::Release { buffer: row, waits: false }),
            Memory::Pinned => (Function::HostFree, &calls.host_free, pages(buffer.bytes), Act::Nothing),
            _ => (Function::Free, &calls.free, 0, Act::Release { buffer: row, waits: true }),
        };
        plan(name, rule, units, self.base.context + buffer.context.0, act)
    }

    fn pin(&self, call: &Call, id: BufferId) -> Plan<Effect> {
        let calls = &self.model.calls;
        let buffer = &self.process.buffers[id];
        let row = self.base.buffer + id.0;
        let (name, rule, act) = match call {
            Call::Register { .. } => (Function::Register, &calls.register, Act::Pin { buffer: row }),
            _ => (Function::Unregister, &calls.unregister, Act::Unpin { buffer: row }),
        };
        plan(name, rule, pages(buffer.bytes), self.base.context + buffer.context.0, act)
    }

    fn fill(&self, id: BufferId, stream: Option<StreamId>) -> Plan<Effect> {
        let bytes = self.process.buffers[id].bytes;
        let (name, waits) = match stream {
            Some(_) => (Function::FillAsync, false),
            None => (Function::Fill, true),
        };
        let (stream, context) = self.stream(stream);
        let kernels = &self.model.kernels;
        let ns = kernels.base_ns + transfer_ns(bytes, kernels.fill_mb_s.unwrap_or(kernels.memory_mb_s));
        let act = Act::Fill { stream, bytes, ns, waits };
        plan(name, &self.model.calls.fill, 0, context, act)
    }

    /// The rows of a stream and its context; no stream means the legacy default stream.
    fn stream(&self, stream: Option<StreamId>) -> (u32, u32) {
        let default = |context: u32| (self.contexts[context as usize].default_stream, context);
        let Some(id) = stream else { return default(self.context) };
        let stream = &self.process.streams[id];
        let context = self.base.context + stream.context.0;
        match stream.kind {
            StreamKind::Default => default(context),
            _ => (self.base.stream + id.0, context),
        }
    }

    fn device(&self, context: ContextId) -> u32 {
        self.process.contexts[context].device
    }

    fn memory_ns(&self, bytes: u64) -> i64 {
        transfer_ns(bytes, self.model.kernels.memory_mb_s)
    }

    /// The time to reduce so many floats, ns.
    fn reduction_ns(&self, length: u32) -> i64 {
        self.model.kernels.reduction_ns + self.memory_ns(4 * u64::from(length))
    }

    /// The time of a kernel alone on the device, and the room that it needs.
    pub(super) fn kernel(&self, kernel: &Kernel, grid: u32, block: u32) -> KernelPlan {
        let (device, kernels) = (&self.model.device, &self.model.kernels);
        let room = u64::from(device.multiprocessors) * u64::from(device.threads_per_multiprocessor);
        let fewest = device.threads_per_multiprocessor.div_ceil(device.blocks_per_multiprocessor);
        let wanted = u64::from(grid) * u64::from(block.next_multiple_of(32).max(fewest));
        let cycles_ns = |cycles: f64| whole(cycles * 1000.0 / device.clock_mhz as f64);
        let threads = (u64::from(grid) * u64::from(block)).max(1);
        let (bit, name, ns) = match *kernel {
            Kernel::Empty => (0, "empty", 0),
            Kernel::Delay { cycles } => (1, "delay", cycles_ns(cycles as f64 * wanted.div_ceil(room) as f64)),
            Kernel::AddConstant { length, rounds, .. } => {
                let quads = (u64::from(length) / 4).div_ceil(threads);
                let cycles =
                    f64::from(rounds) * kernels.add_round_cycles + quads as f64 * kernels.add_quad_cycles;
                (2, "add_constant", cycles_ns(cycles))
            }
            Kernel::Increment { length, rounds, .. } => {
                let steps = f64::from(length) * f64::from(rounds);
                (3, "increment", whole(steps * kernels.increment_round_ps / 1000.0))
            }
            Kernel::MatrixProduct { rows, inner, columns, .. } => {
                let flops = 2.0 * f64::from(rows) * f64::from(inner) * f64::from(columns);
                (4, "matrix_product", whole(flops / kernels.product_flops_per_ns))
            }
            Kernel::NormPartial { length, .. } => (5, "norm_partial", self.reduction_ns(length)),
            Kernel::NormFinal { length, .. } => (6, "norm_final", self.reduction_ns(length)),
            Kernel::Scale { length, by, .. } => {
                let host = self.process.buffers[by].memory.is_host();
                let (bit, name) = if host { (7, "scale_by_host") } else { (8, "scale_by_device") };
                (bit, name, self.memory_ns(8 * u64::from(length)))
            }
        };
        let clocked = matches!(kernel, Kernel::Delay { .. });
        KernelPlan {
            name,
            bit,
            ns: ns + kernels.base_ns,
            clocked,
            slots: wanted.min(room) as u32,
            grid,
            block,
        }
    }
}

fn plan(name: Function, rule: &Rule, units: u64, context: u32, act: Act) -> Plan<Effect> {
    let pieces = rule.pieces.max(1);
    Plan {
        before: rule.before_ns,
        held: (rule.held_ns + whole(rule.unit_ns * units as f64)) / i64::from(pieces),
        after: rule.after_ns,
        notice: 0,
        lock: rule.lock,
        staged_lock: rule.staged_stream_lock.unwrap_or(rule.lock),
        mutex: rule.mutex,
        pieces,
        keep: rule.keeps,
        context,
        effect: Effect { name, act },
    }
}
