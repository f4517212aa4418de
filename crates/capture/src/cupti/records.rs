//! CUPTI's activity records into the spool's. Each record is checked: one whose times make no sense is counted as dropped.

use super::layout::{RawRecord, kind};
use super::library::Cupti;
use super::quiet;
use super::unified;
use crate::write::texts;
use crate::write::writer::Writer;
use spool::{ApiCall, Copy, Fill, Graph, Kernel, Overhead, Sync};
use std::ffi::{CStr, c_char};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Writes one record, unless it is one of those left out; false when it makes no sense.
///
/// # Safety
///
/// CUPTI handed `record` out and has not got its buffer back, and [`RawRecord::check`] accepted it.
pub unsafe fn write(writer: &mut Writer, cupti: &Cupti, record: RawRecord<'_>) -> bool {
    match record.kind() {
        which @ (kind::RUNTIME | kind::DRIVER) => call(writer, cupti, record, which == kind::RUNTIME),
        // SAFETY: the caller's promise.
        kind::CONCURRENT_KERNEL => unsafe { kernel(writer, record) },
        kind::MEMCPY => copy(writer, record, 44, 64),
        kind::MEMCPY_PEER => copy(writer, record, 60, 72),
        kind::MEMSET => fill(writer, record),
        kind::SYNCHRONIZATION => sync(writer, record),
        kind::OVERHEAD => overhead(writer, record),
        kind::GRAPH_TRACE => graph(writer, record),
        kind::UNIFIED_MEMORY => migration(writer, record),
        kind::CUDA_EVENT => true,
        _ => false,
    }
}

/// Whether an interval can be one. GPU work that did not end has no times.
fn sane(start: i64, end: i64) -> bool {
    start > 0 && start <= end
}

/// Names of runtime and driver functions by CUPTI's number, as ids of texts; `LEFT_OUT` for those whose
/// calls are not recorded.
static NAMES: [[AtomicU32; 2048]; 2] = [const { [const { AtomicU32::new(0) }; 2048] }; 2];
const LEFT_OUT: u32 = u32::MAX;

fn call(writer: &mut Writer, cupti: &Cupti, raw: RawRecord<'_>, runtime: bool) -> bool {
    let (start, end) = (raw.time(8), raw.time(16));
    if !sane(start, end) {
        return false;
    }
    let Some(known) = NAMES[usize::from(runtime)].get(raw.u32(4) as usize) else { return false };
    let mut name = known.load(Relaxed);
    if name == 0 {
        let function = function_name(cupti, runtime, raw.u32(4));
        name = if quiet::is_quiet(function) { LEFT_OUT } else { texts::intern(writer, function) };
        known.store(name, Relaxed);
    }
    if name == LEFT_OUT {
        return true;
    }
    let record = ApiCall {
        start,
        end,
        correlation: raw.u32(32),
        tid: raw.u32(28),
        result: raw.u32(36) as i32,
        runtime: runtime.into(),
    };
    writer.append(ApiCall::KIND, name, &[record.bytes()]);
    true
}

fn function_name(cupti: &Cupti, runtime: bool, number: u32) -> &'static [u8] {
    let domain = if runtime { 2 } else { 1 };
    let mut name: *const c_char = std::ptr::null();
    // SAFETY: CUPTI's names live as long as it does.
    unsafe {
        let code = (cupti.callback_name)(domain, number, &mut name);
        if code == 0 && !name.is_null() { CStr::from_ptr(name).to_bytes() } else { b"unknown function" }
    }
}

/// Writes a kernel.
///
/// # Safety
///
/// The contract of [`write()`].
unsafe fn kernel(writer: &mut Writer, raw: RawRecord<'_>) -> bool {
    let (start, end, name) = (raw.time(16), raw.time(24), raw.u64(104) as *const c_char);
    if !sane(start, end) {
        return false;
    }
    let name: &[u8] = match name.is_null() {
        true => b"",
        // SAFETY: the caller's promise: CUPTI wrote the name's address at this offset. Kernel names end in a zero byte and
        // live as long as their module.
        false => unsafe { CStr::from_ptr(name) }.to_bytes(),
    };
    let record = Kernel {
        start,
        end,
        correlation: raw.u32(92),
        device: raw.u32(40),
        context: raw.u32(44),
        stream: raw.u32(48),
        grid_x: raw.u32(52),
        grid_y: raw.u32(56),
        grid_z: raw.u32(60),
        block_x: raw.u32(64),
        block_y: raw.u32(68),
        block_z: raw.u32(72),
        registers: raw.u16(6),
        static_shared: raw.u32(76),
        dynamic_shared: raw.u32(80),
        zero: 0,
        graph_node: raw.u64(144),
    };
    let name = texts::intern(writer, name);
    writer.append(Kernel::KIND, name, &[record.bytes()]);
    true
}

