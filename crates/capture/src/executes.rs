//! Programs that the program executes. One of another C library (musl) cannot load this library: its loader would end it
//! before it begins. It gets an environment without this library, and runs as bare; so does what it executes in turn.

mod environment;
mod image;

use crate::c_library::{self, Real};
use crate::unseen::unseen;
use crate::{process, seccomp};
use image::Image;
use libc::{c_char, c_int, c_void};
use std::arch::naked_asm;

/// A list of texts that a null ends: a program's arguments or environment.
type Texts = *const *const c_char;

unsafe extern "C" {
    /// The program's environment.
    static environ: Texts;
}

/// The environment that a program executed without one of its own gets.
fn own_environment() -> Texts {
    // SAFETY: the C library's variable, which a program changes while it executes another at its own risk.
    unsafe { environ }
}

/// Whether a program is one that cannot load this library.
unsafe fn is_foreign(image: Image) -> bool {
    // SAFETY: the caller's promise: the image's path is a text.
    seccomp::allows_calls() && unseen(|| unsafe { image.is_foreign() })
}

/// Executes a program: as the caller asked for, or with an environment without this library.
///
/// # Safety
///
/// The environment is one, or null; the image's path is a text.
unsafe fn execute(
    image: Image,
    environment: Texts,
    unchanged: impl FnOnce() -> c_int,
    changed: impl FnOnce(Texts) -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    if !unsafe { environment::names_library(environment) && is_foreign(image) } {
        return unchanged();
    }
    // SAFETY: the caller's promise.
    let Some(room) = (unsafe { unseen(|| environment::Room::of(environment)) }) else { return unchanged() };
    let mut room = room;
    // SAFETY: the caller's promise.
    let Some(environment) = (unsafe { room.fill(environment) }) else { return unchanged() };
    // Before, as there is nothing left after it.
    unseen(|| process::count_foreign_program(1));
    let result = changed(environment);
    unseen(|| {
        if result != 0 {
            process::count_foreign_program(-1);
        }
        drop(room);
    });
    result
}

type Execv = unsafe extern "C-unwind" fn(*const c_char, Texts) -> c_int;
type Execve = unsafe extern "C-unwind" fn(*const c_char, Texts, Texts) -> c_int;
type Fexecve = unsafe extern "C-unwind" fn(c_int, Texts, Texts) -> c_int;
type Spawn = unsafe extern "C-unwind" fn(
    *mut libc::pid_t,
    *const c_char,
    *const c_void,
    *const c_void,
    Texts,
    Texts,
) -> c_int;

/// Where the next function is, as a function of the type `F`; `None` where there is none.
///
/// # Safety
///
/// `F` is the type of that function.
unsafe fn next<F: Copy>(function: Real) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let found = c_library::real(function);
    // SAFETY: of one size, and the caller's promise.
    (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
}

unsafe fn next_execv(function: Real, file: *const c_char, arguments: Texts) -> c_int {
    // SAFETY: `execv` or `execvp`, with the caller's arguments.
    unsafe { next::<Execv>(function).map_or(-1, |next| next(file, arguments)) }
}

unsafe fn next_execve(function: Real, file: *const c_char, arguments: Texts, environment: Texts) -> c_int {
    // SAFETY: `execve` or `execvpe`, with the caller's arguments.
    unsafe { next::<Execve>(function).map_or(-1, |next| next(file, arguments, environment)) }
}

/// `execve`
///
/// # Safety
///
/// As `execve`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn execve(path: *const c_char, arguments: Texts, environment: Texts) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let next = |environment| next_execve(Real::Execve, path, arguments, environment);
        execute(Image::Path(path), environment, || next(environment), next)
    }
}

/// `execv`
///
/// # Safety
///
/// As `execv`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn execv(path: *const c_char, arguments: Texts) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let unchanged = || next_execv(Real::Execv, path, arguments);
        let changed = |environment| next_execve(Real::Execve, path, arguments, environment);
        execute(Image::Path(path), own_environment(), unchanged, changed)
    }
}

/// `execvp`
///
/// # Safety
///
/// As `execvp`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn execvp(file: *const c_char, arguments: Texts) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let unchanged = || next_execv(Real::Execvp, file, arguments);
        let changed = |environment| next_execve(Real::Execvpe, file, arguments, environment);
        execute(Image::Searched(file), own_environment(), unchanged, changed)
    }
}

/// `execvpe`
///
/// # Safety
///
/// As `execvpe`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn execvpe(file: *const c_char, arguments: Texts, environment: Texts) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let next = |environment| next_execve(Real::Execvpe, file, arguments, environment);
        execute(Image::Searched(file), environment, || next(environment), next)
    }
}

/// `fexecve`
///
/// # Safety
///
/// As `fexecve`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fexecve(file: c_int, arguments: Texts, environment: Texts) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let next = |environment| {
            next::<Fexecve>(Real::Fexecve).map_or(-1, |next| next(file, arguments, environment))
        };
        execute(Image::Open(file), environment, || next(environment), next)
    }
}

