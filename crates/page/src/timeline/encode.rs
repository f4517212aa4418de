//! Encodes boxes as bytes, with as many detailed levels as there is room for.
//!
//! A level of a lane is cut into chunks, so that the page decodes only the visible ones. A chunk is columns of whole
//! numbers: starts as differences, durations, labels, counts if it holds blocks; then the bytes that a box moved or, for
//! a block of several boxes, their total time. A column is a byte for the size of its largest number in bytes, then the
//! lowest byte of every number, the next byte of every number, and so on. The low bytes of times are noise and the high
//! bytes nearly the same, so this deflates an eighth better than one number after another (measured on a million calls).

use super::lanes::{Kind, Lane};
use super::levels::{Block, merge, thresholds};
use crate::document::Data;
use serde::Serialize;
use trace::Ns;

/// Boxes in a chunk: a browser decodes as many in a few milliseconds.
pub(super) const CHUNK: usize = 16_384;

/// How many times fewer blocks a level must have than the next finer one to be kept: for a million calls, a level with
/// half as many blocks does not make the browser noticeably faster, and takes room from the calls themselves.
const FEWER: usize = 3;

/// Percentage of the room for calls, losses and operations; the rest is for ranges of frameworks.
const WITHOUT_RANGES: usize = 80;

/// Largest percentage of the room for rows of engines: streams show the same operations.
const ENGINES: usize = 10;

/// Largest percentage of the room for the rows of GPUs: whether each worked, and why not.
const GPUS: usize = 10;

/// Percentage of the room for the boxes around the findings' examples if not all boxes fit.
const EXAMPLES: usize = 10;

/// A lane in the page's index.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LaneIndex {
    /// Its row.
    pub row: u32,
    /// The kind of its boxes.
    pub kind: Kind,
    /// Nesting depth; 0 for the outermost.
    pub depth: usize,
    /// Its levels, coarsest first.
    pub levels: Vec<LevelIndex>,
}

/// A level of detail.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LevelIndex {
    /// The width below which boxes are merged, ns; 0 for the boxes themselves.
    pub width: u64,
    /// Its chunks, in order of time.
    pub chunks: Vec<ChunkIndex>,
}

/// A chunk: the number of its data, the start and end of the time that it covers completely, and its number of boxes.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct ChunkIndex(pub usize, pub u64, pub u64, pub usize);

/// Lanes as data.
pub(crate) struct Encoded {
    pub lanes: Vec<LaneIndex>,
    pub data: Vec<Data>,
    /// The width below which calls and operations are merged outside of examples, ns; 0 if they are complete.
    pub merged_below: u64,
    /// As `merged_below`, for ranges.
    pub ranges_merged_below: u64,
    /// As `merged_below`, for the rows of GPUs.
    pub gpus_merged_below: u64,
    /// As `merged_below`, for the rows of engines.
    pub engines_merged_below: u64,
}

/// Encodes `lanes` of a timeline of that length, ns, in about `room` bytes of deflated data: the coarsest level is always
/// included, even beyond `room`. `examples` are the most important times.
pub(crate) fn encode(lanes: &[Lane], length: Ns, room: usize, examples: &[(u64, u64)]) -> Encoded {
    let mut encoder = Encoder::new(lanes, length, room);
    let of = |wanted: fn(Kind) -> bool| -> Vec<usize> {
        (0..lanes.len()).filter(|lane| wanted(lanes[*lane].kind)).collect()
    };
    let others = of(|kind| !matches!(kind, Kind::Range | Kind::Work | Kind::Busy | Kind::Idle));
    let merged_below = encoder.levels(&others, room * WITHOUT_RANGES / 100);
    let with_gpus = (encoder.used + room * GPUS / 100).min(room * (100 - EXAMPLES) / 100);
    let gpus_merged_below = encoder.levels(&of(|kind| matches!(kind, Kind::Busy | Kind::Idle)), with_gpus);
    let with_engines = (encoder.used + room * ENGINES / 100).min(room * (100 - EXAMPLES) / 100);
    let engines_merged_below = encoder.levels(&of(|kind| kind == Kind::Work), with_engines);
    let ranges_merged_below = encoder.levels(&of(|kind| kind == Kind::Range), room * (100 - EXAMPLES) / 100);
    if merged_below > 0 {
        encoder.around(&others, examples);
    }
    Encoded { gpus_merged_below, engines_merged_below, ..encoder.finish(merged_below, ranges_merged_below) }
}

struct Encoder<'a> {
    lanes: &'a [Lane],
    widths: Vec<u64>,
    room: usize,
    used: usize,
    index: Vec<LaneIndex>,
    data: Vec<Data>,
}

