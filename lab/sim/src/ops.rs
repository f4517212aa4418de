//! Operations that devices were asked for and have not done yet, and who waits for them.

use crate::plan::{NONE, Way};

/// An operation, also after it is done and its row is another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpRef {
    pub row: u32,
    serial: u32,
}

impl OpRef {
    /// One that is done.
    pub(crate) const DONE: OpRef = OpRef { row: NONE, serial: 0 };
}

/// What an operation does, for the trace.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Kernel { plan: u32, node: u32 },
    Copy { way: Way, pinned: bool, bytes: u64 },
    Fill { bytes: u64 },
}

/// An operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub what: What,
    pub stream: u32,
    pub device: u32,
    pub group: u32,
    /// The hardware queue it is in.
    pub queue: u32,
    pub engine: u32,
    /// The row of the call that asked for it.
    pub call: u32,
    /// How long it runs.
    pub ns: i64,
    /// When it started, once it has.
    pub begin: i64,
    /// Not before.
    pub earliest: i64,
    /// Threads of a kernel that have found no room yet.
    pub slots: u32,
    /// Parts of a kernel that run.
    pub parts: u32,
    /// Whether a kernel ends by the clock, suspended or not.
    pub clocked: bool,
    /// Another number whenever a kernel is suspended.
    pub generation: u32,
    /// Kernels that signal together, if not [`NONE`].
    pub batch: u32,
    /// Whether it waits for one of those that the kernel issued before it signals with: it cannot signal with them.
    pub follows: bool,
    pub ready: bool,
    pub started: bool,
    pub serial: u32,
    /// Operations it still waits for.
    pub awaited: u32,
    /// Who waits for it: the first and the last of a list.
    pub edges: (u32, u32),
}

#[derive(Clone, Copy)]
pub(crate) struct Edge {
    pub to: Waits,
    pub next: u32,
}

/// Who waits for an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waits {
    Op(u32),
    Thread(u32),
    /// An event, which comes to pass with the last of what it waits for.
    Event(u32),
}

/// All operations that are not done.
pub(crate) struct Ops {
    pub rows: Vec<Op>,
    /// Rows of those that are done.
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

    /// A number that nothing else here has.
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

    /// Has `to` wait for an operation; false if that is done.
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

    /// Names an operation in a list of what something is going to wait for, unless it is done.
    pub(crate) fn name_in(&self, list: &mut Vec<OpRef>, op: OpRef) {
        /// Shorter lists stay as they are: the order in which they name operations is that of the trace.
        const SHORT: usize = 64;
        if !self.is_open(op) || list.last() == Some(&op) {
            return;
        }
        if list.len() == list.capacity() && list.len() >= SHORT {
            list.retain(|one| self.is_open(*one));
            list.sort_unstable_by_key(|one| one.row);
            list.dedup();
            // So that this is done the next time when there are twice as many.
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

    /// How many there are.
    pub(crate) fn open(&self) -> usize {
        self.rows.len() - self.free.len()
    }

    /// Whether it is not done.
    pub(crate) fn is_open(&self, op: OpRef) -> bool {
        self.rows.get(op.row as usize).is_some_and(|row| row.serial == op.serial)
    }

    /// Drops an operation that is done, and gives the list of who waits for it.
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
