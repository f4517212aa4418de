//! Instructions that a thread's steps are made into, in which nothing is left to be looked up.

use crate::driver::{Function, Kernel as KernelHandle};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use workload::{BufferId, ContextId, EventId, GraphId, Number, StreamId, Value};

/// A step, or a part of one.
pub struct Instruction {
    pub what: Effect,
    /// The row in `Program::notes`.
    pub note: u32,
}

/// Effect of an instruction.
pub enum Effect {
    /// A loop begins: its counter is set to 0. Without rounds it goes on at `past`.
    Loop { counter: usize, times: u64, past: usize },
    /// A round ends: the counter goes up, and it goes on at `first` if there are more.
    Again { counter: usize, times: u64, first: usize },
    /// A call into the driver.
    Call(Function, Action),
    /// Something that is done without the driver.
    Host(HostEffect),
}

/// A call with its arguments.
pub enum Action {
    Launch(Launch),
    Copy(Transfer),
    CopyRows(Rows),
    Fill { buffer: BufferId, word: u32, stream: StreamId },
    BlasNorm { from: BufferId, to: BufferId, length: i32, stream: StreamId },
    Memory(MemoryCall),
    Graph(GraphCall),
    Stream(StreamCall),
    Event(EventCall),
    Context(ContextCall),
}

/// A call for the memory of a buffer.
#[derive(Clone, Copy)]
pub enum MemoryCall {
    Allocate { buffer: BufferId, stream: Option<StreamId> },
    Free { buffer: BufferId, stream: Option<StreamId> },
    Register { buffer: BufferId },
    Unregister { buffer: BufferId },
}

/// A call that captures or launches a graph.
#[derive(Clone, Copy)]
pub enum GraphCall {
    /// Launches the instance.
    Launch { graph: GraphId, stream: StreamId },
    /// Begins a capture, of this thread alone.
    BeginCapture { stream: StreamId },
    /// Ends it; the graph stays with the thread.
    EndCapture { stream: StreamId },
    /// Makes an instance of the graph that the capture left.
    Instantiate { graph: GraphId },
    /// The graph that the capture left, whose instance stays.
    DestroyCaptured,
    /// The instance that an earlier capture left in `graph`, if there was one.
    DestroyInstance { graph: GraphId },
}

/// A call about a stream alone.
#[derive(Clone, Copy)]
pub enum StreamCall {
    Create { stream: StreamId, flags: u32 },
    Destroy { stream: StreamId },
    Query { stream: StreamId },
    Synchronize { stream: StreamId },
}

/// A call about an event.
#[derive(Clone, Copy)]
pub enum EventCall {
    Create { event: EventId, flags: u32 },
    Destroy { event: EventId },
    Record { event: EventId, stream: StreamId },
    Wait { event: EventId, stream: StreamId },
    Query { event: EventId },
    Synchronize { event: EventId },
    Elapsed { from: EventId, to: EventId },
}

/// A call about a context, or a module in it. The thread's calls are for a context from where it is set.
#[derive(Clone, Copy)]
pub enum ContextCall {
    Synchronize,
    Set { context: ContextId },
    LoadModule,
    UnloadModule,
}

/// Lets a call of a group be an action.
macro_rules! groups {
    ($($group:ident($call:ident))*) => {$(
        impl From<$call> for Action {
            fn from(call: $call) -> Action {
                Action::$group(call)
            }
        }
    )*};
}

groups! { Memory(MemoryCall) Graph(GraphCall) Stream(StreamCall) Event(EventCall) Context(ContextCall) }

/// Work that is done without the driver.
pub enum HostEffect {
    /// Loads cuBLAS, for this thread only.
    LoadBlas,
    /// Pageable memory, touched or not.
    Map { buffer: BufferId, touch: bool },
    /// Gives it back.
    Unmap { buffer: BufferId },
    /// A copy from host to host.
    Copy(Transfer),
    /// A fill of host memory.
    Fill { buffer: BufferId, word: u32 },
    /// Compares host memory with a value.
    Check { buffer: BufferId, bytes: u64, value: Value },
    /// Time asleep.
    Sleep { ns: u64 },
    /// Time on a processor.
    Work { ns: u64 },
    /// Time on a processor with the process's lock.
    Hold { ns: u64 },
    /// A barrier.
    Meet { barrier: usize, parties: u32 },
}

/// A copy between two buffers, from the same offset in both.
pub struct Transfer {
    pub from: BufferId,
    pub to: BufferId,
    pub offset: Offset,
    pub bytes: u64,
    pub stream: Option<StreamId>,
}

/// A copy of rows, or of slices of them, between the starts of two buffers.
#[derive(Clone, Copy)]
pub struct Rows {
    pub from: RowsEnd,
    pub to: RowsEnd,
    /// Bytes of a row.
    pub width: usize,
    /// Rows, of each slice.
    pub height: usize,
    /// Slices; none of a copy of two dimensions.
    pub depth: Option<usize>,
    pub stream: StreamId,
}

/// One end of it.
#[derive(Clone, Copy)]
pub struct RowsEnd {
    pub buffer: BufferId,
    pub is_host: bool,
    /// Bytes from one row to the next.
    pub pitch: usize,
}

/// A number that may change from round to round, with the counter that it follows.
#[derive(Clone, Copy)]
pub struct Offset {
    pub first: u64,
    pub each: u64,
    pub counter: usize,
}

impl Offset {
    /// The number in the loop of a counter.
    pub fn new(number: Number, counter: usize) -> Offset {
        match number {
            Number::Is(first) => Offset { first, each: 0, counter: 0 },
            Number::Index { first, each } => Offset { first, each, counter },
        }
    }

    /// Its value now.
    #[inline]
    pub fn value(self, counters: &[u64]) -> u64 {
        self.first.wrapping_add(self.each.wrapping_mul(counters[self.counter]))
    }
}

/// A kernel's launch, with what `cuLaunchKernel` is passed.
pub struct Launch {
    pub kernel: KernelHandle,
    pub grid: u32,
    pub block: u32,
    pub stream: StreamId,
    /// The buffers whose addresses are passed.
    pub buffers: Box<[BufferId]>,
    /// Where each argument lies: a buffer's address in its slot, a number in `numbers`.
    pub arguments: Box<[UnsafeCell<*mut c_void>]>,
    /// Numbers, as the driver reads them.
    pub numbers: Box<[UnsafeCell<u64>]>,
    /// Numbers that change from round to round.
    pub changing: Box<[(usize, Offset)]>,
    /// Arguments that lie at the start of host buffers.
    pub on_host: Box<[(usize, BufferId)]>,
}
