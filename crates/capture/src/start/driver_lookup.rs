//! The driver as the program finds it: it is about to be initialized, which starts a recording.

use interpose::Loader;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

/// A recording was started.
static STARTED: AtomicBool = AtomicBool::new(false);

/// Whether the caller is the first to start a recording.
pub fn start() -> bool {
    !STARTED.swap(true, AcqRel)
}

/// A function of the driver was looked up.
pub fn driver_seen() {
    // When another tool has the driver's injection, the first wrapped call starts recording.
    if !STARTED.load(Relaxed) {
        interpose::set_recording(true);
    }
}

/// Wraps the driver's functions if the driver was loaded since the last time.
pub fn look_for_driver(loader: &Loader) {
    if interpose::wrap_driver(loader) {
        driver_seen();
    }
}

/// In a fork's child: it has not started; whether the parent had.
pub fn forget() -> bool {
    STARTED.swap(false, AcqRel)
}
