//! What the tracer adds to a program.

use crate::Recovered;
use crate::calls::take;
use sim::{Does, RecordedStep};
use trace::{Ns, Trace};

/// What CUPTI's records of operations add to a call that issues one, ns: a launch took 3.24 µs without CUPTI and 4.57 µs with it (one
/// thread, H200, driver 580; `docs/benchmarks.md`, "Between processes").
const CUPTI: Ns = 1_350;

/// What CUPTI's times add to a kernel that was launched, ns: in five sizes of one kernel from 1.2 to 10.2 µs, each took 0.83 to 0.90 µs
/// longer as recorded launches than as nodes of a graph, which took as long as without CUPTI; and 20,000 launches of the longest one in a
/// row took 12.08 µs each with CUPTI and 11.09 µs without it (H200, driver 580; 4,000 rounds of an axpy on 8 blocks).
const CUPTI_KERNEL: Ns = 860;

impl Recovered {
    /// The steps without what CUPTI added to the calls and kernels; as they are if it did not record them. At most half of a call's own
    /// cost and of a kernel's time is CUPTI's.
    pub fn untraced(&self, trace: &Trace) -> Recovered {
        let mut bare = self.clone();
        if !is_by_cupti(trace) {
            return bare;
        }
        for step in bare.recorded.threads.iter_mut().flatten() {
            let RecordedStep::Call(call) = step else { continue };
            if let Does::Issue { works, .. } = call.does {
                let own = call.before_ns + call.held_ns + call.after_ns;
                let added = (CUPTI * i64::from(works.count)).min(own / 2);
                take([&mut call.after_ns, &mut call.held_ns, &mut call.before_ns], added);
            }
        }
        for work in bare.recorded.works.iter_mut().filter(|work| work.is_launched()) {
            work.ns -= CUPTI_KERNEL.min(work.ns / 2);
            work.meets.iter_mut().for_each(|meets| meets.ns -= CUPTI_KERNEL.min(meets.ns / 2));
        }
        bare
    }
}

/// Whether CUPTI recorded the operations: simulated traces have no tracer.
fn is_by_cupti(trace: &Trace) -> bool {
    trace.meta.source_version.starts_with("CUPTI") || trace.meta.libraries.contains_key("CUPTI")
}
