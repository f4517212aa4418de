//! Wrappers that jump to the next library's function: it sees its own caller, and gets all arguments that it may have,
//! however many the program passed.

/// The instructions that call `before`, which leaves all arguments as they are, and jump to where it says. Where it says null, they
/// go on.
#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        concat!(
            "push rdi\n",
            "push rsi\n",
            "push rdx\n",
            "push rcx\n",
            "push r8\n",
            "push r9\n",
            "push rax\n",
            "call {before}\n",
            "mov r11, rax\n",
            "pop rax\n",
            "pop r9\n",
            "pop r8\n",
            "pop rcx\n",
            "pop rdx\n",
            "pop rsi\n",
            "pop rdi\n",
            "test r11, r11\n",
            "jz 2f\n",
            "jmp r11\n",
            "2:\n",
        )
    };
}

/// The same registers as on x86-64.
#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        concat!(
            "stp x0, x1, [sp, #-80]!\n",
            "stp x2, x3, [sp, #16]\n",
            "stp x4, x5, [sp, #32]\n",
            "stp x6, x7, [sp, #48]\n",
            "str x30, [sp, #64]\n",
            "bl {before}\n",
            "mov x9, x0\n",
            "ldr x30, [sp, #64]\n",
            "ldp x6, x7, [sp, #48]\n",
            "ldp x4, x5, [sp, #32]\n",
            "ldp x2, x3, [sp, #16]\n",
            "ldp x0, x1, [sp], #80\n",
            "cbz x9, 2f\n",
            "br x9\n",
            "2:\n",
        )
    };
}

/// Declares wrappers, each of which calls its `before` with the arguments in the order of a call's registers. That one says
/// where to jump; where it says null, `missing` is the result.
macro_rules! jumps {
    ($($(#[$documentation:meta])* $name:ident after $before:ident, else $missing:literal;)*) => {$(
        $(#[$documentation])*
        ///
        /// # Safety
        ///
        /// As the C library's function of that name.
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() -> *mut libc::c_void {
            std::arch::naked_asm!(
                $crate::sys::jumps::jump!(),
                "mov rax, {missing}",
                "ret",
                before = sym $before,
                missing = const $missing,
            )
        }

        $(#[$documentation])*
        ///
        /// # Safety
        ///
        /// As the C library's function of that name.
        #[cfg(target_arch = "aarch64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() -> *mut libc::c_void {
            std::arch::naked_asm!(
                $crate::sys::jumps::jump!(),
                "mov x0, {missing}",
                "ret",
                before = sym $before,
                missing = const $missing,
            )
        }
    )*};
}

pub(crate) use {jump, jumps};
