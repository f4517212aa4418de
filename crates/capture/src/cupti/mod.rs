//! What the GPU did, and the runtime's calls, from CUPTI's activity records.
//!
//! CUPTI serves one client. When the program becomes one (PyTorch's profiler), holdup stops to be one:
//! the wrapped driver calls and the watched locks are recorded still.

mod buffers;
mod ids;
mod library;
mod quiet;
mod records;

pub use buffers::Pace;
pub use library::Failure;

use crate::line::{Decimal, Line};
use crate::writer::{self, Writer};
use crate::{env, texts};
use interpose::Published;
use library::Cupti;
use records::kind;
use spool::Level;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64};

/// How often CUPTI hands out buffers that are full, ms. A program that is killed loses what is in the others, too.
const FLUSH_PERIOD: u32 = 200;

/// `CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM`
const KERNEL_THREAD_IDS: c_int = 1;
/// `CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED`
const MEMORY_IS_PINNED: c_int = 8;
/// `CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER`, from CUDA 12.3 on.
const PER_THREAD_BUFFERS: c_int = 9;

static CUPTI: Published<Cupti> = Published::new();
/// Records come in.
static ON: AtomicBool = AtomicBool::new(false);
/// What is added to the clock for CUPTI: nothing, or, once the program uses CUPTI itself, what
/// makes it the clock that CUPTI shows by default.
static CLOCK_OFFSET: AtomicI64 = AtomicI64::new(0);
/// Records of buffers that were handed out on a thread that could not write: in a signal handler, or with too many
/// threads before it.
static UNREAD: AtomicU64 = AtomicU64::new(0);
static VERSION: AtomicU32 = AtomicU32::new(0);
/// A [`Recorded`]; 0 before CUPTI was started.
static RECORDED: AtomicU32 = AtomicU32::new(0);

/// Starts recording through CUPTI what the level asks for.
pub fn start(writer: &mut Writer, level: Level) -> Result<(), Failure> {
    let recorded = Recorded::at(level);
    let cupti = library::first_that(|cupti| switch_on(cupti, recorded.kinds()))?;
    CUPTI.set(cupti);
    let cupti = CUPTI.get().unwrap_or(&cupti);
    // SAFETY: CUPTI's function.
    unsafe { (cupti.flush_period)(FLUSH_PERIOD) };
    if level == Level::Calls {
        quiet::switch_off(cupti);
    } else {
        ids::begin();
    }
    RECORDED.store(recorded as u32, Relaxed);
    buffers::make_ready();
    library::note_path(writer, cupti);
    Ok(())
}

/// What CUPTI records.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Recorded {
    Calls = 1,
    Operations = 2,
    Graphs = 3,
}

impl Recorded {
    /// At a level.
    fn at(level: Level) -> Recorded {
        match level {
            Level::Calls => Recorded::Calls,
            _ if env::text(spool::VAR_GRAPH_NODES) == Some(b"1") => Recorded::Operations,
            _ => Recorded::Graphs,
        }
    }

    /// Since CUPTI was started; `None` before.
    fn now() -> Option<Recorded> {
        let all = [Recorded::Calls, Recorded::Operations, Recorded::Graphs];
        all.into_iter().find(|recorded| *recorded as u32 == RECORDED.load(Relaxed))
    }

    /// The kinds of records.
    fn kinds(self) -> &'static [u32] {
        match self {
            Recorded::Calls => kind::WITH_CALLS,
            Recorded::Operations => kind::OPERATIONS,
            Recorded::Graphs => kind::WITH_GRAPHS,
        }
    }
}