/// `posix_spawn`
///
/// # Safety
///
/// As `posix_spawn`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn posix_spawn(
    pid: *mut libc::pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Texts,
    environment: Texts,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let next = |environment| {
            next::<Spawn>(Real::PosixSpawn)
                .map_or(libc::ENOSYS, |next| next(pid, path, actions, attributes, arguments, environment))
        };
        execute(Image::Path(path), environment, || next(environment), next)
    }
}

/// `posix_spawnp`
///
/// # Safety
///
/// As `posix_spawnp`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn posix_spawnp(
    pid: *mut libc::pid_t,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Texts,
    environment: Texts,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let next = |environment| {
            next::<Spawn>(Real::PosixSpawnp)
                .map_or(libc::ENOSYS, |next| next(pid, file, actions, attributes, arguments, environment))
        };
        execute(Image::Searched(file), environment, || next(environment), next)
    }
}

/// Where `execl` is to jump; null for a program that cannot load this library.
unsafe extern "C-unwind" fn before_execl(path: *const c_char) -> *mut c_void {
    // SAFETY: the path is a text.
    let is_foreign =
        unsafe { environment::names_library(own_environment()) && is_foreign(Image::Path(path)) };
    if is_foreign { std::ptr::null_mut() } else { c_library::real(Real::Execl) }
}

/// The same as [`before_execl`], for `execlp`.
unsafe extern "C-unwind" fn before_execlp(file: *const c_char) -> *mut c_void {
    // SAFETY: the file's name is a text.
    let is_foreign =
        unsafe { environment::names_library(own_environment()) && is_foreign(Image::Searched(file)) };
    if is_foreign { std::ptr::null_mut() } else { c_library::real(Real::Execlp) }
}

/// The same as [`before_execl`], for `execle`, whose environment comes last.
unsafe extern "C-unwind" fn before_execle(path: *const c_char) -> *mut c_void {
    // SAFETY: the path is a text.
    if unsafe { is_foreign(Image::Path(path)) } {
        std::ptr::null_mut()
    } else {
        c_library::real(Real::Execle)
    }
}

/// `execle` with its arguments in an array; behind the null that ends them is the environment.
unsafe extern "C-unwind" fn execute_listed(path: *const c_char, arguments: Texts) -> c_int {
    // SAFETY: the array is of the caller's arguments, of which the one behind the null is the last.
    unsafe {
        let mut last = arguments;
        while !(*last).is_null() {
            last = last.add(1);
        }
        execve(path, arguments, *last.add(1).cast::<Texts>())
    }
}

/// A function with its program's arguments in a list: a jump to the next one, with all of them. For a program that cannot load
/// this library, the arguments in registers are put in front of those on the stack: together they are an array.
macro_rules! listed {
    ($name:ident, $before:ident, $execute:ident) => {
        #[doc = concat!("`", stringify!($name), "`")]
        ///
        /// # Safety
        ///
        /// As the C library's function of that name.
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() -> c_int {
            naked_asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "push rax",
                "call {before}",
                "mov r11, rax",
                "pop rax",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "test r11, r11",
                "jz 2f",
                "jmp r11",
                "2:",
                "pop r11",
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "push r11",
                "lea rsi, [rsp + 8]",
                "call {execute}",
                "pop r11",
                "add rsp, 40",
                "push r11",
                "ret",
                before = sym $before,
                execute = sym $execute,
            )
        }

        #[doc = concat!("`", stringify!($name), "`")]
        ///
        /// # Safety
        ///
        /// As the C library's function of that name.
        #[cfg(target_arch = "aarch64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() -> c_int {
            naked_asm!(
                "stp x0, x1, [sp, #-80]!",
                "stp x2, x3, [sp, #16]",
                "stp x4, x5, [sp, #32]",
                "stp x6, x7, [sp, #48]",
                "str x30, [sp, #64]",
                "bl {before}",
                "mov x9, x0",
                "ldr x30, [sp, #64]",
                "ldp x6, x7, [sp, #48]",
                "ldp x4, x5, [sp, #32]",
                "ldp x2, x3, [sp, #16]",
                "ldp x0, x1, [sp], #80",
                "cbz x9, 2f",
                "br x9",
                "2:",
                "stp x30, x1, [sp, #-64]!",
                "stp x2, x3, [sp, #16]",
                "stp x4, x5, [sp, #32]",
                "stp x6, x7, [sp, #48]",
                "add x1, sp, #8",
                "bl {execute}",
                "ldr x30, [sp], #64",
                "ret",
                before = sym $before,
                execute = sym $execute,
            )
        }
    };
}

listed!(execl, before_execl, execv);
listed!(execlp, before_execlp, execvp);
listed!(execle, before_execle, execute_listed);
