//! A row of times in which those above a floor are found without a full scan.

use trace::Ns;

/// The value of empty places, below every floor.
const NOTHING: Ns = Ns::MIN;

/// A tree of maxima over a row of times.
pub(crate) struct Peaks {
    /// `tree[1]` is the maximum of all. `tree[2 * n]` and `tree[2 * n + 1]` are the maxima of the two halves below
    /// `tree[n]`. The second half of the tree is the row itself; its last place is never used.
    tree: Vec<Ns>,
}

impl Default for Peaks {
    fn default() -> Peaks {
        Peaks { tree: vec![NOTHING; 2] }
    }
}

impl Peaks {
    /// A row of these times.
    pub fn of(row: impl ExactSizeIterator<Item = Ns>) -> Peaks {
        let places = (row.len() + 1).next_power_of_two();
        let mut tree = vec![NOTHING; 2 * places];
        tree[places..].iter_mut().zip(row).for_each(|(place, time)| *place = time);
        for node in (1..places).rev() {
            tree[node] = tree[2 * node].max(tree[2 * node + 1]);
        }
        Peaks { tree }
    }

    /// Sets the time at a place of the row, which grows as needed.
    pub fn set(&mut self, at: usize, time: Ns) {
        if at + 1 >= self.places() {
            self.grow(at + 2);
        }
        let mut node = at + self.places();
        self.tree[node] = time;
        while node > 1 {
            node /= 2;
            let highest = self.tree[2 * node].max(self.tree[2 * node + 1]);
            if std::mem::replace(&mut self.tree[node], highest) == highest {
                return;
            }
        }
    }

    /// Empties a place of the row.
    pub fn clear(&mut self, at: usize) {
        if at + 1 < self.places() {
            self.set(at, NOTHING);
        }
    }

    /// The places before `end` whose times are above `floor`, the last one first.
    pub fn above(&self, floor: Ns, end: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        std::iter::successors(self.last_above(floor, end), move |at| self.last_above(floor, *at))
    }

    fn last_above(&self, floor: Ns, end: usize) -> Option<usize> {
        let places = self.places();
        // Everything to the left of the path from here to the root is before `end`.
        let mut node = end.min(places - 1) + places;
        while node > 1 {
            if node % 2 == 1 && self.tree[node - 1] > floor {
                return Some(self.last_below(node - 1, floor) - places);
            }
            node /= 2;
        }
        None
    }

    /// The last place above `floor` below `node`, whose maximum is above it.
    fn last_below(&self, mut node: usize, floor: Ns) -> usize {
        while node < self.places() {
            let latter = 2 * node + 1;
            node = if self.tree[latter] > floor { latter } else { latter - 1 };
        }
        node
    }

    fn places(&self) -> usize {
        self.tree.len() / 2
    }

    fn grow(&mut self, least: usize) {
        let mut row = self.tree.split_off(self.places());
        row.resize(least.next_power_of_two() - 1, NOTHING);
        *self = Peaks::of(row.into_iter());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(row: &[Ns], floor: Ns, end: usize) -> Vec<usize> {
        (0..row.len().min(end)).rev().filter(|at| row[*at] > floor).collect()
    }

    fn check(peaks: &Peaks, row: &[Ns]) {
        for floor in [Ns::MIN, -1, 0, 1, 2, Ns::MAX] {
            for end in 0..row.len() + 3 {
                let found: Vec<_> = peaks.above(floor, end).collect();
                assert_eq!(found, naive(row, floor, end), "{row:?} above {floor} before {end}");
            }
        }
    }

    /// The row with this number: each of its up to six times has one of the four values from −1 to 2.
    fn row(length: usize, number: usize) -> Vec<Ns> {
        (0..length).map(|at| (number >> (2 * at) & 3) as Ns - 1).collect()
    }

    #[test]
    fn short_rows_match_a_full_scan() {
        for length in 0..=6 {
            for number in 0..1 << (2 * length) {
                let row = row(length, number);
                check(&Peaks::of(row.iter().copied()), &row);
            }
        }
    }

    #[test]
    fn rows_grow_and_change() {
        for number in 0..1 << 12 {
            let (mut peaks, mut changed) = (Peaks::default(), Vec::new());
            for (at, time) in row(6, number).into_iter().enumerate() {
                peaks.set(at, time);
                changed.push(time);
                if time == 2 {
                    peaks.clear(at / 2);
                    changed[at / 2] = NOTHING;
                }
            }
            check(&peaks, &changed);
        }
    }
}