fn switch_on(cupti: &Cupti, kinds: &[u32]) -> Result<(), Failure> {
    let check = |what: &'static str, code| if code == 0 { Ok(()) } else { Err(Failure::Failed(what, code)) };
    let mut version = 0;
    // SAFETY: CUPTI's functions, with arguments as its headers ask for; the callbacks are functions
    // of this library, which is never unloaded.
    unsafe {
        (cupti.version)(&mut version);
        check("cuptiActivityRegisterTimestampCallback", (cupti.timestamps)(timestamp))?;
        check("cuptiSetThreadIdType", (cupti.thread_ids)(KERNEL_THREAD_IDS))?;
        keep_times_on_host(cupti);
        buffers::begin(set(cupti, PER_THREAD_BUFFERS, 1));
        check("cuptiActivityRegisterCallbacks", (cupti.register)(buffers::request, complete))?;
        ON.store(true, Release);
        for kind in kinds {
            let code = (cupti.enable)(*kind as c_int);
            if code != 0 {
                stop_all(cupti);
                return Err(Failure::Failed("cuptiActivityEnable", code));
            }
        }
    }
    VERSION.store(version, Relaxed);
    Ok(())
}

/// Has CUPTI keep the times that the GPU writes in page-locked memory of the host, three buffers of 3.2 MB for each context, and not in
/// the device's, which is the program's. It costs no more time (H200, `benches/turns.py train`, four processes each: recorded steps of
/// 9.98 ms with the device's memory, 9.99 ms with the host's). A GPU that cannot do that (confidential computing) uses its own memory.
fn keep_times_on_host(cupti: &Cupti) {
    set(cupti, MEMORY_IS_PINNED, 1);
}

/// Sets an attribute of one byte; whether CUPTI has it.
fn set(cupti: &Cupti, attribute: c_int, mut value: u8) -> bool {
    let mut size = 1;
    // SAFETY: CUPTI's function, which reads a value of one byte.
    cupti.set_attribute.is_some_and(|set| unsafe { set(attribute, &mut size, (&raw mut value).cast()) } == 0)
}

/// CUPTI's numbers of a context and of a stream in it.
pub fn numbers(context: *mut c_void, stream: u64) -> Option<(u32, u32)> {
    let (true, Some(cupti)) = (ON.load(Acquire), CUPTI.get()) else { return None };
    let (mut context_number, mut stream_number) = (0, 0);
    // SAFETY: CUPTI's functions, which write the numbers; the driver gave the context, and knows the stream.
    let codes = unsafe {
        (
            (cupti.context_number)(context, &mut context_number),
            (cupti.stream_number)(context, stream as *mut c_void, 0, &mut stream_number),
        )
    };
    (codes == (0, 0)).then_some((context_number, stream_number))
}

/// CUPTI's version, 0 when it is not used.
pub fn version() -> u64 {
    VERSION.load(Relaxed).into()
}

fn stop_all(cupti: &Cupti) {
    ON.store(false, Release);
    for kind in kind::WITH_CALLS.iter().chain(kind::WITH_GRAPHS) {
        // SAFETY: CUPTI's function, with a kind it knows.
        unsafe { (cupti.disable)(*kind as c_int) };
    }
}

/// Has CUPTI make no records of what is issued from now on; those of what was issued before still come.
pub fn pause() {
    if let (true, Some(cupti), Some(recorded)) = (ON.load(Acquire), CUPTI.get(), Recorded::now()) {
        ids::pause();
        for kind in recorded.kinds() {
            // SAFETY: CUPTI's function, with a kind it knows.
            unsafe { (cupti.disable)(*kind as c_int) };
        }
    }
}

