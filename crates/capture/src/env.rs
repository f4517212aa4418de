//! The environment variables that `record` sets, read without allocating: while recording starts and not later.

/// A variable's bytes; `None` when it is not set or too long for anything here.
pub fn text(name: &str) -> Option<&'static [u8]> {
    let mut key = [0; 64];
    key.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    // SAFETY: `key` ends in a zero byte. Read only while the program starts CUDA: a program that
    // changes its environment on another thread just then breaks any reader, its own too.
    let value = unsafe { libc::getenv(key.as_ptr().cast()).as_ref() }?;
    // SAFETY: the C library's strings end in a zero byte, and `record`'s variables are not changed.
    Some(unsafe { std::ffi::CStr::from_ptr(value) }.to_bytes())
}

/// A variable that holds a decimal number.
pub fn number(name: &str) -> Option<u64> {
    std::str::from_utf8(text(name)?).ok()?.parse().ok()
}
