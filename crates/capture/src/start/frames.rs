//! The functions by which compilers at run time register unwind tables: what they register is noted on the way.

use crate::sys::c_library::{self, Real};
use libc::c_void;

type Register = unsafe extern "C-unwind" fn(*const c_void);

/// `__register_frame`
///
/// # Safety
///
/// As the unwinder's: an unwind table, which stays until it is deregistered.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __register_frame(table: *const c_void) {
    if !table.is_null() {
        // SAFETY: the caller's promise.
        unsafe { interpose::remember_frames(table.cast()) };
    }
    // SAFETY: the unwinder's function, with the caller's own argument.
    unsafe { call(Real::RegisterFrame, table) };
}

/// `__deregister_frame`
///
/// # Safety
///
/// As the unwinder's: a table that was registered.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __deregister_frame(table: *const c_void) {
    interpose::forget_frames(table.cast());
    // SAFETY: the unwinder's function, with the caller's own argument.
    unsafe { call(Real::DeregisterFrame, table) };
}

unsafe fn call(function: Real, table: *const c_void) {
    let real = c_library::real(function);
    if !real.is_null() {
        // SAFETY: the unwinder's function of that name.
        unsafe { std::mem::transmute::<*mut c_void, Register>(real)(table) };
    }
}
