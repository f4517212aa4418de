//! Functions of the driver and the runtime that libraries and programs are linked with instead of looking them up.

use crate::elf::{self, Object};
use crate::loader::Loader;
use crate::visited::VisitedObjects;
use crate::wrappers::wrap;
use crate::{objects, patch, recorded_functions};
use libc::c_void;
use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicUsize};

/// Most different functions of the driver that libraries are linked with.
const MOST_IMPORTS: usize = 512;

/// Longest name of one, with its zero byte; the driver's longest has 43 bytes.
const MOST_NAME: usize = 64;

/// A function of the driver that is looked up when it is first called.
struct Import {
    name: UnsafeCell<[u8; MOST_NAME]>,
    /// Function that goes into the slots; null to leave them alone.
    function: AtomicPtr<c_void>,
}
// SAFETY: names are written by who holds the loader's list, before IMPORTED counts them, and never again.
unsafe impl Sync for Import {}

static IMPORTS: [Import; MOST_IMPORTS] = [const {
    Import { name: UnsafeCell::new([0; MOST_NAME]), function: AtomicPtr::new(std::ptr::null_mut()) }
}; MOST_IMPORTS];
static IMPORTED: AtomicUsize = AtomicUsize::new(0);
/// The objects whose slots are all wrapped that will be.
static VISITED: VisitedObjects = VisitedObjects::new();

/// Puts the wrapped functions into the slots of libraries and programs that are linked with the
/// driver or the runtime instead of looking its functions up. `resolve` gives the function that a name stands for,
/// null for none: a slot may still hold what looks it up.
///
/// Called once, as recording begins. `resolve` runs while nobody holds the loader's list: it may wait for a thread that
/// loads a library, and that thread for the one that looks.
pub fn wrap_imports(resolve: &dyn Fn(&CStr) -> *mut c_void) {
    let before = IMPORTED.load(Acquire);
    let Some(loader) = Loader::hold_at_start() else { return };
    each_import(&loader, true, &|_| true, |_| {}, &mut |slot, bound| {
        if bound.is_none() {
            remember(&loader, slot.name);
        }
    });
    drop(loader);
    for import in IMPORTS.iter().take(IMPORTED.load(Acquire)).skip(before) {
        let real = resolve(import.name());
        // SAFETY: the driver's or the runtime's function of that name.
        let function = unsafe { wrap(import.name(), real) };
        if function != real {
            import.function.store(function, Release);
        }
    }
    if let Some(loader) = Loader::hold_at_start() {
        fill_imports(&loader, true, &|_| true);
    }
}

/// Like [`wrap_imports`], but for libraries that were loaded since and that are linked with the driver.
/// Nothing is looked up. False when a library was being loaded: try again. Unless `patient`, one that
/// looks so is taken as it is.
pub fn wrap_late_imports(loader: &Loader, patient: bool) -> bool {
    VISITED.begin(loader);
    let runtime = recorded_functions::wraps_runtime();
    let is_linked =
        |object: &Object<'_>| object.needs(b"libcuda.so") || runtime && object.needs(b"libcudart.so");
    fill_imports(loader, patient, &|object| !VISITED.contains(object) && is_linked(object))
}

/// In a fork's child: all libraries must be looked through again.
pub fn forget_all() {
    VISITED.forget();
}

impl Import {
    fn name(&self) -> &CStr {
        // SAFETY: written before it was counted, and ends in a zero byte.
        unsafe { CStr::from_ptr(self.name.get().cast()) }
    }
}

/// The import of that name.
fn import(name: &CStr) -> Option<&'static Import> {
    let mut known = IMPORTS.iter().take(IMPORTED.load(Acquire));
    known.find(|import| import.name() == name)
}

/// Makes a name known. One that is too long, or too many, is left alone.
fn remember(_: &Loader, name: &CStr) {
    let (bytes, at) = (name.to_bytes_with_nul(), IMPORTED.load(Relaxed));
    if bytes.len() > MOST_NAME || import(name).is_some() {
        return;
    }
    if let Some(import) = IMPORTS.get(at) {
        // SAFETY: only who holds the loader's list writes, and nobody reads what is not counted.
        let name = unsafe { &mut *import.name.get() };
        name.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        IMPORTED.store(at + 1, Release);
    }
}

/// Changes all slots for which there is a function, in libraries that are `wanted`.
fn fill_imports(loader: &Loader, patient: bool, wanted: &dyn Fn(&Object<'_>) -> bool) -> bool {
    each_import(loader, patient, wanted, |object| VISITED.add(object), &mut |slot, bound| {
        let function = match bound {
            // Whatever it is: the driver's function, or one of the same name in another library.
            // SAFETY: the driver's or the runtime's function of that name, or another library's that stands for it.
            Some(real) => unsafe { wrap(slot.name, real) },
            None => import(slot.name).map_or(std::ptr::null_mut(), |import| import.function.load(Acquire)),
        };
        if !function.is_null() && bound != Some(function) {
            patch::put(loader, &slot, function);
        }
    })
}

/// Calls `visit` with each slot for a function of the driver or the runtime that is worth wrapping, and the function that
/// is in it unless that is still to be looked up; then `done` with the object. Slots that are wrapped are passed over, and
/// those that the loader is not done with: then their object is not done, and it returns false.
fn each_import(
    loader: &Loader,
    patient: bool,
    wanted: &dyn Fn(&Object<'_>) -> bool,
    done: fn(&Object<'_>),
    visit: &mut dyn FnMut(elf::Slot<'_>, Option<*mut c_void>),
) -> bool {
    let own = objects::range_around(IMPORTS.as_ptr().addr()).unwrap_or_default();
    let mut all_done = true;
    loader.each(&mut |object| {
        let path = object.path();
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let is_cuda = name.starts_with(b"libcuda.so") || name.starts_with(b"libcudart.so");
        if object.contains(own.start) || is_cuda || !wanted(&object) {
            return ControlFlow::Continue(());
        }
        let mut finished = true;
        object.each_slot(&mut |slot| {
            let bytes = slot.name.to_bytes();
            if !(bytes.starts_with(b"cu") || bytes.starts_with(b"__cuda"))
                || !recorded_functions::is_wrapped(bytes)
                || own.contains(&(slot.value() as usize))
            {
                return;
            }
            if object.is_finished(&slot) || !patient && object.is_filled(&slot) {
                let bound = !object.contains(slot.value() as usize);
                let function = slot.value();
                visit(slot, bound.then_some(function));
            } else {
                finished = false;
            }
        });
        if finished {
            done(&object);
        }
        all_done &= finished;
        ControlFlow::Continue(())
    });
    all_done
}
