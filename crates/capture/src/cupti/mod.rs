//! GPU operations and the runtime's calls, from CUPTI's activity records.
//!
//! CUPTI serves one client. When the program becomes one (PyTorch's profiler), holdup stops to be one:
//! the wrapped driver calls and the watched locks are recorded still.

mod buffers;
mod client;
mod ids;
mod layout;
mod library;
mod quiet;
mod records;
mod unified;

pub use library::Failure;

use crate::sys::env;
use crate::sys::fixed_text::{Decimal, FixedText};
use crate::write::process::{self, STATE};
use crate::write::writer::Writer;
use crate::write::{notes, switch, thread_writer};
use client::{CUPTI, ON};
use layout::{Cut, Misfit, RawRecord, Version, kind};
use library::Cupti;
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

/// Offset added to the clock for CUPTI: 0, or, once the program uses CUPTI itself, the offset that
/// makes it the clock that CUPTI shows by default.
static CLOCK_OFFSET: AtomicI64 = AtomicI64::new(0);
/// Records of buffers that were handed out on a thread that could not write: in a signal handler, or with too many
/// threads before it.
static UNREAD: AtomicU64 = AtomicU64::new(0);
static VERSION: AtomicU32 = AtomicU32::new(0);
/// Records have layouts that are not known: none is read from now on.
static MISFIT: AtomicBool = AtomicBool::new(false);
/// Number of the [`Activities`]; 0 before CUPTI was started.
static ACTIVITIES: AtomicU32 = AtomicU32::new(0);

/// Starts recording through CUPTI what the level asks for.
pub fn start(writer: &mut Writer, level: Level) -> Result<(), Failure> {
    let activities = Activities::at(level);
    let cupti = library::first_that(|cupti| switch_on(cupti, activities.kinds()))?;
    CUPTI.set(cupti);
    let cupti = CUPTI.get().unwrap_or(&cupti);
    // SAFETY: CUPTI's function.
    unsafe { (cupti.flush_period)(FLUSH_PERIOD) };
    if level == Level::Calls {
        quiet::switch_off(cupti);
    } else {
        ids::begin();
    }
    ACTIVITIES.store(activities as u32, Relaxed);
    buffers::make_ready();
    library::note_path(writer, cupti);
    Ok(())
}

/// Activities that CUPTI records.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Activities {
    Calls = 1,
    Operations = 2,
    Graphs = 3,
}

impl Activities {
    /// At a level.
    fn at(level: Level) -> Activities {
        match level {
            Level::Calls => Activities::Calls,
            _ if env::text(spool::VAR_GRAPH_NODES) == Some(b"1") => Activities::Operations,
            _ => Activities::Graphs,
        }
    }

    /// Since CUPTI was started; `None` before.
    fn now() -> Option<Activities> {
        let all = [Activities::Calls, Activities::Operations, Activities::Graphs];
        all.into_iter().find(|activities| *activities as u32 == ACTIVITIES.load(Relaxed))
    }

    /// The kinds of records.
    fn kinds(self) -> &'static [u32] {
        match self {
            Activities::Calls => kind::WITH_CALLS,
            Activities::Operations => kind::OPERATIONS,
            Activities::Graphs => kind::WITH_GRAPHS,
        }
    }

    /// The kinds of records that are switched off and on while the program runs.
    fn switched(self) -> impl Iterator<Item = &'static u32> {
        self.kinds().iter().filter(|kind| **kind != kind::GRAPH_TRACE).chain(unified::kind())
    }
}

fn check(what: &'static str, code: c_int) -> Result<(), Failure> {
    if code == 0 { Ok(()) } else { Err(Failure::Failed(what, code)) }
}

/// The number of a copy's version, whose records are known or checked.
fn number_of(cupti: &Cupti) -> Result<u32, Failure> {
    let mut number = 0;
    // SAFETY: CUPTI writes a number.
    check("cuptiGetVersion", unsafe { (cupti.version)(&mut number) })?;
    Version::of(number).map(|_| number).ok_or(Failure::Old(number))
}

