//! A library for Python's `ctypes` that returns the Python stack of the thread that calls it.
//!
//! ```python
//! lib = ctypes.CDLL("libpystack_dump.so")      # calls it without the GIL; ctypes.PyDLL: with it
//! buffer = ctypes.create_string_buffer(65536)
//! length = lib.pystack_dump(buffer, len(buffer), 100)
//! ```

use pystack::{Frame, Interpreter, Trail};
use std::cell::RefCell;
use std::sync::OnceLock;
use std::time::Instant;

fn interpreter() -> Option<&'static Interpreter> {
    static FOUND: OnceLock<Option<Interpreter>> = OnceLock::new();
    FOUND.get_or_init(Interpreter::find).as_ref()
}

/// One record a frame: file, function, first line, line, each ended by a zero byte.
fn append(records: &mut Vec<u8>, frame: Frame<'_>) {
    for part in [frame.file, frame.function] {
        records.extend_from_slice(part);
        records.push(0);
    }
    records.extend_from_slice(format!("{}\0{}\0", frame.first_line, frame.line).as_bytes());
}

thread_local! {
    /// Of the last dump, elsewhere in the program.
    static TRAIL: RefCell<Trail> = const { RefCell::new(Trail::new()) };
}

fn dump(room: &mut [u8], most: usize) -> i32 {
    let Some(python) = interpreter() else { return -2 };
    let (mut walked, mut resolved) = (Vec::new(), Vec::new());
    let mut whole = python.walk(most, &mut |frame| append(&mut walked, frame));
    let mut right = true;
    let mut resolve = |place| right &= python.resolve(place, &mut |frame| append(&mut resolved, frame));
    TRAIL.with_borrow_mut(|trail| whole &= python.places(trail, most, &mut resolve));
    if !whole || !right {
        return -1;
    }
    if walked != resolved {
        return -5;
    }
    if let Some(room) = room.get_mut(..walked.len()) {
        room.copy_from_slice(&walked);
    }
    i32::try_from(walked.len()).unwrap_or(-3)
}

/// Writes the stack and returns its length; -1: the walk was cut, -2: no interpreter, -5: the ways to walk
/// disagree.
///
/// # Safety
/// `buffer` must have room for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pystack_dump(buffer: *mut u8, length: i32, most: i32) -> i32 {
    // SAFETY: the caller's promise.
    let room = unsafe { std::slice::from_raw_parts_mut(buffer, length.max(0) as usize) };
    dump(room, most.max(0) as usize)
}

/// The same from a thread that Python knows nothing of.
///
/// # Safety
/// `buffer` must have room for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pystack_dump_elsewhere(buffer: *mut u8, length: i32, most: i32) -> i32 {
    // SAFETY: the caller's promise.
    let room = unsafe { std::slice::from_raw_parts_mut(buffer, length.max(0) as usize) };
    std::thread::scope(|scope| scope.spawn(|| dump(room, most.max(0) as usize)).join().unwrap_or(-4))
}

/// Major version × 100 + minor version, or 0.
#[unsafe(no_mangle)]
pub extern "C" fn pystack_version() -> i32 {
    interpreter().map_or(0, |python| i32::from(python.version().0) * 100 + i32::from(python.version().1))
}

/// Nanoseconds of one walk, the least of `times`: of [`Interpreter::walk`], or else of [`Interpreter::places`].
#[unsafe(no_mangle)]
pub extern "C" fn pystack_time(times: i32, most: i32, walk: bool) -> i64 {
    let Some(python) = interpreter() else { return -2 };
    let most = most.max(0) as usize;
    let mut trail = Trail::new();
    let once = |_| {
        let start = Instant::now();
        let mut sum = 0;
        if walk {
            python.walk(most, &mut |frame| sum += frame.code);
        } else {
            python.places(&mut trail, most, &mut |place| sum += place.code);
        }
        std::hint::black_box(sum);
        start.elapsed().as_nanos() as i64
    };
    (0..times).map(once).min().unwrap_or(-1)
}

/// Walks for so many milliseconds.
#[unsafe(no_mangle)]
pub extern "C" fn pystack_spin(milliseconds: i32) {
    let start = Instant::now();
    while start.elapsed().as_millis() < milliseconds.max(0) as u128 {
        pystack_time(1, 100, true);
    }
}
