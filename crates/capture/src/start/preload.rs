//! The wrappers that this library has of the C library's and CUPTI's functions by being
//! preloaded: programs reach the driver through `dlsym`, whatever language they are written in.

use crate::cupti;
use crate::start::{children, driver_lookup, executes, frames, libraries, system_calls};
use crate::sys::c_library::{Real, dlsym_address, dlvsym_address, next_dlsym, real, real_dlopen, real_dlsym};
use crate::sys::env;
use crate::sys::jumps::jumps;
use crate::write::{notes, switch, thread_writer};
use libc::{c_char, c_int, c_void};
use spool::Level;
use std::arch::naked_asm;
use std::ffi::CStr;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::Relaxed;

/// Whether a look-up is for a symbol that the driver or CUPTI may have, or for a look-up. A caller that asks
/// for the next library's (`RTLD_NEXT`) gets what comes next from where it is. A library that was loaded meanwhile is
/// seen here, whatever is looked up: the driver's functions' addresses may be taken next, and others' locks.
unsafe extern "C-unwind" fn is_ours(handle: *mut c_void, name: *const c_char) -> bool {
    // A sanitizer begins before this library, and has no function of the C library's yet.
    if !libraries::has_begun() {
        return false;
    }
    libraries::look();
    if name.is_null() || handle == libc::RTLD_NEXT {
        return false;
    }
    // SAFETY: `dlsym` takes a string that ends in a zero byte.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_bytes().starts_with(b"cu") || name == c"dlvsym" || Real::named(name).is_some()
}

/// Whether the library was loaded before the program. Then every library that is linked with `dlsym`, this one too,
/// gets the wrapper here, or that of another preloaded library.
pub fn is_preloaded() -> bool {
    let named = env::text(spool::VAR_PRELOAD)
        .is_some_and(|list| list.windows(env::LIBRARY.len()).any(|part| part == env::LIBRARY));
    let own = interpose::object_around(is_preloaded as *const c_void as usize).unwrap_or_default();
    named || own.contains(&(dlsym as *const c_void as usize))
}

/// `dlsym`: for the driver's functions, what records them; for everything else, and for what is not
/// found so, a jump into the C library. It looks at its caller: for where to search, and for the
/// message where it finds nothing.
///
/// # Safety
///
/// As `dlsym`.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {is_ours}",
        "test al, al",
        "jz 2f",
        "mov rdi, [rsp + 16]",
        "mov rsi, [rsp + 8]",
        "call {ours}",
        "test rax, rax",
        "jz 2f",
        "add rsp, 24",
        "ret",
        "2:",
        "call {real}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "test rax, rax",
        "jz 3f",
        "jmp rax",
        "3:",
        "ret",
        is_ours = sym is_ours,
        real = sym dlsym_address,
        ours = sym of_cuda,
    )
}

/// The same registers as on x86-64.
///
/// # Safety
///
/// As `dlsym`.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    naked_asm!(
        "stp x0, x1, [sp, #-32]!",
        "str x30, [sp, #16]",
        "bl {is_ours}",
        "and w9, w0, #0xff",
        "cbz w9, 2f",
        "ldp x0, x1, [sp]",
        "bl {ours}",
        "cbz x0, 2f",
        "ldr x30, [sp, #16]",
        "add sp, sp, #32",
        "ret",
        "2:",
        "bl {real}",
        "mov x9, x0",
        "ldr x30, [sp, #16]",
        "ldp x0, x1, [sp], #32",
        "cbz x9, 3f",
        "br x9",
        "3:",
        "mov x0, #0",
        "ret",
        is_ours = sym is_ours,
        real = sym dlsym_address,
        ours = sym of_cuda,
    )
}

/// Where `dlvsym` is to jump: into the C library, which finds the driver's functions as they are handed out.
unsafe extern "C-unwind" fn before_dlvsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    libraries::look();
    // SAFETY: the name is null or ends in a zero byte.
    let asks_for_look_up =
        handle != libc::RTLD_NEXT && !name.is_null() && unsafe { CStr::from_ptr(name) } == c"dlsym";
    if asks_for_look_up { own_dlsym as *mut c_void } else { dlvsym_address() }
}

/// `dlvsym` of `dlsym`.
extern "C" fn own_dlsym() -> *mut c_void {
    dlsym as *mut c_void
}

jumps! {
    /// `dlvsym`: a jump into the C library, as `dlsym`.
    dlvsym after before_dlvsym, else 0;
}

