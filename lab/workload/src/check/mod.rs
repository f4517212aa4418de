//! Whether a Workload can be run, before anything runs.
//!
//! What is checked first lets what comes after rely on it: rows exist (`rows`), amounts are bounded (`amounts`), each
//! call by itself makes sense (`calls`, `operands`), captures can be captured (`captures`), things exist when they
//! are used (`lives`), events of captures are not waited for outside (`captured`), and threads that meet do not wait for
//! ever (`meetings`, `trial`).

mod amounts;
mod calls;
mod captured;
mod captures;
mod here;
mod lives;
mod meetings;
mod meets;
mod operands;
mod rows;
mod trial;
mod walk;

use crate::error::{Error, Problem};
use crate::model::Workload;

pub use amounts::{MOST_CALLS, MOST_CONNECTIONS, MOST_THREADS};
pub(crate) use meetings::parties;
pub use rows::DEEPEST;

/// What a check gives.
type Checked = Result<(), Problem>;

impl Workload {
    /// Checks that a runner can run it.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong: one line with its process, thread and step, and what to do.
    pub fn check(&self) -> Result<(), Error> {
        check(self).map_err(|problem| Error::built(self, problem))
    }
}

/// The first problem of a workload.
pub(crate) fn check(workload: &Workload) -> Checked {
    rows::check(workload)?;
    amounts::check(workload)?;
    walk::each_step(workload, &mut |step, at| {
        calls::check(step, at)?;
        captures::check(step, at)
    })?;
    lives::check(workload)?;
    captured::check(workload)?;
    meetings::check(workload)
}
