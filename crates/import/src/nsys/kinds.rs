//! Nsight Systems' numbers for kinds of calls, copies, memory and synchronizations.
//!
//! They are not CUPTI's: its kinds of memory start at 0 for pageable. A file's own `ENUM_` table overrides the numbers
//! here.

use crate::Problem;
use crate::sqlite::{Source, Value};
use rustc_hash::FxHashMap;
use trace::{Api, CopyKind, MemoryKind, SyncKind, ThreadState};

/// Meaning of the numbers of one file.
pub(super) struct Kinds {
    class: FxHashMap<i64, Class>,
    copy: FxHashMap<i64, CopyKind>,
    memory: FxHashMap<i64, MemoryKind>,
    sync: FxHashMap<i64, SyncKind>,
    state: FxHashMap<i64, Option<ThreadState>>,
}

/// The class of a row among CUDA's calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A call into that library.
    Call(Api),
    /// The stack of a call that has another row.
    Backtrace,
}

/// The numbers in all known versions, and the end of each name.
const CLASS: [(i64, &str, Class); 3] = [
    (0, "_CUDA_RUNTIME", Class::Call(Api::Runtime)),
    (1, "_CUDA_DRIVER", Class::Call(Api::Driver)),
    (67, "_CUDABACKTRACE", Class::Backtrace),
];

const COPY: [(i64, &str, CopyKind); 14] = [
    (0, "_KIND_UNKNOWN", CopyKind::Unknown),
    (1, "_KIND_HTOD", CopyKind::HtoD),
    (2, "_KIND_DTOH", CopyKind::DtoH),
    (3, "_KIND_HTOA", CopyKind::HtoA),
    (4, "_KIND_ATOH", CopyKind::AtoH),
    (5, "_KIND_ATOA", CopyKind::AtoA),
    (6, "_KIND_ATOD", CopyKind::AtoD),
    (7, "_KIND_DTOA", CopyKind::DtoA),
    (8, "_KIND_DTOD", CopyKind::DtoD),
    (9, "_KIND_HTOH", CopyKind::HtoH),
    (10, "_KIND_PTOP", CopyKind::PtoP),
    (11, "_UVM_HTOD", CopyKind::UnifiedHtoD),
    (12, "_UVM_DTOH", CopyKind::UnifiedDtoH),
    (13, "_UVM_DTOD", CopyKind::UnifiedDtoD),
];

const MEMORY: [(i64, &str, MemoryKind); 8] = [
    (0, "_KIND_PAGEABLE", MemoryKind::Pageable),
    (1, "_KIND_PINNED", MemoryKind::Pinned),
    (2, "_KIND_DEVICE", MemoryKind::Device),
    (3, "_KIND_ARRAY", MemoryKind::Array),
    (4, "_KIND_MANAGED", MemoryKind::Managed),
    (5, "_KIND_DEVICE_STATIC", MemoryKind::DeviceStatic),
    (6, "_KIND_MANAGED_STATIC", MemoryKind::ManagedStatic),
    (7, "_KIND_UNKNOWN", MemoryKind::Unknown),
];

const SYNC: [(i64, &str, SyncKind); 5] = [
    (0, "_TYPE_UNKNOWN", SyncKind::Unknown),
    (1, "_EVENT_SYNCHRONIZE", SyncKind::Event),
    (2, "_STREAM_WAIT_EVENT", SyncKind::StreamWaitEvent),
    (3, "_STREAM_SYNCHRONIZE", SyncKind::Stream),
    (4, "_CONTEXT_SYNCHRONIZE", SyncKind::Context),
];

/// `None` for a thread that has ended.
const STATE: [(i64, &str, Option<ThreadState>); 7] = [
    (0, "Unknown", Some(ThreadState::Unknown)),
    (1, "Running", Some(ThreadState::Running)),
    (2, "Interruptible", Some(ThreadState::Blocked)),
    (3, "Uninterruptible", Some(ThreadState::Uninterruptible)),
    (4, "Stopped", Some(ThreadState::Stopped)),
    (5, "Terminated", None),
    (7, "Waiting", Some(ThreadState::Blocked)),
];

impl Kinds {
    pub(super) fn read(source: &Source) -> Result<Kinds, Problem> {
        Ok(Kinds {
            class: numbers(source, "ENUM_NSYS_EVENT_CLASS", &CLASS)?,
            copy: numbers(source, "ENUM_CUDA_MEMCPY_OPER", &COPY)?,
            memory: numbers(source, "ENUM_CUDA_MEM_KIND", &MEMORY)?,
            sync: numbers(source, "ENUM_CUPTI_SYNC_TYPE", &SYNC)?,
            state: numbers(source, "ENUM_SAMPLING_THREAD_STATE", &STATE)?,
        })
    }

    /// The class of a row by its event class; otherwise a call, by its name.
    pub(super) fn class(&self, class: Value, name: &str) -> Class {
        let stated = class.int().and_then(|class| self.class.get(&class).copied());
        stated.unwrap_or(Class::Call(api_of(name)))
    }

    pub(super) fn copy(&self, kind: Value) -> CopyKind {
        meaning(&self.copy, kind)
    }

    pub(super) fn memory(&self, kind: Value) -> MemoryKind {
        meaning(&self.memory, kind)
    }

    pub(super) fn sync(&self, kind: Value) -> SyncKind {
        meaning(&self.sync, kind)
    }

    pub(super) fn state(&self, state: Value) -> ThreadState {
        meaning(&self.state, state).unwrap_or_default()
    }

    /// Whether the thread has ended.
    pub(super) fn ended(&self, state: Value) -> bool {
        state.int().and_then(|state| self.state.get(&state)) == Some(&None)
    }
}

/// The library that a function belongs to, by its name.
pub(crate) fn api_of(name: &str) -> Api {
    match name {
        _ if name.starts_with("cuda") => Api::Runtime,
        _ if name.starts_with("cu") => Api::Driver,
        _ => Api::Unknown,
    }
}

fn meaning<K: Copy + Default>(kinds: &FxHashMap<i64, K>, kind: Value) -> K {
    kind.int().and_then(|kind| kinds.get(&kind).copied()).unwrap_or_default()
}

/// The numbers of an `ENUM_` table whose names are known; the known numbers without such a table.
fn numbers<K: Copy>(
    source: &Source,
    table: &str,
    known: &[(i64, &str, K)],
) -> Result<FxHashMap<i64, K>, Problem> {
    let mut numbers = FxHashMap::default();
    let read = |[id, name]: [Value; 2]| {
        let (Some(id), Some(name)) = (id.int(), name.text()) else { return Ok(()) };
        if let Some(&(_, _, kind)) = known.iter().find(|(_, ending, _)| name.ends_with(ending)) {
            numbers.insert(id, kind);
        }
        Ok(())
    };
    source.scan(table, ["id", "name"], read)?.ignore();
    if numbers.is_empty() {
        numbers.extend(known.iter().map(|&(id, _, kind)| (id, kind)));
    }
    Ok(numbers)
}