/// Has CUPTI make records again, and tell ids.
pub fn resume() {
    if let (true, Some(cupti), Some(recorded)) = (ON.load(Acquire), CUPTI.get(), Recorded::now()) {
        for kind in recorded.kinds() {
            // SAFETY: as above.
            let code = unsafe { (cupti.enable)(*kind as c_int) };
            if code != 0 {
                writer::here(|writer| explain(writer, Failure::Failed("cuptiActivityEnable", code)));
            }
        }
        if recorded != Recorded::Calls {
            ids::tell();
        }
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
    ids::end();
    CLOCK_OFFSET.store(crate::process::unix_offset(), Relaxed);
    true
}

/// In a fork's child: CUPTI does not work there.
///
/// # Safety
///
/// No thread of the child is known, as while it begins anew.
pub unsafe fn forget() {
    ON.store(false, Release);
    // SAFETY: the caller's promise.
    unsafe { CUPTI.forked() };
    UNREAD.store(0, Relaxed);
    records::forget();
    ids::forget();
}

/// In nanoseconds, which CUPTI reckons with itself.
unsafe extern "C-unwind" fn timestamp() -> u64 {
    (interpose::monotonic() + CLOCK_OFFSET.load(Relaxed)) as u64
}

unsafe extern "C-unwind" fn complete(_: *mut c_void, _: u32, buffer: *mut u8, room: usize, valid: usize) {
    if let (Some(cupti), false) = (CUPTI.get(), buffer.is_null()) {
        let is_read = writer::here(|writer| {
            // So that its times and the wrapped calls' stay comparable.
            writer.clock(interpose::moment());
            read(writer, cupti, buffer, valid);
        });
        if is_read.is_none() {
            UNREAD.fetch_add(pass_over(cupti, buffer, valid), Relaxed);
        }
    }
    buffers::give_back(buffer, room);
}

/// Writes what is in a buffer, and how many records were lost.
fn read(writer: &mut Writer, cupti: &Cupti, buffer: *mut u8, valid: usize) {
    let mut lost = 0;
    each(cupti, buffer, valid, |record| {
        // SAFETY: CUPTI gave it: a whole record of its own.
        lost += u64::from(!unsafe { records::write(writer, cupti, record) });
    });
    write_lost(writer, lost + dropped(cupti));
}

/// How many records of a buffer are lost, since the thread cannot write: another one will say so.
fn pass_over(cupti: &Cupti, buffer: *mut u8, valid: usize) -> u64 {
    let mut lost = 0;
    each(cupti, buffer, valid, |_| lost += 1);
    lost + dropped(cupti)
}

/// Calls `visit` with each record of a buffer.
fn each(cupti: &Cupti, buffer: *mut u8, valid: usize, mut visit: impl FnMut(*const u8)) {
    let mut record = null_mut();
    // SAFETY: CUPTI walks its own buffer.
    while unsafe { (cupti.next)(buffer, valid, &mut record) } == 0 && !record.is_null() {
        visit(record);
    }
}

/// How many records CUPTI dropped since it was last asked.
fn dropped(cupti: &Cupti) -> u64 {
    let mut dropped = 0;
    // SAFETY: CUPTI writes a number.
    let code = unsafe { (cupti.dropped)(null_mut(), 0, &mut dropped) };
    if code == 0 { dropped as u64 } else { 0 }
}

/// Writes how many records were lost, with those of buffers that nobody could read.
fn write_lost(writer: &mut Writer, lost: u64) {
    let count = lost + UNREAD.swap(0, Relaxed);
    if count > 0 && !writer.append(spool::Dropped::KIND, 0, &[spool::Dropped { count }.bytes()]) {
        UNREAD.fetch_add(count, Relaxed);
    }
}

/// The process ends: writes how many records nobody could read.
pub fn end(writer: &mut Writer) {
    write_lost(writer, 0);
}

/// Writes a sentence about why there are no GPU records.
pub fn explain(writer: &mut Writer, failure: Failure) {
    let missing = "libcupti was not found (install the CUDA toolkit or the nvidia-cuda-cupti wheel)";
    let code = Decimal::of(if let Failure::Failed(_, code) = failure { code.into() } else { 0 });
    let [first, second, third]: [&[u8]; 3] = match failure {
        Failure::Missing => [missing.as_bytes(), b"", b""],
        Failure::Lacks(name) => [b"this libcupti has no ", name.as_bytes(), b""],
        Failure::Failed(name, library::TAKEN) => [b"another profiler uses CUPTI (", name.as_bytes(), b")"],
        Failure::Failed(name, _) => [name.as_bytes(), b" failed with code ", code.bytes()],
    };
    if let Some(line) = Line::<256>::of(&[b"no GPU records: ", first, second, third]) {
        note(writer, line.bytes());
    }
}

/// Writes a sentence for the reader of the trace.
pub fn note(writer: &mut Writer, text: &[u8]) {
    let text = texts::intern(writer, text);
    writer.append(spool::Note::KIND, text, &[spool::Note { at: interpose::monotonic() }.bytes()]);
}
