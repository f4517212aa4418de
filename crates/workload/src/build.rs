//! Makes a [`Workload`] in Rust read like the experiment it describes.
//!
//! There is no builder to finish: a [`Workload`] is complete at every moment, and these methods add rows to its
//! lists. Each gives the row's id, which is `Copy`, or what was added, to add to it in turn.

use std::time::Duration;

use crate::model::*;

impl Workload {
    /// A workload without processes. `mps`, `connections`, `schedule`, `affinity` and `loading` are fields to set.
    ///
    /// ```
    /// use workload::{Kernel, Memory, Repeat, StreamKind, Workload};
    ///
    /// let mut workload = Workload::new("launch-stall");
    /// let process = workload.process("main");
    /// let context = process.primary(0);
    /// let stream = process.stream("s", context, StreamKind::NonBlocking);
    /// let device = process.buffer("device", context, Memory::Device, 256 << 20);
    /// let host = process.buffer("host", context, Memory::Pageable, 256 << 20);
    ///
    /// let copier = process.thread("A", context);
    /// copier.before().allocate(device).allocate(host);
    /// copier.body().copy(device, host, 256 << 20, stream);
    /// copier.after().free(host).free(device);
    /// copier.repeat = Repeat::Times(10);
    ///
    /// let launcher = process.thread("B", context);
    /// launcher.body().repeat(1000, |steps| {
    ///     steps.launch(Kernel::Empty, 1, 32, stream);
    /// });
    /// launcher.repeat = Repeat::WhileOthers;
    /// ```
    pub fn new(name: impl Into<String>) -> Workload {
        Workload {
            name: name.into(),
            mps: false,
            connections: None,
            schedule: Schedule::Auto,
            affinity: Affinity::Any,
            loading: None,
            processes: Vec::new(),
            barriers: Vec::new(),
        }
    }

    /// Adds a process.
    pub fn process(&mut self, name: impl Into<String>) -> &mut Process {
        self.processes.push(Process {
            name: name.into(),
            contexts: Vec::new(),
            streams: Vec::new(),
            events: Vec::new(),
            buffers: Vec::new(),
            graphs: Vec::new(),
            threads: Vec::new(),
        });
        self.processes.last_mut().expect("one was just added")
    }

    /// Adds a barrier for `parties` threads.
    pub fn barrier(&mut self, name: impl Into<String>, parties: u32) -> BarrierId {
        BarrierId(add(&mut self.barriers, Barrier { name: name.into(), parties }))
    }
}

impl Process {
    /// The device's primary context, the same at every call.
    pub fn primary(&mut self, device: u32) -> ContextId {
        let primary = Context { device, primary: true };
        match self.contexts.iter().position(|context| *context == primary) {
            Some(row) => ContextId(row as u32),
            None => ContextId(add(&mut self.contexts, primary)),
        }
    }

    /// Adds another context on the device (`cuCtxCreate`).
    pub fn own_context(&mut self, device: u32) -> ContextId {
        ContextId(add(&mut self.contexts, Context { device, primary: false }))
    }

    /// Adds a stream. For the default stream use [`Process::default_stream`].
    pub fn stream(&mut self, name: impl Into<String>, context: ContextId, kind: StreamKind) -> StreamId {
        StreamId(add(&mut self.streams, Stream { name: name.into(), context, kind }))
    }

    /// The context's legacy default stream, the same at every call. Its name is `default`, for further contexts followed by the
    /// context's row.
    pub fn default_stream(&mut self, context: ContextId) -> StreamId {
        let is_it = |stream: &Stream| stream.context == context && stream.kind == StreamKind::Default;
        match (self.streams.iter().position(is_it), context) {
            (Some(row), _) => StreamId(row as u32),
            (None, ContextId(0)) => self.stream("default", context, StreamKind::Default),
            (None, ContextId(row)) => self.stream(format!("default{row}"), context, StreamKind::Default),
        }
    }

    /// Adds an event that does not keep its time.
    pub fn event(&mut self, name: impl Into<String>, context: ContextId) -> EventId {
        EventId(add(&mut self.events, Event { name: name.into(), context, timing: false }))
    }

    /// Adds an event that keeps its time.
    pub fn timing_event(&mut self, name: impl Into<String>, context: ContextId) -> EventId {
        EventId(add(&mut self.events, Event { name: name.into(), context, timing: true }))
    }

    /// Adds a buffer of `bytes`. A thread must still [`Steps::allocate`] it.
    pub fn buffer(
        &mut self,
        name: impl Into<String>,
        context: ContextId,
        memory: Memory,
        bytes: u64,
    ) -> BufferId {
        BufferId(add(&mut self.buffers, Buffer { name: name.into(), context, memory, bytes }))
    }

    /// Adds a graph. A thread must still [`Steps::capture`] it.
    pub fn graph(&mut self, name: impl Into<String>) -> GraphId {
        GraphId(add(&mut self.graphs, Graph { name: name.into() }))
    }

