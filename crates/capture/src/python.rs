//! The Python frames of a thread in a slow call.
//!
//! What a place in Python code means costs a hundred times what finding it does: the same places
//! are asked about once a second at most.

use crate::texts;
use crate::writer::Writer;
use pystack::{Interpreter, Place};
use spool::PythonFrame;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

/// Deepest stack kept.
pub const MOST: usize = 64;

/// After this long a place is asked about again, ns: by then its function may be gone and another in
/// its place.
const TRUSTED: i64 = 1_000_000_000;

/// Places known at once; others are asked about each time.
const PLACES: usize = 4096;

/// What a place meant when it was last asked about.
struct Known {
    /// The place, 0 while the rest is being written.
    key: AtomicU64,
    file: AtomicU32,
    function: AtomicU32,
    line: AtomicU32,
    asked: AtomicI64,
}

static KNOWN: [Known; PLACES] = [const {
    Known {
        key: AtomicU64::new(0),
        file: AtomicU32::new(0),
        function: AtomicU32::new(0),
        line: AtomicU32::new(0),
        asked: AtomicI64::new(0),
    }
}; PLACES];

/// The interpreter, and where its code lies.
struct Python {
    interpreter: Interpreter,
    code: Range<usize>,
}

static PYTHON: OnceLock<Python> = OnceLock::new();

/// How often Python may be found half loaded until it is taken as it is.
const PATIENCE: u32 = 16;
/// How often it will be looked for yet.
static LOOKS: AtomicU32 = AtomicU32::new(0);

/// Python may be there by now: as recording starts, or for a program that takes it in late.
pub fn expect() {
    LOOKS.store(PATIENCE, Relaxed);
}

/// Looks for Python if it may be there, without the loader's help: in the middle of a call it would
/// have the thread wait for one that is loading a library, and that thread may wait for the call.
pub fn look() {
    let looks = LOOKS.load(Relaxed);
    if looks == 0 {
        return;
    }
    let done = PYTHON.get().is_some() || find(looks == 1);
    LOOKS.store(if done { 0 } else { looks - 1 }, Relaxed);
}

/// Looks for Python; false when it is being loaded, unless it is taken `anyway`.
fn find(anyway: bool) -> bool {
    let Some(runtime) = interpose::symbol(c"_PyRuntime") else { return true };
    if !anyway && !interpose::is_loaded(runtime.addr()) {
        return false;
    }
    if let Some(interpreter) = Interpreter::find_by(&interpose::symbol) {
        let code = interpose::object_around(interpreter.address());
        PYTHON.get_or_init(|| Python { interpreter, code });
    }
    true
}

/// The interpreter's own code; empty without one.
pub fn code() -> Range<usize> {
    PYTHON.get().map_or(0..0, |python| python.code.clone())
}

/// Fills `frames` with the calling thread's Python frames, innermost first; how many there are.
pub fn frames(writer: &mut Writer, frames: &mut [PythonFrame; MOST]) -> usize {
    let Some(python) = PYTHON.get() else { return 0 };
    let (now, mut count) = (interpose::monotonic(), 0);
    python.interpreter.places(MOST, &mut |place| {
        if let (Some(frame), Some(kept)) = (meaning(python, writer, place, now), frames.get_mut(count)) {
            *kept = frame;
            count += 1;
        }
    });
    count
}

/// What a place means; `None` for frames that Python itself does not show.
fn meaning(python: &Python, writer: &mut Writer, place: Place, now: i64) -> Option<PythonFrame> {
    let key = place.key();
    let known = &KNOWN[key as usize % PLACES];
    if let Some(frame) = known.read(key, now) {
        return Some(frame);
    }
    let mut found = None;
    python.interpreter.resolve(place, &mut |frame| {
        let (file, function) = (texts::intern(writer, frame.file), texts::intern(writer, frame.function));
        found = Some(PythonFrame { file, function, line: frame.line, zero: 0 });
    });
    if let Some(frame) = &found {
        known.write(key, frame, now);
    }
    found
}

impl Known {
    fn read(&self, key: u64, now: i64) -> Option<PythonFrame> {
        if self.key.load(Acquire) != key || now - self.asked.load(Relaxed) > TRUSTED {
            return None;
        }
        let (file, function) = (self.file.load(Relaxed), self.function.load(Relaxed));
        let frame = PythonFrame { file, function, line: self.line.load(Acquire), zero: 0 };
        // Another thread may have put another place here meanwhile.
        (self.key.load(Relaxed) == key).then_some(frame)
    }

    fn write(&self, key: u64, frame: &PythonFrame, now: i64) {
        const BUSY: u64 = 0;
        if self.key.swap(BUSY, Acquire) == BUSY && self.asked.load(Relaxed) != 0 {
            // Another thread is at it, and will give the place its key.
            return;
        }
        self.file.store(frame.file, Relaxed);
        self.function.store(frame.function, Relaxed);
        self.line.store(frame.line, Relaxed);
        self.asked.store(now, Relaxed);
        self.key.store(key, Release);
    }
}

/// In a fork's child: its file holds no text yet.
pub fn forget() {
    for known in &KNOWN {
        if known.asked.load(Relaxed) != 0 {
            known.key.store(0, Relaxed);
            known.asked.store(0, Relaxed);
        }
    }
}
