//! Kinds of records that traces have: a cause that one side cannot have is no change.

use serde::Serialize;
use trace::Trace;
use waits::named;

named! {
    /// A kind of records.
    RecordKind {
        /// Operations of GPUs.
        Operations = "operations",
        /// Waits for locks and for other threads.
        Waits = "waits",
        /// Activity of threads outside calls, as the scheduler counted it.
        States = "states",
        /// Samples of stacks.
        Samples = "samples",
        /// Stacks of calls.
        Stacks = "stacks",
        /// Ranges that a framework or the user marked.
        Ranges = "ranges",
        /// Causes of idle time: records that were lost, or clocks that do not fit, forbid them.
        IdleCauses = "idle-causes",
    }
}

named! {
    /// One of the two that are compared.
    Side {
        /// The traces before the change.
        Before = "before",
        /// The traces after it.
        After = "after",
    }
}

/// Records that only the other side has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Lack {
    /// The side without.
    pub side: Side,
    /// Kind of records that it lacks.
    pub what: RecordKind,
}

/// Kinds of records that a trace has; [`RecordKind::IdleCauses`] is up to its account.
pub fn record_kinds(trace: &Trace) -> Vec<RecordKind> {
    let has = |kept: &RecordKind| match kept {
        RecordKind::Operations => !trace.ops.is_empty(),
        RecordKind::Waits => !trace.waits.is_empty() || trace.meta.locks_watched,
        RecordKind::States => !trace.states.is_empty(),
        RecordKind::Samples => !trace.samples.is_empty(),
        RecordKind::Stacks => trace.calls.stack.iter().any(|stack| stack.is_some()),
        RecordKind::Ranges => trace.ranges.ids().any(|range| trace::marks(trace, range)),
        RecordKind::IdleCauses => true,
    };
    RecordKind::ALL.iter().copied().filter(has).collect()
}
