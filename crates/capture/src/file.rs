//! Files that are mapped: what can fail about them, and why.

use libc::c_int;
use spool::Full;
use std::ffi::CStr;
use std::ptr::null_mut;

/// How often a signal may interrupt what a chunk needs.
const PATIENCE: u32 = 100;

/// An open file; closed when dropped.
pub struct File(pub c_int);

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: a descriptor that is this one's own.
        unsafe { libc::close(self.0) };
    }
}

impl File {
    /// Opens one that is there.
    pub fn open(path: &CStr) -> Result<File, Full> {
        // SAFETY: `path` ends in a zero byte.
        let open = || unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
        // SAFETY: errno is the thread's own.
        let failure = || unsafe { *libc::__errno_location() };
        for _ in 0..PATIENCE {
            match open() {
                file if file >= 0 => return Ok(File(file)),
                _ if failure() == libc::EINTR => {}
                _ => break,
            }
        }
        Err(if matches!(failure(), libc::EMFILE | libc::ENFILE) { Full::Descriptors } else { Full::Gone })
    }

    /// How long it is, bytes.
    pub fn size(&self) -> Option<usize> {
        // SAFETY: asks for a number; nobody else reads from here.
        usize::try_from(unsafe { libc::lseek(self.0, 0, libc::SEEK_END) }).ok()
    }

    /// Takes disk blocks for a part: writing to a mapped hole of a full disk would end the program.
    pub fn reserve(&self, offset: u64, size: u64) -> Result<(), Full> {
        if offset + size > file_size_limit() {
            return Err(Full::FileSize);
        }
        // SAFETY: a plain system call.
        let reserve = || unsafe { libc::posix_fallocate(self.0, offset as i64, size as i64) };
        // Signals, as of a profiler, interrupt it, and it begins again.
        match (0..PATIENCE).map(|_| reserve()).find(|failure| *failure != libc::EINTR) {
            Some(0) => Ok(()),
            Some(libc::EFBIG) => Err(Full::FileSize),
            _ => Err(Full::Disk),
        }
    }

    /// Maps a part.
    pub fn map(&self, offset: u64, size: u64) -> Result<*mut u8, Full> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping where the kernel finds room.
        let address =
            unsafe { libc::mmap(null_mut(), size as usize, access, libc::MAP_SHARED, self.0, offset as i64) };
        if address == libc::MAP_FAILED { Err(Full::Memory) } else { Ok(address.cast()) }
    }
}

/// Most bytes a file of this process may have: beyond, growing it sends a signal that ends the
/// program.
fn file_size_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes the struct it is given.
    match unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } {
        0 => limit.rlim_cur,
        _ => u64::MAX,
    }
}