/// `dlsym` of a function that this library has one for: wraps the driver's functions and notes when the program
/// starts to use CUPTI. Null when it is not found from here.
unsafe extern "C-unwind" fn of_cuda(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: `is_ours` saw that the name is a string.
    let name = unsafe { CStr::from_ptr(name) };
    // SAFETY: the caller's own arguments.
    let found = unsafe { next_dlsym(handle, name) };
    if found.is_null() {
        return found;
    }
    if let Some(function) = Real::named(name) {
        // A caller that asks the C library by name gets what it would be linked with.
        return if found == real(function) { wrapper(function) } else { found };
    }
    match name.to_bytes() {
        b"dlvsym" if found == dlvsym_address() => dlvsym as *mut c_void,
        bytes if !bytes.starts_with(b"cu") => found,
        b"cuptiActivityRegisterCallbacks" => {
            cupti_client(found, cuptiActivityRegisterCallbacks as *mut c_void)
        }
        b"cuptiSubscribe" => cupti_client(found, cuptiSubscribe as *mut c_void),
        b"cuptiSubscribe_v2" => cupti_client(found, cuptiSubscribe_v2 as *mut c_void),
        bytes if bytes.starts_with(b"cupti") => found,
        _ => {
            driver_lookup::driver_seen();
            // SAFETY: the driver's or the runtime's function of that name; others' names are not wrapped.
            unsafe { interpose::wrap(name, found) }
        }
    }
}

/// This library's own function of that name.
fn wrapper(function: Real) -> *mut c_void {
    match function {
        Real::Dlsym => dlsym as *mut c_void,
        Real::Dlopen => libraries::dlopen as *mut c_void,
        Real::Dlmopen => libraries::dlmopen as *mut c_void,
        Real::Dlclose => libraries::dlclose as *mut c_void,
        Real::Dladdr => libraries::dladdr as *mut c_void,
        Real::Dladdr1 => libraries::dladdr1 as *mut c_void,
        Real::Clone => children::clone as *mut c_void,
        Real::Vfork => children::vfork as *mut c_void,
        Real::RegisterFrame => frames::__register_frame as *mut c_void,
        Real::DeregisterFrame => frames::__deregister_frame as *mut c_void,
        Real::Prctl => system_calls::prctl as *mut c_void,
        Real::Syscall => system_calls::syscall as *mut c_void,
        Real::Execve => executes::execve as *mut c_void,
        Real::Execv => executes::execv as *mut c_void,
        Real::Execvp => executes::execvp as *mut c_void,
        Real::Execvpe => executes::execvpe as *mut c_void,
        Real::Execl => executes::execl as *mut c_void,
        Real::Execlp => executes::execlp as *mut c_void,
        Real::Execle => executes::execle as *mut c_void,
        Real::Fexecve => executes::fexecve as *mut c_void,
        Real::Execveat => executes::execveat as *mut c_void,
        Real::PosixSpawn => executes::posix_spawn as *mut c_void,
        Real::PosixSpawnp => executes::posix_spawnp as *mut c_void,
    }
}

/// Function that a program gets for one by which it becomes CUPTI's client: this library's, unless
/// CUPTI itself was asked by this library's own name.
fn cupti_client(found: *mut c_void, ours: *mut c_void) -> *mut c_void {
    if found == ours { found } else { ours }
}

/// The next library's function of that name, which must be CUPTI's.
fn next(name: &CStr, known: &AtomicPtr<c_void>) -> *mut c_void {
    let mut found = known.load(Relaxed);
    if found.is_null() {
        // SAFETY: plain look-ups.
        found = unsafe { real_dlsym(libc::RTLD_NEXT, name) };
        let names = [c"libcupti.so.13", c"libcupti.so.12", c"libcupti.so"];
        for library in names {
            if found.is_null() {
                // SAFETY: finds the library only if it is loaded.
                unsafe {
                    let library = real_dlopen(library, libc::RTLD_NOW | libc::RTLD_NOLOAD);
                    if !library.is_null() {
                        found = real_dlsym(library, name);
                    }
                }
            }
        }
        known.store(found, Relaxed);
    }
    found
}

/// `CUPTI_ERROR_NOT_INITIALIZED`
const NOT_INITIALIZED: c_int = 15;

/// The program makes itself CUPTI's client: this library is none from now on.
fn yield_cupti() {
    if cupti::make_way() {
        switch::set_level(Level::Light);
        thread_writer::here(|writer| {
            let line =
                b"the program uses CUPTI itself (a profiler): from then on driver calls and lock waits only";
            notes::note(writer, line);
        });
    }
}

/// Declares functions by which a program becomes CUPTI's client: holdup makes way, then the real
/// function is called with the same arguments.
macro_rules! cupti_clients {
    ($($name:ident / $text:literal ($($argument:ident: $type:ty),*);)*) => {$(
        /// CUPTI's function: holdup makes way first.
        ///
        /// # Safety
        ///
        /// As CUPTI's.
        #[allow(non_snake_case)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
            static REAL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
            let real = next($text, &REAL);
            if real.is_null() {
                return NOT_INITIALIZED;
            }
            yield_cupti();
            // SAFETY: CUPTI's function of that name, with the caller's own arguments.
            unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(real)($($argument),*)
            }
        }
    )*};
}

cupti_clients! {
    cuptiActivityRegisterCallbacks / c"cuptiActivityRegisterCallbacks" (request: *mut c_void, complete: *mut c_void);
    cuptiSubscribe / c"cuptiSubscribe" (subscriber: *mut c_void, callback: *mut c_void, data: *mut c_void);
    cuptiSubscribe_v2 / c"cuptiSubscribe_v2" (subscriber: *mut c_void, callback: *mut c_void, data: *mut c_void, parameters: *mut c_void);
}
