//! The engine of a device that an operation uses, and the engines that a device has.

use serde::Serialize;
use trace::{CopyKind, DeviceId, OpKind, Trace};

/// The first compute capability with Hyper-Q: hardware queues that do not wait for each other (NVIDIA's Kepler tuning guide;
/// seed of the `overlap` experiment: Tesla K20c).
const HYPER_Q: (u32, u32) = (3, 5);

/// The first compute capability that runs kernels of several streams at once (CUDA programming guide, Fermi).
const CONCURRENT_KERNELS: (u32, u32) = (2, 0);

/// The part of a device that an operation uses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Copies from the host to the device.
    CopyIn,
    /// Copies from the device to the host.
    CopyOut,
    /// Kernels and fills.
    Compute,
    /// Copies that touch no host memory of the program, and migrations of unified memory: traces do not record which engine
    /// makes them.
    Other,
}

impl Engine {
    /// All engines, in the order in which they are drawn.
    pub const ALL: [Engine; 4] = [Engine::CopyIn, Engine::Compute, Engine::CopyOut, Engine::Other];

    /// The engine of an operation.
    pub fn of(kind: OpKind, copy: CopyKind) -> Engine {
        match kind {
            OpKind::Copy if copy.to_device() => Engine::CopyIn,
            OpKind::Copy if copy.to_host() => Engine::CopyOut,
            OpKind::Copy => Engine::Other,
            OpKind::Kernel | OpKind::Memset | OpKind::Graph | OpKind::Unknown => Engine::Compute,
        }
    }

    /// The engines that each device used, in the order in which they are drawn; empty for a device without both kernels and
    /// copies from or to the host, which has nothing to overlap.
    pub fn used(trace: &Trace) -> Vec<Vec<Engine>> {
        let mut used = vec![[false; Engine::ALL.len()]; trace.devices.len()];
        for at in 0..trace.ops.len() {
            if let Some(device) = trace.device_of_stream(trace.ops.stream[at]).some() {
                used[device.index()][Engine::of(trace.ops.kind[at], trace.ops.copy[at]).bit()] = true;
            }
        }
        let overlaps = |used: &[bool; 4]| {
            let is = |engine: Engine| used[engine.bit()];
            is(Engine::Compute) && (is(Engine::CopyIn) || is(Engine::CopyOut))
        };
        let engines = |used: &[bool; 4]| match overlaps(used) {
            true => Engine::ALL.into_iter().filter(|engine| used[engine.bit()]).collect(),
            false => Vec::new(),
        };
        used.iter().map(engines).collect()
    }

    /// Position among [`Engine::ALL`]'s values as declared.
    pub fn bit(self) -> usize {
        self as usize
    }
}

/// The operations that a device can run at once.
#[derive(Clone, Copy, Debug)]
pub struct Ability {
    /// Number of copy engines; `None` if the trace does not record it.
    pub copy_engines: Option<u32>,
    /// Whether copies of both directions ran at once; set only if `copy_engines` is unknown.
    pub both_seen: bool,
    compute: (u32, u32),
}

impl Ability {
    /// The ability of a device, by its compute capability.
    pub fn of(trace: &Trace, device: DeviceId) -> Ability {
        let row = trace.devices.row(device);
        Ability {
            copy_engines: Some(row.copy_engines).filter(|engines| *engines > 0),
            both_seen: false,
            compute: (row.compute_major, row.compute_minor),
        }
    }

    /// Whether copies of both directions use one engine; also `true` if unknown, because the report promises no more
    /// overlap than is sure.
    pub fn one_for_both(&self) -> bool {
        self.copy_engines.map_or(!self.both_seen, |engines| engines == 1)
    }

    /// Whether the device is known to run all copies on one engine in the order of issue, ready or not.
    pub fn one_queue_of_copies(&self) -> bool {
        self.copy_engines == Some(1) && self.is_before(HYPER_Q)
    }

    /// Whether kernels issued back to back are known to signal their end together.
    pub fn signals_together(&self) -> bool {
        self.compute >= CONCURRENT_KERNELS && self.is_before(HYPER_Q)
    }

    /// Whether each engine is known to start operations in the order of issue, ready or not.
    pub fn is_in_order(&self) -> bool {
        self.is_before(HYPER_Q)
    }

    /// Whether streams are known to have hardware queues that do not wait for each other.
    pub fn has_hyper_q(&self) -> bool {
        self.compute >= HYPER_Q
    }

    fn is_before(&self, capability: (u32, u32)) -> bool {
        self.compute != (0, 0) && self.compute < capability
    }

    /// Which of the device's separate engines an operation uses.
    pub fn unit(&self, engine: Engine) -> usize {
        match engine {
            Engine::CopyOut if self.one_for_both() => Engine::CopyIn.bit(),
            engine => engine.bit(),
        }
    }
}
