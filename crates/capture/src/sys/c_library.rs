//! Functions that come next behind this library's wrappers: another preloaded library's, else the C library's. What
//! is in the program's way to a function stays there.

use libc::{c_char, c_int, c_void};
use std::ffi::CStr;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Declares the functions that this library has wrappers of.
macro_rules! functions {
    ($($function:ident = $name:literal;)*) => {
        /// A function that this library has a wrapper of.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub enum Real {
            $(#[doc = concat!("`", stringify!($name), "`")] $function,)*
        }

        /// Their names, each at its number.
        const NAMES: &[&CStr] = &[$($name),*];

        const ALL: &[Real] = &[$(Real::$function),*];
    };
}

functions! {
    Dlsym = c"dlsym";
    Dlopen = c"dlopen";
    Dlmopen = c"dlmopen";
    Dlclose = c"dlclose";
    Clone = c"clone";
    RegisterFrame = c"__register_frame";
    DeregisterFrame = c"__deregister_frame";
    Prctl = c"prctl";
    Syscall = c"syscall";
    Vfork = c"vfork";
    Dladdr = c"dladdr";
    Dladdr1 = c"dladdr1";
    Execve = c"execve";
    Execv = c"execv";
    Execvp = c"execvp";
    Execvpe = c"execvpe";
    Execl = c"execl";
    Execlp = c"execlp";
    Execle = c"execle";
    Fexecve = c"fexecve";
    Execveat = c"execveat";
    PosixSpawn = c"posix_spawn";
    PosixSpawnp = c"posix_spawnp";
}

impl Real {
    /// The function of a name.
    pub fn named(name: &CStr) -> Option<Real> {
        NAMES.iter().zip(ALL).find_map(|(known, function)| (*known == name).then_some(*function))
    }
}

static FOUND: [AtomicPtr<c_void>; NAMES.len()] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; NAMES.len()];

/// The C library's own `dlvsym` and `dlsym`.
static DLVSYM: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static DLSYM: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Finds them, before anything else runs: by nothing that another library could have a function for.
#[cold]
#[inline(never)]
pub fn prepare() {
    for (known, name) in [(&DLVSYM, c"dlvsym"), (&DLSYM, c"dlsym")] {
        known.store(interpose::c_library_symbol(name).unwrap_or(std::ptr::null_mut()), Release);
    }
    for (found, name) in FOUND.iter().zip(NAMES) {
        // SAFETY: a plain look-up.
        found.store(unsafe { real_dlsym(libc::RTLD_NEXT, name) }, Release);
    }
}

/// Where a function is; null where the C library has none.
pub fn real(function: Real) -> *mut c_void {
    let found = &FOUND[function as usize];
    if found.load(Acquire).is_null() {
        // Another library's constructor runs before this one's.
        prepare();
    }
    found.load(Acquire)
}

/// Where `dlvsym` is.
pub fn dlvsym_address() -> *mut c_void {
    if DLVSYM.load(Acquire).is_null() {
        prepare();
    }
    DLVSYM.load(Acquire)
}

/// The C library's own `dlsym`, whatever comes before it.
///
/// # Safety
///
/// As `dlsym`; `RTLD_NEXT` means behind this library.
pub unsafe fn real_dlsym(handle: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: the C library's function.
    unsafe { call_dlsym(&DLSYM, handle, name) }
}

/// The `dlsym` that comes next, as the program would have called it.
///
/// # Safety
///
/// As `dlsym`.
pub unsafe fn next_dlsym(handle: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: what comes next, with the caller's arguments.
    unsafe { call_dlsym(&FOUND[Real::Dlsym as usize], handle, name) }
}

unsafe fn call_dlsym(function: &AtomicPtr<c_void>, handle: *mut c_void, name: &CStr) -> *mut c_void {
    type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    let real = function.load(Acquire);
    if real.is_null() {
        return real;
    }
    // SAFETY: a `dlsym`; the caller promises that the arguments are good for it.
    unsafe { std::mem::transmute::<*mut c_void, Dlsym>(real)(handle, name.as_ptr()) }
}

/// The C library's `dlopen`, as called by this library.
///
/// # Safety
///
/// As `dlopen`.
pub unsafe fn real_dlopen(name: &CStr, mode: c_int) -> *mut c_void {
    type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
    let real = real(Real::Dlopen);
    if real.is_null() {
        return real;
    }
    // SAFETY: the C library's function.
    unsafe { std::mem::transmute::<*mut c_void, Dlopen>(real)(name.as_ptr(), mode) }
}

/// Where it is.
pub extern "C-unwind" fn dlsym_address() -> *mut c_void {
    real(Real::Dlsym)
}
