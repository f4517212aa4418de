//! A thread's steps as a flat list of instructions, which need no look-up while they are executed.

use super::instruction::{
    Action, ContextCall, Effect, EventCall, GraphCall, HostEffect, Instruction, Launch, MemoryCall, Offset,
    Rows, RowsEnd, StreamCall, Transfer,
};
use super::process::Process;
use super::uses::needs_blas;
use crate::driver::Function;
use crate::kernels::{self, Argument};
use crate::wire::Note;
use std::cell::UnsafeCell;
use trace::MemoryKind;
use workload::{
    Barrier, BufferId, Call, ContextId, EventId, Kernel, Memory, Step, StreamId, StreamKind, Value,
};

/// The instructions of a thread. Not `Send`, because launches point into it.
pub struct Program {
    /// Creation of the streams and events that this thread is the first to use.
    pub setup: Vec<Instruction>,
    pub before: Vec<Instruction>,
    pub body: Vec<Instruction>,
    pub after: Vec<Instruction>,
    /// Notes on the instructions, for errors and traces.
    pub notes: Vec<Note>,
    /// Number of loops.
    pub counters: usize,
}

/// Makes the program of a thread, of a workload that was checked. Errors have their place.
pub fn compile(process: &Process, thread: usize, barriers: &[Barrier]) -> Result<Program, (String, String)> {
    let asked = &process.asked.threads[thread];
    let mut compiler = Compiler {
        process,
        barriers,
        context: asked.context,
        notes: Vec::new(),
        // Counter 0 stays 0: steps outside of loops are in their first round.
        counters: 1,
        list: Vec::new(),
        place: String::new(),
    };
    let part = |compiler: &mut Compiler<'_>, steps: &[Step], name: &str| {
        let done = compiler.steps(steps, 0, &mut vec![], name);
        done.map_err(|problem| (compiler.place.clone(), problem))?;
        Ok::<_, (String, String)>(std::mem::take(&mut compiler.list))
    };
    compiler.setup(thread);
    let setup = std::mem::take(&mut compiler.list);
    let before = part(&mut compiler, &asked.before, "before")?;
    let body = part(&mut compiler, &asked.body, "body")?;
    let after = part(&mut compiler, &asked.after, "after")?;
    let Compiler { notes, counters, .. } = compiler;
    Ok(Program { setup, before, body, after, notes, counters })
}

struct Compiler<'a> {
    process: &'a Process,
    barriers: &'a [Barrier],
    /// The thread's.
    context: ContextId,
    notes: Vec<Note>,
    counters: usize,
    list: Vec<Instruction>,
    /// The place of the current step.
    place: String,
}

type Done = Result<(), String>;

