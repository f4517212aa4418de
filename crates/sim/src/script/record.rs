//! Records what happens in a run and makes a Trace of it.

use super::functions::Function;
use super::plan::{Act, KernelPlan};
use crate::device::{Holder, Op};
use crate::host::Wait;
use crate::plan::{ContextPlan, Layout, NONE, OpPlan};
use crate::{Model, Options};
use trace::{
    Api, CallId, ContextId, DeviceId, LockKind, LockLayer, LockMode, MemoryKind, Meta, OpKind, ProcessId,
    RangeKind, StreamId, Sym, SyncKind, ThreadId, Trace,
};
use workload::{StreamKind, Workload};

/// The library that the locks belong to.
const LIBRARY: &str = "libcuda.so.1";
/// CUPTI's number of the legacy default stream, and its usual number of the first stream that a program creates.
const DEFAULT_STREAM: i64 = 7;
const FIRST_STREAM: i64 = 13;

/// The records so far; none if no trace was requested.
pub(super) struct Recorder {
    options: Options,
    calls: Vec<Call>,
    ops: Vec<DoneOp>,
    waits: Vec<trace::Wait>,
    syncs: Vec<trace::Sync>,
    bodies: Vec<(u32, i64, i64)>,
    lost: u64,
}

struct Call {
    start: i64,
    end: i64,
    /// A row of the threads, or, [`Recorder::context`], of the processes.
    thread: u32,
    starts: bool,
    name: Function,
}

struct DoneOp {
    start: i64,
    end: i64,
    plan: OpPlan,
    stream: u32,
    call: u32,
    serial: u32,
}

impl Recorder {
    pub(super) fn new(options: Options) -> Recorder {
        Recorder {
            options,
            calls: Vec::new(),
            ops: Vec::new(),
            waits: Vec::new(),
            syncs: Vec::new(),
            bodies: Vec::new(),
            lost: 0,
        }
    }

    /// Counts a row. Returns whether it is recorded.
    fn keeps(&mut self) -> bool {
        if !self.options.trace {
            return false;
        }
        let kept = self.rows() < self.options.most_rows;
        self.lost += u64::from(!kept);
        kept
    }

    fn rows(&self) -> usize {
        self.calls.len() + self.ops.len() + self.waits.len() + self.syncs.len()
    }

    /// A process has created a context.
    pub(super) fn context(&mut self, context: &ContextPlan, start: i64, end: i64) {
        if self.keeps() {
            let name = if context.primary { Function::PrimaryRetain } else { Function::ContextCreate };
            self.calls.push(Call { start, end, thread: context.process, starts: true, name });
        }
    }

    /// A call begins. Returns its row.
    pub(super) fn call(&mut self, thread: u32, name: Function, start: i64) -> u32 {
        if !self.keeps() {
            return NONE;
        }
        self.calls.push(Call { start, end: start, thread, starts: false, name });
        self.calls.len() as u32 - 1
    }

    pub(super) fn returned(&mut self, call: u32, end: i64) {
        if let Some(call) = self.calls.get_mut(call as usize) {
            call.end = end;
        }
    }

    pub(super) fn op(&mut self, op: &Op, end: i64) {
        if self.keeps() {
            let &Op { plan, stream, call, serial, begin: start, .. } = op;
            self.ops.push(DoneOp { start, end, plan, stream, call, serial });
        }
    }

    /// A thread has acquired a lock that it waited for.
    pub(super) fn wait(
        &mut self,
        (thread, call): (u32, u32),
        wait: &Wait,
        end: i64,
        releaser: Option<Holder>,
        mutex: bool,
    ) {
        if !self.keeps() {
            return;
        }
        let id = |holder: Holder| (ThreadId::new(holder.thread as usize), unsorted(holder.call));
        let (holder, holder_call) = id(wait.holder);
        let (releaser, releaser_call) = releaser.map(id).unwrap_or((ThreadId::NONE, CallId::NONE));
        self.waits.push(trace::Wait {
            start: wait.since,
            end,
            thread: ThreadId::new(thread as usize),
            call: unsorted(call),
            lock: i64::from(wait.lock) + 1,
            kind: if mutex { LockKind::Mutex } else { LockKind::RwLock },
            mode: if wait.exclusive { LockMode::Exclusive } else { LockMode::Shared },
            library: Sym::EMPTY,
            holder,
            holder_call,
            holders: wait.holders.max(1),
            releaser,
            releaser_call,
            layer: LockLayer::Driver,
            ..trace::Wait::default()
        });
    }

