//! A pointer of each thread's own, null when it begins: which of the known threads it is.
//!
//! Asked at every watched lock and every wrapped call. Rust's own thread-local variables cost a
//! function call in a shared library, in which the loader may allocate; this one costs two instructions (the
//! "initial exec" model: the library is mostly there from the program's start, and a few bytes are
//! left for one that comes later).
//!
//! Behind the pointer are facts about the thread ([`UNKNOWN`]), then where on its stack the call is that it is in. The capture library's `vfork` replaces both by null and
//! [`ELSEWHERE`] until the child is gone, which runs on its parent's thread.

/// There is no place for the thread, which was reported.
const UNKNOWN: usize = 1;
/// A child of `vfork` runs on the thread.
#[cfg_attr(miri, allow(dead_code))]
const ELSEWHERE: usize = 2;

#[cfg(not(miri))]
mod variable {
    use std::arch::{asm, global_asm};
    use std::ffi::c_void;

    global_asm!(
        ".pushsection .tbss.holdup_thread, \"awT\", %nobits",
        ".globl holdup_thread",
        ".hidden holdup_thread",
        ".type holdup_thread, %tls_object",
        ".p2align 3",
        "holdup_thread:",
        ".zero 24",
        ".size holdup_thread, 24",
        ".popsection",
    );

    /// The word at an offset of the calling thread's own variable.
    #[inline(always)]
    fn read<const AT: usize>() -> usize {
        let word;
        // SAFETY: reads the calling thread's own variable, zeros when the thread began.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            asm!(
                "mov {0}, qword ptr [rip + holdup_thread@GOTTPOFF]",
                "mov {0}, qword ptr fs:[{0} + {1}]",
                out(reg) word,
                const AT,
                options(nostack, preserves_flags, readonly),
            );
        }
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            asm!(
                "adrp {0}, :gottprel:holdup_thread",
                "ldr {0}, [{0}, :gottprel_lo12:holdup_thread]",
                "mrs {1}, tpidr_el0",
                "add {0}, {0}, {1}",
                "ldr {0}, [{0}, #{2}]",
                out(reg) word,
                out(reg) _,
                const AT,
                options(nostack, preserves_flags, readonly),
            );
        }
        word
    }

    #[inline(always)]
    fn write<const AT: usize>(word: usize) {
        // SAFETY: writes the calling thread's own variable.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            asm!(
                "mov {0}, qword ptr [rip + holdup_thread@GOTTPOFF]",
                "mov qword ptr fs:[{0} + {2}], {1}",
                out(reg) _,
                in(reg) word,
                const AT,
                options(nostack, preserves_flags),
            );
        }
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            asm!(
                "adrp {0}, :gottprel:holdup_thread",
                "ldr {0}, [{0}, :gottprel_lo12:holdup_thread]",
                "mrs {1}, tpidr_el0",
                "add {0}, {0}, {1}",
                "str {2}, [{0}, #{3}]",
                out(reg) _,
                out(reg) _,
                in(reg) word,
                const AT,
                options(nostack, preserves_flags),
            );
        }
    }

    #[inline(always)]
    pub fn get() -> *const c_void {
        std::ptr::with_exposed_provenance(read::<0>())
    }

    pub fn set(pointer: *const c_void) {
        write::<0>(pointer.expose_provenance());
    }

    pub fn facts() -> usize {
        read::<8>()
    }

    pub fn set_facts(facts: usize) {
        write::<8>(facts);
    }

    #[inline(always)]
    pub fn call_stack() -> usize {
        read::<16>()
    }

    #[inline(always)]
    pub fn set_call_stack(stack: usize) {
        write::<16>(stack);
    }
}

#[cfg(miri)]
mod variable {
    use std::cell::Cell;
    use std::ffi::c_void;

    thread_local! {
        static POINTER: Cell<*const c_void> = const { Cell::new(std::ptr::null()) };
        static FACTS: Cell<usize> = const { Cell::new(0) };
        static CALL_STACK: Cell<usize> = const { Cell::new(0) };
    }

    pub fn call_stack() -> usize {
        CALL_STACK.get()
    }

    pub fn set_call_stack(stack: usize) {
        CALL_STACK.set(stack);
    }

    #[inline]
    pub fn get() -> *const c_void {
        POINTER.get()
    }

    pub fn set(pointer: *const c_void) {
        POINTER.set(pointer);
    }

    pub fn facts() -> usize {
        FACTS.get()
    }

    pub fn set_facts(facts: usize) {
        FACTS.set(facts);
    }
}

pub use variable::{call_stack, get, set, set_call_stack};

/// About where the calling function's frame is on the stack.
#[inline(always)]
pub fn stack() -> usize {
    let stack;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: copies a register.
    unsafe {
        std::arch::asm!("mov {}, rsp", out(reg) stack, options(nomem, nostack, preserves_flags));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("mov {}, sp", out(reg) stack, options(nomem, nostack, preserves_flags));
    }
    #[cfg(miri)]
    {
        stack = 0;
    }
    stack
}

/// Notes that there is no place for the thread; whether that was noted before.
pub fn set_unknown() -> bool {
    let facts = variable::facts();
    variable::set_facts(facts | UNKNOWN);
    facts & UNKNOWN != 0
}

/// Whether a child of `vfork` runs on the thread.
pub fn is_elsewhere() -> bool {
    variable::facts() & ELSEWHERE != 0
}
