//! The C library's own `dlsym` and `dlvsym`: this library has wrappers of the same names.

use libc::{c_char, c_void};
use std::ffi::CStr;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Release};

/// The C library's `dlsym`.
static DLSYM: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// The C library's `dlvsym`.
static DLVSYM: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// The function of that name that comes next: by version, because the look-up must not need `dlsym`.
fn next(name: &CStr) -> *mut c_void {
    type Dlvsym = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    let look_up = dlvsym_address();
    if look_up.is_null() {
        return look_up;
    }
    let versions = [c"GLIBC_2.34", c"GLIBC_2.17", c"GLIBC_2.2.5"];
    let find = |version: &&CStr| {
        // SAFETY: the C library's function; both strings end in a zero byte.
        unsafe {
            std::mem::transmute::<*mut c_void, Dlvsym>(look_up)(
                libc::RTLD_NEXT,
                name.as_ptr(),
                version.as_ptr(),
            )
        }
    };
    versions.iter().map(find).find(|found| !found.is_null()).unwrap_or(std::ptr::null_mut())
}

/// Finds the C library's functions, before anything else runs.
pub fn prepare() {
    DLSYM.store(next(c"dlsym"), Release);
}

/// Where `dlvsym` is: found without it, in the first library that has one, this one aside.
pub fn dlvsym_address() -> *mut c_void {
    if DLVSYM.load(Acquire).is_null() {
        let own = prepare as *const c_void;
        let found = interpose::symbol_outside(c"dlvsym", own.addr());
        DLVSYM.store(found.unwrap_or(std::ptr::null_mut()), Release);
    }
    DLVSYM.load(Acquire)
}

/// The C library's `dlsym`.
///
/// # Safety
///
/// As `dlsym`; `RTLD_NEXT` means behind this library.
pub unsafe fn real_dlsym(handle: *mut c_void, name: &CStr) -> *mut c_void {
    type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    let real = dlsym_address();
    if real.is_null() {
        return real;
    }
    // SAFETY: the C library's function.
    unsafe { std::mem::transmute::<*mut c_void, Dlsym>(real)(handle, name.as_ptr()) }
}

/// Where it is.
pub extern "C-unwind" fn dlsym_address() -> *mut c_void {
    if DLSYM.load(Acquire).is_null() {
        prepare();
    }
    DLSYM.load(Acquire)
}
