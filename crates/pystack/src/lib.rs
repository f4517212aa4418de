//! Python stacks, read without the interpreter's help: of the current thread, or of another process ([`Remote`]).
//!
//! A thread that is inside a C call, be it with or without the global interpreter lock (GIL), has Python frames that
//! nobody changes until the call returns. So they can be read where they lie, by their layout in memory. This crate knows CPython 3.10 to 3.14 with a GIL; free-threaded builds and pre-releases are refused.
//!
//! Promises to the program that it looks at:
//!
//! - No allocation, no lock, no change of `errno`, and no call into the interpreter beyond `Py_IsInitialized` and
//!   `PyGILState_GetThisThreadState`, which read a flag and thread-specific storage.
//! - No crash. All interpreter memory is read with `process_vm_readv`, which fails where nothing is mapped; every
//!   object's type is compared with the one expected; the first surprise ends the walk.
//!
//! It needs a 64-bit Linux. A walk takes about 24 KiB of stack.
//!
//! ```
//! // This process has no Python. In one that has, `walk` reports the frames of the calling thread, innermost first.
//! match pystack::Interpreter::find() {
//!     None => println!("no CPython 3.10 to 3.14 here"),
//!     Some(python) => {
//!         let complete = python.walk(64, &mut |frame| {
//!             println!("{}:{}", String::from_utf8_lossy(frame.file), frame.line);
//!         });
//!         assert!(complete, "something in memory is not what it should be");
//!     }
//! }
//! ```

mod code;
mod collector;
mod frame;
mod gil;
mod layout;
mod line;
mod memory;
mod remote;
mod text;
mod trail;
mod walk;

pub use frame::{Frame, Place};
pub use gil::{Gil, is_free_threaded};
pub use remote::{Identity, Reading, Remote, RemoteSymbols, ThreadState, Unreadable};
pub use trail::Trail;

use code::{Code, Reader, Types};
use frame::Wrong;
use layout::{DEBUG_WORDS, Layout, object};
use memory::{KeepErrno, Memory, word_at};
use std::ffi::{CStr, c_char, c_int, c_void};
use walk::Walker;

/// Fills `into` from an address of this process; false where any of it cannot be read. `errno` stays as it is.
pub fn read(address: usize, into: &mut [u8]) -> bool {
    let _keep = KeepErrno::new();
    Memory::ours().read(address, into)
}

/// The CPython of this process.
#[derive(Clone, Copy, Debug)]
pub struct Interpreter {
    minor: u8,
    layout: Layout,
    types: Types,
    /// Address of `_PyRuntime`.
    runtime: usize,
    is_initialized: unsafe extern "C" fn() -> c_int,
    this_thread: unsafe extern "C" fn() -> *mut c_void,
}

/// Gives the address of a symbol that some library or the program itself has made public.
pub type Symbols<'a> = &'a dyn Fn(&CStr) -> Option<*mut c_void>;

/// As the loader has it.
fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a zero byte; dlsym has no other precondition.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

impl Interpreter {
    /// Finds the interpreter: `None` if there is no CPython 3.10 to 3.14 with a GIL whose symbols are public, or if
    /// memory cannot be read safely here (some sandboxes forbid `process_vm_readv`).
    ///
    /// This looks up symbols and so may lock and allocate; it may be called before Python is initialized, and from
    /// any thread.
    pub fn find() -> Option<Interpreter> {
        Interpreter::find_by(&symbol)
    }

