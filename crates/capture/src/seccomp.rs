//! Programs that forbid themselves system calls (seccomp): a call that is not on their list may end them. From the moment that
//! a program asks for that, this library makes none within its calls: what is recorded fits into what is mapped already.

use crate::c_library::{self, Real};
use crate::process;
use libc::{c_int, c_long, c_void};
use spool::Full;
use std::arch::naked_asm;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicPtr};

/// The program asked for it. Its children have the same list.
static FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// Whether this library may make system calls.
#[inline]
pub fn allows_calls() -> bool {
    !FORBIDDEN.load(Relaxed)
}

/// `PR_SET_SECCOMP` and `PR_SET_TSC`, and of either the argument that also forbids to read the processor's counter: strict
/// mode, and a signal for each reading.
const SET_SECCOMP: i32 = libc::PR_SET_SECCOMP;
const SET_COUNTER: i32 = 26;
const STRICT: usize = 1;
const SIGNALED: usize = 2;

/// The program calls `prctl` with one of these.
#[cold]
extern "C-unwind" fn before_prctl(option: c_int, argument: usize) {
    match (option, argument) {
        (SET_SECCOMP, STRICT) | (SET_COUNTER, SIGNALED) => stop(),
        (SET_SECCOMP, _) => forbid(),
        _ => {}
    }
}

/// The program calls `syscall` with the number of `seccomp` or `prctl`.
#[cold]
extern "C-unwind" fn before_syscall(number: c_long, first: usize, second: usize) {
    // `SECCOMP_SET_MODE_STRICT`
    const STRICT_MODE: usize = 0;
    match (number, first) {
        (libc::SYS_seccomp, STRICT_MODE) => stop(),
        (libc::SYS_seccomp, _) => forbid(),
        _ => before_prctl(first as c_int, second),
    }
}

/// The program forbids itself system calls.
fn forbid() {
    FORBIDDEN.store(true, Relaxed);
    interpose::forbid_system_calls();
}

/// The program may not read the processor's counter any more, by which calls are timed: its recording ends here.
fn stop() {
    forbid();
    process::stop(Full::Seccomp);
    interpose::stop();
}

/// The functions that come next; null until they are asked for.
static NEXT_PRCTL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static NEXT_SYSCALL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Finds the functions that come next, before anything else runs.
pub fn prepare() {
    NEXT_PRCTL.store(c_library::real(Real::Prctl), Relaxed);
    NEXT_SYSCALL.store(c_library::real(Real::Syscall), Relaxed);
}

/// `prctl`: a jump to the next one, with all its arguments.
///
/// # Safety
///
/// As `prctl`.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn prctl() -> i32 {
    naked_asm!(
        "cmp edi, {set}",
        "je 2f",
        "cmp edi, {counter}",
        "jne 3f",
        "2:",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "push rax",
        "call {forbid}",
        "pop rax",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "3:",
        "jmp qword ptr [rip + {next}]",
        set = const SET_SECCOMP,
        counter = const SET_COUNTER,
        forbid = sym before_prctl,
        next = sym NEXT_PRCTL,
    )
}

/// `syscall`: a jump to the next one, with all its arguments.
///
/// # Safety
///
/// As `syscall`.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn syscall() -> libc::c_long {
    naked_asm!(
        "cmp rdi, {seccomp}",
        "je 2f",
        "cmp rdi, {prctl}",
        "jne 3f",
        "2:",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "push rax",
        "call {forbid}",
        "pop rax",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "3:",
        "jmp qword ptr [rip + {next}]",
        seccomp = const libc::SYS_seccomp,
        prctl = const libc::SYS_prctl,
        forbid = sym before_syscall,
        next = sym NEXT_SYSCALL,
    )
}

/// As on x86-64.
///
/// # Safety
///
/// As `prctl`.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn prctl() -> i32 {
    naked_asm!(
        "cmp w0, {set}",
        "b.eq 2f",
        "cmp w0, {counter}",
        "b.ne 3f",
        "2:",
        "stp x0, x1, [sp, #-64]!",
        "stp x2, x3, [sp, #16]",
        "stp x4, x5, [sp, #32]",
        "str x30, [sp, #48]",
        "bl {forbid}",
        "ldr x30, [sp, #48]",
        "ldp x4, x5, [sp, #32]",
        "ldp x2, x3, [sp, #16]",
        "ldp x0, x1, [sp], #64",
        "3:",
        "adrp x9, {next}",
        "ldr x9, [x9, :lo12:{next}]",
        "br x9",
        set = const SET_SECCOMP,
        counter = const SET_COUNTER,
        forbid = sym before_prctl,
        next = sym NEXT_PRCTL,
    )
}

/// As on x86-64.
///
/// # Safety
///
/// As `syscall`.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn syscall() -> libc::c_long {
    naked_asm!(
        "cmp x0, {seccomp}",
        "b.eq 2f",
        "cmp x0, {prctl}",
        "b.ne 3f",
        "2:",
        "stp x0, x1, [sp, #-64]!",
        "stp x2, x3, [sp, #16]",
        "stp x4, x5, [sp, #32]",
        "stp x6, x30, [sp, #48]",
        "bl {forbid}",
        "ldp x6, x30, [sp, #48]",
        "ldp x4, x5, [sp, #32]",
        "ldp x2, x3, [sp, #16]",
        "ldp x0, x1, [sp], #64",
        "3:",
        "adrp x9, {next}",
        "ldr x9, [x9, :lo12:{next}]",
        "br x9",
        seccomp = const libc::SYS_seccomp,
        prctl = const libc::SYS_prctl,
        forbid = sym before_syscall,
        next = sym NEXT_SYSCALL,
    )
}
