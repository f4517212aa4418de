//! Contents of a chunk: records of whole words, the first of which is the [`Head`]. `kinds.rs` declares all kinds.

use crate::declare::{Life, numbers};
use crate::kinds::Kind;

/// The first word of a record, or all of a [`BriefCall`](crate::BriefCall) or [`OuterCall`](crate::OuterCall).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Head {
    /// Which struct follows: its `KIND`.
    pub kind: u16,
    /// Words of eight bytes, this one included.
    pub words: u16,
    /// Meaning depends on the kind.
    pub tag: u32,
}

impl Head {
    /// The first word of some bytes.
    pub fn read(bytes: &[u8]) -> Option<Head> {
        let word = *bytes.first_chunk::<8>()?;
        Some(Head {
            kind: u16::from_ne_bytes([word[0], word[1]]),
            words: u16::from_ne_bytes([word[2], word[3]]),
            tag: u32::from_ne_bytes([word[4], word[5], word[6], word[7]]),
        })
    }
}

/// Most bytes of a record: its words are counted in 16 bits.
pub const MOST_BYTES: usize = u16::MAX as usize * 8;

/// Longest text kept, bytes.
pub const MOST_TEXT: usize = 8 << 10;

/// Facts in [`Call::flags`](crate::Call::flags).
pub mod call {
    /// Which way a copy goes: CUPTI's number of the direction.
    pub const DIRECTION: u32 = 0xff;
    /// Shift of CUPTI's number of the memory kind that is read.
    pub const SOURCE_SHIFT: u32 = 8;
    /// Shift of CUPTI's number of the memory kind that is written.
    pub const TARGET_SHIFT: u32 = 16;
    /// [`crate::Call::stream`] holds a stream.
    pub const HAS_STREAM: u32 = 1 << 24;
    /// The stream was capturing: the call became a node of a graph and issued nothing.
    pub const CAPTURED: u32 = 1 << 25;
    /// [`crate::Call::correlation`] is only there to be compared with the join by order.
    pub const CHECKED: u32 = 1 << 26;
}

numbers! {
    /// Kinds of locks.
    Lock {
        /// `pthread_mutex_t`
        Mutex = 1,
        /// `pthread_rwlock_t`
        Rwlock = 2,
        /// `pthread_spinlock_t`
        Spin = 3,
    }
}

numbers! {
    /// How a thread holds a lock.
    Mode {
        /// No other thread holds it meanwhile.
        Exclusive = 1,
        /// Other readers may hold it, too.
        Shared = 2,
    }
}

/// A line of a Python function on a stack: the ids of two texts and the line, 0 for unknown; with a zero it is two words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(C)]
pub struct PythonFrame {
    /// Source file: id of its text.
    pub file: u32,
    /// Function: id of its text.
    pub function: u32,
    /// Line, from 1; 0 for unknown.
    pub line: u32,
    /// Zero.
    pub zero: u32,
}

/// Whether records of a kind are never overwritten where the last records are kept ([`Life::Lasts`]).
#[inline]
pub const fn lasts(kind: u16) -> bool {
    match Kind::of(kind) {
        Some(kind) => matches!(kind.life(), Life::Lasts),
        None => false,
    }
}

/// Most bytes of an object in one [`Made`](crate::Made).
pub const MOST_PIECE: usize = 4096;

/// Most bytes of an object of [`Made`](crate::Made).
pub const MOST_OBJECT: u64 = 4 << 20;
