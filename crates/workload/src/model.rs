//! The nouns of a Workload.

/// Work that a set of processes asks of its GPUs.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Workload {
    /// A short name, as in `launch-stall`.
    pub name: String,
    /// Whether the processes are clients of their own MPS server.
    pub mps: bool,
    /// `CUDA_DEVICE_MAX_CONNECTIONS` of every process; `None` leaves it unset.
    pub connections: Option<u32>,
    /// How threads wait for a device, in every primary context.
    pub schedule: Schedule,
    /// Which processors threads may run on.
    pub affinity: Affinity,
    /// `CUDA_MODULE_LOADING` of every process; `None` leaves it unset.
    pub loading: Option<Loading>,
    /// The processes, all started before any thread is released.
    pub processes: Vec<Process>,
    /// Barriers for threads of any processes.
    pub barriers: Vec<Barrier>,
}

/// How a thread waits for a device (`CU_CTX_SCHED_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Schedule {
    /// The driver chooses: it spins if there are more processors than contexts, and yields otherwise.
    #[default]
    Auto,
    /// It polls (`CU_CTX_SCHED_SPIN`).
    Spin,
    /// It yields the processor between two polls (`CU_CTX_SCHED_YIELD`).
    Yield,
    /// It sleeps until the device has finished (`CU_CTX_SCHED_BLOCKING_SYNC`).
    Blocking,
}

/// Which processors a thread may run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Affinity {
    /// All that the program may use.
    #[default]
    Any,
    /// Processors of the NUMA node closest to its GPU.
    Node,
}

/// When a driver loads kernels (`CUDA_MODULE_LOADING`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Loading {
    /// At their first use.
    Lazy,
    /// With their module.
    Eager,
}

/// A barrier: threads that meet at it continue when `parties` of them have arrived.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Barrier {
    /// Its name in the text form.
    pub name: String,
    /// The number of threads that meet.
    pub parties: u32,
}

/// One process: what its threads share, and the threads.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Process {
    /// Its name in the text form and in the Trace.
    pub name: String,
    /// The contexts its threads use, created in this order before the threads start.
    pub contexts: Vec<Context>,
    /// Streams, created by the first thread that uses them, before its `before` calls, except those of [`Call::CreateStream`].
    pub streams: Vec<Stream>,
    /// Events, created like streams.
    pub events: Vec<Event>,
    /// Buffers, which [`Call::Allocate`] allocates.
    pub buffers: Vec<Buffer>,
    /// Graphs, which [`Step::Capture`] captures.
    pub graphs: Vec<Graph>,
    /// The host threads.
    pub threads: Vec<Thread>,
}

/// A CUDA context.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Context {
    /// The device's ordinal, as the process sees it.
    pub device: u32,
    /// Whether it is the device's primary context, which the runtime API uses; else it is created with `cuCtxCreate`.
    pub primary: bool,
}

/// A stream.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stream {
    /// Its name in the text form.
    pub name: String,
    /// The context it belongs to.
    pub context: ContextId,
    /// Its kind.
    pub kind: StreamKind,
}

/// Waits of a stream besides its own work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum StreamKind {
    /// The context's legacy default stream, which waits for every blocking stream of its context and makes those wait.
    Default,
    /// Synchronizes with the default stream (`CU_STREAM_DEFAULT`).
    Blocking,
    /// Does not synchronize with the default stream (`CU_STREAM_NON_BLOCKING`).
    NonBlocking,
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Event {
    /// Its name in the text form.
    pub name: String,
    /// The context it belongs to.
    pub context: ContextId,
    /// Whether it keeps the time of its record, which `cuEventElapsedTime` needs.
    pub timing: bool,
}

/// A buffer: memory that a thread allocates, uses and frees, possibly many times.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Buffer {
    /// Its name in the text form.
    pub name: String,
    /// The context it belongs to.
    pub context: ContextId,
    /// Its memory.
    pub memory: Memory,
    /// Its size.
    pub bytes: u64,
}

