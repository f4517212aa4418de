//! CUPTI's numbers for kinds of memory, copies and synchronizations. Its kinds of memory start at 1 for pageable,
//! unlike Nsight Systems'.

use trace::{CopyKind, MemoryKind, SyncKind};

const MEMORY: [MemoryKind; 8] = [
    MemoryKind::Unknown,
    MemoryKind::Pageable,
    MemoryKind::Pinned,
    MemoryKind::Device,
    MemoryKind::Array,
    MemoryKind::Managed,
    MemoryKind::DeviceStatic,
    MemoryKind::ManagedStatic,
];
/// Above CUPTI's are Nsight Systems' numbers for migrations of unified memory, which our recordings have as well.
const COPY: [CopyKind; 14] = [
    CopyKind::Unknown,
    CopyKind::HtoD,
    CopyKind::DtoH,
    CopyKind::HtoA,
    CopyKind::AtoH,
    CopyKind::AtoA,
    CopyKind::AtoD,
    CopyKind::DtoA,
    CopyKind::DtoD,
    CopyKind::HtoH,
    CopyKind::PtoP,
    CopyKind::UnifiedHtoD,
    CopyKind::UnifiedDtoH,
    CopyKind::UnifiedDtoD,
];
const SYNC: [SyncKind; 5] =
    [SyncKind::Unknown, SyncKind::Event, SyncKind::StreamWaitEvent, SyncKind::Stream, SyncKind::Context];

/// Like [`memory`]; `None` for a number that is none of them.
pub(crate) fn known_memory(number: u32) -> Option<MemoryKind> {
    MEMORY.get(number as usize).copied()
}

/// Like [`copy`]; `None` for a number that is none of them.
pub(crate) fn known_copy(number: u32) -> Option<CopyKind> {
    COPY.get(number as usize).copied()
}

/// Like [`sync`]; `None` for a number that is none of them.
pub(crate) fn known_sync(number: u32) -> Option<SyncKind> {
    SYNC.get(number as usize).copied()
}

/// `CUpti_ActivityMemoryKind`
pub(crate) fn memory(number: i64) -> MemoryKind {
    nth(&MEMORY, number)
}

/// `CUpti_ActivityMemcpyKind`
pub(crate) fn copy(number: i64) -> CopyKind {
    nth(&COPY, number)
}

/// `CUpti_ActivitySynchronizationType`
pub(crate) fn sync(number: i64) -> SyncKind {
    nth(&SYNC, number)
}

fn nth<K: Copy + Default>(kinds: &[K], number: i64) -> K {
    usize::try_from(number).ok().and_then(|at| kinds.get(at).copied()).unwrap_or_default()
}
