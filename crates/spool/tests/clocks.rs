//! Ticks become nanoseconds.

use proptest::prelude::*;
use spool::{Clock, Clocks};

const MS: i64 = 1_000_000;
const SECOND: i64 = 1000 * MS;

fn clocks(pairs: &[(i64, i64)]) -> Clocks {
    pairs.iter().map(|&(ticks, ns)| Clock { ticks, ns }).collect()
}

#[test]
fn without_pairs_ticks_are_nanoseconds() {
    for ticks in [i64::MIN, -1, 0, 77, i64::MAX] {
        assert_eq!(clocks(&[]).ns(ticks), ticks);
    }
}

#[test]
fn a_pair_alone_says_where_but_not_how_fast() {
    let clocks = clocks(&[(5000, 100)]);
    assert_eq!((clocks.ns(4990), clocks.ns(5000), clocks.ns(5010)), (90, 100, 110));
}

#[test]
fn between_pairs_time_passes_evenly() {
    let clocks = clocks(&[(25 * MS, 110 * MS), (0, 100 * MS), (65 * MS, 120 * MS)]);
    assert_eq!((clocks.ns(0), clocks.ns(25 * MS), clocks.ns(65 * MS)), (100 * MS, 110 * MS, 120 * MS));
    assert_eq!((clocks.ns(5 * MS), clocks.ns(45 * MS)), (102 * MS, 115 * MS));
    // Parts of a nanosecond are dropped.
    assert_eq!((clocks.ns(4), clocks.ns(5)), (100 * MS + 1, 100 * MS + 2));
}

#[test]
fn outside_of_pairs_it_goes_on_at_the_rate_of_a_long_interval() {
    // Two ticks a nanosecond; the outermost pairs are a little off, and lie close to others.
    let pairs = [
        (100, 0),
        (4 * MS, 2 * MS),
        (4 * SECOND, 2 * SECOND),
        (8 * SECOND, 4 * SECOND),
        (8 * SECOND + 4 * MS + 100, 4 * SECOND + 2 * MS),
    ];
    let clocks = clocks(&pairs);
    for (ticks, ns) in [(14 * SECOND, 7 * SECOND), (-6 * SECOND, -3 * SECOND)] {
        assert!((clocks.ns(ticks) - ns).abs() <= 300, "{}", clocks.ns(ticks));
    }
}

#[test]
fn of_pairs_close_together_some_stand_for_all() {
    let clocks = clocks(&[(0, 0), (250, 300), (500, 400), (25 * MS, 10 * MS), (25 * MS + 10, 10 * MS + 100)]);
    assert_eq!((clocks.ns(250), clocks.ns(25 * MS)), (100, 10 * MS));
    assert_eq!(clocks.ns(25 * MS + 10), 10 * MS + 100);
}

#[test]
fn a_pair_that_contradicts_an_earlier_one_counts_for_nothing() {
    let clocks =
        clocks(&[(0, 0), (10 * MS, 20 * MS), (15 * MS, 10 * MS), (20 * MS, 40 * MS), (20 * MS, 41 * MS)]);
    assert_eq!((clocks.ns(15 * MS), clocks.ns(20 * MS)), (30 * MS, 40 * MS));
}

proptest! {
    /// Clocks from any file cause no panic, and later ticks are not earlier times.
    #[test]
    fn nothing_is_turned_around(
        pairs in proptest::collection::vec((any::<i64>(), any::<i64>()), 0..20),
        mut ticks in proptest::collection::vec(any::<i64>(), 2..40),
    ) {
        let clocks = clocks(&pairs);
        ticks.extend(pairs.iter().flat_map(|(ticks, _)| [*ticks, ticks.saturating_add(1), ticks.saturating_sub(1)]));
        ticks.extend([i64::MIN, i64::MAX]);
        ticks.sort_unstable();
        prop_assert!(ticks.iter().map(|ticks| clocks.ns(*ticks)).is_sorted());
    }

    /// A counter at any usual rate, read beside a clock with an error of 50 ns: between the pairs
    /// that is the error of what is converted, and a minute from them it is a few microseconds.
    #[test]
    fn time_is_as_right_as_its_pairs(
        rate in 1000i64..5000,
        boot in 0..1i64 << 50,
        gaps in proptest::collection::vec((1000..2 * SECOND, -50i64..=50), 3..40),
        at in any::<prop::sample::Index>(),
    ) {
        let (mut pairs, mut now) = (Vec::new(), SECOND);
        let ticks = |ns: i64| (i128::from(boot) + i128::from(ns) * i128::from(rate) / 1000) as i64;
        for (gap, error) in gaps {
            pairs.push((ticks(now), now + error));
            now += gap;
        }
        let clocks = clocks(&pairs);
        let (first, last) = (pairs[0].1 + 50, pairs[pairs.len() - 1].1 - 50);
        prop_assume!(last - first > SECOND);
        let within = first + at.index((last - first) as usize) as i64;
        prop_assert!((clocks.ns(ticks(within)) - within).abs() <= 120);
        for outside in [first - 60 * SECOND, last + 60 * SECOND] {
            prop_assert!((clocks.ns(ticks(outside)) - outside).abs() <= 10_000);
        }
    }
}
