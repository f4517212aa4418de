//! NVTX: the ranges and thread names that a program marks. The NVTX headers in the program load the
//! library named in `NVTX_INJECTION64_PATH` and let it fill in their table of functions
//! (nvtxTypes.h: `NvtxExportTableCallbacks`, `NvtxCallbackIdCore`, `NvtxCallbackIdCore2`).

use crate::write::writer::{MOST_RANGES, Writer};
use crate::write::{before_start, switch, texts, thread_writer};
use interpose::Ticks;
use libc::{c_char, c_int, c_void};
use spool::{Range, ThreadName};
use std::ffi::CStr;
use std::ptr::null_mut;

/// `NVTX_ETID_CALLBACKS`
const CALLBACKS: u32 = 1;
/// `NVTX_CB_MODULE_CORE` and `_CORE2`
const CORE: c_int = 1;
const CORE2: c_int = 5;

#[repr(C)]
struct Callbacks {
    size: usize,
    table: Option<unsafe extern "C-unwind" fn(c_int, *mut *mut *mut *const c_void, *mut u32) -> c_int>,
}

/// `nvtxEventAttributes_t`, as far as it is read.
#[repr(C)]
struct Attributes {
    version: u16,
    size: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_char,
}

const ASCII: i32 = 1;
const REGISTERED: i32 = 3;

/// Fills in the program's table of NVTX functions; 1 when it could.
///
/// # Safety
///
/// Called by the NVTX headers with their own `getExportTable`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn InitializeInjectionNvtx2(
    export: Option<unsafe extern "C-unwind" fn(u32) -> *const c_void>,
) -> c_int {
    let Some(export) = export else { return 0 };
    // SAFETY: the NVTX headers' own function; the table it gives lives as long as the program.
    let Some(callbacks) = (unsafe { export(CALLBACKS).cast::<Callbacks>().as_ref() }) else { return 0 };
    let Some(table) = callbacks.table.filter(|_| callbacks.size >= size_of::<Callbacks>()) else { return 0 };
    let core: [(usize, *const c_void); 7] = [
        (4, range_start_ex as *const c_void),
        (5, range_start as *const c_void),
        (7, range_end as *const c_void),
        (8, push_ex as *const c_void),
        (9, push as *const c_void),
        (11, pop as *const c_void),
        (14, name_thread as *const c_void),
    ];
    let core2: [(usize, *const c_void); 6] = [
        (2, domain_range_start as *const c_void),
        (3, domain_range_end as *const c_void),
        (4, domain_push as *const c_void),
        (5, domain_pop as *const c_void),
        (10, register_string as *const c_void),
        (12, create_domain as *const c_void),
    ];
    // SAFETY: as above.
    unsafe {
        install(table, CORE, &core);
        install(table, CORE2, &core2);
    }
    1
}

/// # Safety
///
/// `table` is NVTX's, and the functions have the types of their numbers.
unsafe fn install(
    table: unsafe extern "C-unwind" fn(c_int, *mut *mut *mut *const c_void, *mut u32) -> c_int,
    module: c_int,
    functions: &[(usize, *const c_void)],
) {
    let (mut slots, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: NVTX fills in an array of `size` places, each null or the address of a pointer.
    unsafe {
        if table(module, &mut slots, &mut size) == 0 || slots.is_null() {
            return;
        }
        for (number, function) in functions {
            if *number < size as usize {
                let slot = *slots.add(*number);
                if !slot.is_null() {
                    *slot = *function;
                }
            }
        }
    }
}

/// The number of a text; 0 for null.
///
/// # Safety
///
/// `text` is null or ends in a zero byte.
unsafe fn text(writer: &mut Writer, text: *const c_char) -> u32 {
    match text.is_null() {
        true => 0,
        // SAFETY: the caller's promise.
        false => texts::intern(writer, unsafe { CStr::from_ptr(text) }.to_bytes()),
    }
}

/// In a handle, beside the number of a text from before the start; other handles are ids of texts.
const BEFORE_START: usize = 1 << 32;

/// A handle of a string or a domain.
///
/// # Safety
///
/// Conditions of [`text`]: `name` is null or ends in a zero byte.
unsafe fn handle(name: *const c_char) -> *mut c_void {
    // SAFETY: the caller's promise.
    let handle = thread_writer::here(|writer| unsafe { text(writer, name) } as usize);
    // SAFETY: as above.
    handle.or_else(|| unsafe { keep_before_start(name, 0) }).unwrap_or(0) as *mut c_void
}

/// Keeps a text for when recording starts, as the name of a thread if its id is given; its handle.
///
/// # Safety
///
/// Conditions of [`text`]: `name` is null or ends in a zero byte.
unsafe fn keep_before_start(name: *const c_char, tid: u32) -> Option<usize> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    Some(before_start::keep(name, tid)? as usize | BEFORE_START)
}

/// The text that a handle stands for.
fn text_of(writer: &mut Writer, handle: usize) -> u32 {
    match handle & BEFORE_START {
        0 => handle as u32,
        _ => before_start::text(handle as u32).map_or(0, |text| texts::intern(writer, text)),
    }
}

/// Recording begins: says the names that threads have already.
pub fn begin(writer: &mut Writer) {
    before_start::thread_names().for_each(|(tid, name)| {
        let name = texts::intern(writer, name);
        write_thread_name(writer, tid, name);
    });
}

fn write_thread_name(writer: &mut Writer, tid: u32, name: u32) {
    writer.append(ThreadName::KIND, name, &[ThreadName { tid: tid.into() }.bytes()]);
}

