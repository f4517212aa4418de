//! The nouns of a Workload.

mod ids;
mod step;

pub use ids::*;
pub use step::*;

use serde::{Deserialize, Serialize};

/// Work that a set of processes asks of its GPUs.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
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

impl Workload {
    /// The variables of CUDA in the environment of every process, `None` for one that is unset there.
    pub fn variables(&self) -> [(&'static str, Option<String>); 2] {
        [
            ("CUDA_DEVICE_MAX_CONNECTIONS", self.connections.map(|count| count.to_string())),
            ("CUDA_MODULE_LOADING", self.loading.map(|loading| loading.value().to_owned())),
        ]
    }
}

/// How a thread waits for a device (`CU_CTX_SCHED_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Affinity {
    /// All that the program may use.
    #[default]
    Any,
    /// Processors of the NUMA node closest to its GPU.
    Node,
}

/// When a driver loads kernels (`CUDA_MODULE_LOADING`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Loading {
    /// At their first use.
    Lazy,
    /// With their module.
    Eager,
}

impl Loading {
    /// The value of `CUDA_MODULE_LOADING`.
    pub fn value(self) -> &'static str {
        match self {
            Loading::Lazy => "LAZY",
            Loading::Eager => "EAGER",
        }
    }
}

/// A barrier: threads that meet at it continue when `parties` of them have arrived.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Barrier {
    /// Its name in the text form.
    pub name: String,
    /// The number of threads that meet.
    pub parties: u32,
}

/// One process: what its threads share, and the threads.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Context {
    /// The device's ordinal, as the process sees it.
    pub device: u32,
    /// Whether it is the device's primary context, which the runtime API uses; else it is created with `cuCtxCreate`.
    pub primary: bool,
}

/// A stream.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Stream {
    /// Its name in the text form.
    pub name: String,
    /// The context it belongs to.
    pub context: ContextId,
    /// Its kind.
    pub kind: StreamKind,
}

/// Waits of a stream besides its own work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum StreamKind {
    /// The context's legacy default stream, which waits for every blocking stream of its context and makes those wait.
    Default,
    /// Synchronizes with the default stream (`CU_STREAM_DEFAULT`).
    Blocking,
    /// Does not synchronize with the default stream (`CU_STREAM_NON_BLOCKING`).
    NonBlocking,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Event {
    /// Its name in the text form.
    pub name: String,
    /// The context it belongs to.
    pub context: ContextId,
    /// Whether it keeps the time of its record, which `cuEventElapsedTime` needs.
    pub timing: bool,
}

/// A buffer: memory that a thread allocates, uses and frees, possibly many times.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Graph {
    /// Its name in the text form.
    pub name: String,
}

/// A host thread. It makes the calls of `before`, waits until every thread of the workload has, makes those of `body`
/// again and again, and then those of `after`. What is timed is the body.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Repeat {
    /// This many times.
    Times(u64),
    /// Until this long after the thread's release; a body that has begun is finished.
    For(u64),
    /// Until every thread with another repeat has finished its bodies.
    WhileOthers,
}
