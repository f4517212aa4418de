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
pub use connections::{SharedQueue, shared_queues};
pub use divide::{OperationWaits, Piece};
pub use floor::{launch_floor, started_idle};
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

/// The waits of all operations, by device and start.
pub fn operation_waits(index: &Index<'_>) -> Vec<OperationWait> {
    let mut found = Vec::new();
    for (device, ops) in ops_by_device(index.trace).into_iter().enumerate() {
        let floor = launch_floor(index.trace, started_idle(index.trace, &ops));
        let mut waits = OperationWaits::new(index, DeviceId::new(device), &ops, floor);
        for op in ops.iter().copied() {
            let part = |Piece { from, to, cause, behind, .. }: &Piece| OperationWait {
                op,
                start: *from,
                end: *to,
                cause: *cause,
                behind: *behind,
            };
            found.extend(waits.start(op).iter().map(part));
        }
    }
    found
}
