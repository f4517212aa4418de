//! Where slow calls come from: native return addresses and Python frames, to be resolved later.

use crate::observe::unwind::{self, Frame};
use crate::observe::{jit, python};
use crate::sys::fixed_text::FixedText;
use crate::write::texts;
use crate::write::writer::Writer;
use interpose::{Loader, SetOnce, Ticks};
use spool::{Module, PythonFrame, Stack};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// Deepest native stack kept: the innermost frames.
const MOST_NATIVE: usize = 128;

/// Libraries that were loaded when modules were last written.
static SEEN: AtomicU64 = AtomicU64::new(0);

/// Writes the stack of the calling thread, which just left a driver call.
pub fn record(writer: &mut Writer, start: Ticks, end: Ticks) {
    let mut python = [PythonFrame::default(); python::MOST];
    let count = python::frames(writer, &mut python);
    let mut native = NativeFrames { addresses: [0; MOST_NATIVE], count: 0, until: 0..0 };
    if count > 0 {
        // Python's frames stand for the interpreter's own and for all outside of them.
        native.until = python::code();
    }
    unwind::walk(Frame::here(), |frame| native.keep(frame.address));
    let native = native.addresses.get(..native.count).unwrap_or_default();
    jit::describe(writer, native);
    let python = python.get(..count).unwrap_or_default();
    let fixed = Stack { start, end, last: writer.rest().stack_took, python: count as u64 };
    writer.append(Stack::KIND, native.len() as u32, &[fixed.bytes(), bytes_of(native), bytes_of(python)]);
    let rest = writer.rest();
    rest.stacked = end;
    rest.stack_took = interpose::now() - end;
}

/// Types that a record's variable part may hold: numbers without gaps.
pub trait PlainData {}
impl PlainData for u64 {}
impl PlainData for PythonFrame {}

/// Frames as bytes.
pub fn bytes_of<T: PlainData>(frames: &[T]) -> &[u8] {
    // SAFETY: numbers without gaps, borrowed as long as the result.
    unsafe { std::slice::from_raw_parts(frames.as_ptr().cast::<u8>(), size_of_val(frames)) }
}

/// Where this library lies, once recording begins.
static LIBRARY: (AtomicUsize, AtomicUsize) = (AtomicUsize::new(0), AtomicUsize::new(0));

/// Recording begins.
pub fn begin() {
    let own = interpose::object_around(begin as *const () as usize).unwrap_or_default();
    LIBRARY.0.store(own.start, Relaxed);
    LIBRARY.1.store(own.end, Relaxed);
    keep_program();
}

/// Fills `addresses` with the innermost return addresses of the calling thread outside of this library; how many there
/// are.
pub fn native(addresses: &mut [u64]) -> usize {
    let own = LIBRARY.0.load(Relaxed)..LIBRARY.1.load(Relaxed);
    let mut innermost = InnermostFrames { addresses, count: 0, own };
    unwind::walk(Frame::here(), |frame| innermost.keep(frame.address));
    innermost.count
}

struct InnermostFrames<'a> {
    addresses: &'a mut [u64],
    count: usize,
    /// Frames that are passed over.
    own: Range<usize>,
}

impl InnermostFrames<'_> {
    /// Keeps a return address; false when the walk ends with it.
    fn keep(&mut self, address: usize) -> bool {
        if self.own.contains(&address) {
            return true;
        }
        let Some(room) = self.addresses.get_mut(self.count) else { return false };
        *room = address as u64;
        self.count += 1;
        true
    }
}

struct NativeFrames {
    addresses: [u64; MOST_NATIVE],
    count: usize,
    /// The walk ends with the first frame in here.
    until: Range<usize>,
}

impl NativeFrames {
    /// Keeps a return address; false when the walk ends with it.
    fn keep(&mut self, address: usize) -> bool {
        let Some(kept) = self.addresses.get_mut(self.count) else { return false };
        *kept = address as u64;
        self.count += 1;
        !self.until.contains(&address)
    }
}

