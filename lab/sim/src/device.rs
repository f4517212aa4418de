//! What a device is: engines, the contexts that take turns, and their kernels.

use crate::Model;
use crate::ops::{Op, OpRef};
use crate::plan::NONE;
use std::collections::VecDeque;

/// The engine of copies to the device.
pub(crate) const IN: u32 = 0;
/// The engine of copies to the host; with one copy engine, [`IN`].
pub(crate) const OUT: u32 = 1;
/// What copies within a device and fills it: their own engine, in the way of nobody else.
pub(crate) const WITHIN: u32 = 2;
/// Pageable copies that come in pieces, to the device and to the host: in the way of none but their own kind.
pub(crate) const PIECES_IN: u32 = 3;
pub(crate) const PIECES_OUT: u32 = 4;
/// What runs kernels.
pub(crate) const COMPUTE: u32 = 5;

/// A device.
pub(crate) struct Device {
    /// Memory that is allocated, bytes.
    pub used: u64,
    pub engines: [Engine; COMPUTE as usize],
    /// Contexts that take turns; all clients of an MPS server are one.
    pub groups: Vec<Group>,
    /// Whose turn it is.
    pub active: u32,
    /// Whether it goes from one to the next right now.
    pub switching: bool,
    /// Counts turns.
    pub turn: u32,
    pub turn_began: i64,
    /// Whether the turn's end is planned.
    pub ends: bool,
    /// When it may start the next kernel.
    pub next_issue: i64,
    /// What it was asked for last.
    pub last_issued: OpRef,
    /// Kernels that signal together, and rows to use again.
    pub batches: Vec<Batch>,
    pub free_batches: Vec<u32>,
}

/// What runs copies or fills, one after the other.
#[derive(Default)]
pub(crate) struct Engine {
    pub runs: Option<u32>,
    pub queue: VecDeque<u32>,
}

/// The kernels of contexts that run at once.
pub(crate) struct Group {
    /// Kernels in the order that they start.
    pub queue: VecDeque<u32>,
    /// Kernels that have started.
    pub running: u32,
    /// Threads there is room for.
    pub room: u32,
    /// Hardware queues with launched kernels.
    pub queues: u32,
    /// Parts of kernels that run, with their threads and their end; kept only where contexts take turns.
    pub parts: Vec<Part>,
    /// The same while it is another one's turn, with the time that they have to go.
    pub suspended: Vec<Part>,
}

#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub op: u32,
    pub slots: u32,
    pub time: i64,
}

/// Kernels that signal together.
pub(crate) struct Batch {
    pub open: u32,
    pub ended: Vec<u32>,
}

impl Device {
    pub(crate) fn new(model: &Model, groups: u32) -> Device {
        let room = model.device.multiprocessors * model.device.threads_per_multiprocessor;
        let group = |_| Group {
            queue: VecDeque::new(),
            running: 0,
            room,
            queues: 0,
            parts: Vec::new(),
            suspended: Vec::new(),
        };
        Device {
            used: 0,
            engines: Default::default(),
            groups: (0..groups).map(group).collect(),
            active: 0,
            switching: false,
            turn: 0,
            turn_began: 0,
            ends: false,
            next_issue: i64::MIN,
            last_issued: OpRef::DONE,
            batches: Vec::new(),
            free_batches: Vec::new(),
        }
    }

    /// The next group after `from` that has kernels.
    pub(crate) fn next_group(&self, from: u32) -> Option<u32> {
        let count = self.groups.len() as u32;
        (1..count).map(|ahead| (from + ahead) % count).find(|at| self.groups[*at as usize].has_work())
    }

    /// The kernel belongs to those that signal together with the one issued just before it.
    pub(crate) fn join_batch(&mut self, last: &mut Op) -> u32 {
        if last.batch == NONE {
            last.batch = self.free_batches.pop().unwrap_or_else(|| {
                self.batches.push(Batch { open: 0, ended: Vec::new() });
                self.batches.len() as u32 - 1
            });
            self.batches[last.batch as usize].open = 1;
        }
        self.batches[last.batch as usize].open += 1;
        last.batch
    }
}

impl Group {
    pub(crate) fn has_work(&self) -> bool {
        !self.queue.is_empty() || !self.suspended.is_empty()
    }
}
