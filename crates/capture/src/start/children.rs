//! Tasks that have the program's memory and are not its threads: a child of `vfork` on its parent's thread, which waits, and
//! one of `clone(CLONE_VM)` beside it. What they do is not the program's, and is not recorded.

use crate::sys::c_library::{self, Real};
use crate::sys::jumps::jumps;
use crate::write::process;
use libc::{c_int, c_void};
use std::arch::naked_asm;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::Relaxed;

/// Another library's `vfork` behind this one, which is not the C library's: it is jumped to, and what a child does is its
/// parent's then. Null mostly.
static OTHERS_VFORK: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Looks for another library's `vfork`, before anything else runs.
pub fn prepare() {
    let (next, own) = (c_library::real(Real::Vfork), interpose::c_library_symbol(c"vfork"));
    if own.is_some_and(|own| own != next) {
        OTHERS_VFORK.store(next, Relaxed);
    }
}

/// `vfork`: until the child runs another program or ends, the thread is none that is known (`interpose`'s variable
/// `holdup_thread`). What was there waits in registers, which the kernel gives back to the parent: both return to the same
/// place of the stack.
///
/// # Safety
///
/// As `vfork`.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn vfork() -> libc::pid_t {
    naked_asm!(
        "mov rax, qword ptr [rip + {others}]",
        "test rax, rax",
        "jz 4f",
        "jmp rax",
        "4:",
        "pop rdi",
        "mov rdx, qword ptr [rip + holdup_thread@GOTTPOFF]",
        "mov rsi, qword ptr fs:[rdx]",
        "mov r8, qword ptr fs:[rdx + 8]",
        "mov qword ptr fs:[rdx], 0",
        "mov qword ptr fs:[rdx + 8], {elsewhere}",
        "mov eax, {vfork}",
        "syscall",
        "push rdi",
        "test rax, rax",
        "jz 2f",
        "mov qword ptr fs:[rdx], rsi",
        "mov qword ptr fs:[rdx + 8], r8",
        "js 3f",
        "2:",
        "ret",
        "3:",
        "neg eax",
        "push rax",
        "call {errno}",
        "pop rcx",
        "mov dword ptr [rax], ecx",
        "mov eax, -1",
        "ret",
        others = sym OTHERS_VFORK,
        elsewhere = const ELSEWHERE,
        vfork = const libc::SYS_vfork,
        errno = sym libc::__errno_location,
    )
}

/// As on x86-64; by `clone`, since there is no `vfork`.
///
/// # Safety
///
/// As `vfork`.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn vfork() -> libc::pid_t {
    naked_asm!(
        "adrp x9, {others}",
        "ldr x9, [x9, :lo12:{others}]",
        "cbz x9, 4f",
        "br x9",
        "4:",
        "adrp x9, :gottprel:holdup_thread",
        "ldr x9, [x9, :gottprel_lo12:holdup_thread]",
        "mrs x10, tpidr_el0",
        "add x9, x9, x10",
        "ldp x11, x12, [x9]",
        "mov x10, {elsewhere}",
        "stp xzr, x10, [x9]",
        "mov x0, {flags}",
        "mov x1, #0",
        "mov x2, #0",
        "mov x3, #0",
        "mov x4, #0",
        "mov x8, {clone}",
        "svc #0",
        "cbz x0, 2f",
        "stp x11, x12, [x9]",
        "tbnz x0, #63, 3f",
        "2:",
        "ret",
        "3:",
        "neg w0, w0",
        "stp x0, x30, [sp, #-16]!",
        "bl {errno}",
        "ldp x1, x30, [sp], #16",
        "str w1, [x0]",
        "mov w0, #-1",
        "ret",
        others = sym OTHERS_VFORK,
        elsewhere = const ELSEWHERE,
        flags = const libc::CLONE_VFORK | libc::CLONE_VM | libc::SIGCHLD,
        clone = const libc::SYS_clone,
        errno = sym libc::__errno_location,
    )
}

/// The fact that `interpose` has in a thread's variable while a child of `vfork` runs on it.
const ELSEWHERE: usize = 2;

/// Where `clone` is to jump; notes a task that has this memory and is no thread.
unsafe extern "C-unwind" fn before_clone(_: *const c_void, _: *const c_void, flags: c_int) -> *mut c_void {
    if flags & libc::CLONE_VM != 0 && flags & libc::CLONE_THREAD == 0 {
        interpose::share_memory();
        process::count_unrecorded_child();
    }
    c_library::real(Real::Clone)
}

jumps! {
    /// `clone`: a jump into the C library, with all its arguments.
    clone after before_clone, else -1;
}