/// Where a buffer lies and how it is had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Memory {
    /// Device memory (`cuMemAlloc`).
    Device,
    /// Device memory from the device's default pool, in stream order (`cuMemAllocAsync`).
    Pool,
    /// Managed memory (`cuMemAllocManaged`).
    Managed,
    /// Page-locked host memory (`cuMemHostAlloc`).
    Pinned,
    /// Pageable host memory, touched when it is allocated.
    Pageable,
    /// Pageable host memory, never touched: the first copy into it has its page faults.
    Fresh,
}

impl Memory {
    /// Whether it is host memory.
    pub fn is_host(self) -> bool {
        matches!(self, Memory::Pinned | Memory::Pageable | Memory::Fresh)
    }
}

/// A graph.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Graph {
    /// Its name in the text form.
    pub name: String,
}

/// A host thread. It makes the calls of `before`, waits until every thread of the workload has, makes those of `body`
/// again and again, and then those of `after`. What is timed is the body.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Thread {
    /// Its name in the text form and in the Trace.
    pub name: String,
    /// Its current context.
    pub context: ContextId,
    /// The delay of its release after that of the others, ns.
    pub delay_ns: u64,
    /// Preparation: allocations, first uses, warm-up. Not timed.
    pub before: Vec<Step>,
    /// The timed steps.
    pub body: Vec<Step>,
    /// How often the body runs.
    pub repeat: Repeat,
    /// Checks and frees. Not timed.
    pub after: Vec<Step>,
}

/// How often a thread does its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Repeat {
    /// This many times.
    Times(u64),
    /// Until this long after the thread's release; a body that has begun is finished.
    For(u64),
    /// Until every thread with another repeat has finished its bodies.
    WhileOthers,
}

/// A step of a thread.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Step {
    /// One call.
    Call(Call),
    /// Steps that run `times` times; inside, [`Number::Index`] counts from 0.
    Loop {
        /// How often.
        times: u64,
        /// The repeated steps.
        steps: Vec<Step>,
    },
    /// Steps recorded into a graph instead of run (`cuStreamBeginCapture` in thread-local mode, instantiated at once).
    Capture {
        /// The graph.
        graph: GraphId,
        /// The stream whose calls are captured.
        stream: StreamId,
        /// The captured steps: copies, fills, launches, event records, stream waits, and loops of them.
        steps: Vec<Step>,
    },
}

