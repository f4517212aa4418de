//! What the tracer adds to a program.

use crate::Recovered;
use crate::calls::take;
use sim::{Does, RecordedStep, WorkKind};
use trace::{Ns, Trace};

/// CUPTI's part of what a call costs that issues an operation, percent: a launch took 3.24 µs without CUPTI and 4.57 µs with it on an
/// H200, 3.15 and 4.5 µs on an H100, 3.9 and 6.0 µs there at another time (driver 580; `docs/benchmarks.md`, "Between processes" and "By
/// call"). At most [`MOST`] of it, ns: what takes longer does something else besides.
const PART: Ns = 30;
const MOST: Ns = 2_500;

/// What CUPTI's times add to a kernel that was launched, ns: in five sizes of one kernel from 1.2 to 10.2 µs, each took 0.83 to 0.90 µs
/// longer as recorded launches than as nodes of a graph, which took as long as without CUPTI; and 20,000 launches of the longest one in a
/// row took 12.08 µs each with CUPTI and 11.09 µs without it (H200, driver 580; 4,000 rounds of an axpy on 8 blocks).
const KERNEL: Ns = 860;

/// What they add to the time from the start of one kernel to that of the next, ns: less, since the time between them is shorter. It was
/// 430 ns on an H200, and 250 ± 80 and 330 ± 80 ns for kernels of 20 µs on an H100 ("By call").
const KERNEL_PERIOD: Ns = 400;

/// What they add before the start of a copy or a fill, ns: copies of 4 KB and 1 MB in a row took 1.33 and 1.55 µs longer each, and had 1.34
/// and 1.47 µs between them, which is all of it (H100, "By call").
const COPY: Ns = 1_400;

impl Recovered {
    /// The steps without what CUPTI added to the calls and operations; as they are if it did not record them. At most half of a kernel's
    /// time is CUPTI's.
    pub fn untraced(&self, trace: &Trace) -> Recovered {
        let mut bare = self.clone();
        if !is_by_cupti(trace) {
            return bare;
        }
        for step in bare.recorded.threads.iter_mut().flatten() {
            let RecordedStep::Call(call) = step else { continue };
            if let Does::Issue { works, .. } = call.does {
                let own = call.before_ns + call.held_ns + call.after_ns;
                let added = (own * PART / 100).min(MOST * i64::from(works.count));
                take([&mut call.after_ns, &mut call.held_ns, &mut call.before_ns], added);
            }
        }
        for work in &mut bare.recorded.works {
            match work.kind {
                WorkKind::Kernel { in_graph: false, .. } => {
                    let added = KERNEL.min(work.ns / 2);
                    work.ns -= added;
                    work.gap_ns.iter_mut().for_each(|gap| *gap += (added - KERNEL_PERIOD).max(0));
                    work.meets.iter_mut().for_each(|meets| meets.ns -= KERNEL.min(meets.ns / 2));
                }
                WorkKind::Kernel { in_graph: true, .. } => {}
                WorkKind::Copy { .. } | WorkKind::Fill => {
                    let before = [&mut work.latency_ns, &mut work.gap_ns];
                    before.into_iter().flatten().for_each(|ns| *ns -= COPY.min(*ns));
                }
            }
        }
        bare
    }
}

/// Whether CUPTI recorded the operations: simulated traces have no tracer.
fn is_by_cupti(trace: &Trace) -> bool {
    trace.meta.source_version.starts_with("CUPTI") || trace.meta.libraries.contains_key("CUPTI")
}