fn switch_on(cupti: &Cupti, kinds: &[u32]) -> Result<(), Failure> {
    // Buffers may come before this returns.
    VERSION.store(number_of(cupti)?, Relaxed);
    let is_on = ask_for(cupti, kinds);
    if is_on.is_err() {
        VERSION.store(0, Relaxed);
    }
    is_on
}

/// Has CUPTI make records.
fn ask_for(cupti: &Cupti, kinds: &[u32]) -> Result<(), Failure> {
    // SAFETY: CUPTI's functions, with arguments as its headers ask for; the callbacks are functions
    // of this library, which is never unloaded.
    unsafe {
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
///
/// # Safety
///
/// The driver gave the context, and knows the stream in it.
pub unsafe fn numbers(context: *mut c_void, stream: u64) -> Option<(u32, u32)> {
    let (true, Some(cupti)) = (ON.load(Acquire), CUPTI.get()) else { return None };
    let (mut context_number, mut stream_number) = (0, 0);
    // SAFETY: CUPTI's functions, which write the numbers; the rest is the caller's promise.
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
    for kind in kind::WITH_CALLS.iter().chain(kind::WITH_GRAPHS).chain(unified::kind()) {
        // SAFETY: CUPTI's function, with a kind it knows.
        unsafe { (cupti.disable)(*kind as c_int) };
    }
}

/// Has CUPTI make no records of what is issued from now on; those of what was issued before still come. It goes on to tell ids
/// and to record graphs: where either was switched while other threads launched, copied and replayed graphs, the program was
/// ended by signal 11 within seconds (H200, driver 580.159.04).
pub fn pause() {
    if let (true, Some(cupti), Some(activities)) = (ON.load(Acquire), CUPTI.get(), Activities::now()) {
        for kind in activities.switched() {
            // SAFETY: CUPTI's function, with a kind it knows.
            unsafe { (cupti.disable)(*kind as c_int) };
        }
    }
}

/// Has CUPTI make records again.
pub fn resume() {
    if MISFIT.load(Relaxed) {
        return;
    }
    if let (true, Some(cupti), Some(activities)) = (ON.load(Acquire), CUPTI.get(), Activities::now()) {
        for kind in activities.switched() {
            // SAFETY: as above.
            let code = unsafe { (cupti.enable)(*kind as c_int) };
            if code != 0 {
                thread_writer::here(|writer| explain(writer, Failure::Failed("cuptiActivityEnable", code)));
            }
        }
    }
}

/// The program allocated unified memory: has CUPTI record how it migrates, at levels that have the GPU's operations.
pub fn has_unified_memory() {
    unified::record(!matches!(Activities::now(), None | Some(Activities::Calls)));
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
    CLOCK_OFFSET.store(crate::write::process::unix_offset(), Relaxed);
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
    MISFIT.store(false, Relaxed);
    records::forget();
    unified::forget();
    ids::forget();
}

/// In nanoseconds, which CUPTI reckons with itself.
unsafe extern "C-unwind" fn timestamp() -> u64 {
    (interpose::monotonic() + CLOCK_OFFSET.load(Relaxed)) as u64
}

unsafe extern "C-unwind" fn complete(_: *mut c_void, _: u32, buffer: *mut u8, room: usize, valid: usize) {
    if let (Some(cupti), false) = (CUPTI.get(), buffer.is_null()) {
        // SAFETY: a buffer of `request`, which is initialized, and which CUPTI gives back: nobody writes to it.
        let handed = HandedBuffer(unsafe { std::slice::from_raw_parts(buffer, valid.min(room)) });
        let is_read = thread_writer::here(|writer| {
            // So that its times and the wrapped calls' stay comparable.
            writer.clock(interpose::moment());
            read(writer, cupti, &handed);
        });
        if is_read.is_none() {
            UNREAD.fetch_add(pass_over(cupti, &handed), Relaxed);
        }
    }
    // SAFETY: CUPTI gives it back, and what was read of it is written.
    unsafe { buffers::give_back(buffer, room) };
}

/// The valid part of a buffer that CUPTI handed out, until it is given back.
struct HandedBuffer<'a>(&'a [u8]);

impl<'a> HandedBuffer<'a> {
    /// Calls `visit` with each record; returns how many cannot be found.
    fn each(&self, cupti: &Cupti, mut visit: impl FnMut(RawRecord<'a>)) -> u64 {
        let (mut cut, mut record) = (Cut::new(self.0), null_mut::<u8>());
        // SAFETY: CUPTI walks its own buffer.
        let next =
            |record: &mut *mut u8| unsafe { (cupti.next)(self.0.as_ptr().cast_mut(), self.0.len(), record) };
        while next(&mut record) == 0 && !record.is_null() {
            match cut.begin(record.addr().wrapping_sub(self.0.as_ptr().addr())) {
                Ok(before) => before.into_iter().for_each(&mut visit),
                // And the one before, whose end is not known.
                Err(_) => return 1 + u64::from(cut.end().is_some()),
            }
        }
        cut.end().into_iter().for_each(visit);
        0
    }
}

/// Writes what is in a buffer, and how many records were lost.
fn read(writer: &mut Writer, cupti: &Cupti, handed: &HandedBuffer<'_>) {
    if MISFIT.load(Relaxed) {
        return write_lost(writer, pass_over(cupti, handed));
    }
    let version = Version::of(VERSION.load(Relaxed)).unwrap_or(Version::Other);
    let (mut lost, mut misfit) = (0, None);
    let hidden = handed.each(cupti, |record| match record.check(version) {
        // SAFETY: CUPTI handed it out; it was checked.
        Ok(()) => lost += u64::from(!unsafe { records::write(writer, cupti, record) }),
        Err(why) => {
            lost += 1;
            misfit = misfit.or(Some(why)).filter(|why| matches!(why, Misfit::Shrunk { .. }));
        }
    });
    write_lost(writer, lost + hidden + dropped(cupti));
    if let Some(Misfit::Shrunk { kind, size, expected }) = misfit {
        refuse(writer, [kind as usize, size, expected]);
    }
}

/// Records of a version that is not known are shorter than they were: nothing that CUPTI hands out is read from now on. It is
/// not switched off: this is within a call of CUPTI's own.
#[cold]
fn refuse(writer: &mut Writer, numbers: [usize; 3]) {
    if MISFIT.swap(true, Relaxed) {
        return;
    }
    STATE.is_joined.store(false, Relaxed);
    STATE.tells_ids.store(false, Relaxed);
    STATE.level.store(Level::Light as u32, Release);
    process::set_level(Level::Light);
    switch::shorten_launches();
    let [kind, size, expected] = numbers.map(|number| Decimal::of(number as i64));
    let version = Decimal::of(VERSION.load(Relaxed).into());
    let parts = [
        b"no GPU records from here on: libcupti of version ",
        version.bytes(),
        b" is newer than this holdup knows, and its records of kind ",
        kind.bytes(),
        b" have ",
        size.bytes(),
        b" bytes instead of ",
        expected.bytes(),
        b": update holdup, or use libcupti of CUDA 13.5",
    ];
    if let Some(line) = FixedText::<256>::of(&parts) {
        notes::note(writer, line.bytes());
    }
}

/// How many records of a buffer are lost, since they are not read.
fn pass_over(cupti: &Cupti, handed: &HandedBuffer<'_>) -> u64 {
    let mut lost = 0;
    let hidden = handed.each(cupti, |_| lost += 1);
    lost + hidden + dropped(cupti)
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
    let number = Decimal::of(match failure {
        Failure::Failed(_, code) => code.into(),
        Failure::Old(version) => version.into(),
        Failure::Missing | Failure::Lacks(_) => 0,
    });
    let [first, second, third]: [&[u8]; 3] = match failure {
        Failure::Missing => [missing.as_bytes(), b"", b""],
        Failure::Lacks(name) => [b"this libcupti has no ", name.as_bytes(), b""],
        Failure::Failed(name, library::TAKEN) => [b"another profiler uses CUPTI (", name.as_bytes(), b")"],
        Failure::Failed(name, _) => [name.as_bytes(), b" failed with code ", number.bytes()],
        Failure::Old(_) => [
            b"libcupti of version ",
            number.bytes(),
            b" is older than that of CUDA 12.0: install a newer one",
        ],
    };
    if let Some(line) = FixedText::<256>::of(&[b"no GPU records: ", first, second, third]) {
        notes::note(writer, line.bytes());
    }
}