/// A call a thread makes, or something it does on the host.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Call {
    /// Allocates the buffer: `cuMemAlloc`, `cuMemHostAlloc`, … by its [`Memory`]; `stream` for [`Memory::Pool`].
    Allocate {
        /// The buffer.
        buffer: BufferId,
        /// The stream in whose order the memory is allocated: needed for pool memory, not allowed for other memory.
        stream: Option<StreamId>,
    },
    /// Frees the buffer, as it was allocated.
    Free {
        /// The buffer.
        buffer: BufferId,
        /// As for [`Call::Allocate`].
        stream: Option<StreamId>,
    },
    /// Page-locks a pageable buffer in place (`cuMemHostRegister`).
    Register {
        /// The buffer.
        buffer: BufferId,
    },
    /// Undoes [`Call::Register`].
    Unregister {
        /// The buffer.
        buffer: BufferId,
    },
    /// Copies `bytes` from an offset in one buffer to the same offset in another. The buffers' memory gives the direction.
    Copy {
        /// Source.
        from: BufferId,
        /// Destination.
        to: BufferId,
        /// The offset in both buffers.
        offset: Number,
        /// Number of bytes.
        bytes: u64,
        /// The stream of an asynchronous copy; `None` for blocking copies such as `cuMemcpyDtoH`.
        stream: Option<StreamId>,
    },
    /// Copies rows of `width` bytes from the start of one buffer to another (`cuMemcpy2DAsync`), or slices of such rows
    /// (`cuMemcpy3DAsync`). One of the buffers is a device's.
    CopyRows {
        /// Source.
        from: BufferId,
        /// Destination.
        to: BufferId,
        /// Bytes of a row.
        width: u64,
        /// Rows per slice.
        height: u64,
        /// Slices; `None` for the copy of two dimensions.
        depth: Option<u64>,
        /// From one row of the source to the next, bytes; slices follow without a gap.
        from_pitch: u64,
        /// The same of the destination.
        to_pitch: u64,
        /// The stream.
        stream: StreamId,
    },
    /// Fills the buffer with one value: on the host for host memory, `cuMemsetD32Async` for a device's.
    Fill {
        /// The buffer.
        buffer: BufferId,
        /// The value of each 32-bit element.
        value: Value,
        /// The stream, for device memory.
        stream: Option<StreamId>,
    },
    /// Compares every element of a host buffer's first `bytes` with a value; the largest difference is the thread's error.
    Check {
        /// The buffer.
        buffer: BufferId,
        /// How much of it.
        bytes: u64,
        /// The expected value of each 32-bit element.
        value: Value,
    },
    /// Launches a kernel (`cuLaunchKernel`).
    Launch {
        /// The kernel with its arguments.
        kernel: Kernel,
        /// Blocks, in x.
        grid: u32,
        /// Threads per block, in x.
        block: u32,
        /// The stream.
        stream: StreamId,
    },
    /// The 2-norm of the first floats of a buffer, by cuBLAS (`cublasSnrm2`). The call waits for a result in host memory, and not
    /// for one in device memory.
    BlasNorm {
        /// The floats.
        from: BufferId,
        /// Where the norm goes.
        to: BufferId,
        /// Number of floats.
        length: u32,
        /// The stream.
        stream: StreamId,
    },
    /// Launches a captured graph (`cuGraphLaunch`).
    LaunchGraph {
        /// The graph.
        graph: GraphId,
        /// The stream.
        stream: StreamId,
    },
    /// `cuEventRecord`.
    RecordEvent {
        /// The event.
        event: EventId,
        /// The stream.
        stream: StreamId,
    },
    /// `cuStreamWaitEvent`: later operations of the stream wait for the event.
    WaitEvent {
        /// The event.
        event: EventId,
        /// The stream.
        stream: StreamId,
    },
    /// `cuEventQuery`.
    QueryEvent {
        /// The event.
        event: EventId,
    },
    /// `cuEventSynchronize`.
    SynchronizeEvent {
        /// The event.
        event: EventId,
    },
    /// `cuEventElapsedTime` of two completed events. The outcome of the thread has the time.
    Elapsed {
        /// The earlier event, which keeps its time.
        from: EventId,
        /// The later event, which keeps its time.
        to: EventId,
    },
    /// `cuStreamQuery`.
    QueryStream {
        /// The stream.
        stream: StreamId,
    },
    /// `cuStreamSynchronize`.
    SynchronizeStream {
        /// The stream.
        stream: StreamId,
    },
    /// `cuCtxSynchronize`.
    SynchronizeContext,
    /// Creates the stream (`cuStreamCreate`). A stream that any step creates does not exist before that.
    CreateStream {
        /// The stream.
        stream: StreamId,
    },
    /// `cuStreamDestroy`.
    DestroyStream {
        /// The stream.
        stream: StreamId,
    },
    /// Creates the event (`cuEventCreate`). An event that any step creates does not exist before that.
    CreateEvent {
        /// The event.
        event: EventId,
    },
    /// `cuEventDestroy`.
    DestroyEvent {
        /// The event.
        event: EventId,
    },
    /// Loads another module of the built-in kernels, and unloads it (`cuModuleLoadData`, `cuModuleUnload`).
    LoadModule,
    /// The thread sleeps.
    Sleep {
        /// Duration, ns.
        ns: u64,
    },
    /// The thread computes, on its processor.
    Work {
        /// Duration, ns.
        ns: u64,
    },
    /// The thread computes with its process's lock, as Python code does with the GIL. Threads that wait for the lock acquire it in the
    /// order in which they came.
    Hold {
        /// Duration, ns.
        ns: u64,
    },
    /// The thread waits at a barrier.
    Meet {
        /// The barrier.
        barrier: BarrierId,
    },
}

