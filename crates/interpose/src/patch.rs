//! Puts other functions into slots and tables of symbols. Who does it holds the [`Loader`]: the object stays loaded, and no
//! other thread of ours changes the protection of the same page.

use crate::elf::{self, Export, Slot};
use crate::loader::Loader;
use libc::{PROT_READ, PROT_WRITE, c_int, c_void};
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Puts `function` into a slot; false when it could not, or is there already.
pub fn put(loader: &Loader, slot: &Slot<'_>, function: *mut c_void) -> bool {
    exchange(loader, slot.cell(), function, PROT_READ)
}

/// Makes a table of symbols name `function`; false when it could not, or the table does so already.
pub fn put_export(loader: &Loader, export: &Export<'_>, function: *mut c_void) -> bool {
    exchange(loader, export.cell(), export.value_for(function), export.protection)
}

/// A page that can be written to stays so: the loader may not be done with it. One that code may run in stays so
/// throughout.
fn exchange(_: &Loader, place: &AtomicPtr<c_void>, value: *mut c_void, protection: c_int) -> bool {
    if place.load(Acquire) == value {
        return false;
    }
    let read_only = !elf::is_writable(place.as_ptr());
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as usize;
    let start = (place.as_ptr() as usize) & !(page - 1);
    let protect = |how| {
        // SAFETY: the page holds a place of a loaded object, which stays loaded while the loader's list is held: it stays
        // mapped, and readable and executable as it was. No two threads of ours are here at once: the list is one's alone.
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