    /// Like [`find`](Self::find), but with symbols from elsewhere: a caller of the loader waits for a
    /// thread that is loading a library. The library with the interpreter must be loaded to the end: its
    /// `Py_GetVersion` may be called.
    pub fn find_by(symbol: Symbols<'_>) -> Option<Interpreter> {
        let _errno = KeepErrno::new();
        if !cfg!(all(target_os = "linux", target_pointer_width = "64")) {
            return None;
        }
        let memory = Memory::ours();
        let runtime = symbol(c"_PyRuntime")?.addr();
        let hex = version(memory, symbol)?;
        // 0xf0: a final release. What came before them had other layouts.
        if hex >> 24 != 3 || hex & 0xff != 0xf0 {
            return None;
        }
        let minor = (hex >> 16 & 0xff) as u8;
        let layout = match Layout::fixed(minor) {
            Some(layout) => layout,
            None => Layout::published(&debug_offsets(memory, runtime)?, hex)?,
        };
        let types = types(memory, symbol)?;
        let (is_initialized, this_thread) =
            (symbol(c"Py_IsInitialized")?, symbol(c"PyGILState_GetThisThreadState")?);
        // SAFETY: `int Py_IsInitialized(void)`, Include/pylifecycle.h.
        let is_initialized =
            unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(is_initialized) };
        // SAFETY: `PyThreadState *PyGILState_GetThisThreadState(void)`, Include/pystate.h.
        let this_thread =
            unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *mut c_void>(this_thread) };
        Some(Interpreter { minor, layout, types, runtime, is_initialized, this_thread })
    }

    /// Major and minor version.
    pub fn version(&self) -> (u8, u8) {
        (3, self.minor)
    }

    /// An address within the library or program that the interpreter is part of.
    pub fn address(&self) -> usize {
        self.is_initialized as usize
    }

    /// Calls `frame` for each Python frame of the current thread, innermost first, at most `most` times.
    ///
    /// False when something looked wrong and frames are missing. A thread without Python, and an interpreter that is
    /// not initialized yet or already finalizing, have no frames, which is not wrong.
    ///
    /// This takes three system calls a function. Where the same stacks come again and again, take
    /// [`places`](Self::places), and [`resolve`](Self::resolve) only those not seen before.
    pub fn walk(&self, most: usize, frame: &mut dyn FnMut(Frame<'_>)) -> bool {
        let _errno = KeepErrno::new();
        let memory = Memory::ours();
        let mut code = Code::new();
        self.each(memory, &mut Trail::new(), most, &mut |place| match self
            .reader(memory)
            .resolve(place, &mut code)?
        {
            Some(found) => {
                frame(found);
                Ok(true)
            }
            None => Ok(false),
        })
    }

    /// Calls `place` for each Python frame of the current thread, innermost first, at most `most` times. It returns
    /// what [`walk`](Self::walk) does, but trusts code objects that were not checked yet, and takes a fraction of
    /// the time: two system calls, if most frames are where the thread's last walk along its trail found them.
    pub fn places(&self, trail: &mut Trail, most: usize, place: &mut dyn FnMut(Place)) -> bool {
        let _errno = KeepErrno::new();
        self.each(Memory::ours(), trail, most, &mut |found| {
            place(found);
            Ok(true)
        })
    }

    /// Calls `frame` with what a place means; not at all for a frame that was just being set up and that Python
    /// itself would not show. False when something looked wrong.
    ///
    /// Only for places that the current thread is still at. Else another object may be where the code was, which
    /// gives false or a function that is not the right one.
    pub fn resolve(&self, place: Place, frame: &mut dyn FnMut(Frame<'_>)) -> bool {
        let _errno = KeepErrno::new();
        let mut code = Code::new();
        let found = self.reader(Memory::ours()).resolve(place, &mut code);
        if let Ok(Some(found)) = found {
            frame(found);
        }
        found.is_ok()
    }

    fn reader(&self, memory: Memory) -> Reader<'_> {
        Reader { layout: &self.layout, types: self.types, memory }
    }

    /// Calls `report` for the current thread's places; false when something looked wrong.
    fn each(
        &self,
        memory: Memory,
        trail: &mut Trail,
        most: usize,
        report: &mut dyn FnMut(Place) -> Result<bool, Wrong>,
    ) -> bool {
        // SAFETY: it only reads a flag in static storage, `_PyRuntime.initialized`, which goes when finalizing begins.
        if unsafe { (self.is_initialized)() } == 0 {
            return true;
        }
        // SAFETY: needs no GIL. In 3.10 to 3.14 it looks whether the key of the thread-specific storage was created
        // (3.10, 3.11: whether there is an interpreter that uses it) and calls pthread_getspecific.
        let thread = unsafe { (self.this_thread)() }.addr();
        if thread == 0 {
            return true;
        }
        // SAFETY: pthread_self has no preconditions.
        let id = unsafe { libc::pthread_self() } as usize;
        let walker = Walker { layout: &self.layout, memory };
        walker.along(trail, (self.runtime, thread, id), most, report).is_ok()
    }
}

/// `PY_VERSION_HEX` of the interpreter.
fn version(memory: Memory, symbol: Symbols<'_>) -> Option<u64> {
    if let Some(address) = symbol(c"Py_Version") {
        // Since 3.11: `const unsigned long Py_Version`.
        return Some(memory.word(address.addr())? as u64);
    }
    // SAFETY: `const char *Py_GetVersion(void)`, Include/pylifecycle.h.
    let get = unsafe {
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_char>(symbol(c"Py_GetVersion")?)
    };
    // SAFETY: may be called at any time, even before Python is initialized; it writes and returns a static buffer,
    // always the same text.
    let text = unsafe { get() };
    let mut start = [0; 8];
    if !memory.read(text.addr(), &mut start) {
        return None;
    }
    version_3_10(&start)
}

/// The version at the start of a text such as "3.10.13 (main, …", if it is a 3.10.
fn version_3_10(text: &[u8; 8]) -> Option<u64> {
    let rest = text.strip_prefix(b"3.10.")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let final_release = digits > 0 && matches!(rest.get(digits), None | Some(b' ' | b'+'));
    // The patch release doesn't matter.
    final_release.then_some(0x030a_00f0)
}

/// `_Py_DebugOffsets`, which 3.13 and later have at the start of `_PyRuntime`.
fn debug_offsets(memory: Memory, runtime: usize) -> Option<[u64; DEBUG_WORDS]> {
    let mut bytes = [0; DEBUG_WORDS * 8];
    if !memory.read(runtime, &mut bytes) {
        return None;
    }
    let mut words = [0; DEBUG_WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    Some(words)
}

/// The types that are expected, if they look like types.
fn types(memory: Memory, symbol: Symbols<'_>) -> Option<Types> {
    let meta = symbol(c"PyType_Type")?.addr();
    let class = |name: &CStr| {
        let address = symbol(name)?.addr();
        let mut head = [0; 16];
        let read = memory.read(address, &mut head);
        // Builds that trace references have a longer object header, and would have another word here. Before Python
        // is initialized, some types don't say yet what they are.
        let of = word_at(&head, object::TYPE)?;
        (read && (of == meta || of == 0)).then_some(address)
    };
    Some(Types {
        code: class(c"PyCode_Type")?,
        string: class(c"PyUnicode_Type")?,
        bytes: class(c"PyBytes_Type")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_interpreter_in_this_process() {
        assert!(Interpreter::find().is_none());
    }

    #[test]
    fn versions_of_3_10() {
        assert_eq!(version_3_10(b"3.10.13 "), Some(0x030a_00f0));
        assert_eq!(version_3_10(b"3.10.1+ "), Some(0x030a_00f0));
        assert_eq!(version_3_10(b"3.10.0rc"), None);
        assert_eq!(version_3_10(b"3.10.0a1"), None);
        assert_eq!(version_3_10(b"3.9.18 ("), None);
    }
}