impl<'a> Encoder<'a> {
    fn new(lanes: &'a [Lane], length: Ns, room: usize) -> Encoder<'a> {
        let empty =
            |lane: &Lane| LaneIndex { row: lane.row, kind: lane.kind, depth: lane.depth, levels: Vec::new() };
        let index = lanes.iter().map(empty).collect();
        Encoder { lanes, widths: thresholds(length), room, used: 0, index, data: Vec::new() }
    }

    /// Adds level after level of some lanes while a whole level fits; returns the width of the finest.
    fn levels(&mut self, lanes: &[usize], room: usize) -> u64 {
        let plans: Vec<_> = lanes.iter().map(|lane| worth(&self.lanes[*lane].boxes, &self.widths)).collect();
        for step in (0..self.widths.len()).rev() {
            let planned: Vec<usize> =
                lanes.iter().zip(&plans).filter(|(_, plan)| plan[step]).map(|(lane, _)| *lane).collect();
            if !self.level(&planned, step, room) {
                return self.finest_that_fits(lanes, step + 1, room);
            }
        }
        0
    }

    /// If a level did not fit: adds the finest coarser level that fits for all lanes; returns its width.
    fn finest_that_fits(&mut self, lanes: &[usize], from: usize, room: usize) -> u64 {
        for step in from..self.widths.len() {
            let width = self.widths[step];
            let lacks = |lane: &usize| self.index[*lane].levels.iter().all(|level| level.width > width);
            let lacking: Vec<usize> = lanes.iter().copied().filter(lacks).collect();
            if self.level(&lacking, step, room) {
                return width;
            }
        }
        self.widths.last().copied().unwrap_or_default()
    }

    /// Adds a level of some lanes; returns whether it fits. The coarsest always does.
    fn level(&mut self, lanes: &[usize], step: usize, room: usize) -> bool {
        let width = self.widths[step];
        let coarsest = step + 1 == self.widths.len();
        let (used, numbers) = (self.used, self.data.len());
        let mut added = Vec::new();
        for lane in lanes {
            let boxes = &self.lanes[*lane].boxes;
            let merged = (width > 0).then(|| merge(boxes, width));
            let chunks = self.chunks(merged.as_ref().unwrap_or(boxes), width, coarsest, &mut |_, _| true);
            added.push((*lane, LevelIndex { width, chunks }));
            if self.used > room && !coarsest {
                self.used = used;
                self.data.truncate(numbers);
                return false;
            }
        }
        for (lane, level) in added {
            self.index[lane].levels.push(level);
        }
        true
    }

    /// Adds as many boxes around the examples as fit.
    fn around(&mut self, lanes: &[usize], examples: &[(u64, u64)]) {
        for lane in lanes {
            let wanted = |from: u64, to: u64| examples.iter().any(|(start, end)| from < *end && to > *start);
            let chunks = self.chunks(&self.lanes[*lane].boxes, 0, false, &mut |from, to| wanted(from, to));
            if !chunks.is_empty() {
                self.index[*lane].levels.push(LevelIndex { width: 0, chunks });
            }
        }
    }

    /// Encodes the selected chunks of a level.
    fn chunks(
        &mut self,
        blocks: &[Block],
        width: u64,
        first: bool,
        wanted: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Vec<ChunkIndex> {
        let mut index: Vec<ChunkIndex> = Vec::new();
        let mut previous_is_in = false;
        for chunk in blocks.chunks(CHUNK) {
            let (Some(start), Some(end)) = (chunk.first(), chunk.last()) else { continue };
            let is_in = self.used <= self.room && wanted(start.start, end.end) || first;
            if is_in {
                if let Some(last) = index.last_mut().filter(|_| previous_is_in) {
                    last.2 = start.start;
                }
                index.push(ChunkIndex(self.data.len(), start.start, end.end, chunk.len()));
                let data = Data::new(format!("boxes-{}", self.data.len()), &bytes(chunk, width), first);
                self.used += data.deflated.len();
                self.data.push(data);
            }
            previous_is_in = is_in;
        }
        index
    }

    fn finish(self, merged_below: u64, ranges_merged_below: u64) -> Encoded {
        let (lanes, data) = (self.index, self.data);
        let (gpus_merged_below, engines_merged_below) = (0, 0);
        Encoded { lanes, data, merged_below, ranges_merged_below, gpus_merged_below, engines_merged_below }
    }
}

/// The levels worth their room: the boxes themselves, the coarsest, and those with at most a third of the blocks of the
/// next finer kept level.
fn worth(boxes: &[Block], widths: &[u64]) -> Vec<bool> {
    let mut worth = vec![true];
    let (mut blocks, mut stored) = (boxes.to_vec(), boxes.len());
    for (step, width) in widths.iter().enumerate().skip(1) {
        blocks = merge(&blocks, *width);
        let fewer = blocks.len() * FEWER <= stored || step + 1 == widths.len();
        stored = if fewer { blocks.len() } else { stored };
        worth.push(fewer);
    }
    worth
}

fn bytes(chunk: &[Block], width: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(chunk.len() * 12);
    let mut before = chunk.first().map_or(0, |block| block.start);
    let since_last = |block: &Block| block.start - std::mem::replace(&mut before, block.start);
    column(&mut bytes, chunk.iter().map(since_last));
    column(&mut bytes, chunk.iter().map(|block| block.end - block.start));
    column(&mut bytes, chunk.iter().map(|block| u64::from(block.label)));
    if width > 0 {
        column(&mut bytes, chunk.iter().map(|block| u64::from(block.count)));
    }
    let amount = |block: &Block| if block.count > 1 { block.busy } else { block.bytes };
    column(&mut bytes, chunk.iter().map(amount));
    bytes
}

pub(super) fn column(bytes: &mut Vec<u8>, numbers: impl Iterator<Item = u64>) {
    let numbers: Vec<u64> = numbers.collect();
    let largest = numbers.iter().max().copied().unwrap_or_default();
    let planes = (u64::BITS - largest.leading_zeros()).div_ceil(8);
    bytes.push(planes as u8);
    for plane in 0..planes {
        bytes.extend(numbers.iter().map(|number| (number >> (8 * plane)) as u8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn lane(kind: Kind, boxes: u64) -> Lane {
        let one = |at: u64| {
            // Irregular enough that deflating does not shrink it to nothing.
            let start = at * 4_000 + at * at * 7 % 1_900;
            let busy = 1_000 + at * 31 % 997;
            Block {
                start,
                end: start + busy,
                label: (at % 5) as u32,
                count: 1,
                busy,
                longest: busy,
                bytes: at % 3,
                id: at as u32,
            }
        };
        Lane { row: 0, kind, depth: 0, boxes: (0..boxes).map(one).collect() }
    }

    /// A chunk's columns.
    fn decode(encoded: &Encoded, chunk: &ChunkIndex) -> Vec<Vec<u64>> {
        let mut bytes = Vec::new();
        let mut inflater = flate2::read::DeflateDecoder::new(&*encoded.data[chunk.0].deflated);
        inflater.read_to_end(&mut bytes).unwrap();
        let (mut rest, mut columns) = (&bytes[..], Vec::new());
        while let Some((planes, after)) = rest.split_first() {
            let mut numbers = vec![0; chunk.3];
            let planes = usize::from(*planes);
            for (at, byte) in after[..planes * chunk.3].iter().enumerate() {
                numbers[at % chunk.3] |= u64::from(*byte) << (8 * (at / chunk.3));
            }
            columns.push(numbers);
            rest = &after[planes * chunk.3..];
        }
        columns
    }

    #[test]
    fn boxes_that_fit_are_complete() {
        let lanes = [lane(Kind::Call, 50_000), lane(Kind::Range, 10)];
        let encoded = encode(&lanes, 200_000_000, 10 << 20, &[]);
        assert_eq!((encoded.merged_below, encoded.ranges_merged_below), (0, 0));
        let finest = encoded.lanes[0].levels.last().unwrap();
        assert_eq!((finest.width, finest.chunks.len()), (0, 4));
        let mut start = 0;
        for (chunk, boxes) in finest.chunks.iter().zip(lanes[0].boxes.chunks(CHUNK)) {
            assert_eq!((chunk.1, chunk.3), (boxes[0].start, boxes.len()));
            assert!(chunk.1 >= start, "chunks follow each other");
            start = chunk.2;
            let [starts, durations, labels, sizes] = &decode(&encoded, chunk)[..] else {
                panic!("four columns")
            };
            assert_eq!(starts.iter().sum::<u64>(), boxes.last().unwrap().start - boxes[0].start);
            assert!(boxes.iter().map(|block| block.busy).eq(durations.iter().copied()));
            assert!(boxes.iter().map(|block| u64::from(block.label)).eq(labels.iter().copied()));
            assert!(boxes.iter().map(|block| block.bytes).eq(sizes.iter().copied()));
        }
        assert!(encoded.lanes[0].levels.windows(2).all(|pair| pair[0].width > pair[1].width));
    }

    #[test]
    fn boxes_that_do_not_fit_are_merged_except_around_examples() {
        let lanes = [lane(Kind::Call, 400_000), lane(Kind::Range, 400_000)];
        let room = 120_000;
        let encoded = encode(&lanes, 1_600_000_000, room, &[(800_000_000, 800_000_100)]);
        assert!(encoded.merged_below > 0);
        let size: usize = encoded.data.iter().map(|data| data.deflated.len()).sum();
        assert!(size <= room + room / 10, "{size}");
        let finest = encoded.lanes[0].levels.last().unwrap();
        assert_eq!((finest.width, finest.chunks.len()), (0, 1));
        let ChunkIndex(_, from, to, _) = finest.chunks[0];
        assert!(from <= 800_000_000 && to > 800_000_000);
        // A coarser level has all other boxes.
        let coarse = &encoded.lanes[0].levels[encoded.lanes[0].levels.len() - 2];
        assert_eq!(coarse.chunks.first().unwrap().1, lanes[0].boxes[0].start);
        assert_eq!(coarse.chunks.last().unwrap().2, lanes[0].boxes.last().unwrap().end);
    }
}
