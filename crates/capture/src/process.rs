//! This process's spool file: made when recording starts, handed out in chunks.

use crate::env;
use crate::file::File;
use crate::windows;
use spool::{ALIGN, CHUNK_MAGIC, ChunkHeader, FileHeader, Full, Level, MAGIC};
use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::io::Write;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64};

/// What every recorded call looks at, in one cache line.
#[repr(align(64))]
pub struct State {
    /// The mapped file header; null before recording starts.
    header: AtomicPtr<FileHeader>,
    /// A [`Level`], 0 before recording starts.
    pub level: AtomicU32,
    /// Calls at least this long, ticks, get a closer look; at first all do.
    pub seldom: AtomicI64,
}

/// This process's.
pub static STATE: State =
    State { header: AtomicPtr::new(null_mut()), level: AtomicU32::new(0), seldom: AtomicI64::new(0) };

/// Bytes that all processes of the program have taken, mapped from the spool's `budget` file.
static TAKEN: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());
/// Most bytes that they may take.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
/// No more chunks: the disk is full or the limit reached.
static FULL: AtomicBool = AtomicBool::new(false);

/// A path as the C library wants it.
struct Path(UnsafeCell<[u8; 1024]>);
// SAFETY: written only by `open`, which runs once a process before the header is published; read
// only after it was seen.
unsafe impl Sync for Path {}
static PATH: Path = Path(UnsafeCell::new([0; 1024]));

/// The path of the process's file, for whoever has seen the header.
fn path() -> &'static CStr {
    // SAFETY: the header was seen, so the path is complete; it ends in a zero byte.
    unsafe { CStr::from_ptr(PATH.0.get().cast()) }
}

/// Makes the file; false when there is no directory for it or it cannot be made.
pub fn open() -> bool {
    let Some(directory) = env::text(spool::VAR_DIRECTORY) else { return false };
    LIMIT.store(env::number(spool::VAR_MAX_SIZE).unwrap_or(u64::MAX), Relaxed);
    map_budget(directory);
    // SAFETY: the caller runs once a process, before anyone reads the path.
    let path = unsafe { &mut *PATH.0.get() };
    for image in 0..10_000u32 {
        let name = std::process::id();
        if !write_path(path, format_args!("/{name}-{image}{}", spool::SUFFIX), directory) {
            return false;
        }
        let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_CLOEXEC;
        // SAFETY: `path` ends in a zero byte.
        let file = unsafe { libc::open(path.as_ptr().cast(), flags, 0o600) };
        if file >= 0 {
            let begun = begin(&File(file));
            return begun.is_ok();
        }
        // SAFETY: errno is the thread's own.
        if unsafe { *libc::__errno_location() } != libc::EEXIST {
            return false;
        }
    }
    false
}

/// Makes the header.
fn begin(file: &File) -> Result<(), Full> {
    file.reserve(0, ALIGN)?;
    let header = windows::begin(file)?.cast::<FileHeader>();
    // SAFETY: the mapping is large enough, zeroed and never unmapped.
    fill(unsafe { &*header });
    STATE.header.store(header, Release);
    Ok(())
}

fn fill(header: &FileHeader) {
    header.pid.store(std::process::id(), Relaxed);
    header.parent.store(std::os::unix::process::parent_id(), Relaxed);
    header.monotonic_ns.store(interpose::monotonic(), Relaxed);
    header.unix_ns.store(clock(libc::CLOCK_REALTIME), Relaxed);
    header.next.store(windows::SIZE, Relaxed);
    header.magic.store(MAGIC, Release);
}

fn clock(which: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the struct it is given.
    unsafe { libc::clock_gettime(which, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// `directory` and `rest` with a zero behind; false when they do not fit.
fn write_path(path: &mut [u8; 1024], rest: std::fmt::Arguments<'_>, directory: &[u8]) -> bool {
    let mut room = &mut path[..];
    room.write_all(directory).is_ok() && room.write_fmt(rest).is_ok() && room.write_all(&[0]).is_ok()
}

fn map_budget(directory: &[u8]) {
    let mut path = [0; 1024];
    if !write_path(&mut path, format_args!("/budget"), directory) {
        return;
    }
    let flags = libc::O_CREAT | libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: `path` ends in a zero byte.
    let file = unsafe { libc::open(path.as_ptr().cast(), flags, 0o600) };
    if file >= 0 {
        let file = File(file);
        if let Ok(budget) = file.reserve(0, 4096).and_then(|()| file.map(0, 4096)) {
            TAKEN.store(budget.cast(), Release);
        }
    }
}

/// The file's header, once there is one.
pub fn header() -> Option<&'static FileHeader> {
    // SAFETY: published mappings are never unmapped.
    unsafe { STATE.header.load(Acquire).as_ref() }
}

/// Takes a chunk for a thread; null when there is no room for one.
pub fn chunk(size: u64, tid: u32) -> *mut ChunkHeader {
    let Some(header) = header() else { return null_mut() };
    if FULL.load(Relaxed) {
        return null_mut();
    }
    let made = take(size).and_then(|()| make(header, size));
    // SAFETY: a mapping of `size` bytes, zeroed, that only the caller's thread writes to.
    let fresh = match made.map(|chunk| unsafe { &*chunk }) {
        Ok(fresh) => fresh,
        Err(why) => {
            FULL.store(true, Relaxed);
            _ = header.full.compare_exchange(0, why as u32, Relaxed, Relaxed);
            return null_mut();
        }
    };
    fresh.size.store(size, Relaxed);
    fresh.tid.store(tid, Relaxed);
    fresh.magic.store(CHUNK_MAGIC, Release);
    std::ptr::from_ref(fresh).cast_mut()
}

/// A part of the file for a chunk.
fn make(header: &FileHeader, size: u64) -> Result<*mut ChunkHeader, Full> {
    let file = File::open(path())?;
    let (address, offset) = match windows::cut(header, &file, size) {
        Some(part) => part,
        None => {
            let offset = header.next.fetch_add(size, Relaxed);
            (file.map(offset, size)?, offset)
        }
    };
    // Mapped already, but nobody looks there before.
    file.reserve(offset, size)?;
    Ok(address.cast())
}

/// Counts `size` bytes against the limit.
fn take(size: u64) -> Result<(), Full> {
    // SAFETY: published mappings are never unmapped.
    let Some(taken) = (unsafe { TAKEN.load(Acquire).as_ref() }) else { return Ok(()) };
    if taken.fetch_add(size, Relaxed).saturating_add(size) <= LIMIT.load(Relaxed) {
        return Ok(());
    }
    taken.fetch_sub(size, Relaxed);
    Err(Full::Limit)
}

/// Says what is recorded from now on.
pub fn set_level(level: Level) {
    if let Some(header) = header() {
        header.level.store(level as u32, Relaxed);
    }
}

/// Says that so many more of the driver's slots are watched.
pub fn driver_watched(slots: u64) {
    if let Some(header) = header() {
        header.driver_slots.fetch_add(slots, Relaxed);
    }
}

/// Says that everything was written out.
pub fn finish() {
    if let Some(header) = header() {
        header.finished.store(1, Release);
    }
}

/// In a fork's child: the file is the parent's.
pub fn forget() {
    STATE.header.store(null_mut(), Release);
    windows::forget();
    FULL.store(false, Relaxed);
}