/// A built-in kernel with its arguments.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Kernel {
    /// Does nothing.
    Empty,
    /// Keeps a multiprocessor busy for a number of its clock's cycles (seed 000's staggered test).
    Delay {
        /// Number of cycles.
        cycles: u64,
    },
    /// `to[i] = from[i] + value` over 32-bit integers, `sad` rounds of `__sad` on the first element of each thread
    /// (seed 000).
    AddConstant {
        /// Source.
        from: BufferId,
        /// Destination.
        to: BufferId,
        /// Number that is added.
        value: Number,
        /// Elements; a multiple of 4.
        length: u32,
        /// Rounds.
        rounds: u32,
    },
    /// `a[i] += sqrt(sin²(x) + cos²(x))`, `rounds` times, one float per thread (seed 002).
    Increment {
        /// The floats.
        buffer: BufferId,
        /// The first element.
        offset: Number,
        /// Elements.
        length: u32,
        /// Rounds.
        rounds: u32,
    },
    /// `c = a × b` in 32 × 32 tiles through shared memory, one per block of 1,024 threads (seed 004).
    MatrixProduct {
        /// `rows × inner` floats.
        a: BufferId,
        /// `inner × columns` floats.
        b: BufferId,
        /// `rows × columns` floats.
        c: BufferId,
        /// Rows of `a`; a multiple of 32.
        rows: u32,
        /// Columns of `a`; a multiple of 32.
        inner: u32,
        /// Columns of `b`; a multiple of 32.
        columns: u32,
    },
    /// The first stage of a 2-norm: each block writes the sum of its elements' squares to `partial[block]` (seed 003).
    NormPartial {
        /// The floats.
        from: BufferId,
        /// One float per block.
        partial: BufferId,
        /// Elements.
        length: u32,
    },
    /// Its second stage, one block: writes the root of the sum of `partial` to `to[0]`.
    NormFinal {
        /// The sums of the first stage.
        partial: BufferId,
        /// One float.
        to: BufferId,
        /// Blocks of the first stage.
        length: u32,
    },
    /// `a[i] /= by`, where `by` is in device memory, or was on the host when the kernel was launched.
    Scale {
        /// The floats.
        buffer: BufferId,
        /// Elements.
        length: u32,
        /// One float. The kernel reads device memory; the thread reads host memory at the launch.
        by: BufferId,
    },
}

/// A number that may change from round to round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Number {
    /// The same in every round.
    Is(u64),
    /// The round of the innermost loop, from 0, times `each`, plus `first`. Only inside a loop: rounds of a
    /// body do not count.
    Index {
        /// The number in round 0.
        first: u64,
        /// Added per round.
        each: u64,
    },
}

/// Value of a 32-bit element.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Value {
    /// A signed integer.
    Int(i32),
    /// A float.
    Float(f32),
}

/// Lets a row index lists with a value per row.
macro_rules! indexes {
    ($name:ident, $list:ty) => {
        impl<T> std::ops::Index<$name> for $list {
            type Output = T;

            fn index(&self, row: $name) -> &T {
                &self[row.index()]
            }
        }

        impl<T> std::ops::IndexMut<$name> for $list {
            fn index_mut(&mut self, row: $name) -> &mut T {
                &mut self[row.index()]
            }
        }
    };
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name(pub u32);

        impl $name {
            /// The row.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        indexes!($name, [T]);
        indexes!($name, Vec<T>);
    )*};
}

ids! {
    /// A row of [`Process::contexts`].
    ContextId
    /// A row of [`Process::streams`].
    StreamId
    /// A row of [`Process::events`].
    EventId
    /// A row of [`Process::buffers`].
    BufferId
    /// A row of [`Process::graphs`].
    GraphId
    /// A row of [`Workload::barriers`].
    BarrierId
}