impl Compiler<'_> {
    /// Creates what this thread uses first, unless a step creates it, and loads what its steps need.
    fn setup(&mut self, thread: usize) {
        self.place = "preparation".to_owned();
        let asked = &self.process.asked;
        for (stream, asked) in (0..).map(StreamId).zip(&asked.streams) {
            if self.process.stream_users[stream] == Some(thread) && asked.kind != StreamKind::Default {
                self.within(asked.context, |compiler| compiler.create_stream(stream));
            }
        }
        for (event, asked) in (0..).map(EventId).zip(&asked.events) {
            if self.process.event_users[event] == Some(thread) {
                self.within(asked.context, |compiler| compiler.create_event(event));
            }
        }
        let own = &asked.threads[thread];
        if [&own.before, &own.body, &own.after].into_iter().any(|steps| needs_blas(steps)) {
            self.host(HostEffect::LoadBlas);
        }
    }

    /// Makes calls in a context that may not be the thread's.
    fn within(&mut self, context: ContextId, calls: impl FnOnce(&mut Self)) {
        let own = self.context;
        if context != own {
            self.action(Function::ContextSetCurrent, ContextCall::Set { context });
        }
        calls(self);
        if context != own {
            self.action(Function::ContextSetCurrent, ContextCall::Set { context: own });
        }
    }

    /// `path` is where the steps are, from the outermost list in.
    fn steps(&mut self, steps: &[Step], counter: usize, path: &mut Vec<usize>, part: &str) -> Done {
        for (at, step) in steps.iter().enumerate() {
            path.push(at + 1);
            let numbers = path.iter().map(usize::to_string).collect::<Vec<_>>();
            self.place = format!("step {} of {part}", numbers.join("."));
            match step {
                Step::Call(call) => self.call(call, counter)?,
                Step::Loop { times, steps } => self.repeat(*times, steps, path, part)?,
                Step::Capture { graph, stream, steps } => {
                    let place = self.place.clone();
                    let (graph, stream) = (*graph, *stream);
                    self.action(Function::GraphExecDestroy, GraphCall::DestroyInstance { graph });
                    self.streamed(Function::CaptureBegin, GraphCall::BeginCapture { stream }, stream);
                    self.steps(steps, counter, path, part)?;
                    self.place = place;
                    self.streamed(Function::CaptureEnd, GraphCall::EndCapture { stream }, stream);
                    self.action(Function::GraphInstantiate, GraphCall::Instantiate { graph });
                    self.action(Function::GraphDestroy, GraphCall::DestroyCaptured);
                }
            }
            path.pop();
        }
        Ok(())
    }

    fn repeat(&mut self, times: u64, steps: &[Step], path: &mut Vec<usize>, part: &str) -> Done {
        let (counter, begin) = (self.counters, self.list.len());
        self.counters += 1;
        self.push(Effect::Loop { counter, times, past: 0 }, Note::default());
        self.steps(steps, counter, path, part)?;
        self.push(Effect::Again { counter, times, first: begin + 1 }, Note::default());
        let end = self.list.len();
        if let Effect::Loop { past, .. } = &mut self.list[begin].what {
            *past = end;
        }
        Ok(())
    }

    fn call(&mut self, call: &Call, counter: usize) -> Done {
        match *call {
            Call::Allocate { buffer, stream } => self.allocate(buffer, stream)?,
            Call::Free { buffer, stream } => self.free(buffer, stream)?,
            Call::Register { buffer } => self.action(Function::HostRegister, MemoryCall::Register { buffer }),
            Call::Unregister { buffer } => {
                self.action(Function::HostUnregister, MemoryCall::Unregister { buffer });
            }
            Call::Copy { from, to, offset, bytes, stream } => {
                self.copy(from, to, Offset::new(offset, counter), bytes, stream)
            }
            Call::CopyRows { from, to, width, height, depth, from_pitch, to_pitch, stream } => {
                self.copy_rows([from, to], (width, height, depth), [from_pitch, to_pitch], stream)
            }
            Call::Fill { buffer, value, stream } => self.fill(buffer, value, stream),
            Call::Check { buffer, bytes, value } => self.host(HostEffect::Check { buffer, bytes, value }),
            Call::Launch { ref kernel, grid, block, stream } => {
                self.launch(kernel, (grid, block), stream, counter);
            }
            Call::BlasNorm { from, to, length, stream } => self.blas_norm(from, to, length, stream)?,
            Call::LaunchGraph { graph, stream } => {
                self.streamed(Function::GraphLaunch, GraphCall::Launch { graph, stream }, stream);
            }
            Call::RecordEvent { event, stream } => {
                self.streamed(Function::EventRecord, EventCall::Record { event, stream }, stream);
            }
            Call::WaitEvent { event, stream } => {
                self.streamed(Function::StreamWait, EventCall::Wait { event, stream }, stream);
            }
            Call::QueryEvent { event } => self.action(Function::EventQuery, EventCall::Query { event }),
            Call::SynchronizeEvent { event } => {
                self.action(Function::EventSynchronize, EventCall::Synchronize { event });
            }
            Call::Elapsed { from, to } => {
                self.action(Function::EventElapsed, EventCall::Elapsed { from, to })
            }
            Call::CreateEvent { event } => self.create_event(event),
            Call::DestroyEvent { event } => self.action(Function::EventDestroy, EventCall::Destroy { event }),
            Call::CreateStream { stream } => self.create_stream(stream),
            Call::DestroyStream { stream } => {
                self.streamed(Function::StreamDestroy, StreamCall::Destroy { stream }, stream);
            }
            Call::QueryStream { stream } => {
                self.streamed(Function::StreamQuery, StreamCall::Query { stream }, stream);
            }
            Call::SynchronizeStream { stream } => {
                self.streamed(Function::StreamSynchronize, StreamCall::Synchronize { stream }, stream);
            }
            Call::SynchronizeContext => self.action(Function::ContextSynchronize, ContextCall::Synchronize),
            Call::LoadModule => self.load_module(),
            Call::Sleep { ns } => self.host(HostEffect::Sleep { ns }),
            Call::Work { ns } => self.host(HostEffect::Work { ns }),
            Call::Hold { ns } => self.host(HostEffect::Hold { ns }),
            Call::Meet { barrier } => {
                let parties = self.barriers[barrier].parties;
                self.host(HostEffect::Meet { barrier: barrier.index(), parties });
            }
        }
        Ok(())
    }

    fn allocate(&mut self, buffer: BufferId, stream: Option<StreamId>) -> Done {
        let memory = self.memory(buffer);
        let function = match memory {
            Memory::Device => Function::MemAlloc,
            Memory::Pool => Function::PoolAlloc,
            Memory::Managed => Function::MemAllocManaged,
            Memory::Pinned => Function::HostAlloc,
            Memory::Pageable | Memory::Fresh => {
                self.host(HostEffect::Map { buffer, touch: memory == Memory::Pageable });
                return Ok(());
            }
        };
        self.pooled(function, memory)?;
        self.action(function, MemoryCall::Allocate { buffer, stream });
        Ok(())
    }

    fn free(&mut self, buffer: BufferId, stream: Option<StreamId>) -> Done {
        let memory = self.memory(buffer);
        let function = match memory {
            Memory::Device | Memory::Managed => Function::MemFree,
            Memory::Pool => Function::PoolFree,
            Memory::Pinned => Function::HostFree,
            Memory::Pageable | Memory::Fresh => {
                self.host(HostEffect::Unmap { buffer });
                return Ok(());
            }
        };
        self.pooled(function, memory)?;
        self.action(function, MemoryCall::Free { buffer, stream });
        Ok(())
    }

    /// Checks that the driver and the device have pools, if the memory is pool memory.
    fn pooled(&self, function: Function, memory: Memory) -> Done {
        if memory != Memory::Pool {
            return Ok(());
        }
        let table = &self.process.driver.table;
        if table.pool_alloc.is_none() || table.pool_free.is_none() {
            return Err(self.process.driver.lacks(function).to_string());
        }
        match self.process.contexts[self.context].pools {
            true => Ok(()),
            false => Err("the device has no memory pools: use device memory".to_owned()),
        }
    }

    fn copy(&mut self, from: BufferId, to: BufferId, offset: Offset, bytes: u64, stream: Option<StreamId>) {
        let asynchronous = stream.is_some();
        let copy = Transfer { from, to, offset, bytes, stream };
        let across = self.context_of(from) != self.context_of(to);
        let function = match (self.memory(from).is_host(), self.memory(to).is_host()) {
            (true, true) => return self.host(HostEffect::Copy(copy)),
            (true, false) if asynchronous => Function::CopyToDeviceAsync,
            (true, false) => Function::CopyToDevice,
            (false, true) if asynchronous => Function::CopyToHostAsync,
            (false, true) => Function::CopyToHost,
            // The driver finds the devices of both addresses.
            (false, false) if across && asynchronous => Function::CopyAsync,
            (false, false) if across => Function::Copy,
            (false, false) if asynchronous => Function::CopyWithinAsync,
            (false, false) => Function::CopyWithin,
        };
        let memory = Some([from, to].map(|buffer| kind(self.memory(buffer)).name().to_owned()).into());
        let note = Note { bytes, memory, stream: stream.map(|stream| stream.0), ..Note::default() };
        self.push(Effect::Call(function, Action::Copy(copy)), note);
    }

    fn copy_rows(
        &mut self,
        ends: [BufferId; 2],
        (width, height, depth): (u64, u64, Option<u64>),
        [from_pitch, to_pitch]: [u64; 2],
        stream: StreamId,
    ) {
        let end = |buffer: BufferId, pitch: u64| RowsEnd {
            buffer,
            is_host: self.memory(buffer).is_host(),
            pitch: pitch as usize,
        };
        let [from, to] = [end(ends[0], from_pitch), end(ends[1], to_pitch)];
        let function = if depth.is_some() { Function::CopySlices } else { Function::CopyRows };
        let bytes = width.saturating_mul(height).saturating_mul(depth.unwrap_or(1));
        let depth = depth.map(|depth| depth as usize);
        let rows = Rows { from, to, width: width as usize, height: height as usize, depth, stream };
        let memory = Some(ends.map(|buffer| kind(self.memory(buffer)).name().to_owned()).into());
        let note = Note { bytes, memory, stream: Some(stream.0), ..Note::default() };
        self.push(Effect::Call(function, Action::CopyRows(rows)), note);
    }

    fn fill(&mut self, buffer: BufferId, value: Value, stream: Option<StreamId>) {
        let word = match value {
            Value::Int(value) => value as u32,
            Value::Float(value) => value.to_bits(),
        };
        let Some(stream) = stream else {
            return self.host(HostEffect::Fill { buffer, word });
        };
        let bytes = self.process.asked.buffers[buffer].bytes;
        let memory = Some((String::new(), kind(self.memory(buffer)).name().to_owned()));
        let note = Note { bytes, memory, stream: Some(stream.0), ..Note::default() };
        self.push(Effect::Call(Function::Fill, Action::Fill { buffer, word, stream }), note);
    }

    fn launch(&mut self, kernel: &Kernel, (grid, block): (u32, u32), stream: StreamId, counter: usize) {
        let (code, asked) = kernels::prepare(kernel, |by| self.memory(by).is_host());
        let kernel = self.process.contexts[self.context].kernels[code as usize];
        let (mut buffers, mut changing, mut on_host) = (Vec::new(), Vec::new(), Vec::new());
        let numbers: Box<[_]> = asked.iter().map(|_| UnsafeCell::new(0)).collect();
        let mut arguments = Vec::new();
        for (at, argument) in asked.iter().enumerate() {
            arguments.push(UnsafeCell::new(match *argument {
                Argument::Buffer(buffer) => {
                    buffers.push(buffer);
                    self.process.buffers[buffer].address.as_ptr().cast()
                }
                Argument::OnHost(buffer) => {
                    on_host.push((at, buffer));
                    std::ptr::null_mut()
                }
                Argument::Number(number) => {
                    changing.push((at, Offset::new(number, counter)));
                    numbers[at].get().cast()
                }
            }));
        }
        changing.retain(|(at, offset)| {
            // SAFETY: nothing else refers to the launch yet.
            unsafe { *numbers[*at].get() = offset.first };
            offset.each != 0
        });
        let (buffers, changing, on_host) = (buffers.into(), changing.into(), on_host.into());
        let arguments = arguments.into();
        let launch = Launch { kernel, grid, block, stream, buffers, arguments, numbers, changing, on_host };
        self.streamed(Function::Launch, Action::Launch(launch), stream);
    }

    fn blas_norm(&mut self, from: BufferId, to: BufferId, length: u32, stream: StreamId) -> Done {
        let length = i32::try_from(length)
            .map_err(|_| "the norm has too many floats: use a shorter vector".to_owned())?;
        self.streamed(Function::BlasNorm, Action::BlasNorm { from, to, length, stream }, stream);
        Ok(())
    }

    /// Loads a module, and unloads it.
    fn load_module(&mut self) {
        self.action(Function::ModuleLoad, ContextCall::LoadModule);
        self.action(Function::ModuleUnload, ContextCall::UnloadModule);
    }

    fn create_stream(&mut self, stream: StreamId) {
        let non_blocking = self.process.asked.streams[stream].kind == StreamKind::NonBlocking;
        let flags = if non_blocking { crate::driver::NON_BLOCKING } else { 0 };
        self.streamed(Function::StreamCreate, StreamCall::Create { stream, flags }, stream);
    }

    fn create_event(&mut self, event: EventId) {
        let flags = if self.process.asked.events[event].timing { 0 } else { crate::driver::DISABLE_TIMING };
        self.action(Function::EventCreate, EventCall::Create { event, flags });
    }

    fn memory(&self, buffer: BufferId) -> Memory {
        self.process.asked.buffers[buffer].memory
    }

    fn context_of(&self, buffer: BufferId) -> ContextId {
        self.process.asked.buffers[buffer].context
    }

    fn host(&mut self, deed: HostEffect) {
        self.push(Effect::Host(deed), Note::default());
    }

    fn action(&mut self, function: Function, action: impl Into<Action>) {
        self.push(Effect::Call(function, action.into()), Note::default());
    }

    fn streamed(&mut self, function: Function, action: impl Into<Action>, stream: StreamId) {
        let note = Note { stream: Some(stream.0), ..Note::default() };
        self.push(Effect::Call(function, action.into()), note);
    }

    fn push(&mut self, what: Effect, note: Note) {
        let function = match &what {
            Effect::Call(function, _) => Some(*function as u8),
            _ => None,
        };
        let row = self.notes.len() as u32;
        self.notes.push(Note { function, place: self.place.clone(), ..note });
        self.list.push(Instruction { what, note: row });
    }
}

/// CUPTI's word for a kind of memory.
fn kind(memory: Memory) -> MemoryKind {
    match memory {
        Memory::Device | Memory::Pool => MemoryKind::Device,
        Memory::Managed => MemoryKind::Managed,
        Memory::Pinned => MemoryKind::Pinned,
        Memory::Pageable | Memory::Fresh => MemoryKind::Pageable,
    }
}
