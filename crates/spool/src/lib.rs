//! The spool: what the capture library leaves behind for `record` to gather.
//!
//! A spool is a directory. Each traced process writes one file, `PID-N.spool` (`N` counts program
//! images: `exec` starts another), mapped into its memory, so that what was written stays
//! however the process ends. The file is a [`FileHeader`], then chunks, each on a multiple of
//! [`ALIGN`]. A chunk belongs to one thread, which appends records to it and publishes them by
//! storing [`ChunkHeader::used`] behind each. `kinds.rs` declares all kinds of records: number, fields, whether they last,
//! in which files they are, and by which step of the importer they are read for which table.
//!
//! A recording that keeps the last records ([`VAR_KEEP`]) uses its chunks again, the oldest first ([`Ring`]); the others
//! are kept. Records that others refer to ([`lasts`]) are in chunks of their own, which are never used again.
//!
//! Numbers are in the machine's byte order: a spool is read where it was written.
//!
//! Times are of two clocks. Those of the file's header, of what CUPTI says ([`ApiCall`], [`Kernel`],
//! [`struct@Copy`], [`Fill`], [`Sync`], [`Overhead`]), of [`Module`] and [`Note`] are nanoseconds of
//! `CLOCK_MONOTONIC`. Those of [`Call`] and its short forms, [`Wait`], [`ThreadWait`], [`Tally`], [`CallTally`], [`Stack`],
//! [`Range`] and [`Progress`] are ticks of the clock that is quickest to read; a file's [`Clock`] records say which
//! ticks are which nanoseconds, and [`Clocks`] converts. In a file without one they are nanoseconds as well.
//!
//! ```
//! use spool::{Build, Call, File, Level};
//!
//! // A file as process 42 leaves it: its thread 7 made one call.
//! let mut build = Build::new(42, Level::Light);
//! let name = build.text(7, "cuLaunchKernel");
//! build.record(7, Call::KIND, name, &[Call { start: 1_000, end: 3_500, ..Call::default() }.bytes()]);
//! let bytes = build.finish();
//!
//! let file = File::new(&bytes).expect("the file of a spool");
//! let (chunks, damage) = file.chunks();
//! let calls: Vec<_> = chunks.iter().flat_map(|chunk| chunk.calls_made()).collect();
//! assert_eq!((file.pid(), damage.bytes, chunks[0].tid()), (42, 0, 7));
//! assert_eq!((calls[0].0, calls[0].1.end - calls[0].1.start), (name, 2_500));
//! ```

mod brief;
mod build;
mod clocks;
mod declare;
mod kinds;
mod loadable;
mod read;
mod record;
mod refused;
mod ring;
mod shared;
mod waits;
mod watched;

pub use brief::*;
pub use build::Build;
pub use clocks::Clocks;
pub use declare::{Home, Life};
pub use kinds::*;
pub use loadable::{is_for_this_processor, is_loader_of_glibc};
pub use read::{Chunk, Damage, File, Record};
pub use record::*;
pub use refused::Refused;
pub use ring::{Ring, position};
pub use shared::{
    Control, MOST_REQUESTS, SHARED, Shared, filtered_programs, foreign_programs, requests,
    unrecorded_children,
};
pub use waits::*;
pub use watched::*;

use declare::numbers;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

/// First bytes of a spool file; the digit is the format's version.
pub const MAGIC: u64 = u64::from_ne_bytes(*b"holdup\x004");

/// First bytes of a spool file of any version.
pub const ANY_VERSION: &[u8] = b"holdup\0";

/// First bytes of a chunk.
pub const CHUNK_MAGIC: u64 = u64::from_ne_bytes(*b"chunk\x00\x001");

/// Chunks start and end on multiples of this, bytes.
pub const ALIGN: u64 = 64 << 10;

/// Suffix of a spool file's name.
pub const SUFFIX: &str = ".spool";

/// The loader's: libraries that it loads before a program's own.
pub const VAR_PRELOAD: &str = "LD_PRELOAD";
/// CUDA's: a library that the driver loads in `cuInit`.
pub const VAR_CUDA_INJECTION: &str = "CUDA_INJECTION64_PATH";
/// NVTX's: the library that it passes ranges to.
pub const VAR_NVTX_INJECTION: &str = "NVTX_INJECTION64_PATH";
/// CUDA's: variables that change when kernels are loaded, whether launches wait, and how streams share hardware queues. A
/// [`Setting`] has the position of one: never reorder them.
pub const SETTINGS: [&str; 3] =
    ["CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_MODULE_LOADING", "CUDA_LAUNCH_BLOCKING"];
