//! Makes a [`Script`] of a workload and a model.

use super::costs::{Base, Costs, at_most};
use super::functions::Function;
use super::memory::{Blocks, Buffer};
use super::plan::{Effect, KernelPlan, Step as Planned};
use super::record::Recorder;
use super::rounds::Rounds;
use super::state::{Script, ThreadScript};
use crate::plan::{Layout, NONE, Plan};
use crate::{Error, Model, Options};
use workload::{Call, Memory, Process, Repeat, Step, StreamKind, Thread, Workload};

/// The most nodes of a graph.
const MOST_NODES: u64 = 1_000_000;

/// Flattens `workload`, with the costs of `model`.
///
/// # Errors
/// The model has no cuBLAS, or a graph is too large.
pub(super) fn compile(
    workload: &Workload,
    model: &Model,
    layout: &Layout,
    options: Options,
) -> Result<Script, Error> {
    if needs_blas(workload) {
        return Err(Error::NoBlas { model: model.name.clone() });
    }
    let mut script = empty(workload, layout, options);
    let mut base = Base::default();
    for process in &workload.processes {
        let created = Creators::by(process);
        for (row, thread) in process.threads.iter().enumerate() {
            let contexts = &layout.contexts;
            let costs = Costs { model, process, base, contexts, context: base.context + thread.context.0 };
            Compiler { costs, process, script: &mut script, steps: Vec::new() }
                .thread(thread, &created.at(row))?;
        }
        base = base.after(process);
    }
    script.preparing = script.threads.len();
    let leads = |thread: &&ThreadScript| thread.repeat != Repeat::WhileOthers;
    script.leading = script.threads.iter().filter(leads).count();
    Ok(script)
}

fn empty(workload: &Workload, layout: &Layout, options: Options) -> Script {
    let buffers = workload.processes.iter().flat_map(|process| &process.buffers);
    let buffer = |row: &workload::Buffer| Buffer {
        bytes: row.bytes,
        touched: row.memory == Memory::Pinned,
        ..Buffer::default()
    };
    let count = |rows: fn(&Process) -> usize| workload.processes.iter().map(rows).sum::<usize>();
    let events = count(|process| process.events.len());
    let contexts = layout.contexts.len();
    Script {
        plans: Vec::new(),
        kernels: Vec::new(),
        buffers: buffers.map(buffer).collect(),
        captured: Vec::new(),
        threads: Vec::new(),
        marks: vec![Vec::new(); events],
        passed: vec![0; events],
        graphs: vec![NONE; count(|process| process.graphs.len())],
        meeting: vec![Vec::new(); workload.barriers.len()],
        free_at: vec![0; workload.processes.len()],
        loaded: vec![0; contexts],
        blocks: vec![Blocks::default(); contexts],
        preparing: 0,
        leading: 0,
        record: Recorder::new(options),
    }
}

/// The thread that creates each stream and event: the first that uses it, unless a step creates it.
struct Creators {
    streams: Vec<u32>,
    events: Vec<u32>,
}

/// Streams and events that one thread creates: rows of its process.
struct Creations {
    streams: Vec<u32>,
    events: Vec<u32>,
}

impl Creators {
    fn by(process: &Process) -> Creators {
        let mut streams = vec![NONE; process.streams.len()];
        let mut events = vec![NONE; process.events.len()];
        let mut explicit = (vec![false; streams.len()], vec![false; events.len()]);
        for (row, thread) in process.threads.iter().enumerate() {
            let first = |creator: &mut u32| *creator = (*creator).min(row as u32);
            for steps in [&thread.before, &thread.body, &thread.after] {
                each_call(steps, &mut |call| {
                    let (stream, event) = used(call);
                    stream.into_iter().for_each(|stream| first(&mut streams[stream]));
                    event.into_iter().for_each(|event| first(&mut events[event]));
                    match call {
                        Call::CreateStream { stream } => explicit.0[*stream] = true,
                        Call::CreateEvent { event } => explicit.1[*event] = true,
                        _ => {}
                    }
                });
            }
        }
        for (row, stream) in process.streams.iter().enumerate() {
            if stream.kind == StreamKind::Default || explicit.0[row] {
                streams[row] = NONE;
            }
        }
        events.iter_mut().zip(explicit.1).filter(|(_, made)| *made).for_each(|(event, _)| *event = NONE);
        Creators { streams, events }
    }

    fn at(&self, thread: usize) -> Creations {
        let rows = |creators: &[u32]| {
            (0u32..).zip(creators).filter(|(_, by)| **by == thread as u32).map(|(row, _)| row).collect()
        };
        Creations { streams: rows(&self.streams), events: rows(&self.events) }
    }
}

