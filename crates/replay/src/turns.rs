//! Whether contexts take turns on a device, as those of processes do without MPS.

use rustc_hash::FxHashMap;
use trace::{ContextId, DeviceId, Ns, OpId, OpKind, Trace};

/// Contexts that take turns never run kernels at once; a few overlaps are errors of clocks: at most one kernel of so many.
const ONE_OF: usize = 100;

/// Whether kernels of several contexts ran on one device, and never at once.
pub(crate) fn are_taken(trace: &Trace) -> bool {
    let ops = &trace.ops;
    let is_kernel = |op: &OpId| !matches!(ops.kind[op.index()], OpKind::Copy | OpKind::Memset);
    let mut order: Vec<OpId> = ops.ids().filter(is_kernel).collect();
    order.sort_by_key(|op| (ops.start[op.index()], *op));
    let mut last: FxHashMap<DeviceId, (ContextId, Ns)> = FxHashMap::default();
    let (mut passed, mut beside) = (0, 0);
    for op in &order {
        let stream = ops.stream[op.index()];
        let (device, context) = (trace.device_of_stream(stream), trace.context_of_stream(stream));
        let (start, end) = (ops.start[op.index()], ops.end[op.index()]);
        let before = last.get(&device).copied();
        if let Some((_, until)) = before.filter(|(other, _)| *other != context) {
            passed += usize::from(until <= start);
            beside += usize::from(until > start);
        }
        let until = before.map_or(end, |(_, until)| until.max(end));
        last.insert(device, (context, until));
    }
    passed > 0 && beside * ONE_OF <= passed
}
