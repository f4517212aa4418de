//! The order of a listing's rows, and how many of them it has.

use std::cmp::{Ordering, Reverse};
use trace::Ns;

/// By what rows are sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sort {
    /// Earliest start first.
    #[default]
    Start,
    /// Longest first.
    Duration,
    /// Names in the order of their letters.
    Name,
}

/// The order of rows and their number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Order {
    /// By what they are sorted; what is the same keeps the order of time.
    pub sort: Sort,
    /// How many there are at most; `None` for all.
    pub top: Option<usize>,
}

impl Order {
    /// The first of the rows in this order. For a given number, memory is that of twice as many.
    pub(super) fn of<'n>(
        self,
        rows: impl Iterator<Item = u32>,
        time: impl Fn(u32) -> (Ns, Ns),
        name: impl Fn(u32) -> &'n str,
    ) -> Vec<u32> {
        let start = |row: u32| time(row).0;
        let duration = |row: u32| time(row).1 - time(row).0;
        let by_time = |a: u32, b: u32| (start(a), a).cmp(&(start(b), b));
        let compare = |a: u32, b: u32| match self.sort {
            Sort::Start => by_time(a, b),
            Sort::Duration => Reverse(duration(a)).cmp(&Reverse(duration(b))).then_with(|| by_time(a, b)),
            Sort::Name => name(a).cmp(name(b)).then_with(|| by_time(a, b)),
        };
        let mut first = match self.top {
            Some(most) => least(rows, most, compare),
            None => rows.collect(),
        };
        // Most traces are in order of time already.
        if !first.is_sorted_by(|a, b| compare(*a, *b) != Ordering::Greater) {
            first.sort_unstable_by(|a, b| compare(*a, *b));
        }
        first
    }
}

/// The `most` rows that come first, in any order.
fn least(rows: impl Iterator<Item = u32>, most: usize, compare: impl Fn(u32, u32) -> Ordering) -> Vec<u32> {
    let room = most.saturating_mul(2).max(1);
    let mut kept: Vec<u32> = Vec::new();
    let cut = |kept: &mut Vec<u32>| {
        if kept.len() > most {
            kept.select_nth_unstable_by(most, |a, b| compare(*a, *b));
            kept.truncate(most);
        }
    };
    for row in rows {
        kept.push(row);
        if kept.len() >= room {
            cut(&mut kept);
        }
    }
    cut(&mut kept);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rows_are_those_of_the_whole_order() {
        // Starts run backwards in pairs; durations and names repeat.
        let time = |row: u32| (Ns::from(50 - row / 2), Ns::from(50 - row / 2 + row * 7 % 5));
        let name = |row: u32| ["b", "a", "c"][row as usize % 3];
        for sort in [Sort::Start, Sort::Duration, Sort::Name] {
            let all = Order { sort, top: None }.of(0..100, time, name);
            assert_eq!(all.len(), 100);
            for top in [0, 1, 7, 99, 100, 1000] {
                let first = Order { sort, top: Some(top) }.of(0..100, time, name);
                assert_eq!(first, all[..top.min(100)], "{sort:?} {top}");
            }
        }
        assert_eq!(Order { sort: Sort::Start, top: Some(2) }.of(0..100, time, name), [98, 99]);
    }
}
