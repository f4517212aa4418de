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
        let mut attempts = (0..PATIENCE).map(|_| File::open_with(path, 0));
        match attempts.find(|opened| !matches!(opened, Err(libc::EINTR))) {
            Some(Ok(file)) => Ok(file),
            Some(Err(libc::EMFILE | libc::ENFILE)) => Err(Full::Descriptors),
            _ => Err(Full::Gone),
        }
    }

    /// Opens one with further flags, for its owner alone if that makes it; errno where it fails. A link at the path's end,
    /// which another user may have put there, is not followed.
    pub fn open_with(path: &CStr, flags: c_int) -> Result<File, c_int> {
        let flags = flags | libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        // SAFETY: `path` ends in a zero byte.
        match unsafe { libc::open(path.as_ptr(), flags, 0o600) } {
            // SAFETY: errno is the thread's own.
            file if file < 0 => Err(unsafe { *libc::__errno_location() }),
            file => Ok(File(file)),
        }
    }

    /// The kernel's statement about it.
    fn stat(&self) -> Option<libc::stat> {
        // SAFETY: all-zero bytes are a valid value.
        let mut found: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: writes the struct that it is given.
        (unsafe { libc::fstat(self.0, &mut found) } == 0).then_some(found)
    }

    /// Its device and number there, which no other file has as long as this one is open or mapped.
    pub fn identity(&self) -> Option<(u64, u64)> {
        self.stat().map(|found| (found.st_dev, found.st_ino))
    }

    /// Whether this is a plain file of one name that the process's user made, or the user who made the folder at `folder`.
    pub fn is_safe(&self, folder: &CStr) -> bool {
        // SAFETY: only returns a number.
        let user = unsafe { libc::geteuid() };
        self.stat().is_some_and(|found| {
            let is_plain = found.st_mode & libc::S_IFMT == libc::S_IFREG && found.st_nlink == 1;
            is_plain && (found.st_uid == user || owner(folder) == Some(found.st_uid))
        })
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

/// The user who made a folder, or the link that is there.
fn owner(folder: &CStr) -> Option<libc::uid_t> {
    // SAFETY: all-zero bytes are a valid value.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the path ends in a zero byte; writes the struct that it is given.
    (unsafe { libc::lstat(folder.as_ptr(), &mut found) } == 0).then_some(found.st_uid)
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