/// The text of a range.
///
/// # Safety
///
/// `attributes` is null or a whole struct, whose message is what its type says.
unsafe fn message(writer: &mut Writer, attributes: *const Attributes) -> u32 {
    // SAFETY: the caller's promise.
    match unsafe { attributes.as_ref() } {
        // SAFETY: the caller's promise: a string.
        Some(given) if given.message_type == ASCII => unsafe { text(writer, given.message) },
        Some(given) if given.message_type == REGISTERED => text_of(writer, given.message as usize),
        _ => 0,
    }
}

/// Opens a range; `name` writes its text, unless recording is off: then it is not recorded.
fn open(writer: &mut Writer, name: impl FnOnce(&mut Writer) -> u32) -> c_int {
    let depth = writer.rest().depth;
    let opened = if switch::is_off() { UNRECORDED } else { (name(writer), interpose::now()) };
    if let Some(range) = writer.rest().ranges.get_mut(depth) {
        *range = opened;
    }
    writer.rest().depth += 1;
    depth as c_int
}

/// The text and start of a range that is not recorded.
const UNRECORDED: (u32, Ticks) = (0, Ticks::MIN);

fn close(writer: &mut Writer, domain: *mut c_void) -> c_int {
    let Some(depth) = writer.rest().depth.checked_sub(1) else { return -1 };
    writer.rest().depth = depth;
    if depth < MOST_RANGES {
        let (range, end) = (writer.rest().ranges[depth % MOST_RANGES], interpose::now());
        if range != UNRECORDED {
            write_range(writer, range.0, range.1, end, domain);
        }
    }
    depth as c_int
}

fn write_range(writer: &mut Writer, name: u32, start: Ticks, end: Ticks, domain: *mut c_void) {
    let domain = text_of(writer, domain as usize).into();
    writer.append(Range::KIND, name, &[Range { start, end, domain }.bytes()]);
}

unsafe extern "C-unwind" fn push(name: *const c_char) -> c_int {
    // SAFETY: NVTX's caller gives null or a string.
    thread_writer::here(|writer| open(writer, |writer| unsafe { text(writer, name) })).unwrap_or(-1)
}

unsafe extern "C-unwind" fn push_ex(attributes: *const Attributes) -> c_int {
    // SAFETY: NVTX's caller gives null or a whole struct.
    thread_writer::here(|writer| open(writer, |writer| unsafe { message(writer, attributes) })).unwrap_or(-1)
}

unsafe extern "C-unwind" fn pop() -> c_int {
    thread_writer::here(|writer| close(writer, null_mut())).unwrap_or(-1)
}

unsafe extern "C-unwind" fn domain_push(_: *mut c_void, attributes: *const Attributes) -> c_int {
    // SAFETY: same contract.
    unsafe { push_ex(attributes) }
}

unsafe extern "C-unwind" fn domain_pop(domain: *mut c_void) -> c_int {
    thread_writer::here(|writer| close(writer, domain)).unwrap_or(-1)
}

/// Ranges that start on one thread and end on another are kept by their number: the upper half is
/// the text, the lower the start in units of 4,096 ticks, which wraps after an hour even at 4.8 GHz.
fn started(name: u32) -> u64 {
    u64::from(name) << 32 | (interpose::now() as u64 >> UNIT) & 0xffff_ffff
}

/// Shift of that unit.
const UNIT: u32 = 12;

unsafe extern "C-unwind" fn range_start(name: *const c_char) -> u64 {
    if switch::is_off() {
        return 0;
    }
    // SAFETY: NVTX's caller gives null or a string.
    thread_writer::here(|writer| started(unsafe { text(writer, name) })).unwrap_or(0)
}

unsafe extern "C-unwind" fn range_start_ex(attributes: *const Attributes) -> u64 {
    if switch::is_off() {
        return 0;
    }
    // SAFETY: NVTX's caller gives null or a whole struct.
    thread_writer::here(|writer| started(unsafe { message(writer, attributes) })).unwrap_or(0)
}

unsafe extern "C-unwind" fn range_end(id: u64) {
    end(id, null_mut());
}

unsafe extern "C-unwind" fn domain_range_start(_: *mut c_void, attributes: *const Attributes) -> u64 {
    // SAFETY: same contract.
    unsafe { range_start_ex(attributes) }
}

unsafe extern "C-unwind" fn domain_range_end(domain: *mut c_void, id: u64) {
    end(id, domain);
}

fn end(id: u64, domain: *mut c_void) {
    let now = interpose::now();
    let passed = ((now as u64 >> UNIT) as u32).wrapping_sub(id as u32);
    let start = now - (i64::from(passed) << UNIT);
    if id != 0 {
        thread_writer::here(|writer| {
            write_range(writer, (id >> 32) as u32, start, now, domain);
        });
    }
}

unsafe extern "C-unwind" fn name_thread(tid: u32, name: *const c_char) {
    let written = thread_writer::here(|writer| {
        // SAFETY: NVTX's caller gives null or a string.
        let name = unsafe { text(writer, name) };
        write_thread_name(writer, tid, name);
    });
    if written.is_none() {
        // SAFETY: as above.
        unsafe { keep_before_start(name, tid) };
    }
}

unsafe extern "C-unwind" fn register_string(_: *mut c_void, string: *const c_char) -> *mut c_void {
    // SAFETY: NVTX's caller gives null or a string.
    unsafe { handle(string) }
}

unsafe extern "C-unwind" fn create_domain(name: *const c_char) -> *mut c_void {
    // SAFETY: NVTX's caller gives null or a string.
    unsafe { handle(name) }
}
