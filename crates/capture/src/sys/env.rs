//! The environment variables that `record` sets, read without allocating: while recording starts and not later.

use std::ffi::{CStr, c_char};

/// Beginning of the name of this library's file, which variables name.
pub const LIBRARY: &[u8] = b"libholdup_capture";

/// A variable's bytes; `None` when it is not set or too long for anything here.
pub fn text(name: &str) -> Option<&'static [u8]> {
    let mut key = [0; 64];
    key.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    // SAFETY: `key` ends in a zero byte. Read only while the program starts CUDA: a program that
    // changes its environment on another thread just then breaks any reader, its own too.
    let value = unsafe { libc::getenv(key.as_ptr().cast()).as_ref() }?;
    // SAFETY: the C library's strings end in a zero byte, and `record`'s variables are not changed.
    Some(unsafe { CStr::from_ptr(value) }.to_bytes())
}

/// Like [`text`], but in an environment: an array of `NAME=value` that a null ends.
///
/// # Safety
///
/// It is one, or null, and stays as it is.
pub unsafe fn text_in(mut environment: *const *const c_char, name: &str) -> Option<&'static [u8]> {
    // SAFETY: the caller's promise: `environment` points into the array until its null is found.
    unsafe {
        while !environment.is_null() && !(*environment).is_null() {
            let entry = CStr::from_ptr(*environment).to_bytes();
            if let Some(value) = entry.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
            {
                return Some(value);
            }
            environment = environment.add(1);
        }
    }
    None
}

/// A variable that holds a decimal number.
pub fn number(name: &str) -> Option<u64> {
    std::str::from_utf8(text(name)?).ok()?.parse().ok()
}
