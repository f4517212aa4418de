//! This machine's first GPU as a bench.

use crate::{Bench, Facts, Ran};
use gpu::{Machine, Options};
use std::time::{Duration, Instant};
use workload::Workload;

/// The longest that a calibration takes on a GPU.
const LIMIT: Duration = Duration::from_secs(180);

/// This machine's first GPU.
pub struct Gpu {
    facts: Facts,
    began: Instant,
}

impl Gpu {
    /// A bench that runs on the first GPU of this machine, for three minutes at most from now on; `None` if there is no GPU.
    pub fn new(machine: &Machine) -> Option<Gpu> {
        let device = machine.devices.first()?;
        let alike = machine.devices.iter().filter(|other| other.name == device.name);
        let facts = Facts {
            title: device.name.clone(),
            driver: machine.driver.clone(),
            count: alike.count() as u32,
            compute: device.compute,
            multiprocessors: device.multiprocessors,
            clock_mhz: u64::from(device.clock_khz / 1000),
            memory_bytes: device.memory_bytes,
            copy_engines: device.copy_engines,
            pools: device.memory_pools,
            processors: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
        };
        Some(Gpu { facts, began: Instant::now() })
    }
}

impl Bench for Gpu {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn run(&self, workload: &Workload) -> Result<Ran, String> {
        let limit = Some(LIMIT.saturating_sub(self.began.elapsed()));
        let options = Options { timed: true, trace: true, limit, ..Options::default() };
        let run = gpu::run(workload, &options).map_err(|error| error.to_string())?;
        match run.partial {
            Some(gpu::Partial::Limit) => {
                return Err(format!(
                    "not done after {} s: end other programs on the GPU, or take fewer --rounds",
                    LIMIT.as_secs()
                ));
            }
            Some(partial) => return Err(partial.to_string()),
            None => {}
        }
        let created = run.processes.iter().flat_map(|process| &process.contexts_ns);
        let contexts_ns = created.map(|ns| i64::try_from(*ns).unwrap_or(i64::MAX)).collect();
        Ok(Ran { outcome: run.outcome, trace: run.trace.unwrap_or_default(), contexts_ns })
    }
}
