//! A small generator of pseudo-random numbers (SplitMix64): the same seed gives the same numbers
//! on every machine, for ever.

/// The generator.
pub(crate) struct Random(u64);

impl Random {
    /// Starts from a seed.
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number in `from..to`.
    pub(crate) fn within(&mut self, from: i64, to: i64) -> i64 {
        let span = (to - from) as u128;
        from + ((u128::from(self.next()) * span) >> 64) as i64
    }

    /// An index below `count`, low ones more often than high ones.
    pub(crate) fn skewed(&mut self, count: usize) -> usize {
        let at = self.within(0, 1 << 20);
        (count * ((at * at) >> 20) as usize) >> 20
    }

    /// True in `percent` of 100 cases.
    pub(crate) fn chance(&mut self, percent: i64) -> bool {
        self.within(0, 100) < percent
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn repeats_with_the_seed_and_stays_in_range() {
        let (mut a, mut b, mut other) = (Random::new(7), Random::new(7), Random::new(8));
        let numbers: Vec<i64> = (0..1000).map(|_| a.within(-5, 5)).collect();
        assert!(numbers.iter().all(|n| (-5..5).contains(n)));
        assert!((-5..5).all(|n| numbers.contains(&n)));
        assert!(numbers.iter().all(|&n| b.within(-5, 5) == n));
        assert!(numbers.iter().any(|&n| other.within(-5, 5) != n));
        assert!((0..1000).all(|_| a.skewed(3) < 3));
    }
}
