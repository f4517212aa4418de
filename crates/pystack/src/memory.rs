//! Reads of a process's memory that fail instead of crashing.

/// The most pieces that one [`Memory::gather`] takes.
const PIECES: usize = 4;

/// The most pieces that one system call reads here.
pub(crate) const MOST_PIECES: usize = 64;

/// A process's memory, as the kernel shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    process: libc::pid_t,
}

/// A piece of memory to read: from where, and the room for it.
pub(crate) type Piece<'a> = (usize, &'a mut [u8]);

impl Memory {
    /// Asks for the process id every time, as the program may have forked.
    pub(crate) fn ours() -> Memory {
        // SAFETY: getpid has no preconditions.
        Memory { process: unsafe { libc::getpid() } }
    }

    /// Another process's. Which processes may be read, the kernel decides at each read.
    pub(crate) fn of(process: libc::pid_t) -> Memory {
        Memory { process }
    }

    /// Fills `into` from `address`; false when any of it cannot be read.
    pub(crate) fn read(self, address: usize, into: &mut [u8]) -> bool {
        self.gather([(address, into)])
    }

    /// Fills several pieces with one system call; false when any of them cannot be read.
    pub(crate) fn gather<const N: usize>(self, pieces: [Piece<'_>; N]) -> bool {
        const { assert!(N <= PIECES) };
        let (mut local, mut remote) = ([NOTHING; N], [NOTHING; N]);
        let mut wanted = 0;
        for ((address, into), (local, remote)) in pieces.into_iter().zip(local.iter_mut().zip(&mut remote)) {
            (*local, *remote) = (room(into), elsewhere(address, into.len()));
            wanted += into.len();
        }
        // SAFETY: the local pieces are exclusive borrows of the caller's and outlive the call; the kernel
        // checks the remote ones itself and fails with EFAULT where nothing is mapped.
        let read = unsafe {
            libc::process_vm_readv(self.process, local.as_ptr(), N as u64, remote.as_ptr(), N as u64, 0)
        };
        usize::try_from(read) == Ok(wanted)
    }

    /// Fills several pieces of the same size, one behind the other in `into`, with as few system calls as may be;
    /// false when any of them cannot be read.
    pub(crate) fn each(self, addresses: &[usize], size: usize, into: &mut [u8]) -> bool {
        let rooms = into.chunks_mut(size.max(1) * MOST_PIECES);
        addresses.chunks(MOST_PIECES).zip(rooms).all(|(addresses, into)| {
            let mut remote = [NOTHING; MOST_PIECES];
            for (piece, address) in remote.iter_mut().zip(addresses) {
                *piece = elsewhere(*address, size);
            }
            let wanted = addresses.len() * size;
            let local = room(into);
            // SAFETY: the local piece is an exclusive borrow of the caller's and outlives the call; the kernel checks
            // the remote ones itself, and fills no more than the local one has room for.
            let read = unsafe {
                libc::process_vm_readv(self.process, &local, 1, remote.as_ptr(), addresses.len() as u64, 0)
            };
            usize::try_from(read) == Ok(wanted)
        })
    }

    /// Fills two pieces and, one behind the other in `into`, others, with one system call: how many bytes of the others
    /// could be read, up to the first that could not; `None` where it is one of the two.
    pub(crate) fn read_along(
        self,
        begin: [Piece<'_>; 2],
        others: impl Iterator<Item = (usize, usize)>,
        into: &mut [u8],
    ) -> Option<usize> {
        let (mut local, mut remote) = ([NOTHING; 3], [NOTHING; MOST_PIECES]);
        let mut wanted = 0;
        for ((address, into), (local, remote)) in begin.into_iter().zip(local.iter_mut().zip(&mut remote)) {
            (*local, *remote) = (room(into), elsewhere(address, into.len()));
            wanted += into.len();
        }
        local[2] = room(into);
        let mut count = 2;
        for ((address, length), remote) in others.zip(&mut remote[2..]) {
            *remote = elsewhere(address, length);
            count += 1;
        }
        // SAFETY: the local pieces are exclusive borrows of the caller's and outlive the call; the kernel checks the
        // remote ones itself, and fills no more than the local ones have room for.
        let read =
            unsafe { libc::process_vm_readv(self.process, local.as_ptr(), 3, remote.as_ptr(), count, 0) };
        usize::try_from(read).ok()?.checked_sub(wanted)
    }

    /// The word at an address.
    pub(crate) fn word(self, address: usize) -> Option<usize> {
        let mut word = [0; size_of::<usize>()];
        self.read(address, &mut word).then(|| usize::from_ne_bytes(word))
    }
}

const NOTHING: libc::iovec = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };

/// Room for what is read.
fn room(into: &mut [u8]) -> libc::iovec {
    libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() }
}

/// Memory of the process that is read.
fn elsewhere(address: usize, length: usize) -> libc::iovec {
    libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: length }
}

/// A pointer or length inside a structure that was read.
pub(crate) fn word_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// A C `int` inside a structure that was read.
pub(crate) fn int_at(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Puts the thread's `errno` back when it goes: the program under observation must not see ours.
pub(crate) struct KeepErrno(i32);

impl KeepErrno {
    pub(crate) fn new() -> KeepErrno {
        // SAFETY: the location of the calling thread's errno is always valid.
        KeepErrno(unsafe { *libc::__errno_location() })
    }
}

impl Drop for KeepErrno {
    fn drop(&mut self) {
        // SAFETY: the location of the calling thread's errno is always valid.
        unsafe { *libc::__errno_location() = self.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_there_and_refuses_what_is_not() {
        let there = [1u8, 2, 3, 4, 5, 6, 7, 8, 9];
        let (mut first, mut second) = ([0; 4], [0; 2]);
        let at = there.as_ptr().addr();
        assert!(Memory::ours().gather([(at, &mut first), (at + 7, &mut second)]));
        assert_eq!((first, second), ([1, 2, 3, 4], [8, 9]));
        for nowhere in [0, 8, usize::MAX, usize::MAX - 7, 1 << 63, 0xdead_beef_dead_beef] {
            assert!(!Memory::ours().read(nowhere, &mut first));
            assert!(!Memory::ours().gather([(at, &mut first), (nowhere, &mut second)]));
            assert_eq!(Memory::ours().word(nowhere), None);
        }
    }

    #[test]
    fn keeps_errno() {
        // SAFETY: the location of the calling thread's errno is always valid.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above.
        unsafe { *errno = 77 };
        {
            let _keep = KeepErrno::new();
            assert!(!Memory::ours().read(0, &mut [0; 8]));
        }
        // SAFETY: as above.
        assert_eq!(unsafe { *errno }, 77);
    }
}
