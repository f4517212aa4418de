//! The rows of the timeline and their boxes: those of GPUs (`gpus.rs`), of threads (`threads.rs`) and of streams (`streams.rs`).

use super::labels::Labels;
use super::levels::Block;
use explain::Explanation;
use serde::Serialize;
use trace::{Ns, Trace};

/// Most lanes for nested calls of a thread, or for simultaneous operations of a stream.
pub(super) const MOST_CALLS_DEEP: usize = 6;

/// Most threads with a row, and most streams; of more, those that lost the most time and have the most boxes.
const MOST_ROWS: usize = 256;

/// A GPU, a thread, an engine or a stream.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// `thread 8117`, `pt_autograd_0 (8117)`, `stream 7`.
    pub name: String,
    /// A further fact: `lost 1,163 ms`.
    pub note: String,
    /// Its heading: a process or a GPU.
    pub group: String,
    /// `gpu`, `thread`, `engine` or `stream`.
    pub kind: &'static str,
    /// For one of several threads of alike names in a process: what these have in common.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub team: String,
    /// For a GPU: the part of its account's time in which it worked, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
}

impl Row {
    pub(super) fn of(name: String, group: String, kind: &'static str) -> Row {
        Row { name, note: String::new(), group, kind, team: String::new(), busy: None }
    }
}

/// Boxes of a row that do not overlap.
pub(crate) struct Lane {
    pub row: u32,
    pub kind: Kind,
    /// Nesting depth; 0 for the outermost.
    pub depth: usize,
    pub boxes: Vec<Block>,
}

/// The kind of a lane's boxes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Range,
    Call,
    Lost,
    Op,
    /// An operation on its engine: the page shows it as any other operation.
    #[serde(rename = "op")]
    Work,
    /// Time in which a GPU worked.
    Busy,
    /// Time in which a GPU was idle.
    Idle,
}

/// The timeline's rows and boxes, and counts of what is not drawn.
#[derive(Default)]
pub(crate) struct Lanes {
    pub rows: Vec<Row>,
    pub lanes: Vec<Lane>,
    /// Each thread's row, by thread number; `None` for a thread without a row.
    pub row_of_thread: Vec<Option<u32>>,
    pub row_of_stream: Vec<Option<u32>>,
    /// Number of boxes that are nested too deeply to be drawn.
    pub too_deep: u64,
    /// Number of Python functions, which are not drawn.
    pub python: u64,
    /// Number of threads and streams that have boxes but no row.
    pub rowless: u64,
}

/// The time that a timeline shows, ns of the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    pub start: Ns,
    pub end: Ns,
}

impl Window {
    /// An interval in the timeline's time, ns; `None` if it lies outside.
    pub fn place(&self, start: Ns, end: Ns) -> Option<(u64, u64)> {
        let outside = end < self.start || start > self.end || (end == self.start && start < end);
        let from = |time: Ns| time.clamp(self.start, self.end).abs_diff(self.start);
        (!outside).then(|| (from(start), from(end)))
    }

    pub fn length(&self) -> Ns {
        self.end.saturating_sub(self.start)
    }
}

/// Builds the rows of threads and streams that have boxes in the window.
pub(crate) struct Builder<'a, 'l> {
    pub trace: &'a Trace,
    pub explanation: &'a Explanation,
    pub window: Window,
    pub labels: &'l mut Labels<'a>,
    pub lanes: Lanes,
}

impl<'a, 'l> Builder<'a, 'l> {
    pub fn new(
        trace: &'a Trace,
        explanation: &'a Explanation,
        window: Window,
        labels: &'l mut Labels<'a>,
    ) -> Self {
        Builder { trace, explanation, window, labels, lanes: Lanes::default() }
    }

    /// Keeps the rows with the largest weights.
    pub(super) fn limit(&mut self, shown: &mut Vec<usize>, weight: impl Fn(usize) -> (Ns, usize)) {
        if shown.len() > MOST_ROWS {
            shown.sort_by_key(|at| (std::cmp::Reverse(weight(*at)), *at));
            self.lanes.rowless += (shown.len() - MOST_ROWS) as u64;
            shown.truncate(MOST_ROWS);
        }
    }

    pub(super) fn push_row(&mut self, row: Row) -> u32 {
        self.lanes.rows.push(row);
        self.lanes.rows.len() as u32 - 1
    }

    /// Puts nested boxes below each other.
    pub(super) fn nested(&mut self, row: u32, kind: Kind, mut boxes: Vec<Block>, most: usize) {
        boxes.sort_by_key(|item| (item.start, std::cmp::Reverse(item.end)));
        let mut open: Vec<u64> = Vec::new();
        let mut lanes: Vec<Vec<Block>> = Vec::new();
        for item in boxes {
            while open.last().is_some_and(|end| *end <= item.start) {
                open.pop();
            }
            let depth = open.len();
            open.push(item.end);
            self.put(&mut lanes, depth, item, most);
        }
        self.push_lanes(row, kind, lanes);
    }

    /// Puts overlapping boxes below each other, each on the highest lane with room.
    pub(super) fn side_by_side(&mut self, row: u32, kind: Kind, mut boxes: Vec<Block>) {
        boxes.sort_by_key(|item| (item.start, std::cmp::Reverse(item.end)));
        let mut lanes: Vec<Vec<Block>> = Vec::new();
        for item in boxes {
            let free = |lane: &Vec<Block>| lane.last().is_none_or(|last| last.end <= item.start);
            let depth = lanes.iter().position(free).unwrap_or(lanes.len());
            self.put(&mut lanes, depth, item, MOST_CALLS_DEEP);
        }
        self.push_lanes(row, kind, lanes);
    }

    fn put(&mut self, lanes: &mut Vec<Vec<Block>>, depth: usize, item: Block, most: usize) {
        if depth >= most {
            self.lanes.too_deep += 1;
            return;
        }
        if lanes.len() <= depth {
            lanes.resize(depth + 1, Vec::new());
        }
        lanes[depth].push(item);
    }

    fn push_lanes(&mut self, row: u32, kind: Kind, lanes: Vec<Vec<Block>>) {
        let lanes = lanes.into_iter().enumerate();
        self.lanes.lanes.extend(lanes.map(|(depth, boxes)| Lane { row, kind, depth, boxes }));
    }
}

/// A single box.
pub(super) fn one((start, end): (u64, u64), label: u32, bytes: u64) -> Block {
    let long = end - start;
    Block { start, end, label, count: 1, busy: long, longest: long, bytes, id: Block::NONE }
}
