//! Whether a runner can run a Workload, decided before anything runs.
//!
//! The checks run in an order that lets each rely on those before it: every reference is to a row that exists
//! (`references`); numbers are within limits (`limits`); each call is possible by itself (`calls`, `kernels`), and so is
//! each step inside a capture (`capture_steps`); a thing exists while it is used (`lifetimes`); nothing waits for an event
//! that exists only inside a graph (`capture_events`); and no thread waits at a barrier for ever (`barriers`).

mod barriers;
mod calls;
mod capture_events;
mod capture_steps;
mod kernels;
mod lifetimes;
mod limits;
mod references;
mod surroundings;
mod walk;

use crate::error::{Checked, Error};
use crate::model::Workload;

pub(crate) use barriers::parties;
pub use limits::{MOST_CALLS, MOST_CONNECTIONS, MOST_THREADS};
pub use references::DEEPEST;

impl Workload {
    /// Checks that a runner can run it.
    ///
    /// # Errors
    ///
    /// The first problem: one line with its process, thread and step, and what to do.
    pub fn check(&self) -> Result<(), Error> {
        check(self).map_err(|problem| Error::built(self, problem))
    }
}

/// The first problem of a workload.
pub(crate) fn check(workload: &Workload) -> Checked {
    references::check(workload)?;
    limits::check(workload)?;
    walk::each_step(workload, &mut |step, at| {
        calls::check(step, at)?;
        capture_steps::check(step, at)
    })?;
    lifetimes::check(workload)?;
    capture_events::check(workload)?;
    barriers::check(workload)
}
