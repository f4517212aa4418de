//! Steps of threads: calls, kernels, loops and captures.

use super::ids::*;
use serde::{Deserialize, Serialize};

/// A step of a thread.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub enum Call {
    /// Allocates the buffer: `cuMemAlloc`, `cuMemHostAlloc`, … by its [`Memory`](super::Memory); `stream` for
    /// [`Memory::Pool`](super::Memory::Pool).
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
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub enum Value {
    /// A signed integer.
    Int(i32),
    /// A float.
    Float(f32),
}
