//! This process's spool file: made when recording starts, handed out in chunks.

use crate::env;
use crate::file::File;
use crate::line::{Decimal, Line};
use crate::windows;
use libc::c_int;
use spool::{ALIGN, CHUNK_MAGIC, ChunkHeader, FileHeader, Full, Level, MAGIC};
use std::ffi::CStr;
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
    /// Calls are written with what GPU operations are joined with them by.
    pub is_joined: AtomicBool,
    /// CUPTI tells the correlation ids of calls.
    pub tells_ids: AtomicBool,
    /// How many streams of the program capture.
    pub captures: AtomicU32,
    /// Calls at least this long, ticks, get a closer look; at first all do.
    pub seldom: AtomicI64,
    /// A call that begins so many ticks after the thread's last one gets its stack written.
    pub pause: AtomicI64,
}

/// This process's.
pub static STATE: State = State {
    header: AtomicPtr::new(null_mut()),
    level: AtomicU32::new(0),
    is_joined: AtomicBool::new(false),
    tells_ids: AtomicBool::new(false),
    captures: AtomicU32::new(0),
    seldom: AtomicI64::new(0),
    pause: AtomicI64::new(i64::MAX),
};

/// Bytes that all processes of the program have taken, mapped from the spool's `budget` file.
static TAKEN: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());
/// Most bytes that they may take.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
/// No more chunks: the disk is full or the limit reached.
static FULL: AtomicBool = AtomicBool::new(false);

/// The path of the process's file; null before there is one. A fork's child makes a new one: the old one stays.
static PATH: AtomicPtr<Path> = AtomicPtr::new(null_mut());

/// Longest path, with its zero byte.
const MOST_PATH: usize = 1024;

type Path = Line<MOST_PATH>;

/// The path of the process's file.
fn path() -> Option<&'static CStr> {
    // SAFETY: null or a path that `keep` wrote in memory that stays mapped.
    unsafe { PATH.load(Acquire).as_ref() }?.path()
}

/// Keeps a path for as long as the process lives, in memory of its own.
fn keep(path: Path) -> Option<()> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: asks for new memory.
    let memory = unsafe { libc::mmap(null_mut(), size_of::<Path>(), access, flags, -1, 0) };
    if memory == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: new memory of that size, aligned to a page, that nobody else knows yet.
    unsafe { memory.cast::<Path>().write(path) };
    PATH.store(memory.cast(), Release);
    Some(())
}

/// Makes the file; false when there is no directory for it or it cannot be made.
pub fn open() -> bool {
    make_file().is_some_and(|file| begin(&file).is_ok())
}

fn make_file() -> Option<File> {
    let directory = env::text(spool::VAR_DIRECTORY)?;
    LIMIT.store(env::number(spool::VAR_MAX_SIZE).unwrap_or(u64::MAX), Relaxed);
    map_budget(directory);
    let pid = Decimal::of(std::process::id().into());
    for image in 0..10_000 {
        let (image, suffix) = (Decimal::of(image), spool::SUFFIX.as_bytes());
        let path = Path::of(&[directory, b"/", pid.bytes(), b"-", image.bytes(), suffix, b"\0"])?;
        match create(path.path()?, libc::O_EXCL) {
            Ok(file) => return keep(path).map(|()| file),
            Err(libc::EEXIST) => {}
            Err(_) => return None,
        }
    }
    None
}

/// Opens a file, which is made if it is not there; errno where it fails.
fn create(path: &CStr, flags: c_int) -> Result<File, c_int> {
    let flags = flags | libc::O_CREAT | libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: `path` ends in a zero byte.
    match unsafe { libc::open(path.as_ptr(), flags, 0o600) } {
        // SAFETY: errno is the thread's own.
        file if file < 0 => Err(unsafe { *libc::__errno_location() }),
        file => Ok(File(file)),
    }
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

fn map_budget(directory: &[u8]) {
    let path = Path::of(&[directory, b"/budget\0"]);
    let file = path.as_ref().and_then(Path::path).and_then(|path| create(path, 0).ok());
    if let Some(file) = file
        && let Ok(budget) = file.reserve(0, 4096).and_then(|()| file.map(0, 4096))
    {
        TAKEN.store(budget.cast(), Release);
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
    let file = File::open(path().ok_or(Full::Gone)?)?;
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

/// Writes what is recorded from now on.
pub fn set_level(level: Level) {
    if let Some(header) = header() {
        header.level.store(level as u32, Relaxed);
    }
}

/// Counts so many more of the driver's slots as watched.
pub fn driver_watched(slots: u64) {
    if let Some(header) = header() {
        header.driver_slots.fetch_add(slots, Relaxed);
    }
}

/// Marks the file as complete.
pub fn finish() {
    if let Some(header) = header() {
        header.finished.store(1, Release);
    }
}

/// `CLOCK_REALTIME` minus `CLOCK_MONOTONIC` as they were when the file was made, ns.
pub fn unix_offset() -> i64 {
    header().map_or(0, |header| header.unix_ns.load(Relaxed).wrapping_sub(header.monotonic_ns.load(Relaxed)))
}

/// In a fork's child: the file is the parent's.
pub fn forget() {
    STATE.header.store(null_mut(), Release);
    windows::forget();
    FULL.store(false, Relaxed);
}
