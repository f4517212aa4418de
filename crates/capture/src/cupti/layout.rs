//! The layouts of CUPTI's activity records: which versions were verified, and how many bytes a record of each kind needs.
//!
//! A record's fields lie at the same offsets in all verified versions, and structs grew at their ends alone (the headers of
//! CUDA 12.0 to 12.9 and 13.0 to 13.5, each release; `tests/gpu/cupti.py` compares what they hand out). A record does not
//! state its size: it ends where CUPTI finds the next one.

use std::ops::Range;

/// `CUpti_ActivityKind` of what is recorded.
pub mod kind {
    pub const MEMCPY: u32 = 1;
    pub const MEMSET: u32 = 2;
    pub const DRIVER: u32 = 4;
    pub const RUNTIME: u32 = 5;
    pub const CONCURRENT_KERNEL: u32 = 10;
    pub const OVERHEAD: u32 = 17;
    pub const MEMCPY_PEER: u32 = 22;
    /// Migrations of unified memory, asked for once there is some.
    pub const UNIFIED_MEMORY: u32 = 25;
    /// Not asked for: CUPTI before CUDA 12.9 hands out one for every `cudaEventRecord` where
    /// synchronizations are.
    pub const CUDA_EVENT: u32 = 36;
    pub const SYNCHRONIZATION: u32 = 38;
    /// Graphs that are launched whole: one record each instead of one a node.
    pub const GRAPH_TRACE: u32 = 51;

    /// GPU work, node by node of graphs.
    pub const OPERATIONS: &[u32] = &[CONCURRENT_KERNEL, MEMCPY, MEMCPY_PEER, MEMSET, OVERHEAD];
    /// GPU work, graphs whole.
    pub const WITH_GRAPHS: &[u32] = &[CONCURRENT_KERNEL, MEMCPY, MEMCPY_PEER, MEMSET, OVERHEAD, GRAPH_TRACE];
    /// GPU work, node by node, with all calls and synchronizations.
    pub const WITH_CALLS: &[u32] =
        &[CONCURRENT_KERNEL, MEMCPY, MEMCPY_PEER, MEMSET, OVERHEAD, SYNCHRONIZATION, RUNTIME, DRIVER];
}

/// A kind of record.
pub struct Layout {
    /// Of [`kind`].
    pub kind: u32,
    /// The end of the last field that is read, bytes.
    pub needed: usize,
    /// Sizes of its struct, bytes, each with the first verified version that has it.
    pub sizes: &'static [(u32, usize)],
}

/// `CUPTI_API_VERSION` of the first version that is read: CUDA 12.0. That of 11.8 has the same number, and the same offsets.
pub const OLDEST: u32 = 18;
/// The layout of the newest version that was verified: CUDA 13.5.
pub const NEWEST: u32 = 130_500;
/// Verified versions: CUDA 12.0 to 12.9, and 13.0 to 13.5.
pub const VERIFIED: [Range<u32>; 2] = [OLDEST..29, 130_000..NEWEST + 1];

/// All kinds that are recorded (`sizeof` and `offsetof` with the headers of each version).
pub static LAYOUTS: [Layout; 11] = [
    Layout { kind: kind::MEMCPY, needed: 72, sizes: &[(18, 88), (26, 96), (130_401, 112)] },
    Layout { kind: kind::MEMSET, needed: 72, sizes: &[(18, 88), (130_401, 104)] },
    Layout { kind: kind::DRIVER, needed: 40, sizes: &[(18, 40)] },
    Layout { kind: kind::RUNTIME, needed: 40, sizes: &[(18, 40)] },
    Layout {
        kind: kind::CONCURRENT_KERNEL,
        needed: 152,
        sizes: &[(18, 208), (130_000, 216), (130_101, 224), (130_301, 232), (130_401, 248)],
    },
    Layout { kind: kind::OVERHEAD, needed: 40, sizes: &[(18, 40), (21, 48), (22, 56)] },
    Layout { kind: kind::MEMCPY_PEER, needed: 80, sizes: &[(18, 96)] },
    Layout { kind: kind::UNIFIED_MEMORY, needed: 48, sizes: &[(18, 64), (26, 104)] },
    // Only its kind is read.
    Layout { kind: kind::CUDA_EVENT, needed: 4, sizes: &[(18, 24), (26, 56), (130_500, 80)] },
    Layout { kind: kind::SYNCHRONIZATION, needed: 40, sizes: &[(18, 40), (26, 56)] },
    Layout { kind: kind::GRAPH_TRACE, needed: 40, sizes: &[(18, 48), (21, 56)] },
];

