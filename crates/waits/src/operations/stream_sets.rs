//! Sets of a context's streams, by their places among them.

/// Most streams of a context that are compared with each other.
pub(super) const MOST: usize = 256;

/// A set of places.
#[derive(Clone, Copy, Default)]
pub(super) struct StreamSet([u64; MOST / 64]);

impl StreamSet {
    pub fn insert(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    pub fn contains(&self, place: usize) -> bool {
        self.0[place / 64] & (1 << (place % 64)) != 0
    }

    pub fn is_empty(&self) -> bool {
        self.0 == [0; MOST / 64]
    }

    /// The places below `count` that are not in it.
    pub fn others(&self, count: usize) -> impl Iterator<Item = usize> + use<> {
        let words = self.0;
        let of_word = move |(at, word): (usize, u64)| {
            let mut left = !word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(at * 64 + bit)
            })
        };
        words.into_iter().enumerate().flat_map(of_word).take_while(move |place| *place < count)
    }
}
