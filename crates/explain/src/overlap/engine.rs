//! Which part of a device an operation keeps busy, and what parts a device has.

use serde::Serialize;
use trace::{CopyKind, DeviceId, OpKind, Trace};

/// The first compute capability with Hyper-Q: hardware queues that do not wait for each other (NVIDIA's tuning guide for
/// Kepler, seed of the `overlap` experiment: Tesla K20c).
const HYPER_Q: (u32, u32) = (3, 5);

/// The first compute capability that runs kernels of several streams at once (CUDA programming guide, Fermi).
const CONCURRENT_KERNELS: (u32, u32) = (2, 0);

/// What an operation keeps busy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Copies from the host to the device.
    CopyIn,
    /// Copies from the device to the host.
    CopyOut,
    /// Kernels and fills.
    Compute,
    /// Copies that touch no host memory of the program's, and migrations of unified memory: which engine makes them a
    /// trace does not say.
    Other,
}

impl Engine {
    /// All of them, in the order they are drawn.
    pub const ALL: [Engine; 4] = [Engine::CopyIn, Engine::Compute, Engine::CopyOut, Engine::Other];

    /// The engine of an operation.
    pub fn of(kind: OpKind, copy: CopyKind) -> Engine {
        match kind {
            OpKind::Copy if copy.to_device() => Engine::CopyIn,
            OpKind::Copy if copy.to_host() => Engine::CopyOut,
            OpKind::Copy => Engine::Other,
            OpKind::Kernel | OpKind::Memset | OpKind::Unknown => Engine::Compute,
        }
    }

    /// Of each device that has something to overlap, copies of the host and kernels, the engines that it used, in the order
    /// they are drawn; none of others.
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

    pub(super) fn bit(self) -> usize {
        self as usize
    }
}

/// What a device can do at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ability {
    /// Copy engines; `None` where the trace does not say.
    pub copy_engines: Option<u32>,
    /// Where it does not, whether copies of both directions were seen at once.
    pub both_seen: bool,
    compute: (u32, u32),
}

impl Ability {
    pub fn of(trace: &Trace, device: DeviceId) -> Ability {
        let row = trace.devices.row(device);
        Ability {
            copy_engines: Some(row.copy_engines).filter(|engines| *engines > 0),
            both_seen: false,
            compute: (row.compute_major, row.compute_minor),
        }
    }

    /// Whether copies of both directions use one engine: `true` too where neither the trace nor what
    /// ran at once tells, for then no more than this is promised.
    pub fn one_for_both(&self) -> bool {
        self.copy_engines.map_or(!self.both_seen, |engines| engines == 1)
    }

    /// Whether the device is known to take copies as they were issued, ready or not, with one engine for all.
    pub fn one_queue_of_copies(&self) -> bool {
        self.copy_engines == Some(1) && self.is_before(HYPER_Q)
    }

    /// Whether kernels issued back to back are known to signal their end together.
    pub fn signals_together(&self) -> bool {
        self.compute >= CONCURRENT_KERNELS && self.is_before(HYPER_Q)
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
