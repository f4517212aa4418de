//! The driver functions that are wrapped: their names, and what their arguments mean.

use crate::observe::driver;
use crate::observe::shapes::Shape;
use crate::write::clock_records::Scale;
use crate::write::texts;
use crate::write::writer::Writer;
use interpose::{Arguments, Function, Launch, Ns, Span, Ticks, WrappedFunction};
use libc::c_char;
use spool::{Call, call, event_fact, grid_fact};
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
static ASKING_THRESHOLD: AtomicI64 = AtomicI64::new(WORTH_ASKING);

/// A function that is known: its name, which lives as long as the process.
struct KnownFunction {
    name: AtomicPtr<c_char>,
    /// The name's text, once it was written.
    text: AtomicU32,
}

static FUNCTIONS: [KnownFunction; MOST] =
    [const { KnownFunction { name: AtomicPtr::new(std::ptr::null_mut()), text: AtomicU32::new(0) } }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// In the number of a shape: default streams are the thread's own.
const PER_THREAD: u32 = 1 << 8;

/// The handle of the default stream that a context's threads share (cuda.h); 0 is mostly the same.
pub const LEGACY_STREAM: u64 = 1;
/// The handle of a thread's own default stream (cuda.h).
pub const OWN_STREAM: u64 = 2;

/// The function called `name`; its number is 0 when there are too many.
pub fn number(name: &CStr) -> Function {
    let number = find_or_add(name);
    let shape = Shape::of(name.to_bytes());
    let launch = match shape {
        Shape::Launch if name.to_bytes().starts_with(b"cuLaunchKernel") => Launch::Plain,
        Shape::Launch => Launch::Other,
        Shape::LaunchConfig => Launch::Other,
        _ => Launch::No,
    };
    let bytes = name.to_bytes();
    let own = if bytes.ends_with(b"_ptsz") || bytes.ends_with(b"_ptds") { PER_THREAD } else { 0 };
    Function { number, shape: shape as u32 | own, launch, synchronizes: synchronizes(bytes) }
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

/// A function's name by its number; null for none.
pub fn name(number: u32) -> *const c_char {
    let function = (number as usize).checked_sub(1).and_then(|at| FUNCTIONS.get(at));
    function.map_or(std::ptr::null(), |function| function.name.load(Acquire))
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
            // Another thread may have written it meanwhile: one function has one name.
            function.text.compare_exchange(0, id, Relaxed, Relaxed).map_or_else(|known| known, |_| id)
        }
        id => id,
    }
}

/// How long a call must take to be asked about.
pub fn set_threshold(scale: &Scale) {
    ASKING_THRESHOLD.store(scale.ticks(WORTH_ASKING), Relaxed);
}

/// In a fork's child: its file holds no text yet.
pub fn forget() {
    for function in &FUNCTIONS[..COUNT.load(Relaxed).min(MOST)] {
        function.text.store(0, Relaxed);
    }
}

/// The shape of a function's arguments.
pub fn shape_of(wrapped: &WrappedFunction) -> Shape {
    Shape::ALL.get((wrapped.shape() & !PER_THREAD) as usize).copied().unwrap_or(Shape::Other)
}

/// Whether the arguments of a function say nothing that is recorded, as those of the runtime's functions.
#[inline]
pub fn say_nothing(wrapped: &WrappedFunction) -> bool {
    wrapped.shape() & !PER_THREAD == Shape::Other as u32
}

/// The stream that a function means by a handle: where default streams are the thread's own, 0 is that one.
#[inline]
pub fn meant(wrapped: &WrappedFunction, stream: usize) -> u64 {
    match stream as u64 {
        0 if wrapped.shape() & PER_THREAD != 0 => OWN_STREAM,
        stream => stream,
    }
}

/// `CUlaunchConfig` (cuda.h), as far as it is read.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct LaunchConfig {
    /// The grid, then the block.
    grid: [u32; 6],
    shared_bytes: u32,
    stream: usize,
}

