//! Machines that a calibration runs its workloads on.

use sim::{Model, Options};
use trace::Trace;
use workload::{Outcome, Workload};

/// Runs workloads on one machine.
pub trait Bench {
    /// Facts that the machine reports of itself.
    fn facts(&self) -> &Facts;

    /// Runs a workload and records its calls.
    ///
    /// # Errors
    /// One line: why it did not run, and what to do.
    fn run(&self, workload: &Workload) -> Result<Ran, String>;
}

/// Facts that a machine reports of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The device's marketing name.
    pub title: String,
    /// The driver's version; empty if unknown.
    pub driver: String,
    /// The number of devices.
    pub count: u32,
    /// Compute capability, major and minor part.
    pub compute: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// The multiprocessors' highest clock, MHz; 0 if unknown.
    pub clock_mhz: u64,
    /// Memory of a device, bytes.
    pub memory_bytes: u64,
    /// Copy engines.
    pub copy_engines: u32,
    /// Whether the device has memory pools.
    pub pools: bool,
    /// Processors of the host; 0: one per thread.
    pub processors: u32,
}

/// Measurements of a run of a workload.
pub struct Ran {
    /// Times of threads.
    pub outcome: Outcome,
    /// The calls of its threads, which come first among the trace's, in the workload's order.
    pub trace: Trace,
    /// How long the calls took that created its contexts, ns.
    pub contexts_ns: Vec<i64>,
}

/// A model instead of a machine: what is measured on it must be what the model has.
pub struct Simulated {
    model: Model,
    facts: Facts,
}

impl Simulated {
    /// A bench that runs on that model.
    pub fn new(model: Model) -> Simulated {
        let device = &model.device;
        let facts = Facts {
            title: device.title.clone(),
            driver: model.driver.clone(),
            count: device.count,
            compute: device.compute,
            multiprocessors: device.multiprocessors,
            clock_mhz: device.clock_mhz,
            memory_bytes: device.memory_bytes,
            copy_engines: device.copy_engines,
            pools: true,
            processors: model.host.processors,
        };
        Simulated { model, facts }
    }
}

impl Bench for Simulated {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn run(&self, workload: &Workload) -> Result<Ran, String> {
        let options = Options { trace: true, ..Options::default() };
        let (outcome, trace) = sim::run(workload, &self.model, options).map_err(|error| error.to_string())?;
        let trace = trace.unwrap_or_default();
        let creates = ["cuDevicePrimaryCtxRetain", "cuCtxCreate"].map(|name| trace.strings.get(name));
        let calls = trace.calls.ids().map(|call| trace.calls.row(call));
        let created = calls.filter(|call| creates.contains(&Some(call.name)));
        let contexts_ns = created.map(|call| call.end - call.start).collect();
        Ok(Ran { outcome, trace, contexts_ns })
    }
}
