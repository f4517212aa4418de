//! The driver functions that are wrapped: their names, and what their arguments mean.

use crate::clock_records::Scale;
use crate::writer::Writer;
use crate::{driver, texts};
use interpose::{Arguments, Function, Launch, Ns, Span, Ticks, Wrapped};
use libc::c_char;
use spool::{Call, call};
use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, AtomicUsize};

/// Most different functions.
const MOST: usize = 1024;

/// CUPTI's numbers of memory kinds.
const PAGEABLE: u32 = 1;
const PINNED: u32 = 2;
const DEVICE: u32 = 3;

/// Copies and fills at least this long are asked what memory they touch, ns: it takes a
/// microsecond.
const WORTH_ASKING: Ns = 20_000;
/// [`WORTH_ASKING`] in ticks.
static ASKED: AtomicI64 = AtomicI64::new(WORTH_ASKING);

/// What is known of a function: its name, which lives as long as the process.
struct Known {
    name: AtomicPtr<c_char>,
    /// The name's text, once it was written.
    text: AtomicU32,
}

static FUNCTIONS: [Known; MOST] =
    [const { Known { name: AtomicPtr::new(std::ptr::null_mut()), text: AtomicU32::new(0) } }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Which arguments of a function say what.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Shape {
    Other,
    /// `(dst, src, bytes[, stream])`, direction by name.
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
    /// `(dst, src, bytes[, stream])`, direction by the addresses.
    Copy,
    /// `(dst, value, count[, stream])`, elements of 1, 2 or 4 bytes.
    Fill1,
    Fill2,
    Fill4,
    /// `(function, 3 × grid, 3 × block, shared, stream, …)`.
    Launch,
    /// `(config, …)`, whose stream lies at byte 32.
    LaunchConfig,
    /// `(graph, stream)` and others with the stream second.
    StreamSecond,
    /// The stream comes first.
    StreamFirst,
}

/// The function called `name`; its number is 0 when there are too many.
pub fn number(name: &CStr) -> Function {
    let number = find_or_add(name);
    let shape = shape(name.to_bytes());
    let launch = match shape {
        Shape::Launch => Launch::Plain,
        Shape::LaunchConfig => Launch::Other,
        _ => Launch::No,
    };
    Function { number, shape: shape as u32, launch, synchronizes: synchronizes(name.to_bytes()) }
}

/// Whether a function waits for the GPU: the synchronizations, and the copies that most often are one.
fn synchronizes(name: &[u8]) -> bool {
    ["cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize", "cuMemcpyDtoH"]
        .iter()
        .any(|start| name.starts_with(start.as_bytes()))
}

fn find_or_add(name: &CStr) -> u32 {
    let count = COUNT.load(Acquire).min(MOST);
    for (at, function) in FUNCTIONS[..count].iter().enumerate() {
        let known = function.name.load(Acquire);
        // SAFETY: null or a copy that `keep` made, which ends in a zero byte and stays.
        if !known.is_null() && unsafe { CStr::from_ptr(known) } == name {
            return at as u32 + 1;
        }
    }
    let at = COUNT.fetch_add(1, Relaxed);
    let Some(function) = FUNCTIONS.get(at) else { return 0 };
    function.name.store(keep(name), Release);
    at as u32 + 1
}

/// Bytes of all names: the driver's 768 functions have names of 22 bytes on average.
const MOST_NAMES: usize = MOST * 32;

/// Copies of names, one behind the other.
struct Names(UnsafeCell<[u8; MOST_NAMES]>);

// SAFETY: `keep` writes each byte once, in the part that its thread alone was given; it is read only through the
// address that `keep` returns after that.
unsafe impl Sync for Names {}

static NAMES: Names = Names(UnsafeCell::new([0; MOST_NAMES]));
static NAMES_USED: AtomicUsize = AtomicUsize::new(0);

/// A copy of a name that stays: the caller's may be on its stack. Null without room.
fn keep(name: &CStr) -> *mut c_char {
    let bytes = name.to_bytes_with_nul();
    let end = |start: usize| start.checked_add(bytes.len()).filter(|end| *end <= MOST_NAMES);
    let Ok(start) = NAMES_USED.fetch_update(Relaxed, Relaxed, end) else { return std::ptr::null_mut() };
    let copy = NAMES.0.get().cast::<u8>().wrapping_add(start);
    // SAFETY: the part from `start` on is within the names, and was given to this call alone.
    unsafe { copy.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    copy.cast()
}

/// The id of the text of a function's name, 0 for none.
pub fn text(writer: &mut Writer, number: u32) -> u32 {
    let Some(function) = (number as usize).checked_sub(1).and_then(|at| FUNCTIONS.get(at)) else { return 0 };
    match function.text.load(Relaxed) {
        0 => {
            let name = function.name.load(Acquire);
            if name.is_null() {
                return 0;
            }
            // SAFETY: a copy that `keep` made, which ends in a zero byte and stays.
            let id = texts::intern(writer, unsafe { CStr::from_ptr(name) }.to_bytes());
            function.text.store(id, Relaxed);
            id
        }
        id => id,
    }
}

/// How long a call must take to be asked about.
pub fn set_threshold(scale: &Scale) {
    ASKED.store(scale.ticks(WORTH_ASKING), Relaxed);
}

/// In a fork's child: its file holds no text yet.
pub fn forget() {
    for function in &FUNCTIONS[..COUNT.load(Relaxed).min(MOST)] {
        function.text.store(0, Relaxed);
    }
}

fn shape(name: &[u8]) -> Shape {
    let starts = |start: &str| name.starts_with(start.as_bytes());
    let table = [
        ("cuMemcpyHtoD", Shape::HostToDevice),
        ("cuMemcpyDtoH", Shape::DeviceToHost),
        ("cuMemcpyDtoD", Shape::DeviceToDevice),
        ("cuMemcpyAsync", Shape::Copy),
        ("cuMemsetD8Async", Shape::Fill1),
        ("cuMemsetD16Async", Shape::Fill2),
        ("cuMemsetD32Async", Shape::Fill4),
        ("cuLaunchKernelEx", Shape::LaunchConfig),
        ("cuLaunchKernel", Shape::Launch),
        ("cuGraphLaunch", Shape::StreamSecond),
        ("cuEventRecord", Shape::StreamSecond),
        ("cuStreamSynchronize", Shape::StreamFirst),
        ("cuStreamQuery", Shape::StreamFirst),
        ("cuStreamWaitEvent", Shape::StreamFirst),
        ("cuLaunchHostFunc", Shape::StreamFirst),
    ];
    // cuMemcpy itself takes its direction from its addresses; the 2D and 3D ones take structs.
    let plain = name == b"cuMemcpy" || name == b"cuMemcpy_ptds";
    let found = table.iter().find(|(start, _)| starts(start));
    if plain { Shape::Copy } else { found.map_or(Shape::Other, |(_, shape)| *shape) }
}

/// The shape of that number.
fn shape_of(number: u32) -> Shape {
    const ALL: [Shape; 12] = [
        Shape::Other,
        Shape::HostToDevice,
        Shape::DeviceToHost,
        Shape::DeviceToDevice,
        Shape::Copy,
        Shape::Fill1,
        Shape::Fill2,
        Shape::Fill4,
        Shape::Launch,
        Shape::LaunchConfig,
        Shape::StreamSecond,
        Shape::StreamFirst,
    ];
    ALL.get(number as usize).copied().unwrap_or(Shape::Other)
}

/// A call as a record, with what its arguments mean.
pub fn record(wrapped: &Wrapped, args: &Arguments, Span { start, end }: Span, result: i32) -> Call {
    let mut record = Call { start, end, result, ..Call::default() };
    let [first, second, third, fourth, ..] = *args;
    let shape = shape_of(wrapped.shape());
    // Blocking copies have no stream argument: what lies there means nothing.
    let name_has_stream = |record: &mut Call| {
        if is_async(wrapped.number()) {
            (record.stream, record.flags) = (fourth as u64, record.flags | call::HAS_STREAM);
        }
    };
    match shape {
        Shape::Other => {}
        Shape::Launch => (record.stream, record.flags) = (args[8] as u64, call::HAS_STREAM),
        Shape::HostToDevice | Shape::DeviceToHost | Shape::DeviceToDevice | Shape::Copy => {
            record.bytes = third as u64;
            record.flags = directions(shape, first, second, end - start);
            name_has_stream(&mut record);
        }
        Shape::Fill1 | Shape::Fill2 | Shape::Fill4 => {
            let size = match shape {
                Shape::Fill1 => 1,
                Shape::Fill2 => 2,
                _ => 4,
            };
            record.bytes = (third as u64).wrapping_mul(size);
            record.flags = DEVICE << call::TARGET_SHIFT;
            name_has_stream(&mut record);
        }
        Shape::LaunchConfig => {
            // SAFETY: the driver took the same pointer to a launch configuration, in which the
            // stream lies at byte 32 (cuda.h), and the call succeeded.
            let config = (first != 0 && result == 0).then(|| unsafe { *((first + 32) as *const u64) });
            (record.stream, record.flags) = (config.unwrap_or(0), call::HAS_STREAM);
        }
        Shape::StreamSecond => (record.stream, record.flags) = (second as u64, call::HAS_STREAM),
        Shape::StreamFirst => (record.stream, record.flags) = (first as u64, call::HAS_STREAM),
    }
    record
}

fn is_async(number: u32) -> bool {
    let function = (number as usize).checked_sub(1).and_then(|at| FUNCTIONS.get(at));
    let name = function.map_or(std::ptr::null_mut(), |function| function.name.load(Acquire));
    // SAFETY: null or a copy that `keep` made, which ends in a zero byte and stays.
    !name.is_null() && unsafe { CStr::from_ptr(name) }.to_bytes().windows(5).any(|part| part == b"Async")
}

/// Direction and memory kinds as flags. Only the driver can say what kind of memory an address
/// is; slow calls are worth the question.
fn directions(shape: Shape, target: usize, source: usize, duration: Ticks) -> u32 {
    let ask = duration >= ASKED.load(Relaxed) || shape == Shape::Copy;
    let host = |address: usize| match ask {
        true => driver::memory_kind(address).unwrap_or(0),
        false => 0,
    };
    let (from, to) = match shape {
        Shape::HostToDevice => (host(source), DEVICE),
        Shape::DeviceToHost => (DEVICE, host(target)),
        Shape::DeviceToDevice => (DEVICE, DEVICE),
        _ => (host(source), host(target)),
    };
    let on_host = |kind: u32| matches!(kind, PAGEABLE | PINNED);
    let direction = match shape {
        Shape::HostToDevice => 1,
        Shape::DeviceToHost => 2,
        Shape::DeviceToDevice => 8,
        _ if on_host(from) && to == DEVICE => 1,
        _ if on_host(to) && from == DEVICE => 2,
        _ if from == DEVICE && to == DEVICE => 8,
        _ => 0,
    };
    direction | from << call::SOURCE_SHIFT | to << call::TARGET_SHIFT
}