    /// A call has returned; records its synchronization, if it is one.
    pub(super) fn synchronized(&mut self, act: &Act, (start, end): (i64, i64), call: u32, process: u32) {
        let (kind, stream, event) = match *act {
            Act::SynchronizeEvent { event } => (SyncKind::Event, NONE, event),
            Act::SynchronizeStream { stream } => (SyncKind::Stream, stream, NONE),
            Act::SynchronizeContext => (SyncKind::Context, NONE, NONE),
            Act::Wait { event, stream } => (SyncKind::StreamWaitEvent, stream, event),
            _ => return,
        };
        if call == NONE || !self.keeps() {
            return;
        }
        self.syncs.push(trace::Sync {
            start,
            end,
            kind,
            process: ProcessId::new(process as usize),
            stream: if stream == NONE { StreamId::NONE } else { StreamId::new(stream as usize) },
            event: if event == NONE { 0 } else { i64::from(event) + 1 },
            correlation: 0,
            call: unsorted(call),
        });
    }

    /// A thread has done its bodies.
    pub(super) fn body(&mut self, thread: u32, start: i64, end: i64) {
        if self.options.trace {
            self.bodies.push((thread, start, end));
        }
    }

    /// Makes the trace. Returns it with the serial number of each of its operations.
    pub(super) fn trace(
        mut self,
        workload: &Workload,
        model: &Model,
        layout: &Layout,
        kernels: &[KernelPlan],
    ) -> (Trace, Vec<u32>) {
        let mut trace = Trace { meta: self.meta(workload, model), ..Trace::default() };
        let threads = add_places(&mut trace, workload, model, layout);
        let order = self.add_calls(&mut trace, threads);
        let row = |call: CallId| call.some().map_or(CallId::NONE, |call| order[call]);
        let serials = self.add_ops(&mut trace, kernels, &row);
        let library = trace.strings.intern(LIBRARY);
        self.waits.sort_by_key(|wait| (wait.start, wait.end, wait.thread));
        for wait in self.waits.drain(..) {
            trace.waits.push(trace::Wait {
                call: row(wait.call),
                holder_call: row(wait.holder_call),
                releaser_call: row(wait.releaser_call),
                library,
                ..wait
            });
        }
        self.syncs.sort_by_key(|sync| (sync.start, sync.end, sync.call));
        for sync in self.syncs.drain(..) {
            let call = row(sync.call);
            trace.syncs.push(trace::Sync { call, correlation: call.index() as i64 + 1, ..sync });
        }
        let name = trace.strings.intern("body");
        for (thread, start, end) in self.bodies.drain(..) {
            let thread = ThreadId::new(thread as usize);
            let kind = RangeKind::User;
            trace.ranges.push(trace::Range { start, end, thread, kind, name, ..trace::Range::default() });
        }
        (trace, serials)
    }

    fn meta(&self, workload: &Workload, model: &Model) -> Meta {
        let mut meta = Meta {
            command: workload.name.clone(),
            host: format!("simulated {}", model.name),
            driver: model.driver.clone(),
            locks_watched: true,
            ..Meta::default()
        };
        meta.notes.push(format!("Simulated, not measured. {}", model.about));
        meta.notes.extend(model.notes.iter().cloned());
        meta.lost.records("beyond the rows that a simulation keeps", self.lost);
        meta.lost.truncated = self.lost > 0;
        meta
    }

    /// Adds the calls in order of their start. Returns the row of each.
    fn add_calls(&mut self, trace: &mut Trace, threads: usize) -> Vec<CallId> {
        let mut rows: Vec<u32> = (0..self.calls.len() as u32).collect();
        rows.sort_by_key(|row| {
            let call = &self.calls[*row as usize];
            (call.start, !call.starts, call.thread, *row)
        });
        let names: Vec<Sym> = Function::ALL.iter().map(|name| trace.strings.intern(name.text())).collect();
        let mut order = vec![CallId::NONE; rows.len()];
        for row in rows {
            let call = &self.calls[row as usize];
            let thread = call.thread as usize + if call.starts { threads } else { 0 };
            order[row as usize] = trace.calls.push(trace::Call {
                start: call.start,
                end: call.end,
                thread: ThreadId::new(thread),
                api: Api::Driver,
                name: names[call.name as usize],
                correlation: trace.calls.len() as i64 + 1,
                ..trace::Call::default()
            });
        }
        order
    }

