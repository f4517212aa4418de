//! Devices: streams and hardware queues hand operations to engines, engines run them, contexts take turns. And the locks of the driver.

mod engines;
mod locks;
mod ops;
mod streams;

use crate::Model;
use crate::plan::NONE;
pub(crate) use locks::{Holder, Kind, Lock, Next, Waiter};
pub(crate) use ops::{Op, OpRef, Ops, Waits};
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

/// A stream.
pub(crate) struct Stream {
    pub queue: u32,
    /// Its last operation.
    pub last: OpRef,
    /// Other operations that its next operation waits for.
    pub awaited: Vec<OpRef>,
    /// Incomplete launches.
    pub pending: u32,
    /// Threads whose launches wait because it is full.
    pub blocked: VecDeque<u32>,
    /// Pageable copies in it that hold their context's lock.
    pub staging: u32,
    /// Whether calls need their context's lock exclusively to enqueue into it.
    pub exclusive: bool,
}

impl Stream {
    pub(crate) fn new(queue: u32) -> Stream {
        Stream {
            queue,
            last: OpRef::DONE,
            awaited: Vec::new(),
            pending: 0,
            blocked: VecDeque::new(),
            staging: 0,
            exclusive: false,
        }
    }
}

/// A context.
#[derive(Default)]
pub(crate) struct Context {
    /// Its streams.
    pub streams: Vec<u32>,
    /// Operations of streams that were destroyed before these completed.
    pub left: Vec<OpRef>,
    /// Number of streams created so far: they get hardware queues in turn.
    pub created: u32,
}

/// A hardware queue. Its kernels start in order: each waits for the start of the one before it, whatever their streams. On an H100, kernels
/// that a thread launched into 40 streams ran at the same time through one queue, and of chains, the first kernel of each ran beside the
/// last one of the chain before it. Threads launch many kernels in a row, which they do not here: rounds of 2, 4, 8 and 16 threads in one
/// queue took 1.9, 3.8, 7.7 and 15.3 times as long as those of one thread. So a kernel waits for the end of one that another thread launched.
#[derive(Default)]
pub(crate) struct HardwareQueue {
    /// The last kernel in it, and the thread that launched it; none of recorded steps.
    pub last: OpRef,
    pub by: Option<u32>,
    /// Whether the next one, which is being launched, only waits for the start of the last one.
    pub in_order: bool,
    /// Incomplete kernels in it.
    pub kernels: u32,
    /// The stream that was last launched into it, of recorded programs.
    pub stream: Option<u32>,
}

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
    pub parts: Vec<Turn>,
    /// Suspended parts, during another context's turn, with their remaining time.
    pub suspended: Vec<Turn>,
}

/// A part of a kernel whose context takes turns with others.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    pub op: u32,
    pub slots: u32,
    pub time: i64,
}

/// A part of a kernel: threads that started together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The row of the operation.
    pub op: u32,
    pub slots: u32,
    pub generation: u32,
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
