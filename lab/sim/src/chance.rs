//! Chance, where a model has some: numbers that follow from the model's seed alone, so that a run is the same each time.

/// Numbers that look like chance (SplitMix64, by Steele, Lea and Flood).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// What follows from a seed.
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// The next one, of all 64-bit numbers.
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to 1, without 1.
    pub fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// One from 0 up to and with `most`, each as likely; 0 where there is no choice.
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
    fn follows_from_the_seed_alone() {
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
    fn each_is_as_likely() {
        let mut chance = Chance::new(1);
        let mut counts = [0; 4];
        (0..4_000).for_each(|_| counts[chance.up_to(3) as usize] += 1);
        assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
        assert_eq!((chance.up_to(0), chance.up_to(-5)), (0, 0));
    }
}
