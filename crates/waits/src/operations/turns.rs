//! The turns of contexts on a device that runs one context's kernels at a time: several processes without MPS.

use crate::index::ops_by_device;
use trace::{ContextId, Ns, OpId, OpKind, Trace};

/// The time of a switch from one context to another, ns, measured on an H200 (`crates/sim/models/h200.toml`).
const SWITCH: Ns = 132_000;

/// Most time between the starts of two contexts' kernels if they run at once, ns: a switch takes longer.
const AT_ONCE: Ns = 20_000;

/// One in so many changes between contexts may be that quick where they take turns: when a kernel starts as a turn ends.
const RARE: usize = 20;

/// Fewest changes that make turns likely, and not only possible.
const FEWEST: usize = 4;

/// The turn of a context.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub context: ContextId,
    /// The start of its first kernel, ns.
    pub from: Ns,
    /// Until when it had kernels, at most until the next turn, ns.
    pub until: Ns,
    /// Its first kernel.
    pub first: OpId,
}

/// Whether contexts take turns on a device of a trace, as those of processes do without MPS.
pub fn contexts_take_turns(trace: &Trace) -> bool {
    ops_by_device(trace).iter().any(|ops| Turns::new(trace, ops).are_taken())
}

/// All turns of a device, in order and apart. Empty if contexts take none, as with one context or under MPS.
#[derive(Default)]
pub(super) struct Turns {
    turns: Vec<Turn>,
    /// Whether there are enough of them to make it likely.
    pub are_likely: bool,
}

impl Turns {
    /// Finds them in a device's operations, by start.
    pub fn new(trace: &Trace, ops: &[OpId]) -> Turns {
        let mut turns: Vec<Turn> = Vec::new();
        let (mut quick, mut last) = (0, Ns::MIN);
        let mut ends = vec![Ns::MIN; trace.contexts.len()];
        for op in ops.iter().copied().filter(|op| trace.ops.kind[op.index()] == OpKind::Kernel) {
            let (start, end) = (trace.ops.start[op.index()], trace.ops.end[op.index()]);
            let Some(context) = trace.context_of_stream(trace.ops.stream[op.index()]).some() else {
                continue;
            };
            let done = &mut ends[context.index()];
            *done = end.max(*done);
            let until = *done;
            match turns.last_mut() {
                Some(turn) if turn.context == context => turn.until = until,
                before => {
                    if let Some(turn) = before {
                        turn.until = turn.until.min(last.max(start.saturating_sub(SWITCH)));
                        quick += usize::from(start - last <= AT_ONCE);
                    }
                    turns.push(Turn { context, from: start, until, first: op });
                }
            }
            last = start;
        }
        let changes = turns.len().saturating_sub(1);
        match changes > 0 && quick * RARE <= changes {
            true => Turns { turns, are_likely: changes >= FEWEST },
            false => Turns::default(),
        }
    }

    pub fn are_taken(&self) -> bool {
        !self.turns.is_empty()
    }

    /// The last turn that was over at a moment.
    pub fn before(&self, at: Ns) -> Option<Turn> {
        let over = self.turns.partition_point(|turn| turn.until <= at);
        over.checked_sub(1).map(|last| self.turns[last])
    }

    /// The turns that overlap `[from, to)`, in order.
    pub fn within(&self, from: Ns, to: Ns) -> impl Iterator<Item = Turn> + '_ {
        let first = self.turns.partition_point(|turn| turn.until <= from);
        self.turns[first..].iter().copied().take_while(move |turn| turn.from < to)
    }
}
