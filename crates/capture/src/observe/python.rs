//! The Python frames of a thread in a slow call.
//!
//! Resolving a place in Python code costs a hundred times as much as finding it: the same places
//! are asked about once a second at most.

use crate::sys::seccomp;
use crate::write::texts;
use crate::write::writer::Writer;
use interpose::{Loader, SequenceLock, SetOnce};
use pystack::{Interpreter, Place};
use spool::PythonFrame;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Deepest stack kept.
pub const MOST: usize = 64;

/// After this long a place is asked about again, ns: by then its function may be gone and another in
/// its place.
const TRUSTED: i64 = 1_000_000_000;

/// Places known at once; others are asked about each time.
const PLACES: usize = 4096;

/// Meanings of places when they were last asked about: the place, file and function, line, when.
static MEANINGS: [SequenceLock<4>; PLACES] = [const { SequenceLock::new() }; PLACES];

/// The interpreter, and where its code lies.
struct Python {
    interpreter: Interpreter,
    code: Range<usize>,
}

static PYTHON: SetOnce<Python> = SetOnce::new();

/// How often Python may be found half loaded until it is taken as it is.
const PATIENCE: u32 = 16;
/// How often it will be looked for yet.
static LOOKS: AtomicU32 = AtomicU32::new(0);

/// Python may be there by now: as recording starts, or for a program that takes it in late.
pub fn expect() {
    LOOKS.store(PATIENCE, Relaxed);
}

/// Looks for Python if it may be there.
pub fn look(loader: &Loader) {
    let looks = LOOKS.load(Relaxed);
    if looks == 0 {
        return;
    }
    let done = PYTHON.get().is_some() || find(loader, looks == 1);
    LOOKS.store(if done { 0 } else { looks - 1 }, Relaxed);
}

/// Looks for Python; false when it is being loaded, unless it is taken `anyway`.
fn find(loader: &Loader, anyway: bool) -> bool {
    let Some(runtime) = loader.symbol(c"_PyRuntime") else { return true };
    if !anyway && !loader.is_loaded(runtime.addr()) {
        return false;
    }
    if let Some(interpreter) = Interpreter::find_by(&|name| loader.symbol(name)) {
        let code = interpose::object_around(interpreter.address()).unwrap_or_default();
        PYTHON.set(Python { interpreter, code });
    }
    true
}

/// The interpreter's own code; empty without one.
pub fn code() -> Range<usize> {
    PYTHON.get().map_or(0..0, |python| python.code.clone())
}

/// Whether a condition is that of a GIL, and the kernel's id of the thread that holds it, 0 for unknown.
pub fn gil_at(condition: usize) -> Option<u32> {
    PYTHON.get().filter(|_| seccomp::allows_calls())?.interpreter.gil_at(condition).map(|gil| gil.holder)
}

/// An address in the library or program with the interpreter, if one is loaded.
pub fn address(loader: &Loader) -> Option<usize> {
    loader.symbol(c"_PyRuntime").map(|runtime| runtime.addr())
}

/// Whether the interpreter has no GIL.
pub fn is_free_threaded(loader: &Loader) -> bool {
    pystack::is_free_threaded(&|name| loader.symbol(name))
}

/// Fills `frames` with the Python frames of the thread `holder`, which holds the GIL at a condition, innermost first; how
/// many there are. None where it released it meanwhile.
pub fn frames_of_holder(
    writer: &mut Writer,
    condition: usize,
    holder: u32,
    frames: &mut [PythonFrame; MOST],
) -> usize {
    let Some(python) = PYTHON.get().filter(|_| seccomp::allows_calls()) else { return 0 };
    let (now, mut count) = (interpose::monotonic(), 0);
    python.interpreter.holder_places(condition, holder, MOST, &mut |place| {
        if let (Some(frame), Some(kept)) = (meaning(python, writer, place, now), frames.get_mut(count)) {
            *kept = frame;
            count += 1;
        }
    });
    count
}

/// Fills `frames` with the calling thread's Python frames, innermost first; how many there are.
pub fn frames(writer: &mut Writer, frames: &mut [PythonFrame; MOST]) -> usize {
    let Some(python) = PYTHON.get().filter(|_| seccomp::allows_calls()) else { return 0 };
    let (now, mut count) = (interpose::monotonic(), 0);
    let mut trail = writer.rest().trail;
    python.interpreter.places(&mut trail, MOST, &mut |place| {
        if let (Some(frame), Some(kept)) = (meaning(python, writer, place, now), frames.get_mut(count)) {
            *kept = frame;
            count += 1;
        }
    });
    writer.rest().trail = trail;
    count
}

/// Meaning of a place; `None` for frames that Python itself does not show.
fn meaning(python: &Python, writer: &mut Writer, place: Place, now: i64) -> Option<PythonFrame> {
    let key = place.key();
    let known = &MEANINGS[key as usize % PLACES];
    if let Some([of, names, line, asked]) = known.read()
        && of == key
        && now - asked.cast_signed() <= TRUSTED
    {
        let (file, function) = ((names >> 32) as u32, names as u32);
        return Some(PythonFrame { file, function, line: line as u32, zero: 0 });
    }
    let mut found = None;
    python.interpreter.resolve(place, &mut |frame| {
        let (file, function) = (texts::intern(writer, frame.file), texts::intern(writer, frame.function));
        found = Some(PythonFrame { file, function, line: frame.line, zero: 0 });
    });
    if let Some(PythonFrame { file, function, line, .. }) = found {
        known.write([key, u64::from(file) << 32 | u64::from(function), line.into(), now.cast_unsigned()]);
    }
    found
}

/// In a fork's child: its file holds no text yet, and a thread that was looking for Python is not here.
///
/// # Safety
///
/// No thread of the child is known, as while it begins anew.
pub unsafe fn forget() {
    // SAFETY: the caller's promise.
    unsafe { PYTHON.forked() };
    MEANINGS.iter().for_each(SequenceLock::forked);
}