/// A call as a record, with what its arguments mean.
///
/// # Safety
///
/// The driver took these arguments and returned `result`: where it succeeded, its pointers were good.
pub unsafe fn record(
    wrapped: &WrappedFunction,
    args: &Arguments,
    Span { start, end }: Span,
    result: i32,
) -> Call {
    let mut record = Call { start, end, result, ..Call::default() };
    let [first, second, third, _, fifth, sixth, ..] = *args;
    let shape = shape_of(wrapped);
    match shape {
        Shape::Other | Shape::InDefault | Shape::SetContext | Shape::Managed | Shape::Initialize => {}
        Shape::Launch => {
            let [_, grid @ .., _, _, _, _, _, _, _] = *args;
            record.fact = grid_fact(grid.map(|size| size as u32));
            set_stream(&mut record, wrapped, args[8]);
        }
        Shape::HostToDevice | Shape::DeviceToHost | Shape::DeviceToDevice | Shape::Copy => {
            record.bytes = third as u64;
            record.flags = directions(shape, first, second, end - start);
            set_stream_if_async(&mut record, wrapped, args);
        }
        Shape::Fill1 | Shape::Fill2 | Shape::Fill4 => {
            record.bytes = (third as u64).wrapping_mul(element_size(shape));
            record.flags = DEVICE << call::TARGET_SHIFT;
            set_stream_if_async(&mut record, wrapped, args);
        }
        Shape::LaunchConfig => {
            // SAFETY: the driver took the same pointer to a launch configuration, and the call succeeded.
            let config = (first != 0 && result == 0).then(|| unsafe { *(first as *const LaunchConfig) });
            let LaunchConfig { grid, stream, .. } = config.unwrap_or_default();
            record.fact = grid_fact(grid);
            set_stream(&mut record, wrapped, stream);
        }
        Shape::StreamSecond => set_stream(&mut record, wrapped, second),
        Shape::StreamFirst | Shape::CaptureBegin | Shape::CaptureEnd => {
            set_stream(&mut record, wrapped, first);
        }
        Shape::StreamFifth => set_stream(&mut record, wrapped, fifth),
        Shape::StreamSixth => set_stream(&mut record, wrapped, sixth),
        Shape::EventRecord => {
            record.fact = event_fact(first);
            set_stream(&mut record, wrapped, second);
        }
        Shape::StreamWait => {
            record.fact = event_fact(second);
            set_stream(&mut record, wrapped, first);
        }
        Shape::EventFirst => record.fact = event_fact(first),
        Shape::StreamCreate => {
            // SAFETY: the driver wrote the handle there: the call succeeded.
            let created = (first != 0 && result == 0).then(|| unsafe { *(first as *const usize) });
            if let Some(stream) = created {
                set_stream(&mut record, wrapped, stream);
            }
        }
    }
    record
}

/// Bytes of each element that a fill of this shape writes.
fn element_size(shape: Shape) -> u64 {
    match shape {
        Shape::Fill1 => 1,
        Shape::Fill2 => 2,
        _ => 4,
    }
}

/// The call names a stream.
fn set_stream(record: &mut Call, wrapped: &WrappedFunction, stream: usize) {
    (record.stream, record.flags) = (meant(wrapped, stream), record.flags | call::HAS_STREAM);
}

/// The same of a copy or fill, whose fourth argument is its stream. Blocking ones have no stream argument: what lies there
/// means nothing.
fn set_stream_if_async(record: &mut Call, wrapped: &WrappedFunction, args: &Arguments) {
    if is_async(wrapped.number()) {
        set_stream(record, wrapped, args[3]);
    } else if wrapped.shape() & PER_THREAD != 0 {
        set_stream(record, wrapped, 0);
    }
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
    let ask = duration >= ASKING_THRESHOLD.load(Relaxed) || shape == Shape::Copy;
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
