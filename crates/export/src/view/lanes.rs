//! Makes slices nest: slices that overlap, but of which none contains the other, go on different lanes.

use std::collections::BTreeSet;
use trace::Ns;

/// The preferred lane of a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wish {
    /// On this lane if it nests there; otherwise on lane 0 if it nests there.
    On(u32),
    /// Not on this lane.
    Off(u32),
}

/// The lanes of one track, filled in order of start; of slices with one start, the longer first.
#[derive(Default)]
pub(super) struct Lanes {
    /// Ends of the slices that are open on each lane, outermost first.
    open: Vec<Vec<Ns>>,
    /// The innermost end of each lane with an open slice, except the first lane.
    busy: BTreeSet<(Ns, u32)>,
    /// Lanes without an open slice, except the first lane.
    idle: BTreeSet<u32>,
}

impl Lanes {
    /// The lane for a slice: the preferred one, or one where it nests, or a new one.
    pub fn place(&mut self, wish: Wish, start: Ns, end: Ns) -> u32 {
        if self.open.is_empty() {
            self.open.push(Vec::new());
        }
        self.close_busy(start);
        close(&mut self.open[0], start);
        let around = match wish {
            Wish::On(lane @ 1..) => self.open[lane as usize].last().map(|last| (*last, lane)),
            _ => None,
        };
        let around = around.filter(|(last, _)| *last >= end);
        let nests_on_first = self.open[0].last().is_none_or(|last| *last >= end);
        if around.is_none() && wish != Wish::Off(0) && nests_on_first {
            self.open[0].push(end);
            return 0;
        }
        let mut others = self.busy.range((end, 0)..).filter(|(_, lane)| wish != Wish::Off(*lane));
        let around = around.or_else(|| others.next().copied());
        let lane = match around {
            Some((last, lane)) => {
                self.busy.remove(&(last, lane));
                lane
            }
            None => self.idle.pop_first().unwrap_or_else(|| {
                self.open.push(Vec::new());
                (self.open.len() - 1) as u32
            }),
        };
        self.open[lane as usize].push(end);
        self.busy.insert((end, lane));
        lane
    }

    /// Closes slices that have ended, on all lanes except the first.
    fn close_busy(&mut self, start: Ns) {
        while let Some(&(end, lane)) = self.busy.first().filter(|(end, _)| *end <= start) {
            self.busy.remove(&(end, lane));
            let open = &mut self.open[lane as usize];
            close(open, start);
            match open.last() {
                Some(last) => self.busy.insert((*last, lane)),
                None => self.idle.insert(lane),
            };
        }
    }
}

fn close(open: &mut Vec<Ns>, start: Ns) {
    while open.last().is_some_and(|end| *end <= start) {
        open.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::{Lanes, Wish};
    use proptest::prelude::*;

    fn placed(slices: &[(i64, i64)]) -> Vec<u32> {
        let mut lanes = Lanes::default();
        slices.iter().map(|(start, end)| lanes.place(Wish::On(0), *start, *end)).collect()
    }

    #[test]
    fn what_nests_stays_on_the_first_lane() {
        assert_eq!(placed(&[(0, 100), (0, 50), (10, 50), (50, 100), (50, 50), (100, 200)]), [0; 6]);
    }

    #[test]
    fn what_belongs_together_stays_together() {
        let mut lanes = Lanes::default();
        let mut place = |wish, start, end| lanes.place(wish, start, end);
        assert_eq!([place(Wish::On(0), 0, 100), place(Wish::On(0), 50, 150)], [0, 1]);
        assert_eq!(
            [place(Wish::On(1), 60, 90), place(Wish::On(1), 95, 160), place(Wish::On(1), 200, 210)],
            [1, 2, 0]
        );
        assert_eq!([place(Wish::Off(0), 202, 206), place(Wish::Off(1), 203, 204)], [1, 0]);
    }

    #[test]
    fn what_overlaps_goes_on_another() {
        // The third nests in the second's lane; the fourth overlaps both; the last finds a free lane.
        assert_eq!(
            placed(&[(0, 100), (50, 150), (60, 120), (70, 160), (200, 300), (250, 350)]),
            [0, 1, 1, 2, 0, 1]
        );
    }

    proptest! {
        #[test]
        fn slices_of_a_lane_always_nest(mut slices in prop::collection::vec((0i64..60, 0i64..30), 0..60)) {
            slices.iter_mut().for_each(|(start, end)| *end += *start);
            slices.sort_by_key(|(start, end)| (*start, -end));
            let lanes = placed(&slices);
            for (a, lane) in slices.iter().zip(&lanes) {
                for (b, _) in slices.iter().zip(&lanes).filter(|(_, other)| *other == lane) {
                    prop_assert!(a.1 <= b.0 || b.1 <= a.0 || (a.0 <= b.0 && b.1 <= a.1) || (b.0 <= a.0 && a.1 <= b.1));
                }
            }
        }
    }

    /// A staircase of overlapping slices needs one lane per slice, in reasonable time.
    #[test]
    fn many_lanes_take_reasonable_time() {
        let stairs: Vec<_> = (0..200_000).map(|at| (at, at + 1_000_000)).collect();
        assert_eq!(placed(&stairs).last(), Some(&199_999));
    }
}
