//! Levels of detail: one block replaces several boxes that are narrower than a pixel.

use trace::Ns;

/// A box, or a block of boxes that are too narrow to be distinguished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    /// Start, ns from the timeline's.
    pub start: u64,
    /// End, ns from the timeline's.
    pub end: u64,
    /// The label of the longest box in it.
    pub label: u32,
    /// Number of boxes in it.
    pub count: u32,
    /// Sum of their durations, ns.
    pub busy: u64,
    /// Duration of the longest of them, ns.
    pub longest: u64,
    /// Bytes that a single box moved; 0 for several boxes.
    pub bytes: u64,
    /// The number of the call or operation that a single box is; [`Block::NONE`] for others.
    pub id: u32,
}

impl Block {
    /// No single call or operation.
    pub const NONE: u32 = u32::MAX;
}

/// The width below which boxes are merged at the finest merged level, ns. CUDA calls take 2 to 10 µs: below a
/// microsecond there is almost nothing to merge.
const FINEST: u64 = 1_024;

/// Factor between the widths of neighboring levels. A choice: with 4, all levels together are at most a third larger
/// than the finest, and at any zoom a block covers at most two pixels.
const STEP: u64 = 4;

/// Most blocks of the coarsest level over the whole timeline: fewer than the pixels of a small screen's width.
const COARSEST_BLOCKS: u64 = 512;

/// The widths of the levels of a timeline of that length, ns, finest first: 0 for the boxes themselves.
pub(crate) fn thresholds(length: Ns) -> Vec<u64> {
    let most = length.unsigned_abs() / COARSEST_BLOCKS;
    let wider = |width: &u64| width.checked_mul(STEP);
    let merged = std::iter::successors(Some(FINEST), wider).take_while(|width| *width <= most.max(FINEST));
    std::iter::once(0).chain(merged).collect()
}

/// Merges neighbors that are narrower than `width`, with gaps below `width`, into blocks of less than twice `width`.
/// `blocks` do not overlap and are in order.
pub(crate) fn merge(blocks: &[Block], width: u64) -> Vec<Block> {
    let mut merged: Vec<Block> = Vec::new();
    let narrow = |block: &Block| block.end - block.start < width;
    // The last block grows only if it is narrow itself or consists of narrow ones.
    let mut open = false;
    for block in blocks {
        if narrow(block)
            && open
            && let Some(last) = merged.last_mut()
            && block.start.saturating_sub(last.end) < width
            && block.end - last.start < 2 * width
        {
            *last = join(last, block);
            continue;
        }
        merged.push(*block);
        open = narrow(block);
    }
    merged
}

fn join(first: &Block, second: &Block) -> Block {
    let longer = if second.longest > first.longest { second } else { first };
    Block {
        start: first.start,
        end: second.end.max(first.end),
        label: longer.label,
        count: first.count.saturating_add(second.count),
        busy: first.busy.saturating_add(second.busy),
        longest: longer.longest,
        bytes: 0,
        id: Block::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(times: &[(u64, u64, u32)]) -> Vec<Block> {
        let one = |&(start, end, label)| Block {
            start,
            end,
            label,
            count: 1,
            busy: end - start,
            longest: end - start,
            bytes: 8,
            id: 0,
        };
        times.iter().map(one).collect()
    }

    #[test]
    fn narrow_neighbors_become_a_block_named_after_the_longest() {
        let boxes =
            boxes(&[(0, 10, 1), (12, 40, 2), (45, 50, 1), (500, 510, 3), (520, 900, 4), (901, 902, 5)]);
        let merged = merge(&boxes, 100);
        let (bytes, id) = (0, Block::NONE);
        let block = Block { start: 0, end: 50, label: 2, count: 3, busy: 43, longest: 28, bytes, id };
        assert_eq!(merged, [block, boxes[3], boxes[4], boxes[5]]);
    }

    #[test]
    fn a_level_has_no_more_blocks_than_pixels_and_loses_no_box() {
        let many: Vec<_> = (0..100_000u64).map(|at| (at * 7, at * 7 + 5, (at % 3) as u32)).collect();
        let mut level = boxes(&many);
        for width in thresholds(700_000).into_iter().skip(1).chain([4_096, 16_384]) {
            level = merge(&level, width);
            assert!(level.len() as u64 <= 700_000 / width + 1, "{width}: {}", level.len());
            assert_eq!(level.iter().map(|block| block.count).sum::<u32>(), 100_000);
            assert_eq!(level.iter().map(|block| block.busy).sum::<u64>(), 500_000);
            assert!(level.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }

    #[test]
    fn widths_suit_the_length() {
        assert_eq!(thresholds(0), [0, 1_024]);
        assert_eq!(thresholds(8_000_000_000).last(), Some(&4_194_304));
        assert!(thresholds(Ns::MAX).len() < 40);
    }
}