    /// Adds a thread that runs its body once, released with the others: `repeat` and `delay_ns` are fields to set.
    pub fn thread(&mut self, name: impl Into<String>, context: ContextId) -> &mut Thread {
        self.threads.push(Thread {
            name: name.into(),
            context,
            delay_ns: 0,
            before: Vec::new(),
            body: Vec::new(),
            repeat: Repeat::Times(1),
            after: Vec::new(),
        });
        self.threads.last_mut().expect("one was just added")
    }
}

/// Adds a row to a list and gives its number.
fn add<T>(list: &mut Vec<T>, row: T) -> u32 {
    let number = u32::try_from(list.len()).expect("fewer than 2^32 rows");
    list.push(row);
    number
}

impl Thread {
    /// Adds steps before the timed ones.
    pub fn before(&mut self) -> Steps<'_> {
        Steps { list: &mut self.before }
    }

    /// Adds timed steps.
    pub fn body(&mut self) -> Steps<'_> {
        Steps { list: &mut self.body }
    }

    /// Adds steps after the timed ones.
    pub fn after(&mut self) -> Steps<'_> {
        Steps { list: &mut self.after }
    }
}

impl Repeat {
    /// [`Repeat::For`] this long.
    pub fn lasting(time: Duration) -> Repeat {
        Repeat::For(nanoseconds(time))
    }
}

impl Number {
    /// `first`, and `each` more in every round.
    pub fn index(first: u64, each: u64) -> Number {
        Number::Index { first, each }
    }
}

impl From<u64> for Number {
    fn from(number: u64) -> Number {
        Number::Is(number)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Value {
        Value::Int(value)
    }
}

impl From<f32> for Value {
    fn from(value: f32) -> Value {
        Value::Float(value)
    }
}

/// A list of steps to add to, of a thread or of a step inside. Every method adds one step at the end.
pub struct Steps<'a> {
    list: &'a mut Vec<Step>,
}

