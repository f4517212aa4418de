//! What the GPU did, and the runtime's calls, from CUPTI's activity records.
//!
//! CUPTI serves one client. When the program becomes one (PyTorch's profiler), holdup makes way:
//! the wrapped driver calls and the lock watch go on.

mod library;
mod quiet;
mod records;

pub use library::Failure;

use crate::texts;
use crate::writer::{self, Writer};
use library::Cupti;
use records::kind;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32};

/// Bytes of a buffer for records, and buffers kept for use again.
const BUFFER: usize = 4 << 20;
const SPARE: usize = 32;

/// Buffers made before the program's first call.
const READY: usize = 4;

/// How often CUPTI hands out what it has, ms: what a killed program may lose.
const FLUSH_PERIOD: u32 = 500;

/// `CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM`
const KERNEL_THREAD_IDS: c_int = 1;

static CUPTI: OnceLock<Cupti> = OnceLock::new();
/// Records come in.
static ON: AtomicBool = AtomicBool::new(false);
/// What is added to the clock for CUPTI: nothing, or, once the program uses CUPTI itself, what
/// makes it the clock that CUPTI shows by default.
static CLOCK_OFFSET: AtomicI64 = AtomicI64::new(0);
static VERSION: AtomicU32 = AtomicU32::new(0);
static BUFFERS: [AtomicPtr<u8>; SPARE] = [const { AtomicPtr::new(null_mut()) }; SPARE];

/// Starts recording through CUPTI.
pub fn start(writer: &mut Writer) -> Result<(), Failure> {
    let cupti = library::first_that(switch_on)?;
    let cupti = CUPTI.get_or_init(|| cupti);
    // SAFETY: CUPTI's function.
    unsafe { (cupti.flush_period)(FLUSH_PERIOD) };
    quiet::switch_off(cupti);
    for spare in &BUFFERS[..READY] {
        spare.store(fresh(), Release);
    }
    library::note_path(writer, cupti);
    Ok(())
}

fn switch_on(cupti: &Cupti) -> Result<(), Failure> {
    let check = |what: &'static str, code| if code == 0 { Ok(()) } else { Err(Failure::Failed(what, code)) };
    let mut version = 0;
    // SAFETY: CUPTI's functions, with arguments as its headers ask for; the callbacks are functions
    // of this library, which is never unloaded.
    unsafe {
        (cupti.version)(&mut version);
        check("cuptiActivityRegisterTimestampCallback", (cupti.timestamps)(timestamp))?;
        check("cuptiSetThreadIdType", (cupti.thread_ids)(KERNEL_THREAD_IDS))?;
        check("cuptiActivityRegisterCallbacks", (cupti.register)(request, complete))?;
        ON.store(true, Release);
        for kind in kind::ALL {
            let code = (cupti.enable)(kind as c_int);
            if code != 0 {
                stop_all(cupti);
                return Err(Failure::Failed("cuptiActivityEnable", code));
            }
        }
    }
    VERSION.store(version, Relaxed);
    Ok(())
}

/// CUPTI's version, 0 when it is not used.
pub fn version() -> u64 {
    VERSION.load(Relaxed).into()
}

fn stop_all(cupti: &Cupti) {
    ON.store(false, Release);
    for kind in kind::ALL {
        // SAFETY: CUPTI's function, with a kind it knows.
        unsafe { (cupti.disable)(kind as c_int) };
    }
}

/// Has CUPTI hand out all it has.
pub fn flush() {
    const FORCED: u32 = 1;
    if let (true, Some(cupti)) = (ON.load(Acquire), CUPTI.get()) {
        // SAFETY: CUPTI's function.
        unsafe { (cupti.flush)(FORCED) };
    }
}

/// Makes way for another client of CUPTI in this process; false when it was not in use.
pub fn make_way() -> bool {
    let (true, Some(cupti)) = (ON.load(Acquire), CUPTI.get()) else { return false };
    flush();
    // SAFETY: CUPTI's function.
    unsafe { (cupti.flush_period)(0) };
    stop_all(cupti);
    CLOCK_OFFSET.store(crate::unix_offset(), Relaxed);
    true
}

