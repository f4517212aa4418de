//! Text eight bytes at a time, without a branch for each byte.

/// Whether two texts of one length are equal: as `==`, without a call for the few words between two values.
#[inline]
pub(super) fn equal(text: &[u8], other: &[u8]) -> bool {
    let length = text.len();
    if length < 8 {
        return text == other;
    }
    // The last word overlaps the one before it.
    let same = |at: usize| word(text, at) == word(other, at);
    (0..length / 8).all(|at| same(8 * at)) && same(length - 8)
}

/// The highest bit of each byte of a word.
pub(super) const HIGH: u64 = repeat(0x80);

/// A word of eight equal bytes.
pub(super) const fn repeat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The eight bytes at `at`, the first one lowest; `None` near the end of the text.
#[inline]
pub(super) fn word(text: &[u8], at: usize) -> Option<u64> {
    let bytes = text.get(at..at + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// Marks each byte that is at least `limit`, which is at most 0x80, by its highest bit. Setting that bit first keeps a
/// byte from borrowing from the next.
#[inline]
pub(super) fn at_least(word: u64, limit: u8) -> u64 {
    (((word | HIGH) - repeat(limit)) | word) & HIGH
}

/// Marks each byte that is `byte` by its highest bit.
#[inline]
pub(super) fn equal_to(word: u64, byte: u8) -> u64 {
    !at_least(word ^ repeat(byte), 1) & HIGH
}

/// The position of the lowest marked byte.
#[inline]
pub(super) fn first(marks: u64) -> Option<usize> {
    (marks != 0).then(|| marks.trailing_zeros() as usize / 8)
}
