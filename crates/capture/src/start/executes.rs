//! Programs that the program executes. One of another C library cannot load this library: musl's loader would end it before it
//! begins, and that of a program of 32 bits would write that it cannot. It gets an environment in which this library is not
//! preloaded, and runs as bare. So does what a process executes after it forbade itself system calls: there nothing of this
//! library is left.

mod environment;
mod image;

use crate::sys::c_library::{self, Real};
use crate::sys::jumps::jump;
use crate::sys::seccomp;
use crate::sys::shielded::shielded;
use crate::write::process::{self, Unrecordable};
use environment::Texts;
use image::Image;
use libc::{c_char, c_int, c_long, c_void};
use std::arch::naked_asm;

unsafe extern "C" {
    /// The program's environment.
    static environ: Texts;
}

/// The environment that a program executed without one of its own gets.
fn own_environment() -> Texts {
    // SAFETY: the C library's variable, which a program changes while it executes another at its own risk.
    unsafe { environ }
}

/// Why a program is to be executed without this library.
///
/// # Safety
///
/// The image's path is a text.
unsafe fn obstacle(image: Image) -> Option<Unrecordable> {
    if !seccomp::allows_calls() {
        return Some(Unrecordable::Filtered);
    }
    // SAFETY: the caller's promise.
    shielded(|| unsafe { image.is_foreign() }).then_some(Unrecordable::Foreign)
}

/// Executes a program: as the caller asked for, or with an environment without this library.
///
/// # Safety
///
/// The environment is one, or null; the image's path is a text.
unsafe fn execute<R: Into<c_long> + Copy>(
    image: Image,
    environment: Texts,
    unchanged: impl FnOnce() -> R,
    changed: impl FnOnce(Texts) -> R,
) -> R {
    // SAFETY: the caller's promise.
    let obstacle = unsafe { if environment::names_library(environment) { obstacle(image) } else { None } };
    let Some(why) = obstacle else { return unchanged() };
    // SAFETY: the caller's promise.
    let Some(room) = (unsafe { shielded(|| environment::Room::of(environment)) }) else { return unchanged() };
    let mut room = room;
    // What a program of another C library executes may be of this one, and be recorded in part.
    let injected = matches!(why, Unrecordable::Foreign);
    // SAFETY: the caller's promise.
    let Some(environment) = (unsafe { room.fill(environment, injected) }) else { return unchanged() };
    // Before, as there is nothing left after it.
    shielded(|| process::count_unrecorded_program(why, 1));
    let result = changed(environment);
    shielded(|| {
        if result.into() != 0 {
            process::count_unrecorded_program(why, -1);
        }
        drop(room);
    });
    result
}

type Execv = unsafe extern "C-unwind" fn(*const c_char, Texts) -> c_int;
type Execve = unsafe extern "C-unwind" fn(*const c_char, Texts, Texts) -> c_int;
type Fexecve = unsafe extern "C-unwind" fn(c_int, Texts, Texts) -> c_int;
type Execveat = unsafe extern "C-unwind" fn(c_int, *const c_char, Texts, Texts, c_int) -> c_int;
type Syscall = unsafe extern "C-unwind" fn(c_long, ...) -> c_long;
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
        execute(Image::path(path), environment, || next(environment), next)
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
        execute(Image::path(path), own_environment(), unchanged, changed)
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
        execute(Image::open(file), environment, || next(environment), next)
    }
}

/// `execveat`
///
/// # Safety
///
/// As `execveat`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn execveat(
    folder: c_int,
    path: *const c_char,
    arguments: Texts,
    environment: Texts,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let next = |environment| {
            next::<Execveat>(Real::Execveat)
                .map_or(-1, |next| next(folder, path, arguments, environment, flags))
        };
        execute(Image::At(folder, path, flags), environment, || next(environment), next)
    }
}

/// `syscall` with the number of `execve`.
///
/// # Safety
///
/// As `execve`.
pub unsafe extern "C-unwind" fn execve_by_number(
    number: c_long,
    path: *const c_char,
    arguments: Texts,
    environment: Texts,
) -> c_long {
    // SAFETY: the caller's promise.
    unsafe {
        let next = |environment: Texts| {
            next::<Syscall>(Real::Syscall).map_or(-1, |next| next(number, path, arguments, environment))
        };
        execute(Image::path(path), environment, || next(environment), next)
    }
}

/// `syscall` with the number of `execveat`.
///
/// # Safety
///
/// As `execveat`.
pub unsafe extern "C-unwind" fn execveat_by_number(
    number: c_long,
    folder: c_int,
    path: *const c_char,
    arguments: Texts,
    environment: Texts,
    flags: c_int,
) -> c_long {
    // SAFETY: the caller's promise.
    unsafe {
        let next = |environment: Texts| {
            next::<Syscall>(Real::Syscall)
                .map_or(-1, |next| next(number, folder, path, arguments, environment, flags))
        };
        execute(Image::At(folder, path, flags), environment, || next(environment), next)
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
        execute(Image::path(path), environment, || next(environment), next)
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

/// Where a function with its arguments in a list is to jump; null for a program that is to run without this library.
unsafe fn unless_changed(function: Real, image: Image) -> *mut c_void {
    // SAFETY: the caller's promise: the image's path is a text.
    let is_changed = unsafe { environment::names_library(own_environment()) && obstacle(image).is_some() };
    if is_changed { std::ptr::null_mut() } else { c_library::real(function) }
}

/// Where `execl` is to jump.
unsafe extern "C-unwind" fn before_execl(path: *const c_char) -> *mut c_void {
    // SAFETY: the path is a text.
    unsafe { unless_changed(Real::Execl, Image::path(path)) }
}

/// The same as [`before_execl`], for `execlp`.
unsafe extern "C-unwind" fn before_execlp(file: *const c_char) -> *mut c_void {
    // SAFETY: the file's name is a text.
    unsafe { unless_changed(Real::Execlp, Image::Searched(file)) }
}

/// The same as [`before_execl`], for `execle`, whose environment comes last.
unsafe extern "C-unwind" fn before_execle(path: *const c_char) -> *mut c_void {
    // SAFETY: the path is a text.
    match unsafe { obstacle(Image::path(path)) } {
        Some(_) => std::ptr::null_mut(),
        None => c_library::real(Real::Execle),
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
                jump!(),
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
                jump!(),
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