    /// Adds the operations in order of their start. Returns their serial numbers.
    fn add_ops(
        &mut self,
        trace: &mut Trace,
        kernels: &[KernelPlan],
        row: &impl Fn(CallId) -> CallId,
    ) -> Vec<u32> {
        self.ops.sort_by_key(|op| (op.start, op.end, op.stream));
        let serials = self.ops.iter().map(|op| op.serial).collect();
        let names: Vec<Sym> = kernels.iter().map(|kernel| trace.strings.intern(kernel.name)).collect();
        for op in self.ops.drain(..) {
            let call = row(unsorted(op.call));
            let base = trace::Op {
                start: op.start,
                end: op.end,
                stream: StreamId::new(op.stream as usize),
                correlation: if call.is_some() { call.index() as i64 + 1 } else { 0 },
                call,
                ..trace::Op::default()
            };
            trace.ops.push(match op.plan {
                OpPlan::Kernel { plan, node } => {
                    let kernel = &kernels[plan as usize];
                    trace::Op {
                        kind: OpKind::Kernel,
                        name: names[plan as usize],
                        grid_x: kernel.grid,
                        grid_y: 1,
                        grid_z: 1,
                        block_x: kernel.block,
                        block_y: 1,
                        block_z: 1,
                        graph_node: i64::from(node),
                        ..base
                    }
                }
                OpPlan::Copy { way, pinned, bytes } => {
                    let (src, dst) = way.memory(pinned);
                    let bytes = bytes as i64;
                    trace::Op { kind: OpKind::Copy, copy: way.kind(), src, dst, bytes, ..base }
                }
                OpPlan::Fill { bytes } => {
                    trace::Op { kind: OpKind::Memset, bytes: bytes as i64, dst: MemoryKind::Device, ..base }
                }
            });
        }
        serials
    }
}

/// A call by the row that it was recorded in.
fn unsorted(call: u32) -> CallId {
    if call == NONE { CallId::NONE } else { CallId::new(call as usize) }
}

/// Adds processes, threads, devices, contexts and streams, in the rows that the program has them in. Behind the
/// threads comes, for each process, the one that started them. Returns the number of the former.
fn add_places(trace: &mut Trace, workload: &Workload, model: &Model, layout: &Layout) -> usize {
    let variables = workload.variables();
    let set = variables.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)));
    let settings = trace.strings.intern(&trace::settings_text(set));
    for (row, process) in (1..).zip(&workload.processes) {
        let name = trace.strings.intern(&process.name);
        trace.processes.push(trace::Process { pid: row, name, settings, ..trace::Process::default() });
    }
    for (row, process) in workload.processes.iter().enumerate() {
        let process_id = ProcessId::new(row);
        for thread in &process.threads {
            let name = trace.strings.intern(&thread.name);
            let tid = (workload.processes.len() + trace.threads.len() + 1) as i64;
            trace.threads.push(trace::Thread { process: process_id, tid, name, ..trace::Thread::default() });
        }
    }
    let threads = trace.threads.len();
    let name = trace.strings.intern("start");
    for process in trace.processes.ids() {
        let tid = trace.processes.row(process).pid;
        trace.threads.push(trace::Thread { process, tid, name, ..trace::Thread::default() });
    }
    let device = &model.device;
    let name = trace.strings.intern(&device.title);
    for ordinal in 0..i64::from(device.count) {
        trace.devices.push(trace::Device {
            ordinal,
            name,
            compute_major: device.compute.0,
            compute_minor: device.compute.1,
            multiprocessors: device.multiprocessors,
            copy_engines: device.copy_engines,
            memory_bytes: device.memory_bytes as i64,
            ..trace::Device::default()
        });
    }
    for (number, context) in (1..).zip(&layout.contexts) {
        let process = ProcessId::new(context.process as usize);
        let device = DeviceId::new(context.device as usize);
        trace.contexts.push(trace::Context { process, device, number });
    }
    for (row, stream) in layout.streams.iter().enumerate() {
        let context = ContextId::new(stream.context as usize);
        let default = stream.kind == StreamKind::Default;
        let number = if default { DEFAULT_STREAM } else { FIRST_STREAM + row as i64 };
        trace.streams.push(trace::Stream { context, number });
    }
    threads
}
