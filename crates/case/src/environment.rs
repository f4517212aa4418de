//! The machine and the versions that a trace was recorded on.

use std::collections::BTreeMap;
use trace::Trace;

/// The machine and the versions; empty or `None` where the trace does not have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// GPUs by model, each with its compute capability and how many there are.
    pub gpus: Vec<(String, (u32, u32), u64)>,
    /// The driver's version.
    pub driver: String,
    /// The CUDA runtime's version.
    pub runtime: String,
    /// Versions of other libraries by name.
    pub libraries: BTreeMap<String, String>,
    /// Processors that the processes may use.
    pub processors: Option<u32>,
    /// The tool that made the trace, with the version of its format.
    pub source: String,
    /// Ranks of the program, of which this is one.
    pub ranks: Option<i64>,
    /// Number of processes.
    pub processes: u64,
}

impl Environment {
    /// The machine and the versions of a trace.
    pub fn of(trace: &Trace) -> Environment {
        let mut gpus: BTreeMap<(String, (u32, u32)), u64> = BTreeMap::new();
        for device in trace.devices.ids() {
            let row = trace.devices.row(device);
            let name = trace.text(row.name).to_owned();
            *gpus.entry((name, (row.compute_major, row.compute_minor))).or_default() += 1;
        }
        let meta = &trace.meta;
        let source = [meta.source_title(), &meta.source_version].join(" ");
        Environment {
            gpus: gpus.into_iter().map(|((name, compute), count)| (name, compute, count)).collect(),
            driver: meta.driver.clone(),
            runtime: meta.runtime.clone(),
            libraries: meta.libraries.clone(),
            processors: trace.limits.processors.iter().copied().filter(|count| *count > 0).max(),
            source: source.trim().to_owned(),
            ranks: meta.world_size,
            processes: trace.processes.len() as u64,
        }
    }
}