/// In a fork's child: CUPTI does not work there.
pub fn forget() {
    ON.store(false, Release);
    records::forget();
}

/// In nanoseconds, which CUPTI reckons with itself.
unsafe extern "C" fn timestamp() -> u64 {
    (interpose::monotonic() + CLOCK_OFFSET.load(Relaxed)) as u64
}

unsafe extern "C" fn request(buffer: *mut *mut u8, size: *mut usize, most: *mut usize) {
    let spare = BUFFERS.iter().map(|spare| spare.swap(null_mut(), AcqRel)).find(|spare| !spare.is_null());
    let memory = spare.unwrap_or_else(fresh);
    // SAFETY: CUPTI passes three places to write to.
    unsafe {
        *buffer = memory;
        *size = if memory.is_null() { 0 } else { BUFFER };
        *most = 0;
    }
}

/// Memory for a buffer; null when there is none, and CUPTI drops and counts records. All its pages
/// are there from the start: a launch that has to have one mapped waits for whoever maps or unmaps
/// memory at the time, which was up to 8.8 ms beside a thread that freed 256 MiB (H200).
fn fresh() -> *mut u8 {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    // SAFETY: asks for new memory.
    let memory = unsafe { libc::mmap(null_mut(), BUFFER, access, flags, -1, 0) };
    if memory == libc::MAP_FAILED { null_mut() } else { memory.cast() }
}

unsafe extern "C" fn complete(_: *mut c_void, _: u32, buffer: *mut u8, _: usize, valid: usize) {
    if let (Some(cupti), false) = (CUPTI.get(), buffer.is_null()) {
        writer::here(|writer| {
            // So that its times and the wrapped calls' stay comparable.
            writer.clock(interpose::moment());
            read(writer, cupti, buffer, valid);
        });
    }
    for spare in &BUFFERS {
        if spare.compare_exchange(null_mut(), buffer, AcqRel, Relaxed).is_ok() {
            return;
        }
    }
    // SAFETY: a buffer of `fresh`, which CUPTI gave back for good.
    unsafe { libc::munmap(buffer.cast(), BUFFER) };
}

fn read(writer: &mut Writer, cupti: &Cupti, buffer: *mut u8, valid: usize) {
    let mut record = null_mut();
    let mut lost = 0;
    // SAFETY: CUPTI walks its own buffer, and every record it gives is whole.
    unsafe {
        while (cupti.next)(buffer, valid, &mut record) == 0 && !record.is_null() {
            lost += u64::from(!records::write(writer, cupti, record));
        }
        let mut dropped = 0;
        if (cupti.dropped)(null_mut(), 0, &mut dropped) == 0 {
            lost += dropped as u64;
        }
    }
    if lost > 0 {
        writer.append(spool::Dropped::KIND, 0, &[spool::Dropped { count: lost }.bytes()]);
    }
}

/// Writes a sentence about why there are no GPU records.
pub fn explain(writer: &mut Writer, failure: Failure) {
    use std::io::Write;
    let mut line = [0u8; 256];
    let mut room = &mut line[..];
    let written = match failure {
        Failure::Missing => write!(
            room,
            "no GPU records: libcupti was not found (install the CUDA toolkit or the nvidia-cuda-cupti wheel)"
        ),
        Failure::Lacks(name) => write!(room, "no GPU records: this libcupti has no {name}"),
        Failure::Failed(name, library::TAKEN) => {
            write!(room, "no GPU records: another profiler uses CUPTI ({name})")
        }
        Failure::Failed(name, code) => write!(room, "no GPU records: {name} failed with code {code}"),
    };
    let left = room.len();
    if written.is_ok() {
        note(writer, &line[..256 - left]);
    }
}

/// Writes a sentence for the reader of the trace.
pub fn note(writer: &mut Writer, text: &[u8]) {
    let text = texts::intern(writer, text);
    writer.append(spool::Note::KIND, text, &[spool::Note { at: interpose::monotonic() }.bytes()]);
}