impl Steps<'_> {
    /// Any step.
    pub fn push(&mut self, step: Step) -> &mut Self {
        self.list.push(step);
        self
    }

    /// Any call.
    pub fn call(&mut self, call: Call) -> &mut Self {
        self.push(Step::Call(call))
    }

    /// Adds a loop of the steps that `inner` adds.
    pub fn repeat(&mut self, times: u64, inner: impl FnOnce(&mut Steps<'_>)) -> &mut Self {
        let steps = list(inner);
        self.push(Step::Loop { times, steps })
    }

    /// Adds a capture of the steps that `inner` adds.
    pub fn capture(
        &mut self,
        graph: GraphId,
        stream: StreamId,
        inner: impl FnOnce(&mut Steps<'_>),
    ) -> &mut Self {
        let steps = list(inner);
        self.push(Step::Capture { graph, stream, steps })
    }

    /// Allocates a buffer of any memory except [`Memory::Pool`].
    pub fn allocate(&mut self, buffer: BufferId) -> &mut Self {
        self.call(Call::Allocate { buffer, stream: None })
    }

    /// Allocates a buffer of [`Memory::Pool`] in the order of a stream.
    pub fn allocate_on(&mut self, buffer: BufferId, stream: StreamId) -> &mut Self {
        self.call(Call::Allocate { buffer, stream: Some(stream) })
    }

    /// Frees a buffer of any memory except [`Memory::Pool`].
    pub fn free(&mut self, buffer: BufferId) -> &mut Self {
        self.call(Call::Free { buffer, stream: None })
    }

    /// Frees a buffer of [`Memory::Pool`] in the order of a stream.
    pub fn free_on(&mut self, buffer: BufferId, stream: StreamId) -> &mut Self {
        self.call(Call::Free { buffer, stream: Some(stream) })
    }

    /// Page-locks a pageable buffer where it lies.
    pub fn register(&mut self, buffer: BufferId) -> &mut Self {
        self.call(Call::Register { buffer })
    }

    /// Undoes [`Steps::register`].
    pub fn unregister(&mut self, buffer: BufferId) -> &mut Self {
        self.call(Call::Unregister { buffer })
    }

    /// Copies the first `bytes`, asynchronously.
    pub fn copy(&mut self, from: BufferId, to: BufferId, bytes: u64, stream: StreamId) -> &mut Self {
        self.copy_part(from, to, 0, bytes, stream)
    }

    /// Copies `bytes` from `offset` on, asynchronously.
    pub fn copy_part(
        &mut self,
        from: BufferId,
        to: BufferId,
        offset: impl Into<Number>,
        bytes: u64,
        stream: StreamId,
    ) -> &mut Self {
        self.call(Call::Copy { from, to, offset: offset.into(), bytes, stream: Some(stream) })
    }

    /// Copies the first `bytes` and waits; between two host buffers the thread copies.
    pub fn copy_blocking(&mut self, from: BufferId, to: BufferId, bytes: u64) -> &mut Self {
        self.copy_part_blocking(from, to, 0, bytes)
    }

    /// Copies `bytes` from `offset` on, and waits; between two host buffers the thread copies.
    pub fn copy_part_blocking(
        &mut self,
        from: BufferId,
        to: BufferId,
        offset: impl Into<Number>,
        bytes: u64,
    ) -> &mut Self {
        self.call(Call::Copy { from, to, offset: offset.into(), bytes, stream: None })
    }

    /// Fills a host buffer, on the host.
    pub fn fill(&mut self, buffer: BufferId, value: impl Into<Value>) -> &mut Self {
        self.call(Call::Fill { buffer, value: value.into(), stream: None })
    }

    /// Fills a buffer on the device.
    pub fn fill_on(&mut self, buffer: BufferId, value: impl Into<Value>, stream: StreamId) -> &mut Self {
        self.call(Call::Fill { buffer, value: value.into(), stream: Some(stream) })
    }

    /// Compares the elements of a host buffer's first `bytes` with a value.
    pub fn check(&mut self, buffer: BufferId, bytes: u64, value: impl Into<Value>) -> &mut Self {
        self.call(Call::Check { buffer, bytes, value: value.into() })
    }

    /// Launches a kernel of `grid` blocks of `block` threads.
    pub fn launch(&mut self, kernel: Kernel, grid: u32, block: u32, stream: StreamId) -> &mut Self {
        self.call(Call::Launch { kernel, grid, block, stream })
    }

    /// Has cuBLAS compute the 2-norm of floats.
    pub fn blas_norm(&mut self, from: BufferId, to: BufferId, length: u32, stream: StreamId) -> &mut Self {
        self.call(Call::BlasNorm { from, to, length, stream })
    }

    /// Launches a graph.
    pub fn launch_graph(&mut self, graph: GraphId, stream: StreamId) -> &mut Self {
        self.call(Call::LaunchGraph { graph, stream })
    }

    /// Records an event in a stream.
    pub fn record(&mut self, event: EventId, stream: StreamId) -> &mut Self {
        self.call(Call::RecordEvent { event, stream })
    }

    /// Has a stream wait for an event.
    pub fn wait(&mut self, event: EventId, stream: StreamId) -> &mut Self {
        self.call(Call::WaitEvent { event, stream })
    }

    /// Asks whether an event has happened.
    pub fn query_event(&mut self, event: EventId) -> &mut Self {
        self.call(Call::QueryEvent { event })
    }

    /// Waits for an event.
    pub fn synchronize_event(&mut self, event: EventId) -> &mut Self {
        self.call(Call::SynchronizeEvent { event })
    }

    /// Measures the time between two events that keep it.
    pub fn elapsed(&mut self, from: EventId, to: EventId) -> &mut Self {
        self.call(Call::Elapsed { from, to })
    }

    /// Asks whether a stream is done.
    pub fn query(&mut self, stream: StreamId) -> &mut Self {
        self.call(Call::QueryStream { stream })
    }

    /// Waits for a stream.
    pub fn synchronize(&mut self, stream: StreamId) -> &mut Self {
        self.call(Call::SynchronizeStream { stream })
    }

    /// Waits for everything in the thread's context.
    pub fn synchronize_context(&mut self) -> &mut Self {
        self.call(Call::SynchronizeContext)
    }

    /// Creates a stream that did not exist until here.
    pub fn create_stream(&mut self, stream: StreamId) -> &mut Self {
        self.call(Call::CreateStream { stream })
    }

    /// Destroys a stream.
    pub fn destroy_stream(&mut self, stream: StreamId) -> &mut Self {
        self.call(Call::DestroyStream { stream })
    }

    /// Creates an event that did not exist until here.
    pub fn create_event(&mut self, event: EventId) -> &mut Self {
        self.call(Call::CreateEvent { event })
    }

    /// Destroys an event.
    pub fn destroy_event(&mut self, event: EventId) -> &mut Self {
        self.call(Call::DestroyEvent { event })
    }

    /// Loads and unloads a module.
    pub fn load_module(&mut self) -> &mut Self {
        self.call(Call::LoadModule)
    }

    /// Sleeps.
    pub fn sleep(&mut self, time: Duration) -> &mut Self {
        self.call(Call::Sleep { ns: nanoseconds(time) })
    }

    /// Computes on the host.
    pub fn work(&mut self, time: Duration) -> &mut Self {
        self.call(Call::Work { ns: nanoseconds(time) })
    }

    /// Computes on the host with the process's lock.
    pub fn hold(&mut self, time: Duration) -> &mut Self {
        self.call(Call::Hold { ns: nanoseconds(time) })
    }

    /// Waits for others.
    pub fn meet(&mut self, barrier: BarrierId) -> &mut Self {
        self.call(Call::Meet { barrier })
    }
}

/// The steps that `fill` adds to an empty list.
fn list(fill: impl FnOnce(&mut Steps<'_>)) -> Vec<Step> {
    let mut list = Vec::new();
    fill(&mut Steps { list: &mut list });
    list
}

/// All of them, or as many as there is room for: 584 years.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
