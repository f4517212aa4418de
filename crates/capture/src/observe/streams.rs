//! By which number CUPTI knows each stream: the GPU's operations are joined with the calls that issued them by it. And
//! which streams capture: what is called for them issues nothing.

use crate::cupti;
use crate::observe::driver;
use crate::observe::functions::{LEGACY_STREAM, OWN_STREAM};
use crate::observe::shapes::Shape;
use crate::write::process::STATE;
use crate::write::writer::Writer;
use libc::c_void;
use spool::{Call, StreamNumber, call};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Most streams that are known; the numbers of further ones are written again and again.
const MOST: usize = 1 << 12;
/// How many places a stream may have.
const PROBES: usize = 16;

/// Handles whose numbers were written.
static KNOWN: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];

/// A call is over, at level full: writes the number of the stream that it names, or runs in, unless it is known. What the
/// call's flags say of it.
pub fn look(writer: &mut Writer, shape: Shape, record: &Call) -> u32 {
    writer.meet_streams_of(EPOCH.load(Relaxed));
    match shape {
        Shape::CaptureBegin if record.result == 0 => _ = STATE.captures.fetch_add(1, Relaxed),
        Shape::CaptureEnd if ends_capture(record.result) => {
            _ = STATE.captures.fetch_update(Relaxed, Relaxed, |count| count.checked_sub(1));
        }
        // A handle may be that of a stream that was destroyed.
        Shape::StreamCreate => number(writer, record.stream),
        Shape::SetContext => writer.forget_default_stream(),
        _ => {}
    }
    if record.flags & call::HAS_STREAM != 0 {
        if !writer.is_last_stream(record.stream) {
            meet(writer, record.stream);
        }
    } else if shape.runs_in_default() {
        meet(writer, 0);
    }
    if !shape.issues() {
        return 0;
    }
    let has_stream = record.flags & call::HAS_STREAM != 0;
    let captured = if has_stream && is_captured(record.stream) { call::CAPTURED } else { 0 };
    captured | if record.correlation != 0 && STATE.checks_join.load(Relaxed) { call::CHECKED } else { 0 }
}

/// A number by which a handle is found.
#[inline]
fn place(stream: u64) -> usize {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    (stream.wrapping_mul(FACTOR) >> 40) as usize
}

/// Whether a call ended a capture, by its result: one that was invalidated ends with an error of its own.
fn ends_capture(result: i32) -> bool {
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` to `_WRONG_THREAD`
    const OF_CAPTURES: std::ops::RangeInclusive<i32> = 900..=908;
    result == 0 || OF_CAPTURES.contains(&result)
}

/// Whether what is called for a stream becomes a node of a graph.
#[inline]
pub fn is_captured(stream: u64) -> bool {
    STATE.captures.load(Relaxed) > 0 && stream > LEGACY_STREAM && driver::is_capturing(stream)
}

/// Writes the number of a stream that the thread has not used just before.
fn meet(writer: &mut Writer, stream: u64) {
    if stream > OWN_STREAM {
        if !is_known(stream) {
            number(writer, stream);
        }
    } else if let Some(context) = driver::current_context()
        && writer.is_new_default(stream, context.addr())
    {
        write(writer, stream, context);
    }
}

fn number(writer: &mut Writer, stream: u64) {
    if let Some(context) = driver::stream_context(stream) {
        write(writer, stream, context);
    }
}

fn write(writer: &mut Writer, stream: u64, context: *mut c_void) {
    // SAFETY: the driver names this context as the stream's, or as the thread's current one.
    if let Some((context, number)) = unsafe { cupti::numbers(context, stream) } {
        let tid = writer.rest().tid;
        let record = StreamNumber { stream, at: interpose::now(), context, tid };
        writer.append(StreamNumber::KIND, number, &[record.bytes()]);
    }
}

/// Whether a handle is known; it is from now on.
fn is_known(stream: u64) -> bool {
    let first = place(stream);
    for place in (first..first + PROBES).map(|place| &KNOWN[place % MOST]) {
        match place.compare_exchange(0, stream, Release, Acquire) {
            Ok(_) => return false,
            Err(known) if known == stream => return true,
            Err(_) => {}
        }
    }
    false
}

/// How often recording was switched on again: threads forget the streams they knew.
static EPOCH: AtomicU32 = AtomicU32::new(0);

/// Recording is switched on again: any stream may be another one since, and may capture.
pub fn renew() {
    KNOWN.iter().for_each(|known| known.store(0, Relaxed));
    STATE.captures.fetch_add(1, Relaxed);
    EPOCH.fetch_add(1, Release);
}

/// In a fork's child: its file has no stream's number yet.
pub fn forget() {
    STATE.captures.store(0, Relaxed);
    KNOWN.iter().for_each(|known| known.store(0, Relaxed));
}
