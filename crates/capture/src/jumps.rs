//! Wrappers that jump to the next library's function: it sees its own caller, and gets all arguments that it may have,
//! however many the program passed.

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
                "mov x0, {missing}",
                "ret",
                before = sym $before,
                missing = const $missing,
            )
        }
    )*};
}

pub(crate) use jumps;