/// Every call in `steps`, in order, with those of a loop once.
fn each_call(steps: &[Step], look: &mut impl FnMut(&Call)) {
    for step in steps {
        match step {
            Step::Call(call) => look(call),
            Step::Loop { steps, .. } => each_call(steps, look),
            Step::Capture { stream, steps, .. } => {
                look(&Call::QueryStream { stream: *stream });
                each_call(steps, look);
            }
        }
    }
}

fn needs_blas(workload: &Workload) -> bool {
    let mut needs = false;
    for thread in workload.processes.iter().flat_map(|process| &process.threads) {
        for steps in [&thread.before, &thread.body, &thread.after] {
            each_call(steps, &mut |call| needs |= matches!(call, Call::BlasNorm { .. }));
        }
    }
    needs
}

fn used(call: &Call) -> (Option<workload::StreamId>, Option<workload::EventId>) {
    match *call {
        Call::Allocate { stream, .. }
        | Call::Free { stream, .. }
        | Call::Copy { stream, .. }
        | Call::Fill { stream, .. } => (stream, None),
        Call::CopyRows { stream, .. }
        | Call::BlasNorm { stream, .. }
        | Call::Launch { stream, .. }
        | Call::LaunchGraph { stream, .. }
        | Call::QueryStream { stream }
        | Call::SynchronizeStream { stream }
        | Call::CreateStream { stream }
        | Call::DestroyStream { stream } => (Some(stream), None),
        Call::RecordEvent { event, stream } | Call::WaitEvent { event, stream } => {
            (Some(stream), Some(event))
        }
        Call::QueryEvent { event }
        | Call::SynchronizeEvent { event }
        | Call::CreateEvent { event }
        | Call::DestroyEvent { event } => (None, Some(event)),
        // A thread that measures between two events does not create them: another thread, or an earlier step, records them.
        Call::Elapsed { .. } => (None, None),
        Call::Register { .. }
        | Call::Unregister { .. }
        | Call::Check { .. }
        | Call::SynchronizeContext
        | Call::LoadModule
        | Call::Sleep { .. }
        | Call::Work { .. }
        | Call::Hold { .. }
        | Call::Meet { .. } => (None, None),
    }
}

struct Compiler<'a> {
    costs: Costs<'a>,
    process: &'a Process,
    script: &'a mut Script,
    steps: Vec<Planned>,
}

