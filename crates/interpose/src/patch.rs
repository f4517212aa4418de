//! Putting other functions into slots and tables of symbols, and the old ones back.

use crate::elf::{self, Export, Slot};
use libc::{PROT_READ, PROT_WRITE, c_int, c_void};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize};

/// Most places that can be changed.
const MOST: usize = 16_384;

struct Changed {
    place: AtomicPtr<*mut c_void>,
    before: AtomicPtr<c_void>,
    after: AtomicPtr<c_void>,
    /// What may be done with its page.
    protection: AtomicI32,
}

static CHANGED: [Changed; MOST] = [const {
    Changed {
        place: AtomicPtr::new(std::ptr::null_mut()),
        before: AtomicPtr::new(std::ptr::null_mut()),
        after: AtomicPtr::new(std::ptr::null_mut()),
        protection: AtomicI32::new(PROT_READ),
    }
}; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Puts `function` into a slot; false when it could not, or is there already.
pub fn put(slot: &Slot<'_>, function: *mut c_void) -> bool {
    exchange(slot.cell(), function, PROT_READ)
}

/// Has a table of symbols say that what it makes public is `function`; false when it could not, or
/// says so already.
pub fn put_export(export: &Export<'_>, function: *mut c_void) -> bool {
    exchange(export.cell(), export.value_for(function), export.protection)
}

fn exchange(place: &AtomicPtr<c_void>, value: *mut c_void, protection: c_int) -> bool {
    let before = place.load(Acquire);
    if before == value {
        return false;
    }
    let at = COUNT.fetch_add(1, Relaxed);
    let Some(entry) = CHANGED.get(at) else { return false };
    if !store(place, value, protection) {
        return false;
    }
    entry.before.store(before, Relaxed);
    entry.after.store(value, Relaxed);
    entry.protection.store(protection, Relaxed);
    entry.place.store(place.as_ptr(), Release);
    true
}

/// Puts everything back as it was; places that somebody else changed since are left alone. Returns
/// how many were put back.
pub fn restore() -> usize {
    let mut count = 0;
    for entry in &CHANGED[..COUNT.load(Acquire).min(MOST)] {
        let place = entry.place.swap(std::ptr::null_mut(), AcqRel);
        if place.is_null() {
            continue;
        }
        // SAFETY: as in `put`; whoever restores knows that the library is still loaded.
        let cell = unsafe { AtomicPtr::from_ptr(place) };
        if cell.load(Acquire) == entry.after.load(Relaxed) {
            let protection = entry.protection.load(Relaxed);
            count += usize::from(store(cell, entry.before.load(Relaxed), protection));
        }
    }
    COUNT.store(0, Release);
    count
}

/// A page that can be written to stays so: whoever put it so may not be done with it. One that code may
/// run in stays so throughout.
fn store(place: &AtomicPtr<c_void>, value: *mut c_void, protection: c_int) -> bool {
    let read_only = !elf::is_writable(place.as_ptr());
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as usize;
    let start = (place.as_ptr() as usize) & !(page - 1);
    let protect = |how| {
        // SAFETY: changes the protection of one page of a loaded object, which can still be read and run.
        unsafe { libc::mprotect(start as *mut c_void, page, how) == 0 }
    };
    if read_only && !protect(protection | PROT_WRITE) {
        return false;
    }
    place.store(value, Release);
    if read_only {
        protect(protection);
    }
    true
}
