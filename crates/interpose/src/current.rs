//! A pointer of each thread's own, null when it begins: which of the known threads it is.
//!
//! Asked at every watched lock and every wrapped call. Rust's own thread-local variables cost a
//! function call in a shared library; where possible this one costs two instructions (the
//! "initial exec" model: the library is mostly there from the program's start, and a few bytes are
//! left for one that comes later).

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod variable {
    use std::arch::{asm, global_asm};
    use std::ffi::c_void;

    global_asm!(
        ".pushsection .tbss.holdup_thread, \"awT\", @nobits",
        ".globl holdup_thread",
        ".hidden holdup_thread",
        ".type holdup_thread, @tls_object",
        ".p2align 3",
        "holdup_thread:",
        ".zero 16",
        ".size holdup_thread, 16",
        ".popsection",
    );

    #[inline(always)]
    pub fn get() -> *const c_void {
        let pointer;
        // SAFETY: reads the calling thread's own variable, zero when the thread began.
        unsafe {
            asm!(
                "mov {0}, qword ptr [rip + holdup_thread@GOTTPOFF]",
                "mov {0}, qword ptr fs:[{0}]",
                out(reg) pointer,
                options(nostack, preserves_flags, readonly),
            );
        }
        pointer
    }

    pub fn set(pointer: *const c_void) {
        // SAFETY: writes the calling thread's own variable.
        unsafe {
            asm!(
                "mov {0}, qword ptr [rip + holdup_thread@GOTTPOFF]",
                "mov qword ptr fs:[{0}], {1}",
                out(reg) _,
                in(reg) pointer,
                options(nostack, preserves_flags),
            );
        }
    }

    pub fn set_unknown() -> bool {
        let before: usize;
        // SAFETY: reads and writes the calling thread's own variable, zero when the thread began.
        unsafe {
            asm!(
                "mov {0}, qword ptr [rip + holdup_thread@GOTTPOFF]",
                "mov {1}, qword ptr fs:[{0} + 8]",
                "mov qword ptr fs:[{0} + 8], 1",
                out(reg) _,
                out(reg) before,
                options(nostack, preserves_flags),
            );
        }
        before != 0
    }
}

#[cfg(any(not(target_arch = "x86_64"), miri))]
mod variable {
    use std::cell::Cell;
    use std::ffi::c_void;

    thread_local! {
        static POINTER: Cell<*const c_void> = const { Cell::new(std::ptr::null()) };
        static UNKNOWN: Cell<bool> = const { Cell::new(false) };
    }

    pub fn set_unknown() -> bool {
        UNKNOWN.replace(true)
    }

    #[inline]
    pub fn get() -> *const c_void {
        POINTER.get()
    }

    pub fn set(pointer: *const c_void) {
        POINTER.set(pointer);
    }
}

pub use variable::{get, set, set_unknown};
