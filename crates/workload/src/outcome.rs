//! The outcome of a run of a Workload, on GPUs or in simulation. Further details are in the Trace.

/// The measurements of one run of a Workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Every thread of every process, in the Workload's order.
    pub threads: Vec<ThreadOutcome>,
}

/// The measurements of one thread.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadOutcome {
    /// Time from its release to the end of its last body.
    pub elapsed_ns: u64,
    /// Bodies done.
    pub rounds: u64,
    /// The largest difference that a [`crate::Call::Check`] of the thread found; `None` if nothing was checked, as in a
    /// simulator.
    pub max_error: Option<f64>,
    /// The mean of the times of every [`crate::Call::Elapsed`] of the thread, ns; `None` if it has none.
    pub between_events_ns: Option<u64>,
    /// The calls of the bodies, by function.
    pub calls: Vec<CallTimes>,
}

/// The times of one function in the bodies of a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct CallTimes {
    /// The driver's name, as in `cuLaunchKernel`.
    pub name: &'static str,
    /// Number of calls.
    pub count: u64,
    /// Their sum.
    pub total_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The sum of the times over 1 ms, the time in stalls.
    pub stalled_ns: u64,
}
