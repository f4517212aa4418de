//! The driver's own table of symbols, and the runtime's: once it leads to the wrappers, every look-up by name does: the
//! loader's for a library that comes later, `dlsym` from anywhere.

use crate::hooks::hooks;
use crate::loader::Loader;
use crate::wrappers::wrap;
use crate::{imports, patch, recorded_functions};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Libraries that had been loaded when they were last looked through.
static SEEN: AtomicU64 = AtomicU64::new(0);
/// How often a library that is linked with the driver may be found half loaded until it is taken as it is.
const PATIENCE: u32 = 16;
static UNFINISHED: AtomicU32 = AtomicU32::new(0);

/// If libraries were loaded since this was last asked, and the driver is among those there: puts the
/// wrapped functions into its table of symbols, and into the slots of what is linked with it. An address
/// that a program takes from then on is that of a wrapped function. Nothing is looked up in the loader.
/// True when the driver is there.
pub fn wrap_driver(loader: &Loader) -> bool {
    let (loaded, _) = loader.counts();
    // A wrapper needs hooks.
    if hooks().is_none() || SEEN.load(Acquire) == loaded {
        return false;
    }
    let found = wrap_exports(loader);
    let patient = UNFINISHED.fetch_add(1, Relaxed) < PATIENCE;
    if !found || imports::wrap_late_imports(loader, patient) || !patient {
        UNFINISHED.store(0, Relaxed);
        SEEN.store(loaded, Release);
    }
    found
}

/// Whether there is a driver.
fn wrap_exports(loader: &Loader) -> bool {
    let mut found = false;
    loader.each(&mut |object| {
        let name = object.path().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let is_driver = name.starts_with(b"libcuda.so");
        if is_driver || name.starts_with(b"libcudart.so") {
            found |= is_driver;
            object.each_export(&mut |export| {
                if recorded_functions::is_wrapped(export.name.to_bytes()) {
                    // SAFETY: the driver's or the runtime's function of that name.
                    let function = unsafe { wrap(export.name, export.function()) };
                    patch::put_export(loader, &export, function);
                }
            });
        }
        ControlFlow::Continue(())
    });
    found
}
