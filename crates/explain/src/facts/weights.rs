//! How much each sample of pauses that are alike counts for.
//!
//! A loop does the same things in the same order in each of its pauses. So pauses are divided into sections, a quarter as many as
//! there are samples, and each section counts alike, however many samples lie in it; one without samples counts for its neighbours.
//! In longer pauses each has been sampled time and again as it went on, so that all samples count alike.
//! A training of two ranks (H100) computed for 91 % of its pauses and then prepared a launch: of 78 samples 67 were in the first
//! part, which is 86 %.

use trace::Ns;

/// The weight of a sample, as all samples of pauses that are alike have on average.
pub const SAMPLE: u64 = 1 << 10;

/// Samples of a section, on average: a choice. With fewer, a section's share hangs on one of them.
const IN_SECTION: usize = 4;

/// The depth of a pause's end: fine enough for any number of samples.
const WHOLE: Ns = 1 << 30;

/// How much of a pause was over at a moment within it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Depth(Ns);

impl Depth {
    /// Depth of a moment in the pause from `start` to `end`, at least 1 ns.
    pub fn at(moment: Ns, start: Ns, end: Ns) -> Depth {
        Depth(scaled(moment - start, WHOLE, end - start))
    }
}

/// The weights of samples at these depths of so many pauses that are alike, in order; pauses without a sample are not among them. The
/// weights' sum is [`SAMPLE`] for each.
pub fn weights(depths: &[Depth], pauses: usize) -> Vec<u64> {
    if depths.len() > IN_SECTION * pauses {
        return vec![SAMPLE; depths.len()];
    }
    let sections = depths.len().div_ceil(IN_SECTION) as Ns;
    let section = |depth: &Depth| scaled(depth.0, sections, WHOLE);
    let groups: Vec<&[Depth]> = depths.chunk_by(|one, other| section(one) == section(other)).collect();
    let all = (depths.len() as u64 * SAMPLE) as Ns;
    let (mut weights, mut start) = (Vec::with_capacity(depths.len()), 0);
    for (at, group) in groups.iter().enumerate() {
        // In half sections: in the middle between this one and the next with samples.
        let edge = groups.get(at + 1).map_or(2 * sections, |next| section(&group[0]) + 1 + section(&next[0]));
        let end = scaled(all, edge, 2 * sections);
        let (weight, count) = (end - start, group.len() as Ns);
        let until = |sample: Ns| scaled(weight, sample, count);
        weights.extend((0..count).map(|sample| (until(sample + 1) - until(sample)) as u64));
        start = end;
    }
    weights
}

/// `ns · part / whole`, rounded down; `whole` is positive.
fn scaled(ns: Ns, part: Ns, whole: Ns) -> Ns {
    (i128::from(ns) * i128::from(part) / i128::from(whole)) as Ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(moments: &[Ns]) -> Vec<u64> {
        let depths: Vec<Depth> = moments.iter().map(|moment| Depth::at(*moment, 0, 100)).collect();
        weights(&depths, moments.len())
    }

    #[test]
    fn few_samples_count_alike() {
        assert_eq!(of(&[]), Vec::<u64>::new());
        assert_eq!(of(&[99]), [SAMPLE]);
        assert_eq!(of(&[10, 90, 92]), [SAMPLE; 3]);
    }

    #[test]
    fn sections_count_alike() {
        // Two halves of four samples' weight each.
        assert_eq!(of(&[10, 30, 60, 70, 80, 90, 94, 98]), [2048, 2048, 682, 683, 683, 682, 683, 683]);
    }

    #[test]
    fn samples_of_one_long_pause_count_alike() {
        let depths = [1, 60, 65, 70, 75, 80, 85, 90, 95].map(|moment| Depth::at(moment, 0, 100));
        assert_eq!(weights(&depths, 1), [SAMPLE; 9]);
        assert!(weights(&depths, 3)[0] > 2 * SAMPLE);
    }

    #[test]
    fn a_section_without_samples_counts_for_its_neighbours() {
        // Of four sections the third has none.
        let weights = of(&[1, 2, 3, 4, 5, 6, 26, 27, 28, 29, 76, 77, 78, 79, 80, 81]);
        let sums = [0..6, 6..10, 10..16].map(|range| weights[range].iter().sum::<u64>() / SAMPLE);
        assert_eq!(sums, [4, 6, 6]);
    }

    #[test]
    fn samples_at_the_same_depth_count_alike() {
        assert_eq!(of(&[50; 40]), [SAMPLE; 40]);
    }

    proptest! {
        #[test]
        fn weights_add_up(mut moments in proptest::collection::vec(0..100 as Ns, 0..300)) {
            moments.sort_unstable();
            prop_assert_eq!(of(&moments).iter().sum::<u64>(), moments.len() as u64 * SAMPLE);
        }
    }
}
