//! Memory of another process.

/// Note on a process whose memory cannot be read.
pub(super) const UNREADABLE: &str = "its threads' stacks are not sampled: the kernel does not permit to read its memory \
                          (holdup doctor says why)";

/// Reads a byte of a process's memory.
///
/// # Errors
/// The system's error number: `EPERM` where this process may not.
pub fn read_byte(pid: i32, address: u64) -> Result<u8, i32> {
    let mut byte = [0u8; 1];
    let local = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(address as usize), iov_len: 1 };
    // SAFETY: writes at most one byte into `byte`; the kernel checks the remote address.
    match unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) } {
        1 => Ok(byte[0]),
        _ => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
    }
}
