//! Short forms of [`Call`]: most calls are short launches, and the memory they take is much of what recording them costs.

use crate::kinds::{Call, Kind};
use crate::record::{Head, call};

/// A short driver call that succeeded, soon after the last one, and that says no more than its stream,
/// which is that of the last [`Call`] before it in its chunk that has one. Most calls are launches like
/// this, and the memory they take is much of what recording them costs: this record is one word, and
/// no [`Head`] comes before it. Whatever does not fit is a [`Call`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BriefCall {
    /// Id of the function's name.
    pub function: u32,
    /// Ticks from the return of the last call before it in its chunk to its entry.
    pub gap: u32,
    /// Ticks until the return.
    pub duration: u32,
    /// [`call::HAS_STREAM`] or 0.
    pub flags: u32,
}

impl BriefCall {
    /// Marks this record in [`Head::kind`].
    pub const KIND: u16 = Kind::BriefCall as u16;

    /// In the first two bytes besides: it has a stream.
    const STREAM: u16 = 1 << 14;

    /// The word, laid out as a [`Head`]; `None` for what does not fit.
    #[inline]
    pub fn word(function: u32, gap: i64, duration: i64, has_stream: bool) -> Option<Head> {
        let stream = if has_stream { Self::STREAM } else { 0 };
        let kind = Self::KIND | stream | function as u16;
        fits(function, gap, duration).then_some(packed(kind, gap as u32, duration as u32))
    }

    /// Reads a word; `None` for the head of another record.
    #[inline]
    pub fn read(word: Head) -> Option<BriefCall> {
        let (gap, duration) = unpacked(word);
        let flags = if word.kind & Self::STREAM == 0 { 0 } else { call::HAS_STREAM };
        let function = (word.kind & (Self::STREAM - 1)).into();
        (word.kind >= Self::KIND).then_some(BriefCall { function, gap, duration, flags })
    }

    /// The same call at length, after one that returned at `last`; `stream` is that of the last call with
    /// one.
    pub fn unfold(&self, last: i64, stream: u64) -> Call {
        let start = last.saturating_add(self.gap.into());
        let end = start.saturating_add(self.duration.into());
        let stream = if self.flags & call::HAS_STREAM == 0 { 0 } else { stream };
        Call { start, end, flags: self.flags, stream, ..Call::default() }
    }
}

/// A short call that succeeded, that says no more than its name, and within which its thread made other recorded calls:
/// of the runtime, around the driver's. One word, as [`BriefCall`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OuterCall {
    /// Id of the function's name.
    pub function: u32,
    /// Ticks from its entry to the return of the last call before it in its chunk, which is the last one within it.
    pub back: u32,
    /// Ticks from there to its return.
    pub tail: u32,
}

impl OuterCall {
    /// Marks this record in [`Head::kind`].
    pub const KIND: u16 = Kind::OuterCall as u16;

    /// The word, laid out as a [`Head`]; `None` for what does not fit.
    #[inline]
    pub fn word(function: u32, back: i64, tail: i64) -> Option<Head> {
        let fits = fits(function, back, tail);
        fits.then_some(packed(Self::KIND | function as u16, back as u32, tail as u32))
    }

    /// Reads a word; `None` for the head of another record.
    #[inline]
    pub fn read(word: Head) -> Option<OuterCall> {
        let (back, tail) = unpacked(word);
        let function = (word.kind & (Self::KIND - 1)).into();
        (word.kind & (BriefCall::KIND | Self::KIND) == Self::KIND).then_some(OuterCall {
            function,
            back,
            tail,
        })
    }

    /// The same call at length, around one that returned at `last`.
    pub fn unfold(&self, last: i64) -> Call {
        let (start, end) = (last.saturating_sub(self.back.into()), last.saturating_add(self.tail.into()));
        Call { start, end, ..Call::default() }
    }
}

/// A [`BriefCall`] that has [`Call::fact`] besides: two words, a [`Head`] of this kind whose tag is the fact, and the
/// brief call's.
pub struct FactCall;

impl FactCall {
    /// Marks this record in [`Head::kind`].
    pub const KIND: u16 = Kind::FactCall as u16;

    /// The first word.
    #[inline]
    pub fn head(fact: u32) -> Head {
        Head { kind: Self::KIND, words: 2, tag: fact }
    }

    /// The brief call in the record's body; `None` where there is none.
    pub fn read(body: &[u8]) -> Option<BriefCall> {
        BriefCall::read(Head::read(body)?)
    }
}

/// A [`BriefCall`] that has [`Call::correlation`] besides, as [`FactCall`].
pub struct NumberedCall;

impl NumberedCall {
    /// Marks this record in [`Head::kind`].
    pub const KIND: u16 = Kind::NumberedCall as u16;

    /// The first word.
    #[inline]
    pub fn head(correlation: u32) -> Head {
        Head { kind: Self::KIND, words: 2, tag: correlation }
    }
}

/// Grid and block of a launch in 32 bits: `x`, `y` and `z` of the grid, then of the block.
#[inline]
pub fn grid_fact([a, b, c, d, e, f]: [u32; 6]) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let pairs = [
        u64::from(a) << 32 | u64::from(d),
        u64::from(b) << 32 | u64::from(e),
        u64::from(c) << 32 | u64::from(f),
    ];
    let [first, second, third] = pairs.map(|pair| pair.wrapping_mul(FACTOR));
    ((first ^ second.rotate_left(21) ^ third.rotate_left(42)) >> 32) as u32 | 1
}

/// Which event a handle is, in 32 bits.
#[inline]
pub fn event_fact(handle: usize) -> u32 {
    (handle >> 4) as u32
}

// Of words of their own, the bits below are data.
const _: () = assert!(OuterCall::KIND == 1 << 14 && BriefCall::KIND == 1 << 15);

/// Whether a function's id and two numbers of ticks fit a word. Negative ones become large.
#[inline]
fn fits(function: u32, first: i64, second: i64) -> bool {
    (first | second) as u64 >> BITS == 0 && function < OuterCall::KIND.into()
}

/// Bits of each number of ticks.
const BITS: u32 = 24;

#[inline]
fn packed(kind: u16, first: u32, second: u32) -> Head {
    Head { kind, words: first as u16, tag: first >> 16 | second << (32 - BITS) }
}

#[inline]
fn unpacked(word: Head) -> (u32, u32) {
    (u32::from(word.words) | (word.tag & 0xff) << 16, word.tag >> (32 - BITS))
}
