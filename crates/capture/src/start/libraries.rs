//! Libraries come and go: looked through where the program calls the loader itself, and in no other call of its own.
//!
//! The wrappers leave the loader's functions their callers: `dlopen` looks for libraries where its caller says
//! (`DT_RUNPATH`), so it is jumped to. What it loaded is seen at the next of these calls, which mostly is the `dlsym`
//! that follows.

use crate::observe::{functions, jit, watched_libraries};
use crate::start::driver_lookup;
use crate::sys::c_library::{self, Real};
use crate::sys::jumps::jumps;
use crate::sys::seccomp;
use crate::sys::shielded::shielded;
use crate::write::writer::Writer;
use crate::write::{process, thread_writer};
use interpose::Loader;
use libc::{c_int, c_void};
use std::hint::spin_loop;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Looks at the loader's list before it is given up for now: another thread holds it for microseconds mostly.
const LOOKS: u32 = 100;

/// This library was loaded.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// This library was loaded: libraries are looked through from now on.
pub fn begin() {
    BEGUN.store(true, Release);
}

/// Whether it was.
pub fn has_begun() -> bool {
    BEGUN.load(Acquire)
}

/// Looks through the libraries that came since the last time; false where another thread holds the loader's list.
pub fn look() -> bool {
    if !has_begun() || !seccomp::allows_calls() {
        return false;
    }
    interpose::begin_anew();
    shielded(|| {
        let Some(loader) = hold() else { return false };
        interpose::renew(&loader);
        driver_lookup::look_for_driver(&loader);
        let look = |writer: &mut Writer| watched_libraries::look_through(&loader, writer);
        let are_new = process::header().is_some() && thread_writer::here(look).unwrap_or(false);
        drop(loader);
        if are_new {
            jit::read_files();
        }
        true
    })
}

fn hold() -> Option<Loader> {
    for _ in 0..LOOKS {
        if let Some(loader) = Loader::hold() {
            return Some(loader);
        }
        spin_loop();
    }
    None
}

/// Where `dlopen` is to jump.
unsafe extern "C-unwind" fn before_dlopen() -> *mut c_void {
    look();
    c_library::real(Real::Dlopen)
}

/// Where `dlmopen` is to jump.
unsafe extern "C-unwind" fn before_dlmopen() -> *mut c_void {
    look();
    c_library::real(Real::Dlmopen)
}

jumps! {
    /// `dlopen`, after a look at the libraries that came before.
    dlopen after before_dlopen, else 0;
    /// `dlmopen`, as `dlopen`.
    dlmopen after before_dlmopen, else 0;
}

/// `dlclose`: nothing is found in the table of libraries while some may go.
///
/// # Safety
///
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dlclose(library: *mut c_void) -> c_int {
    type Dlclose = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;
    let real = c_library::real(Real::Dlclose);
    if real.is_null() {
        return -1;
    }
    interpose::unload();
    // SAFETY: the C library's function, with the caller's own argument.
    let result = unsafe { std::mem::transmute::<*mut c_void, Dlclose>(real)(library) };
    interpose::unloaded(look());
    result
}

/// `dladdr`: a wrapper is what it stands for. Programs ask so where the driver is.
///
/// # Safety
///
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dladdr(address: *const c_void, found: *mut libc::Dl_info) -> c_int {
    type Dladdr = unsafe extern "C-unwind" fn(*const c_void, *mut libc::Dl_info) -> c_int;
    let (real, meant) = (c_library::real(Real::Dladdr), interpose::unwrapped(address.cast_mut()));
    if real.is_null() {
        return 0;
    }
    // SAFETY: the C library's function, with the caller's own arguments but the address.
    let result = unsafe { std::mem::transmute::<*mut c_void, Dladdr>(real)(meant, found) };
    if result != 0 {
        // SAFETY: the C library filled it.
        name(unsafe { &mut *found }, address, meant);
    }
    result
}

/// `dladdr1`, as [`dladdr`].
///
/// # Safety
///
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dladdr1(
    address: *const c_void,
    found: *mut libc::Dl_info,
    more: *mut *mut c_void,
    what: c_int,
) -> c_int {
    type Dladdr1 =
        unsafe extern "C-unwind" fn(*const c_void, *mut libc::Dl_info, *mut *mut c_void, c_int) -> c_int;
    let (real, meant) = (c_library::real(Real::Dladdr1), interpose::unwrapped(address.cast_mut()));
    if real.is_null() {
        return 0;
    }
    // SAFETY: as above.
    let result = unsafe { std::mem::transmute::<*mut c_void, Dladdr1>(real)(meant, found, more, what) };
    if result != 0 {
        // SAFETY: as above.
        name(unsafe { &mut *found }, address, meant);
    }
    result
}

/// Names a wrapped function: the driver's own table of symbols leads to the wrapper.
fn name(found: &mut libc::Dl_info, wrapper: *const c_void, function: *mut c_void) {
    if let Some(number) = interpose::wrapped_number(wrapper.cast_mut())
        && found.dli_sname.is_null()
    {
        found.dli_sname = functions::name(number);
        found.dli_saddr = function;
    }
}
