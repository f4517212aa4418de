//! The state of a device: engines, contexts that take turns, and their kernels.

use crate::Model;
use crate::ops::{Op, OpRef};
use crate::plan::NONE;
use std::collections::VecDeque;

/// The engine of copies to the device.
pub(crate) const IN: u32 = 0;
/// The engine of copies to the host; with one copy engine, [`IN`].
pub(crate) const OUT: u32 = 1;
/// The engine of copies within a device and of fills, which delays no other engine.
pub(crate) const WITHIN: u32 = 2;
/// The engines of pageable copies in pieces, to the device and to the host, which delay only such copies.
pub(crate) const PIECES_IN: u32 = 3;
pub(crate) const PIECES_OUT: u32 = 4;
/// The engine of kernels.
pub(crate) const COMPUTE: u32 = 5;

/// A device.
pub(crate) struct Device {
    /// Allocated memory, bytes.
    pub used: u64,
    pub engines: [Engine; COMPUTE as usize],
    /// Contexts that take turns; all clients of an MPS server are one.
    pub groups: Vec<Group>,
    /// The context whose turn it is.
    pub active: u32,
    /// Whether the turn is passing to the next context.
    pub switching: bool,
    /// Counts turns.
    pub turn: u32,
    pub turn_began: i64,
    /// Whether the end of the turn is scheduled.
    pub ends: bool,
    /// The earliest start of the next kernel.
    pub next_issue: i64,
    /// The operation that was issued last.
    pub last_issued: OpRef,
    /// Groups of kernels that signal together, and rows to reuse.
    pub batches: Vec<Batch>,
    pub free_batches: Vec<u32>,
}

/// An engine of copies or fills, which runs them one after the other.
#[derive(Default)]
pub(crate) struct Engine {
    pub runs: Option<u32>,
    pub queue: VecDeque<u32>,
}

/// The kernels of contexts that run at the same time.
pub(crate) struct Group {
    /// Kernels in the order of their start.
    pub queue: VecDeque<u32>,
    /// Kernels that have started.
    pub running: u32,
    /// Threads that still fit.
    pub room: u32,
    /// Hardware queues with launched kernels.
    pub queues: u32,
    /// Running parts of kernels, with their threads and their end; only where contexts take turns.
    pub parts: Vec<Part>,
    /// Suspended parts, during another context's turn, with their remaining time.
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

    /// Adds the kernel to the group of the kernel that was issued just before it.
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
