//! Makes a [`Program`] of a workload and a model.

use crate::calls::{Base, Costs, at_most};
use crate::functions::Function;
use crate::plan::{BufferPlan, ContextPlan, NONE, Program, StreamPlan, ThreadPlan};
use crate::plan::{Plan, Step as Planned};
use crate::{Error, Model, Scope};
use workload::{Call, Memory, Process, Step, StreamKind, Thread, Workload};

/// The most nodes of a graph.
const MOST_NODES: u64 = 1_000_000;

/// The processes, contexts and streams of a workload, without the steps of its threads.
///
/// # Errors
/// The model has no such device, or no MPS.
pub(crate) fn places(workload: &Workload, model: &Model) -> Result<Program, Error> {
    let mut program = empty(workload, model)?;
    flatten(workload, model, &mut program)?;
    Ok(program)
}

fn empty(workload: &Workload, model: &Model) -> Result<Program, Error> {
    if workload.mps && !model.sharing.mps {
        return Err(Error::NoMps { model: model.name.clone() });
    }
    let unset = if workload.mps { model.connections.mps } else { model.connections.default };
    Ok(Program {
        plans: Vec::new(),
        kernels: Vec::new(),
        contexts: Vec::new(),
        streams: Vec::new(),
        buffers: Vec::new(),
        events: 0,
        graphs: 0,
        captured: Vec::new(),
        threads: Vec::new(),
        signals: 0,
        connections: workload.connections.unwrap_or(unset).clamp(1, model.connections.most),
        groups: vec![u32::from(workload.mps); model.device.count as usize],
    })
}

/// Flattens `workload`, with the costs of `model`.
///
/// # Errors
/// The model has no such device, no MPS or no cuBLAS, or a graph is too large.
pub(crate) fn compile(workload: &Workload, model: &Model) -> Result<Program, Error> {
    let mut program = empty(workload, model)?;
    if needs_blas(workload) {
        return Err(Error::NoBlas { model: model.name.clone() });
    }
    let bases = flatten(workload, model, &mut program)?;
    let contexts = std::mem::take(&mut program.contexts);
    for (number, process) in workload.processes.iter().enumerate() {
        let created = Created::by(process);
        for row in 0..process.threads.len() {
            let base = bases[number];
            let costs = |thread: &Thread| Costs {
                model,
                process,
                base,
                contexts: &contexts,
                context: base.context + thread.context.0,
            };
            let thread = &process.threads[row];
            let (program, number) = (&mut program, number as u32);
            Compiler { costs: costs(thread), process, number, program, steps: Vec::new() }
                .thread(thread, &created.at(row))?;
        }
    }
    program.contexts = contexts;
    Ok(program)
}

fn flatten(workload: &Workload, model: &Model, program: &mut Program) -> Result<Vec<Base>, Error> {
    let mut bases = Vec::new();
    for (number, process) in workload.processes.iter().enumerate() {
        let base = Base {
            context: program.contexts.len() as u32,
            stream: program.streams.len() as u32,
            event: program.events as u32,
            buffer: program.buffers.len() as u32,
            graph: program.graphs as u32,
        };
        for context in &process.contexts {
            let Some(groups) = program.groups.get_mut(context.device as usize) else {
                return Err(no_device(process, context.device, model));
            };
            let group = if workload.mps { 0 } else { *groups };
            *groups += u32::from(!workload.mps);
            let row = program.contexts.len() as u32;
            let mutex = if model.locks.mutex_of == Scope::Process { base.context } else { row };
            program.contexts.push(ContextPlan {
                process: number as u32,
                device: context.device,
                primary: context.primary,
                group,
                default_stream: NONE,
                mutex,
            });
        }
        let streams = process.streams.iter();
        let stream = |stream: &workload::Stream| StreamPlan {
            context: base.context + stream.context.0,
            kind: stream.kind,
        };
        program.streams.extend(streams.map(stream));
        let touched = |memory| memory == Memory::Pinned;
        let buffer = |row: &workload::Buffer| BufferPlan { bytes: row.bytes, touched: touched(row.memory) };
        program.buffers.extend(process.buffers.iter().map(buffer));
        program.events += process.events.len();
        program.graphs += process.graphs.len();
        bases.push(base);
    }
    for context in 0..program.contexts.len() {
        program.contexts[context].default_stream = program.streams.len() as u32;
        program.streams.push(StreamPlan { context: context as u32, kind: StreamKind::Default });
    }
    Ok(bases)
}