impl Compiler<'_> {
    fn thread(mut self, thread: &Thread, creates: &Creations) -> Result<(), Error> {
        for stream in &creates.streams {
            self.call(&Call::CreateStream { stream: workload::StreamId(*stream) });
        }
        for event in &creates.events {
            self.call(&Call::CreateEvent { event: workload::EventId(*event) });
        }
        self.list(thread, &thread.before)?;
        self.steps.push(Planned::EndBefore);
        let body = self.steps.len() as u32;
        self.list(thread, &thread.body)?;
        self.steps.push(Planned::EndBody);
        self.list(thread, &thread.after)?;
        self.steps.push(Planned::End);
        self.script.threads.push(ThreadScript {
            delay_ns: at_most(thread.delay_ns),
            repeat: thread.repeat,
            steps: self.steps,
            body,
            rounds: Rounds::new(),
        });
        Ok(())
    }

    fn list(&mut self, thread: &Thread, steps: &[Step]) -> Result<(), Error> {
        for step in steps {
            match step {
                Step::Call(call) => self.call(call),
                Step::Loop { times, steps } => {
                    let start = self.steps.len();
                    self.steps.push(Planned::Loop { times: *times, end: 0 });
                    self.list(thread, steps)?;
                    self.steps.push(Planned::Again { start: start as u32 + 1 });
                    let end = self.steps.len() as u32;
                    self.steps[start] = Planned::Loop { times: *times, end };
                }
                Step::Capture { graph, steps, .. } => self.capture(thread, *graph, steps)?,
            }
        }
        Ok(())
    }

    fn call(&mut self, call: &Call) {
        let (costs, process) = (self.costs, self.process);
        let host = |memory: Memory| matches!(memory, Memory::Pageable | Memory::Fresh);
        let buffer = |row: workload::BufferId| &process.buffers[row];
        let row = |row: workload::BufferId| costs.base.buffer + row.0;
        match *call {
            Call::Allocate { buffer: id, .. } if host(buffer(id).memory) => {
                let touched = buffer(id).memory == Memory::Pageable;
                self.steps.push(Planned::Map { buffer: row(id), touched });
            }
            Call::Free { buffer: id, .. } if host(buffer(id).memory) => {
                self.steps.push(Planned::Unmap { buffer: row(id) });
            }
            Call::Copy { from, to, bytes, .. }
                if buffer(from).memory.is_host() && buffer(to).memory.is_host() =>
            {
                self.steps.push(Planned::Write { buffer: row(to), bytes });
            }
            Call::Fill { buffer: id, .. } if buffer(id).memory.is_host() => {
                self.steps.push(Planned::Write { buffer: row(id), bytes: buffer(id).bytes });
            }
            Call::Check { bytes, .. } => self.steps.push(Planned::Pause(costs.host_ns(bytes))),
            Call::Sleep { ns } | Call::Work { ns } => self.steps.push(Planned::Pause(at_most(ns))),
            Call::Hold { ns } => {
                self.steps.extend([Planned::Hold(at_most(ns)), Planned::Pause(at_most(ns))]);
            }
            Call::Meet { barrier } => self.steps.push(Planned::Meet { barrier: barrier.0 }),
            Call::LoadModule => costs.module().into_iter().for_each(|plan| self.plan(plan)),
            Call::Launch { ref kernel, grid, block, stream } => {
                self.launch(costs.kernel(kernel, grid, block), stream);
            }
            Call::CopyRows { from, to, width, height, depth, stream, .. } => {
                let bytes = width.saturating_mul(height).saturating_mul(depth.unwrap_or(1));
                let name = if depth.is_some() { Function::Copy3d } else { Function::Copy2d };
                self.copy([from, to], bytes, Some(stream), |plan| named(name, plan));
            }
            Call::Copy { from, to, bytes, stream, .. } => self.copy([from, to], bytes, stream, |plan| plan),
            Call::Allocate { .. }
            | Call::Free { .. }
            | Call::Register { .. }
            | Call::Unregister { .. }
            | Call::Fill { .. }
            | Call::BlasNorm { .. }
            | Call::LaunchGraph { .. }
            | Call::RecordEvent { .. }
            | Call::WaitEvent { .. }
            | Call::QueryEvent { .. }
            | Call::SynchronizeEvent { .. }
            | Call::Elapsed { .. }
            | Call::QueryStream { .. }
            | Call::SynchronizeStream { .. }
            | Call::SynchronizeContext
            | Call::CreateStream { .. }
            | Call::DestroyStream { .. }
            | Call::CreateEvent { .. }
            | Call::DestroyEvent { .. } => self.plan(costs.other(call)),
        }
    }

    fn launch(&mut self, kernel: KernelPlan, stream: workload::StreamId) {
        let plan = self.costs.launch(stream, self.script.kernels.len() as u32);
        self.script.kernels.push(kernel);
        self.plan(plan);
    }

    /// A copy of so many bytes from one buffer to another one: as the memory is when it runs, page-locked or not.
    fn copy(
        &mut self,
        [from, to]: [workload::BufferId; 2],
        bytes: u64,
        stream: Option<workload::StreamId>,
        name: impl Fn(Plan<Effect>) -> Plan<Effect>,
    ) {
        let registered = self.script.plans.len() as u32;
        let (pinned, pageable) = self.costs.copy(from, to, bytes, stream, registered);
        self.script.plans.push(name(pinned));
        match pageable {
            Some(pageable) => self.plan(name(pageable)),
            None => self.steps.push(Planned::Call(registered)),
        }
    }

    fn plan(&mut self, plan: Plan<Effect>) {
        self.steps.push(Planned::Call(self.script.plans.len() as u32));
        self.script.plans.push(plan);
    }

    /// Plans the steps of a graph like others, with loops unrolled, into their own list.
    fn capture(&mut self, thread: &Thread, graph: workload::GraphId, steps: &[Step]) -> Result<(), Error> {
        let outside = std::mem::take(&mut self.steps);
        self.list(thread, steps)?;
        let inside = std::mem::replace(&mut self.steps, outside);
        let mut nodes = Vec::new();
        unroll(&inside, 0, inside.len(), &mut nodes).map_err(|problem| Error::Step {
            process: self.process.name.clone(),
            thread: thread.name.clone(),
            problem: format!("graph {} {problem}", self.process.graphs[graph].name),
        })?;
        let body = self.script.captured.len() as u32;
        let plan = self.costs.captured(self.costs.base.graph + graph.0, body, nodes.len());
        self.plan(plan);
        self.script.captured.push(nodes);
        Ok(())
    }
}

/// The same call under another name.
fn named(name: Function, plan: Plan<Effect>) -> Plan<Effect> {
    Plan { effect: Effect { name, ..plan.effect }, ..plan }
}

/// The plans of steps `at` to `end`, in the order of their calls.
fn unroll(steps: &[Planned], mut at: usize, end: usize, nodes: &mut Vec<u32>) -> Result<(), String> {
    while at < end {
        match steps[at] {
            Planned::Call(_) if nodes.len() as u64 == MOST_NODES => {
                return Err(format!("has more than {MOST_NODES} nodes: capture less"));
            }
            Planned::Call(plan) => nodes.push(plan),
            Planned::Loop { times, end } => {
                let (start, last) = (at + 1, end as usize - 1);
                (0..times).try_for_each(|_| unroll(steps, start, last, nodes))?;
                at = last;
            }
            _ => return Err("captures a step of the host: move it out of the capture".to_owned()),
        }
        at += 1;
    }
    Ok(())
}
