//! The order of runs, and when they are enough.

use crate::judge::{Block, Sense, is_narrow};
use crate::side::Side;

/// The fewest blocks before the width is looked at: with 6, intervals that end by their width keep their 95 %
/// (`tests/calibration.rs`).
const FEWEST: usize = 6;

/// How often both commands run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plan {
    /// The most rounds, each a run of both commands. Two make a block, so that an odd last one does not run.
    pub rounds: usize,
    /// First runs of each command that do not count.
    pub warm_ups: usize,
    /// The half width of the gain's interval that is narrow enough, as a share of what was before.
    pub precision: f64,
}

impl Plan {
    /// The fewest rounds that can be judged.
    pub const FEWEST_ROUNDS: usize = 4;

    /// The most runs, warm-ups included.
    pub fn most_runs(&self) -> usize {
        2 * self.warm_ups + 4 * self.most_blocks()
    }

    pub(crate) fn most_blocks(&self) -> usize {
        self.rounds / 2
    }

    /// Whether a round, counted from 0, runs what it compares in the reversed order.
    ///
    /// It follows the sequence of Thue and Morse, so that two rounds of A and B make a block: ABBA BAAB BAAB ABBA. No drift of
    /// a low degree favours one of them, and nor does anything that returns at a fixed interval.
    pub fn is_reversed(round: usize) -> bool {
        round.count_ones() % 2 == 1
    }

    /// The runs of a block in their order.
    pub(crate) fn block(number: usize) -> [Side; 4] {
        let round = |round| match Plan::is_reversed(round) {
            false => [Side::Before, Side::After],
            true => [Side::After, Side::Before],
        };
        let ([first, second], [third, fourth]) = (round(2 * number), round(2 * number + 1));
        [first, second, third, fourth]
    }

    /// Whether no further block is needed: the interval is narrow enough, or all rounds have run. It never depends on which
    /// command is better, or on whether one is.
    pub(crate) fn is_done(&self, blocks: &[Block], sense: Sense) -> bool {
        let is_enough = blocks.len() >= FEWEST && is_narrow(blocks, sense, self.precision);
        is_enough || blocks.len() >= self.most_blocks()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_order_of_thue_and_morse() {
        let order = |number| Plan::block(number).map(|side| if side == Side::Before { 'A' } else { 'B' });
        let orders: Vec<String> = (0..8).map(|number| order(number).iter().collect()).collect();
        assert_eq!(orders, ["ABBA", "BAAB", "BAAB", "ABBA", "BAAB", "ABBA", "ABBA", "BAAB"]);
    }

    #[test]
    fn the_width_ends_it_and_not_the_gain() {
        let plan = Plan { rounds: 41, warm_ups: 1, precision: 0.01 };
        let even = Block { before: [1.0, 1.0], after: [1.0, 1.0] };
        let faster = Block { after: [0.5, 0.5], ..even };
        for block in [even, faster] {
            assert!(!plan.is_done(&[block; FEWEST - 1], Sense::LessIsBetter), "too few");
            assert!(plan.is_done(&[block; FEWEST], Sense::LessIsBetter), "narrow");
        }
        let noisy = |at: usize| Block { before: [1.0, 1.0], after: [0.5, 0.6 + at as f64 / 20.0] };
        let wide: Vec<Block> = (0..20).map(noisy).collect();
        assert!(!plan.is_done(&wide[..19], Sense::LessIsBetter), "wide, though faster");
        assert!(plan.is_done(&wide, Sense::LessIsBetter), "all rounds");
        assert_eq!(plan.most_runs(), 82);
    }
}
