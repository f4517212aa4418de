//! This process is not recorded, because it cannot make its file: the recorder is told.

use libc::{c_int, sa_family_t, sockaddr_un, socklen_t};
use spool::Refused;
use std::mem::offset_of;

/// Tells the recorder with a spool at `directory` why: the system's error number.
#[cold]
pub fn tell(directory: &[u8], error: c_int) {
    let Some((address, length)) = address(Refused::socket(directory)) else { return };
    // SAFETY: only returns a number.
    let user = unsafe { libc::geteuid() };
    let message = Refused { pid: std::process::id(), user, error: error.cast_unsigned() }.to_bytes();
    // SAFETY: system calls on a socket of this function's own; the message and the address are as long as stated.
    unsafe {
        let socket = libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket >= 0 {
            let how = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
            libc::sendto(
                socket,
                message.as_ptr().cast(),
                message.len(),
                how,
                (&raw const address).cast(),
                length,
            );
            libc::close(socket);
        }
    }
}

/// The address of an abstract socket: its name after a zero byte.
fn address(name: &[u8]) -> Option<(sockaddr_un, socklen_t)> {
    // SAFETY: all-zero bytes are a valid value.
    let mut address: sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as sa_family_t;
    let room = address.sun_path.get_mut(1..=name.len())?;
    room.iter_mut().zip(name).for_each(|(to, from)| *to = *from as libc::c_char);
    Some((address, (offset_of!(sockaddr_un, sun_path) + 1 + name.len()) as socklen_t))
}
