//! Instructions that a thread's steps are made into, in which nothing is left to be looked up.

use crate::driver::{Function, Kernel as KernelHandle};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use workload::Value;

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

/// A call with its arguments. Numbers are rows of the process's lists.
pub enum Action {
    Allocate {
        buffer: usize,
        stream: Option<usize>,
    },
    Free {
        buffer: usize,
        stream: Option<usize>,
    },
    Register {
        buffer: usize,
    },
    Unregister {
        buffer: usize,
    },
    Copy(Transfer),
    CopyRows(Rows),
    Elapsed {
        from: usize,
        to: usize,
    },
    Fill {
        buffer: usize,
        word: u32,
        stream: usize,
    },
    Launch(Launch),
    BlasNorm {
        from: usize,
        to: usize,
        length: i32,
        stream: usize,
    },
    LaunchGraph {
        graph: usize,
        stream: usize,
    },
    BeginCapture {
        stream: usize,
    },
    EndCapture {
        stream: usize,
    },
    Instantiate {
        graph: usize,
    },
    /// The graph that the capture left, whose instance stays.
    DestroyCaptured,
    /// The instance that an earlier capture left in `graph`, if there was one.
    DestroyInstance {
        graph: usize,
    },
    RecordEvent {
        event: usize,
        stream: usize,
    },
    WaitEvent {
        event: usize,
        stream: usize,
    },
    QueryEvent {
        event: usize,
    },
    SynchronizeEvent {
        event: usize,
    },
    QueryStream {
        stream: usize,
    },
    SynchronizeStream {
        stream: usize,
    },
    SynchronizeContext,
    /// Has the thread's calls be for that context from here on.
    SetContext {
        context: usize,
    },
    CreateStream {
        stream: usize,
        flags: u32,
    },
    DestroyStream {
        stream: usize,
    },
    CreateEvent {
        event: usize,
        flags: u32,
    },
    DestroyEvent {
        event: usize,
    },
    LoadModule,
    UnloadModule,
}

/// Work that is done without the driver.
pub enum HostEffect {
    /// Loads cuBLAS, for this thread only.
    LoadBlas,
    /// Pageable memory, touched or not.
    Map {
        buffer: usize,
        touch: bool,
    },
    Unmap {
        buffer: usize,
    },
    Copy(Transfer),
    Fill {
        buffer: usize,
        word: u32,
    },
    Check {
        buffer: usize,
        bytes: u64,
        value: Value,
    },
    Sleep {
        ns: u64,
    },
    Work {
        ns: u64,
    },
    Hold {
        ns: u64,
    },
    Meet {
        barrier: usize,
        parties: u32,
    },
}

/// A copy between two buffers, from the same offset in both.
pub struct Transfer {
    pub from: usize,
    pub to: usize,
    pub offset: Offset,
    pub bytes: u64,
    pub stream: Option<usize>,
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
    pub stream: usize,
}

/// One end of it.
#[derive(Clone, Copy)]
pub struct RowsEnd {
    pub buffer: usize,
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
    pub stream: usize,
    /// The buffers whose addresses are passed.
    pub buffers: Box<[usize]>,
    /// Where each argument lies: a buffer's address in its slot, a number in `numbers`.
    pub arguments: Box<[UnsafeCell<*mut c_void>]>,
    /// Numbers, as the driver reads them.
    pub numbers: Box<[UnsafeCell<u64>]>,
    /// Numbers that change from round to round.
    pub changing: Box<[(usize, Offset)]>,
    /// Arguments that lie at the start of host buffers.
    pub on_host: Box<[(usize, usize)]>,
}
