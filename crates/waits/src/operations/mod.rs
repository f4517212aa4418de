//! The wait of each operation from the moment at which it was ready to its start, by cause and blocker.
//!
//! An operation is ready when it was asked for (`launches.rs`) and all before it in its stream is done. At each moment of its wait there is
//! one cause (`divide.rs`): its engine could not run it, because copies used it, kernels left no room (`room.rs`, `capacity.rs`), or
//! another context had its turn (`turns.rs`); else something came before it in an order, as that of a hardware queue (`connections.rs`) or
//! of issue; else the start itself took the time.

mod capacity;
mod changing;
mod connections;
mod divide;
mod floor;
mod grounds;
mod launched;
mod launches;
mod order;
mod room;
mod signalled_together;
mod stream_sets;
mod turns;

pub use capacity::{Capacity, WHOLE};
pub use connections::SharedQueue;
pub use divide::{OperationWaits, Piece};
pub use floor::{is_asked_after, launch_floor, started_idle};
pub use grounds::Grounds;
pub use signalled_together::done_before_signal;
pub use turns::contexts_take_turns;

use crate::cause::Cause;
use crate::index::{Index, ops_by_device};
use trace::{DeviceId, Ns, OpId};

/// A part of the time from the moment at which an operation was ready to its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperationWait {
    /// The operation.
    pub op: OpId,
    /// Start of the part, ns.
    pub start: Ns,
    /// Its end, ns.
    pub end: Ns,
    /// Cause of the operation's wait.
    pub cause: Cause,
    /// Operation that it waited for; `NONE` if unknown, or if it waited for none.
    pub behind: OpId,
}

/// The waits of all operations of a trace.
pub struct Waits {
    parts: Vec<OperationWait>,
    /// By operation: its first part, and how many there are.
    rows: Vec<(u32, u32)>,
    /// By stream: the hardware queue that it shares with others.
    pub queues: Vec<Option<SharedQueue>>,
}

impl Waits {
    /// Finds them.
    pub fn of(index: &Index<'_>) -> Waits {
        let trace = index.trace;
        let mut found = Waits {
            parts: Vec::new(),
            rows: vec![(0, 0); trace.ops.len()],
            queues: vec![None; trace.streams.len()],
        };
        for (device, ops) in ops_by_device(trace).into_iter().enumerate() {
            let floor = launch_floor(trace, started_idle(trace, &ops));
            let mut waits = OperationWaits::new(index, DeviceId::new(device), &ops, floor);
            for op in ops {
                let first = found.parts.len();
                let part = |Piece { from, to, cause, behind, .. }: &Piece| OperationWait {
                    op,
                    start: *from,
                    end: *to,
                    cause: *cause,
                    behind: *behind,
                };
                found.parts.extend(waits.start(op).iter().map(part));
                found.rows[op.index()] = (first as u32, (found.parts.len() - first) as u32);
            }
            let of_device = waits.into_grounds().connections.queues;
            found.queues.iter_mut().zip(of_device).for_each(|(queue, of)| *queue = of.or(*queue));
        }
        found
    }

    /// The parts of an operation's wait, in order.
    pub fn of_op(&self, op: OpId) -> &[OperationWait] {
        let (first, count) = self.rows[op.index()];
        &self.parts[first as usize..][..count as usize]
    }

    /// All parts, by device and start of the operation.
    pub fn parts(&self) -> &[OperationWait] {
        &self.parts
    }
}
