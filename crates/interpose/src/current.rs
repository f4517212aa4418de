//! Which [`Thread`] the calling thread is.
//!
//! Asked at every watched lock and every wrapped call. Rust's own thread-local variables cost a
//! function call in a shared library; where possible this one costs two instructions (the
//! "initial exec" model: the library is mostly there from the program's start, and eight bytes are
//! left for one that comes later).

use crate::thread::Thread;

#[cfg(target_arch = "x86_64")]
mod variable {
    use super::Thread;
    use std::arch::{asm, global_asm};

    global_asm!(
        ".pushsection .tbss.holdup_thread, \"awT\", @nobits",
        ".globl holdup_thread",
        ".hidden holdup_thread",
        ".type holdup_thread, @tls_object",
        ".p2align 3",
        "holdup_thread:",
        ".zero 8",
        ".size holdup_thread, 8",
        ".popsection",
    );

    #[inline(always)]
    pub fn get() -> *const Thread {
        let thread;
        // SAFETY: reads the calling thread's own variable, zero when the thread began.
        unsafe {
            asm!(
                "mov {0}, qword ptr [rip + holdup_thread@GOTTPOFF]",
                "mov {0}, qword ptr fs:[{0}]",
                out(reg) thread,
                options(nostack, preserves_flags, readonly),
            );
        }
        thread
    }

    pub fn set(thread: *const Thread) {
        // SAFETY: writes the calling thread's own variable.
        unsafe {
            asm!(
                "mov {0}, qword ptr [rip + holdup_thread@GOTTPOFF]",
                "mov qword ptr fs:[{0}], {1}",
                out(reg) _,
                in(reg) thread,
                options(nostack, preserves_flags),
            );
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod variable {
    use super::Thread;
    use std::cell::Cell;

    thread_local! {
        static THREAD: Cell<*const Thread> = const { Cell::new(std::ptr::null()) };
    }

    #[inline]
    pub fn get() -> *const Thread {
        THREAD.get()
    }

    pub fn set(thread: *const Thread) {
        THREAD.set(thread);
    }
}

pub use variable::{get, set};
