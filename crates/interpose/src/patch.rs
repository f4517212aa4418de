//! Putting other functions into slots, and the old ones back.

use crate::elf::{self, Slot};
use libc::c_void;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicUsize};

/// Most slots that can be changed.
const MOST: usize = 16_384;

struct Changed {
    place: AtomicPtr<*mut c_void>,
    before: AtomicPtr<c_void>,
    after: AtomicPtr<c_void>,
}

static CHANGED: [Changed; MOST] = [const {
    Changed {
        place: AtomicPtr::new(std::ptr::null_mut()),
        before: AtomicPtr::new(std::ptr::null_mut()),
        after: AtomicPtr::new(std::ptr::null_mut()),
    }
}; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Puts `function` into a slot; false when it could not, or is there already.
pub fn put(slot: &Slot<'_>, function: *mut c_void) -> bool {
    let before = slot.value();
    if before == function {
        return false;
    }
    let at = COUNT.fetch_add(1, Relaxed);
    let Some(entry) = CHANGED.get(at) else { return false };
    if !store(slot.cell(), function) {
        return false;
    }
    entry.before.store(before, Relaxed);
    entry.after.store(function, Relaxed);
    entry.place.store(slot.place, Release);
    true
}

/// Puts everything back as it was; slots that somebody else changed since are left alone. Returns
/// how many were put back.
pub fn restore() -> usize {
    let mut count = 0;
    for entry in &CHANGED[..COUNT.load(Acquire).min(MOST)] {
        let place = entry.place.swap(std::ptr::null_mut(), AcqRel);
        if place.is_null() {
            continue;
        }
        // SAFETY: as in `put`; whoever restores knows that the library is still loaded.
        let slot = unsafe { AtomicPtr::from_ptr(place) };
        if slot.load(Acquire) == entry.after.load(Relaxed) {
            count += usize::from(store(slot, entry.before.load(Relaxed)));
        }
    }
    COUNT.store(0, Release);
    count
}

/// A page that can be written to stays so: whoever put it so may not be done with it.
fn store(place: &AtomicPtr<c_void>, function: *mut c_void) -> bool {
    let read_only = !elf::is_writable(place.as_ptr());
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as usize;
    let start = (place.as_ptr() as usize) & !(page - 1);
    let protect = |how| {
        // SAFETY: changes the protection of one page of a loaded object, which stays readable.
        unsafe { libc::mprotect(start as *mut c_void, page, how) == 0 }
    };
    if read_only && !protect(libc::PROT_READ | libc::PROT_WRITE) {
        return false;
    }
    place.store(function, Release);
    if read_only {
        protect(libc::PROT_READ);
    }
    true
}
