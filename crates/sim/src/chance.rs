//! Pseudo-random numbers for models with chance. They follow from the model's seed only, so that every run is the same.

/// A generator of pseudo-random numbers (SplitMix64, by Steele, Lea and Flood).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// The next 64-bit number.
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to 1, excluding 1.
    pub fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number from 0 to `most`, inclusive, all equally likely.
    pub(crate) fn up_to(&mut self, most: i64) -> i64 {
        let choices = most.max(0) as u128 + 1;
        match choices {
            1 => 0,
            _ => ((u128::from(self.next()) * choices) >> 64) as i64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_follows_from_the_seed() {
        let drawn = |seed| {
            let mut chance = Chance::new(seed);
            [1_000; 8].map(|most| chance.up_to(most))
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
        assert!(drawn(7).iter().all(|one| (0..=1_000).contains(one)));
        // SplitMix64's first number for 0, as its authors' code gives it.
        assert_eq!(Chance::new(0).next(), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn all_choices_are_equally_likely() {
        let mut chance = Chance::new(1);
        let mut counts = [0; 4];
        (0..4_000).for_each(|_| counts[chance.up_to(3) as usize] += 1);
        assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
        assert_eq!((chance.up_to(0), chance.up_to(-5)), (0, 0));
    }
}
