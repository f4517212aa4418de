//! GPUs of a program, by UUID.

use rustc_hash::FxHashMap;
use trace::DeviceId;

/// GPUs, as far as the processes so far know them.
#[derive(Default)]
pub(crate) struct Devices {
    /// The rows of UUIDs.
    pub rows: FxHashMap<[u64; 2], DeviceId>,
    /// PCI domain, bus and device of rows.
    pub places: FxHashMap<DeviceId, (u32, u32)>,
    /// Whether two GPUs have one number, or one has two.
    pub differ: bool,
}
