//! How much each sample of pauses that are alike counts for.
//!
//! A loop does the same things in the same order in each of its pauses, so a sample counts for the part of the pauses that is
//! nearer to it than to any other sample. A training of two ranks (H100) computed for 91 % of its pauses and then prepared a
//! launch: of 78 samples 67 were in the first part, which is 86 %.

use trace::Ns;

/// The weight of a sample, as all samples of pauses that are alike have on average.
pub const SAMPLE: u64 = 1 << 10;

/// The depth of a pause's end: fine enough for any number of samples.
const WHOLE: Ns = 1 << 30;

/// How much of a pause was over at a moment within it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Depth(Ns);

impl Depth {
    /// That in the pause from `start` to `end`, at least 1 ns.
    pub fn at(moment: Ns, start: Ns, end: Ns) -> Depth {
        Depth(scaled(moment - start, WHOLE, end - start))
    }
}

/// The weights of samples at these depths of pauses that are alike, in order. Their sum is [`SAMPLE`] for each.
pub fn weights(depths: &[Depth]) -> impl Iterator<Item = u64> {
    let all = (depths.len() as u64 * SAMPLE) as Ns;
    let mut before = 0;
    (1..=depths.len()).map(move |next| {
        let until = depths.get(next).map_or(2 * WHOLE, |depth| depths[next - 1].0 + depth.0);
        let so_far = scaled(until, all, 2 * WHOLE);
        (so_far - std::mem::replace(&mut before, so_far)) as u64
    })
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
        weights(&depths).collect()
    }

    #[test]
    fn a_sample_counts_for_what_is_nearest_to_it() {
        assert_eq!(of(&[]), Vec::<u64>::new());
        assert_eq!(of(&[99]), [SAMPLE]);
        assert_eq!(of(&[25, 75]), [SAMPLE, SAMPLE]);
        // Up to 50, up to 91 and up to the end, rounded down.
        assert_eq!(of(&[10, 90, 92]), [1535, 1260, 277]);
    }

    proptest! {
        #[test]
        fn weights_add_up(mut moments in proptest::collection::vec(0..100 as Ns, 0..300)) {
            moments.sort_unstable();
            prop_assert_eq!(of(&moments).iter().sum::<u64>(), moments.len() as u64 * SAMPLE);
        }
    }
}
