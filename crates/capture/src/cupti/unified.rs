//! Migrations of unified memory. CUPTI is asked for them when the program first allocates such memory, so that other programs have
//! nothing to do with it.

use super::client::{CUPTI, ON};
use super::layout::kind;
use std::ffi::c_int;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// `CUpti_ActivityUnifiedMemoryCounterKind`, of those that are recorded: bytes to a device, to the host, and between devices.
pub const TO_DEVICE: u32 = 1;
pub const TO_HOST: u32 = 2;
pub const BETWEEN_DEVICES: u32 = 8;

/// `CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES`
const OF_PROCESS: u32 = 2;

static ASKED: AtomicBool = AtomicBool::new(false);
/// CUPTI makes records of migrations.
static RECORDED: AtomicBool = AtomicBool::new(false);

/// `CUpti_ActivityUnifiedMemoryCounterConfig` (cupti_activity.h)
#[repr(C)]
struct Counter {
    scope: u32,
    kind: u32,
    device: u32,
    enable: u32,
}

/// The program has unified memory: has CUPTI record its migrations from now on, where it can.
pub fn record(level_has_operations: bool) {
    let (true, true, Some(cupti)) = (ON.load(Acquire), level_has_operations, CUPTI.get()) else { return };
    let Some(configure) = cupti.configure_unified else { return };
    if ASKED.swap(true, Relaxed) {
        return;
    }
    let counter = |kind| Counter { scope: OF_PROCESS, kind, device: 0, enable: 1 };
    let mut counters = [TO_DEVICE, TO_HOST, BETWEEN_DEVICES].map(counter);
    // One GPU has no migrations between devices, and CUPTI may refuse to count them.
    for count in [3, 2] {
        // SAFETY: CUPTI's functions; the first reads that many counters.
        let is_on = unsafe {
            configure(counters.as_mut_ptr().cast(), count) == 0
                && (cupti.enable)(kind::UNIFIED_MEMORY as c_int) == 0
        };
        if is_on {
            return RECORDED.store(true, Relaxed);
        }
    }
}

/// The kind of records, if CUPTI makes them.
pub fn kind() -> Option<&'static u32> {
    RECORDED.load(Relaxed).then_some(&kind::UNIFIED_MEMORY)
}

/// In a fork's child: CUPTI does not work there.
pub fn forget() {
    ASKED.store(false, Relaxed);
    RECORDED.store(false, Relaxed);
}
