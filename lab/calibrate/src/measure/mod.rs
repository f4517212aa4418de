//! The measurements, in an order in which each may rely on those before it.
//!
//! Each file makes a workload, and reads its calls into the draft. Where a sample is missing, the draft keeps the base's value.

mod alone;
mod behind;
mod connections;
mod copies;
mod graphs;
mod host;
mod kernels;
mod launches;
mod memory;
mod signals;
mod work;

use crate::draft::Draft;
use crate::sections::{Label, Script};
use crate::{Bench, Error, Facts, Ran};
use workload::{ContextId, Process, StreamKind, Thread, Workload};

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
    Step { what: "copies and kernels by turns", run: signals::measure },
    Step { what: "the host", run: host::measure },
];

/// Takes a measurement.
pub(crate) fn take(step: &Step, bench: &dyn Bench, draft: &mut Draft) -> Result<(), Error> {
    let facts = bench.facts();
    (step.run)(&mut Runs { bench, facts, draft })
        .map_err(|why| Error::Run { what: step.what.to_owned(), why })
}

/// Machine, facts and draft that a measurement works with.
pub(crate) struct Runs<'a> {
    bench: &'a dyn Bench,
    pub facts: &'a Facts,
    pub draft: &'a mut Draft,
}

impl Runs<'_> {
    /// Runs a workload. How long its contexts took is kept.
    pub fn run(&mut self, workload: &Workload) -> Result<Ran, String> {
        let ran = self.bench.run(workload)?;
        self.draft.contexts_ns.extend(&ran.contexts_ns);
        Ok(ran)
    }

    /// The median time of a launch, ns.
    fn launch_ns(&self) -> i64 {
        let launch = &self.draft.model.calls.launch;
        (launch.before_ns + launch.held_ns + launch.after_ns).max(1)
    }

    /// The clock cycles of that time on the device.
    fn cycles(&self, ns: i64) -> u64 {
        (ns.max(1) as u64).saturating_mul(self.draft.model.device.clock_mhz) / 1000
    }
}

/// A workload of one process on the first device, with what `fill` adds to it.
fn workload<R>(name: &str, fill: impl FnOnce(&mut Process, ContextId) -> R) -> (Workload, R) {
    let mut workload = Workload::new(name);
    let process = workload.process("calibrate");
    let context = process.primary(0);
    let result = fill(process, context);
    (workload, result)
}

/// Writes the script of a thread. Returns its labels.
fn script(thread: &mut Thread, write: impl FnOnce(&mut Script<'_>)) -> Vec<Label> {
    let mut script = Script::new(thread);
    write(&mut script);
    script.end()
}

/// The kind of the streams of measurements: they wait for no other stream.
const STREAM: StreamKind = StreamKind::NonBlocking;