/// Writes which libraries lie where, if any was loaded since the last time; whether any was.
pub fn modules(loader: &Loader, writer: &mut Writer) -> bool {
    let (loaded, _) = loader.counts();
    if SEEN.swap(loaded, Relaxed) == loaded {
        return false;
    }
    loader.each_library(&mut |library| {
        let path = if library.path.is_empty() { program() } else { library.path };
        let record = Module {
            base: library.base as u64,
            start: library.addresses.start as u64,
            end: library.addresses.end as u64,
            seen: interpose::monotonic(),
        };
        let name = texts::intern(writer, path);
        writer.append(Module::KIND, name, &[record.bytes()]);
    });
    true
}

/// The program's path, as it was when recording began.
pub fn program() -> &'static [u8] {
    PROGRAM.get().map_or(b"", FixedText::bytes)
}

static PROGRAM: SetOnce<FixedText<4096>> = SetOnce::new();

/// Reads the program's path.
fn keep_program() {
    let mut room = [0; 4096];
    // SAFETY: writes at most `room.len()` bytes and says how many.
    let length = unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), room.as_mut_ptr().cast(), room.len()) };
    let path = usize::try_from(length).ok().and_then(|length| room.get(..length)).unwrap_or_default();
    if let Some(line) = FixedText::of(&[path]) {
        PROGRAM.set(line);
    }
}

/// In a fork's child: its file holds no module yet.
pub fn forget() {
    SEEN.store(0, Relaxed);
    unwind::forget();
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use libc::{c_int, c_void};

    #[link(name = "gcc_s")]
    unsafe extern "C" {
        fn _Unwind_Backtrace(
            step: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
            data: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetIP(context: *mut c_void) -> usize;
    }

    /// The result by which a step of the unwinder's asks it to go on (`_URC_NO_REASON`).
    const GO_ON: c_int = 0;

    /// The frames by the kept rules, and by the unwinder alone.
    #[inline(never)]
    fn both() -> (bool, Vec<usize>, Vec<usize>) {
        let (mut ours, mut theirs) = (Vec::new(), Vec::<usize>::new());
        let is_whole = unwind::walk(Frame::here(), |frame| {
            ours.push(frame.address);
            true
        });
        extern "C" fn push(context: *mut c_void, data: *mut c_void) -> c_int {
            // SAFETY: `both` passes its list; the context is the unwinder's own.
            unsafe { (*data.cast::<Vec<usize>>()).push(_Unwind_GetIP(context)) };
            GO_ON
        }
        // SAFETY: the callback only writes into the list, which outlives the walk.
        unsafe { _Unwind_Backtrace(push, (&raw mut theirs).cast()) };
        (is_whole, ours, theirs)
    }

    /// As the C library's sort calls it: through code of another library.
    extern "C" fn compare(_: *const c_void, _: *const c_void) -> c_int {
        check();
        0
    }

    fn check() {
        // A second time, by what was kept.
        for _ in 0..2 {
            let (is_whole, ours, mut theirs) = both();
            assert!(is_whole);
            // The unwinder passes one frame more: address 0, outside of the first function.
            theirs.retain(|address| *address != 0);
            // Both begin in `both`, at two places of it.
            assert_eq!(ours[1..], theirs[1..]);
            assert!(ours.len() > 5, "{ours:x?}");
        }
    }

    #[test]
    fn kept_rules_lead_where_the_unwinder_goes() {
        fn deep(depth: u32, room: &mut [u8; 600]) {
            room[depth as usize] = 1;
            if depth == 0 {
                check()
            } else {
                deep(depth - 1, &mut room.map(|byte| byte.wrapping_add(1)))
            }
            std::hint::black_box(room);
        }
        let renewed = Loader::hold_at_start().as_ref().map(interpose::renew);
        assert!(renewed.is_some(), "another thread holds the loader's list");
        check();
        deep(40, &mut [0; 600]);
        let mut numbers = [3, 1, 2];
        // SAFETY: three numbers of that size.
        unsafe { libc::qsort(numbers.as_mut_ptr().cast(), 3, size_of::<i32>(), Some(compare)) };
        assert!(std::thread::spawn(check).join().is_ok());
    }
}
