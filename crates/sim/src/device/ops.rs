//! Operations in flight, and what waits for them.

use crate::plan::{NONE, OpPlan};

/// Identifies an operation, even after it has completed and its row is reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpRef {
    pub row: u32,
    pub serial: u32,
}

impl Default for OpRef {
    fn default() -> OpRef {
        OpRef::DONE
    }
}

impl OpRef {
    /// An operation that has completed.
    pub(crate) const DONE: OpRef = OpRef { row: NONE, serial: 0 };
}

/// An operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub plan: OpPlan,
    pub stream: u32,
    pub device: u32,
    pub group: u32,
    /// The hardware queue it is in.
    pub queue: u32,
    pub engine: u32,
    /// The row of the call that issued it.
    pub call: u32,
    /// Its duration, ns.
    pub ns: i64,
    /// Its start, if it has started.
    pub begin: i64,
    /// Its earliest start; before it is issued, from the call's effect, ns.
    pub earliest: i64,
    /// From the end of what it waits for to its start, ns; negative for the model's.
    pub gap: i64,
    /// The row of a recorded operation, or [`NONE`].
    pub work: u32,
    /// Threads of a kernel that have not started.
    pub slots: u32,
    /// Running parts of a kernel.
    pub parts: u32,
    /// Whether a kernel ends by the clock, suspended or not.
    pub clocked: bool,
    /// Changes whenever the kernel is suspended.
    pub generation: u32,
    /// Its group of kernels that signal together, or [`NONE`].
    pub batch: u32,
    /// Whether it waits for a kernel of the group before it, with which it then cannot signal together.
    pub follows: bool,
    pub ready: bool,
    pub started: bool,
    /// The row of the kernel after it in its hardware queue, if that waits for its start, or [`NONE`].
    pub follower: u32,
    pub serial: u32,
    /// Number of operations that it waits for.
    pub awaited: u32,
    /// The first and the last of the list of what waits for it.
    pub edges: (u32, u32),
}

#[derive(Clone, Copy)]
pub(crate) struct Edge {
    pub to: Waits,
    pub next: u32,
}

/// Something that waits for an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waits {
    Op(u32),
    Thread(u32),
    /// An event, which completes with the last operation that it waits for.
    Event(u32),
}

/// All operations in flight.
pub(crate) struct Ops {
    pub rows: Vec<Op>,
    /// Rows to reuse.
    free: Vec<u32>,
    edges: Vec<Edge>,
    /// The first of a list.
    free_edge: u32,
    serial: u32,
}

impl Ops {
    pub(crate) fn new() -> Ops {
        Ops { rows: Vec::new(), free: Vec::new(), edges: Vec::new(), free_edge: NONE, serial: 0 }
    }

    /// A unique number.
    pub(crate) fn serial(&mut self) -> u32 {
        self.serial = self.serial.wrapping_add(1).max(1);
        self.serial
    }

    /// Adds an operation.
    pub(crate) fn add(&mut self, op: Op) -> OpRef {
        let serial = self.serial();
        let op = Op { serial, generation: serial, edges: (NONE, NONE), ..op };
        let row = match self.free.pop() {
            Some(row) => {
                self.rows[row as usize] = op;
                row
            }
            None => {
                self.rows.push(op);
                self.rows.len() as u32 - 1
            }
        };
        OpRef { row, serial }
    }

    /// Makes `to` wait for an operation. Returns false if that has completed.
    pub(crate) fn await_(&mut self, op: OpRef, to: Waits) -> bool {
        if !self.is_open(op) {
            return false;
        }
        let row = self.add_edge(Edge { to, next: NONE });
        let (first, last) = &mut self.rows[op.row as usize].edges;
        match *last {
            NONE => *first = row,
            last => self.edges[last as usize].next = row,
        }
        *last = row;
        true
    }

    /// Adds an operation to a list of what something will wait for, unless it has completed.
    pub(crate) fn name_in(&self, list: &mut Vec<OpRef>, op: OpRef) {
        /// Shorter lists are not cleaned, because their order is that of the trace.
        const SHORT: usize = 64;
        if !self.is_open(op) || list.last() == Some(&op) {
            return;
        }
        if list.len() == list.capacity() && list.len() >= SHORT {
            list.retain(|one| self.is_open(*one));
            list.sort_unstable_by_key(|one| one.row);
            list.dedup();
            // The next cleaning is at twice the length.
            list.reserve(list.len());
        }
        list.push(op);
    }

    fn add_edge(&mut self, edge: Edge) -> u32 {
        match self.free_edge {
            NONE => {
                self.edges.push(edge);
                self.edges.len() as u32 - 1
            }
            row => {
                self.free_edge = std::mem::replace(&mut self.edges[row as usize], edge).next;
                row
            }
        }
    }

    /// The number of operations in flight.
    pub(crate) fn open(&self) -> usize {
        self.rows.len() - self.free.len()
    }

    /// Whether it is in flight.
    pub(crate) fn is_open(&self, op: OpRef) -> bool {
        self.rows.get(op.row as usize).is_some_and(|row| row.serial == op.serial)
    }

    /// Removes a completed operation, and returns the list of what waits for it.
    pub(crate) fn done(&mut self, row: u32) -> u32 {
        let op = &mut self.rows[row as usize];
        op.serial = 0;
        self.free.push(row);
        op.edges.0
    }

    /// Takes the first of a list.
    pub(crate) fn next_waiting(&mut self, list: &mut u32) -> Option<Waits> {
        let row = *list;
        let edge = self.edges.get_mut(row as usize)?;
        *list = std::mem::replace(&mut edge.next, self.free_edge);
        self.free_edge = row;
        Some(edge.to)
    }
}