impl Layout {
    fn of(kind: u32) -> Option<&'static Layout> {
        LAYOUTS.iter().find(|layout| layout.kind == kind)
    }

    /// The size in the newest version that was verified.
    pub fn newest(&self) -> usize {
        self.sizes.last().map_or(self.needed, |(_, size)| *size)
    }
}

/// How well a version of CUPTI is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// Its layouts were verified.
    Verified,
    /// No headers of it were read: each record must be as long as in the newest version that was verified.
    Other,
}

impl Version {
    /// The version of a number from `cuptiGetVersion`; `None` if it is older than those that are read.
    pub fn of(number: u32) -> Option<Version> {
        match number {
            ..OLDEST => None,
            _ if VERIFIED.iter().any(|range| range.contains(&number)) => Some(Version::Verified),
            _ => Some(Version::Other),
        }
    }
}

/// A record, as long as its buffer has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawRecord<'a>(pub &'a [u8]);

/// Why a record is not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// Its kind is not known.
    Kind,
    /// It is cut off.
    Cut,
    /// Its version is not known, and it is shorter than in the newest verified one.
    Shrunk {
        /// Its kind.
        kind: u32,
        /// Bytes that it has.
        size: usize,
        /// Bytes that it had.
        expected: usize,
    },
}

impl RawRecord<'_> {
    /// Whether all fields that are read lie where they are expected.
    pub fn check(self, version: Version) -> Result<(), Misfit> {
        if self.0.len() < size_of::<u32>() {
            return Err(Misfit::Cut);
        }
        let layout = Layout::of(self.kind()).ok_or(Misfit::Kind)?;
        let (size, expected) = (self.0.len(), layout.newest());
        match version {
            Version::Verified if size < layout.needed => Err(Misfit::Cut),
            Version::Other if size < expected => Err(Misfit::Shrunk { kind: layout.kind, size, expected }),
            _ => Ok(()),
        }
    }

    /// Its kind.
    pub fn kind(self) -> u32 {
        self.u32(0)
    }

    /// A field; 0 beyond the record's end, where no field of a checked record is.
    pub fn u8(self, at: usize) -> u32 {
        self.0.get(at).map_or(0, |byte| u32::from(*byte))
    }

    pub fn u16(self, at: usize) -> u32 {
        u16::from_ne_bytes(self.bytes(at)).into()
    }

    pub fn u32(self, at: usize) -> u32 {
        u32::from_ne_bytes(self.bytes(at))
    }

    pub fn u64(self, at: usize) -> u64 {
        u64::from_ne_bytes(self.bytes(at))
    }

    pub fn time(self, at: usize) -> i64 {
        self.u64(at) as i64
    }

    fn bytes<const N: usize>(self, at: usize) -> [u8; N] {
        self.0.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
    }
}

/// Cuts a buffer into its records: each ends where the next one begins, the last one with the buffer.
pub struct Cut<'a> {
    buffer: &'a [u8],
    begun: Option<usize>,
}

impl<'a> Cut<'a> {
    /// Of what a buffer has of valid bytes.
    pub fn new(buffer: &'a [u8]) -> Cut<'a> {
        Cut { buffer, begun: None }
    }

    /// The next record begins at an offset; returns the one before, if there is one.
    ///
    /// # Errors
    /// The offset lies outside of the buffer, or not behind the last one.
    pub fn begin(&mut self, at: usize) -> Result<Option<RawRecord<'a>>, OutsideBuffer> {
        let is_ahead = self.begun.is_none_or(|begun| begun < at) && at < self.buffer.len();
        if !is_ahead {
            return Err(OutsideBuffer);
        }
        let before = self.begun.replace(at);
        Ok(before.and_then(|before| self.buffer.get(before..at)).map(RawRecord))
    }

    /// There is no further one: the last one.
    pub fn end(self) -> Option<RawRecord<'a>> {
        self.buffer.get(self.begun?..).map(RawRecord)
    }
}

/// An offset that no next record can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutsideBuffer;
