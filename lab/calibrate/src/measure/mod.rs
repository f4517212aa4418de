//! The measurements, in an order in which each may rely on those before it.
//!
//! Each file makes a workload, and reads its calls into the draft. Where a sample is missing, the draft keeps the base's value.

mod alone;
mod behind;
mod by_turns;
mod connections;
mod copies;
mod graphs;
mod host;
mod kernels;
mod launches;
mod memory;
mod runs;
mod work;

use crate::draft::Draft;
use crate::{Bench, Error};
use runs::Runs;

/// A measurement.
pub(crate) struct Step {
    /// Subject of the measurement, for progress and errors.
    pub what: &'static str,
    /// Runs its workloads and reads them.
    run: fn(&mut Runs<'_>) -> Result<(), String>,
}

/// All measurements.
pub(crate) const STEPS: &[Step] = &[
    Step { what: "calls of one thread", run: alone::measure },
    Step { what: "launches of several threads", run: launches::measure },
    Step { what: "kernels", run: kernels::measure },
    Step { what: "streams side by side", run: connections::measure },
    Step { what: "graphs", run: graphs::measure },
    Step { what: "kernels of the lab", run: work::measure },
    Step { what: "launches behind other calls", run: behind::measure },
    Step { what: "allocations", run: memory::measure },
    Step { what: "copies", run: copies::measure },
    Step { what: "copies and kernels by turns", run: by_turns::measure },
    Step { what: "the host", run: host::measure },
];

/// Takes a measurement.
pub(crate) fn take(step: &Step, bench: &dyn Bench, draft: &mut Draft) -> Result<(), Error> {
    let facts = bench.facts();
    (step.run)(&mut Runs { bench, facts, draft })
        .map_err(|why| Error::Run { what: step.what.to_owned(), why })
}
