//! Sanitizers: programs that are built with one have functions of the C library's names everywhere, which work once the
//! sanitizer has begun. It begins before this library does anything.

use crate::sys::c_library::real_dlsym;
use crate::sys::fixed_text::FixedText;
use interpose::SetOnce;
use libc::c_char;
use std::ffi::CStr;

/// Has the program's sanitizer begin, if it has one. Each does so once, and mostly before all constructors but this one. False
/// where it cannot: the program has one within itself, which is seen by a function that nobody else has.
pub fn begin() -> bool {
    let is_within = interpose::program_symbol(c"__tls_get_addr").is_some();
    if is_within && address_sanitizer().is_none() && thread_sanitizer().is_none() {
        return false;
    }
    for begin in [address_sanitizer(), thread_sanitizer()].into_iter().flatten() {
        // SAFETY: the sanitizer's own function, which takes nothing.
        unsafe { begin() };
    }
    true
}

type Begin = unsafe extern "C" fn();

macro_rules! weak {
    ($($name:ident = $symbol:literal as $link:literal;)*) => {
        $(
            #[cfg(target_arch = "x86_64")]
            std::arch::global_asm!(
                concat!(".weak ", $symbol),
                concat!(".globl ", $link),
                concat!(".hidden ", $link),
                concat!(".type ", $link, ",@function"),
                concat!($link, ":"),
                concat!("mov rax, qword ptr [rip + ", $symbol, "@GOTPCREL]"),
                "ret",
            );
            #[cfg(target_arch = "aarch64")]
            std::arch::global_asm!(
                concat!(".weak ", $symbol),
                concat!(".globl ", $link),
                concat!(".hidden ", $link),
                concat!(".type ", $link, ",@function"),
                concat!($link, ":"),
                concat!("adrp x0, :got:", $symbol),
                concat!("ldr x0, [x0, :got_lo12:", $symbol, "]"),
                "ret",
            );
        )*
        unsafe extern "C" {
            $(
                #[link_name = $link]
                safe fn $name() -> Option<Begin>;
            )*
        }
    };
}

weak! {
    address_sanitizer = "__asan_init" as "holdup_asan_init";
    thread_sanitizer = "__tsan_init" as "holdup_tsan_init";
}

/// The program's options for AddressSanitizer, with one of this library's before them.
static OPTIONS: SetOnce<FixedText<4096>> = SetOnce::new();

/// Options that AddressSanitizer asks the program for: it ends a program in which its library is not the first one, unless it is told
/// not to look. This library is before it.
#[unsafe(no_mangle)]
pub extern "C" fn __asan_default_options() -> *const c_char {
    type Options = unsafe extern "C" fn() -> *const c_char;
    // SAFETY: a plain look-up.
    let next = unsafe { real_dlsym(libc::RTLD_NEXT, c"__asan_default_options") };
    let options = if next.is_null() {
        std::ptr::null()
    } else {
        // SAFETY: the program's or the sanitizer's function of that name.
        unsafe { std::mem::transmute::<*mut libc::c_void, Options>(next)() }
    };
    let options: &[u8] = if options.is_null() {
        b""
    } else {
        // SAFETY: options end in a zero byte.
        unsafe { CStr::from_ptr(options) }.to_bytes()
    };
    if let Some(line) = FixedText::of(&[b"verify_asan_link_order=0:", options, b"\0"]) {
        OPTIONS.set(line);
    }
    OPTIONS.get().and_then(FixedText::path).map_or(c"".as_ptr(), CStr::as_ptr)
}