/// A copy, whose correlation id and graph node lie at the given offsets.
fn copy(writer: &mut Writer, raw: RawRecord<'_>, correlation: usize, node: usize) -> bool {
    let (start, end) = (raw.time(16), raw.time(24));
    if !sane(start, end) {
        return false;
    }
    let record = Copy {
        start,
        end,
        bytes: raw.u64(8),
        correlation: raw.u32(correlation),
        device: raw.u32(32),
        context: raw.u32(36),
        stream: raw.u32(40),
        direction: raw.u8(4),
        kinds: raw.u8(5) | raw.u8(6) << 16,
        graph_node: raw.u64(node),
    };
    writer.append(Copy::KIND, 0, &[record.bytes()]);
    true
}

/// A migration of unified memory (`CUpti_ActivityUnifiedMemoryCounter2`), as a copy of no call and in no stream: the number of its direction
/// is Nsight Systems'. Other counters are left out.
fn migration(writer: &mut Writer, raw: RawRecord<'_>) -> bool {
    let (start, end, source, destination) = (raw.time(16), raw.time(24), raw.u32(40), raw.u32(44));
    let (direction, device) = match raw.u32(4) {
        unified::TO_DEVICE => (11, destination),
        unified::TO_HOST => (12, source),
        unified::BETWEEN_DEVICES => (13, destination),
        _ => return true,
    };
    if !sane(start, end) {
        return false;
    }
    let record = Copy { start, end, bytes: raw.u64(8), device, direction, ..Copy::default() };
    writer.append(Copy::KIND, 0, &[record.bytes()]);
    true
}

fn fill(writer: &mut Writer, raw: RawRecord<'_>) -> bool {
    let (start, end) = (raw.time(16), raw.time(24));
    if !sane(start, end) {
        return false;
    }
    let record = Fill {
        start,
        end,
        bytes: raw.u64(8),
        correlation: raw.u32(44),
        device: raw.u32(32),
        context: raw.u32(36),
        stream: raw.u32(40),
        memory: raw.u16(50),
        zero: 0,
        graph_node: raw.u64(64),
    };
    writer.append(Fill::KIND, 0, &[record.bytes()]);
    true
}

/// `CUpti_ActivityGraphTrace`
fn graph(writer: &mut Writer, raw: RawRecord<'_>) -> bool {
    let (start, end) = (raw.time(8), raw.time(16));
    if !sane(start, end) {
        return false;
    }
    let record = Graph {
        start,
        end,
        correlation: raw.u32(4),
        device: raw.u32(24),
        context: raw.u32(32),
        stream: raw.u32(36),
        graph: raw.u32(28),
        zero: 0,
    };
    writer.append(Graph::KIND, 0, &[record.bytes()]);
    true
}

fn sync(writer: &mut Writer, raw: RawRecord<'_>) -> bool {
    let (start, end) = (raw.time(8), raw.time(16));
    let record = Sync {
        start,
        end,
        correlation: raw.u32(24),
        context: raw.u32(28),
        stream: raw.u32(32),
        event: raw.u32(36),
    };
    if sane(start, end) {
        writer.append(Sync::KIND, raw.u32(4), &[record.bytes()]);
    }
    sane(start, end)
}

fn overhead(writer: &mut Writer, raw: RawRecord<'_>) -> bool {
    const OBJECT_THREAD: u32 = 2;
    let (start, end) = (raw.time(24), raw.time(32));
    let tid = if raw.u32(8) == OBJECT_THREAD { raw.u32(16) } else { 0 };
    if sane(start, end) {
        writer.append(Overhead::KIND, raw.u32(4), &[Overhead { start, end, tid: tid.into() }.bytes()]);
    }
    sane(start, end)
}

/// In a fork's child: its file holds no text yet.
pub fn forget() {
    let named = NAMES.iter().flatten().filter(|name| name.load(Relaxed) != 0);
    named.for_each(|name| name.store(0, Relaxed));
}