fn no_device(process: &Process, device: u32, model: &Model) -> Error {
    let count = match model.device.count {
        1 => "1 device, 0".to_owned(),
        count => format!("{count} devices, 0 to {}", count - 1),
    };
    Error::NoDevice { process: process.name.clone(), device, model: model.name.clone(), count }
}

/// The thread that creates each stream and event: the first that uses it, unless a step creates it.
struct Created {
    streams: Vec<u32>,
    events: Vec<u32>,
}

/// Streams and events that one thread creates: rows of its process.
struct Creates {
    streams: Vec<u32>,
    events: Vec<u32>,
}

impl Created {
    fn by(process: &Process) -> Created {
        let mut streams = vec![NONE; process.streams.len()];
        let mut events = vec![NONE; process.events.len()];
        let mut explicit = (vec![false; streams.len()], vec![false; events.len()]);
        for (row, thread) in process.threads.iter().enumerate() {
            let first = |creator: &mut u32| *creator = (*creator).min(row as u32);
            for steps in [&thread.before, &thread.body, &thread.after] {
                each_call(steps, &mut |call| {
                    let (stream, event) = used(call);
                    stream.into_iter().for_each(|stream| first(&mut streams[stream.index()]));
                    event.into_iter().for_each(|event| first(&mut events[event.index()]));
                    match call {
                        Call::CreateStream { stream } => explicit.0[stream.index()] = true,
                        Call::CreateEvent { event } => explicit.1[event.index()] = true,
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
        Created { streams, events }
    }

    fn at(&self, thread: usize) -> Creates {
        let rows = |creators: &[u32]| {
            (0u32..).zip(creators).filter(|(_, by)| **by == thread as u32).map(|(row, _)| row).collect()
        };
        Creates { streams: rows(&self.streams), events: rows(&self.events) }
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
        Call::CopyRows { stream, .. } | Call::BlasNorm { stream, .. } => (Some(stream), None),
        // A thread that measures between two events does not create them: another thread, or an earlier step, records them.
        Call::Launch { stream, .. }
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
        _ => (None, None),
    }
}

struct Compiler<'a> {
    costs: Costs<'a>,
    process: &'a Process,
    number: u32,
    program: &'a mut Program,
    steps: Vec<Planned>,
}

impl Compiler<'_> {
    fn thread(mut self, thread: &Thread, creates: &Creates) -> Result<(), Error> {
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
        self.program.threads.push(ThreadPlan {
            process: self.number,
            delay_ns: at_most(thread.delay_ns),
            repeat: thread.repeat,
            steps: self.steps,
            body,
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
        let buffer = |row: workload::BufferId| &process.buffers[row.index()];
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
            Call::LoadModule => {
                let plans = costs.module();
                plans.into_iter().for_each(|plan| self.plan(plan));
            }
            Call::Launch { ref kernel, grid, block, stream } => {
                let kernel = costs.kernel(kernel, grid, block);
                let plan = costs.launch(stream, self.program.kernels.len() as u32);
                self.program.kernels.push(kernel);
                self.plan(plan);
            }
            Call::CopyRows { from, to, width, height, depth, stream, .. } => {
                let registered = self.program.plans.len() as u32;
                let bytes = width.saturating_mul(height).saturating_mul(depth.unwrap_or(1));
                let name = if depth.is_some() { Function::Copy3d } else { Function::Copy2d };
                let (pinned, pageable) = costs.copy(from, to, bytes, Some(stream), registered);
                self.program.plans.push(Plan { name, ..pinned });
                match pageable {
                    Some(pageable) => self.plan(Plan { name, ..pageable }),
                    None => self.steps.push(Planned::Call(registered)),
                }
            }
            Call::Copy { from, to, bytes, stream, .. } => {
                let registered = self.program.plans.len() as u32;
                let (pinned, pageable) = costs.copy(from, to, bytes, stream, registered);
                self.program.plans.push(pinned);
                match pageable {
                    Some(pageable) => self.plan(pageable),
                    None => self.steps.push(Planned::Call(registered)),
                }
            }
            ref other => {
                let plan = costs.other(other);
                self.plan(plan);
            }
        }
    }

    fn plan(&mut self, plan: Plan) {
        self.steps.push(Planned::Call(self.program.plans.len() as u32));
        self.program.plans.push(plan);
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
            problem: format!("graph {} {problem}", self.process.graphs[graph.index()].name),
        })?;
        let body = self.program.captured.len() as u32;
        let plan = self.costs.captured(self.costs.base.graph + graph.0, body, nodes.len());
        self.plan(plan);
        self.program.captured.push(nodes);
        Ok(())
    }
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
