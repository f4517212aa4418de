//! Buffers, and the blocks of device memory that they share.

/// Bytes of a page of host memory.
const PAGE: u64 = 4096;

/// The pages of `bytes`.
pub(super) fn pages(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE)
}

/// A buffer.
#[derive(Clone, Copy, Default)]
pub(super) struct Buffer {
    pub bytes: u64,
    /// Whether host memory was touched. Memory that is never untouched: pinned.
    pub touched: bool,
    /// Whether host memory was page-locked.
    pub pinned: bool,
    /// Allocated device memory, bytes.
    pub reserved: u64,
}

/// The blocks of device memory that a context's small buffers share, estimated from their sizes.
#[derive(Clone, Default)]
pub(super) struct Blocks {
    /// Number of calls.
    count: u64,
    /// Bytes of the small buffers.
    used: u64,
}

impl Blocks {
    /// The size of a block of device memory, bytes.
    const SIZE: u64 = 2 << 20;

    /// Blocks to allocate for a buffer.
    pub fn take(&mut self, bytes: u64) -> u64 {
        if bytes >= Self::SIZE {
            return bytes.div_ceil(Self::SIZE);
        }
        self.used += bytes;
        let new = self.used.div_ceil(Self::SIZE).saturating_sub(self.count);
        self.count += new;
        new
    }

    /// Blocks to free with a buffer.
    pub fn give_back(&mut self, bytes: u64) -> u64 {
        if bytes >= Self::SIZE {
            return bytes.div_ceil(Self::SIZE);
        }
        self.used -= bytes;
        let old = self.count - self.used.div_ceil(Self::SIZE);
        self.count -= old;
        old
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_buffers_share_blocks() {
        const MIB: u64 = 1 << 20;
        let mut blocks = Blocks::default();
        let taken = [MIB, MIB, MIB / 2, 64 * MIB].map(|bytes| blocks.take(bytes));
        assert_eq!(taken, [1, 0, 1, 32]);
        let given_back = [64 * MIB, MIB, MIB, MIB / 2].map(|bytes| blocks.give_back(bytes));
        assert_eq!(given_back, [32, 1, 0, 1]);
    }
}
