//! What running a Workload measured, whoever ran it. The Trace tells the rest.

/// What one run of a Workload measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Every thread of every process, in the Workload's order.
    pub threads: Vec<ThreadOutcome>,
}

/// What one thread's body measured.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadOutcome {
    /// From its release to the end of its last body.
    pub elapsed_ns: u64,
    /// Bodies done.
    pub rounds: u64,
    /// The largest difference any [`crate::Call::Check`] of the thread found; `None` where nothing was checked. A
    /// simulator computes nothing and checks nothing.
    pub max_error: Option<f64>,
    /// The mean of what every [`crate::Call::Elapsed`] of the thread measured, ns; `None` where there was none.
    pub between_events_ns: Option<u64>,
    /// Calls by what they are, of the bodies alone.
    pub calls: Vec<CallTimes>,
}

/// The time one thread's bodies spent in one step's call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallTimes {
    /// The driver's name, as in `cuLaunchKernel`.
    pub name: &'static str,
    /// How many.
    pub count: u64,
    /// Their sum.
    pub total_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The sum of those over 1 ms: time in stalls.
    pub stalled_ns: u64,
}