/// The directory to write to.
pub const VAR_DIRECTORY: &str = "HOLDUP_SPOOL";
/// `light`, `full` or `calls`.
pub const VAR_LEVEL: &str = "HOLDUP_LEVEL";
/// Most bytes all processes of the program may write together.
pub const VAR_MAX_SIZE: &str = "HOLDUP_MAX_SIZE";
/// Which records are kept where not all fit: `last`, otherwise the first.
pub const VAR_KEEP: &str = "HOLDUP_KEEP";
/// Calls at least this long get their stack recorded, ns; `off` for none.
pub const VAR_STACKS: &str = "HOLDUP_STACKS";
/// 1: at level full, calls that issue work are recorded with CUPTI's correlation id, which the join by order is compared
/// with.
pub const VAR_CHECK_JOIN: &str = "HOLDUP_CHECK_JOIN";
/// 1: each node of a graph is recorded; otherwise graphs are recorded whole at level full.
pub const VAR_GRAPH_NODES: &str = "HOLDUP_GRAPH_NODES";
/// Libraries besides the driver whose locks are watched: beginnings of file names, colons between.
pub const VAR_LOCKS: &str = "HOLDUP_LOCKS";

/// The start of a spool file; takes the first [`ALIGN`] bytes. Zeros are valid.
#[repr(C)]
pub struct FileHeader {
    /// [`MAGIC`], stored last.
    pub magic: AtomicU64,
    /// Process id.
    pub pid: AtomicU32,
    /// Process id of the parent.
    pub parent: AtomicU32,
    /// `CLOCK_MONOTONIC` when the file was made.
    pub monotonic_ns: AtomicI64,
    /// `CLOCK_REALTIME` at the same moment.
    pub unix_ns: AtomicI64,
    /// Where the next chunk goes.
    pub next: AtomicU64,
    /// Level of recording: a [`Level`].
    pub level: AtomicU32,
    /// 1 once the process ended in an orderly way and everything was written out.
    pub finished: AtomicU32,
    /// Records dropped because there was no room, by threads that had no chunk to count them in.
    pub dropped: AtomicU64,
    /// Threads that were not recorded because there were too many.
    pub untracked_threads: AtomicU64,
    /// Slots through which the driver takes locks that are watched; 0 when its locks are not.
    pub driver_slots: AtomicU64,
    /// Why there was no more room: a [`Full`]; 0 while there is room, and in files of older versions.
    pub full: AtomicU32,
    /// Waits, counts of short waits and calls, and calls of signal handlers that were not recorded: their thread was writing
    /// a record at that moment.
    pub unwritten: AtomicU32,
}

/// The start of a chunk.
#[repr(C)]
pub struct ChunkHeader {
    /// [`CHUNK_MAGIC`], stored last.
    pub magic: AtomicU64,
    /// Bytes of the chunk, this header included: a multiple of [`ALIGN`].
    pub size: AtomicU64,
    /// Bytes of records behind this header that are complete, and how many records they are: a [`position`].
    pub used: AtomicU64,
    /// Kernel's id of the thread that writes it.
    pub tid: AtomicU32,
    /// Chunks that the process began before this one began, or began again, modulo 2³².
    pub number: AtomicU32,
    /// Records dropped for want of room by the threads that wrote it.
    pub dropped: AtomicU64,
    /// Current call of its thread, and counts of its calls since this chunk began.
    pub progress: Progress,
    /// Records of this chunk that were overwritten.
    pub overwritten: AtomicU64,
    /// The same, once [`ChunkHeader::used`] is 0: a process may end between the two.
    pub overwriting: AtomicU64,
    /// Records that were overwritten had been written before this time, ticks; 0 for none.
    pub until: AtomicI64,
    /// 1 where it holds records that last ([`lasts`]) and no others.
    pub lasting: AtomicU32,
    /// Its place in the [`Ring`] of the process that writes it, plus one; 0 for none.
    pub place: AtomicU32,
    /// Zero.
    pub reserved: [AtomicU64; 4],
}

/// Current call of a thread, and counts of its calls.
#[repr(C)]
pub struct Progress {
    /// Driver calls begun.
    pub calls: AtomicU64,
    /// The driver function the thread is in: the id of its name, 0 for none.
    pub function: AtomicU32,
    /// Of the calls begun, those that launch a kernel.
    pub launches: AtomicU32,
    /// When the call it is in began, ticks.
    pub since: AtomicI64,
}

/// Bytes of a chunk's header.
pub const CHUNK_HEADER: usize = size_of::<ChunkHeader>();

const _: () = assert!(CHUNK_HEADER == 128 && size_of::<FileHeader>() <= ALIGN as usize);

numbers! {
    /// Why there was no more room in a file.
    Full {
        /// All processes of the program had written as much as they may together.
        Limit = 1,
        /// The disk had no more room, or failed.
        Disk = 2,
        /// A file of the process may not be larger.
        FileSize = 3,
        /// The process may not open another file.
        Descriptors = 4,
        /// The file could not be opened any more: the process has another user or root directory now.
        Gone = 5,
        /// The process may not map more memory.
        Memory = 6,
        /// The program forbade system calls (seccomp).
        Seccomp = 7,
    }
}

numbers! {
    /// How much is recorded.
    Level {
        /// Driver calls and lock waits.
        Light = 1,
        /// Also calls of the runtime, and GPU operations through CUPTI.
        Full = 2,
        /// Like [`Level::Full`], but calls and synchronizations are CUPTI's records.
        Calls = 3,
        /// Nothing: the process does not use CUDA, and is only watched. The watcher makes the file.
        Watched = 4,
    }
}
