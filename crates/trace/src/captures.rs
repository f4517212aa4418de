//! When threads captured graphs: what they launch meanwhile runs only after the graph is launched.

use crate::{Ns, ThreadId, Trace};

/// The stream captures of all threads.
pub struct Captures {
    /// Sorted: thread, time, and whether the thread captures from then on.
    changes: Vec<(ThreadId, Ns, bool)>,
}

impl Captures {
    /// Finds the calls that begin and end captures. A thread may capture several streams at once; a
    /// capture without an end lasts as long as the trace.
    pub fn new(trace: &Trace) -> Captures {
        let step = |name: &str| match name {
            _ if name.contains("StreamBeginCapture") => 1,
            _ if name.contains("StreamEndCapture") => -1,
            _ => 0,
        };
        let steps: Vec<i32> = trace.strings.iter().map(|(_, name)| step(name)).collect();
        let calls = &trace.calls;
        let found = (0..calls.len()).filter(|&at| steps[calls.name[at].index()] != 0);
        let mut found: Vec<_> =
            found.map(|at| (calls.thread[at], calls.start[at], steps[calls.name[at].index()])).collect();
        found.sort_unstable();
        let mut depth = (ThreadId::NONE, 0);
        let changes = found.iter().map(|&(thread, at, step)| {
            let before = if depth.0 == thread { depth.1 } else { 0 };
            depth = (thread, (before + step).max(0));
            (thread, at, depth.1 > 0)
        });
        Captures { changes: changes.collect() }
    }

    /// Whether a thread captures at a time.
    pub fn at(&self, thread: ThreadId, time: Ns) -> bool {
        let next = self.changes.partition_point(|&(of, at, _)| (of, at) <= (thread, time));
        next.checked_sub(1).is_some_and(|last| {
            let (of, _, captures) = self.changes[last];
            of == thread && captures
        })
    }
}
