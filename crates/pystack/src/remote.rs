//! The Python stacks of another process, read while it runs.
//!
//! Nobody is stopped, so that what is read may change in between. Every object's type is compared with the one
//! expected, and a stack counts as whole if its thread is in the same innermost frame after it was read as before.

use crate::code::{Code, Reader, Types};
use crate::collector::Collector;
use crate::debug_offsets;
use crate::frame::{Frame, Place, Wrong};
use crate::layout::{CODE_ROOM, DEBUG_WORDS, Layout, Lists, THREAD_ROOM, object};
use crate::memory::{Memory, int_at, word_at};
use crate::trail::Trail;
use crate::walk::Walker;

/// The most interpreters of a process, and thread states of all of them, that are followed.
const MOST_INTERPRETERS: usize = 64;
const MOST_THREADS: usize = 4096;

/// How often a stack is read that changes meanwhile.
const ATTEMPTS: usize = 4;

/// Where glibc's `struct pthread` has the kernel's id of its thread: behind its header and a list's two pointers
/// (glibc 2.17 to 2.41, nptl/descr.h; the header is 704 bytes on x86-64 and 192 on 64-bit Arm).
const PTHREAD_TID: usize = if cfg!(target_arch = "aarch64") { 208 } else { 720 };

/// The CPython of another process.
#[derive(Clone, Copy, Debug)]
pub struct Remote {
    minor: u8,
    layout: Layout,
    lists: Lists,
    types: Types,
    /// The place of the collector's state, if it was found.
    collector: Option<Collector>,
    /// Address of `_PyRuntime`.
    runtime: usize,
    memory: Memory,
}

/// Why the Python stacks of a process cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// Some symbol of the interpreter is missing.
    Symbols,
    /// The kernel does not permit to read the memory of the process.
    Forbidden,
    /// A release that this crate does not know, a pre-release, or a build without a global interpreter lock:
    /// `PY_VERSION_HEX`, 0 for unknown.
    Version(u64),
}

/// A thread that Python knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadState {
    /// Address of its `PyThreadState`.
    address: usize,
    /// `pthread_self` of the thread.
    id: usize,
    /// The kernel's id of the thread, as the interpreter and the C library have it; 0 for unknown. After a fork the
    /// first may be that of the parent's thread.
    pub native: [u32; 2],
}

/// How well a stack was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// All of it.
    Whole,
    /// It changed while it was read: its outer frames, up to where two readings agree.
    Outer,
    /// Nothing: the thread ended, or something looked wrong.
    Nothing,
}

/// Fields that tell a code object from another one that takes its place in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    file: usize,
    name: usize,
    lines: usize,
    first_line: i32,
}

/// Gives the address of a public symbol of the process's interpreter.
pub type RemoteSymbols<'a> = &'a dyn Fn(&str) -> Option<usize>;

impl Remote {
    /// The interpreter of the process `pid`, with the addresses of its symbols in that process.
    ///
    /// # Errors
    /// [`Unreadable`]: this process may not read that one's memory, or there is no CPython 3.10 to 3.14 with a GIL.
    pub fn find(pid: i32, symbol: RemoteSymbols<'_>) -> Result<Remote, Unreadable> {
        let memory = Memory::of(pid);
        let runtime = symbol("_PyRuntime").ok_or(Unreadable::Symbols)?;
        let hex = version(memory, symbol)?;
        // 0xf0: a final release.
        if hex >> 24 != 3 || hex & 0xff != 0xf0 {
            return Err(Unreadable::Version(hex));
        }
        let minor = (hex >> 16 & 0xff) as u8;
        let (layout, lists) = layouts(memory, runtime, minor, hex)?.ok_or(Unreadable::Version(hex))?;
        let types = types(memory, symbol)?;
        let collector = collector(memory, runtime, &lists, hex);
        Ok(Remote { minor, layout, lists, types, collector, runtime, memory })
    }

    /// Major and minor version.
    pub fn version(&self) -> (u8, u8) {
        (3, self.minor)
    }

    /// The threads that Python knows, of all its interpreters; false if something looked wrong, as when threads came or
    /// went meanwhile: then some may be missing.
    pub fn threads(&self, threads: &mut Vec<ThreadState>) -> bool {
        threads.clear();
        let Some(mut interpreter) = self.memory.word(self.runtime.wrapping_add(self.lists.interpreters))
        else {
            return false;
        };
        for _ in 0..MOST_INTERPRETERS {
            if interpreter == 0 {
                return true;
            }
            if !self.threads_of(interpreter, threads) {
                return false;
            }
            let next = self.memory.word(interpreter.wrapping_add(self.lists.interpreter_next));
            let Some(next) = next else { return false };
            interpreter = next;
        }
        false
    }

    fn threads_of(&self, interpreter: usize, threads: &mut Vec<ThreadState>) -> bool {
        let Some(mut address) = self.memory.word(interpreter.wrapping_add(self.lists.threads)) else {
            return false;
        };
        for _ in threads.len()..MOST_THREADS {
            if address == 0 {
                return true;
            }
            let Some((thread, next)) = self.thread(address) else { return false };
            threads.push(thread);
            address = next;
        }
        false
    }

    /// The thread of a thread state, and the next thread state.
    fn thread(&self, address: usize) -> Option<(ThreadState, usize)> {
        let mut room = [0; THREAD_ROOM];
        let state = room.get_mut(..self.thread_size())?;
        if !address.is_multiple_of(8) || !self.memory.read(address, state) {
            return None;
        }
        let (next, id) = (word_at(state, self.lists.thread_next)?, word_at(state, self.layout.thread_id)?);
        let native = self.lists.thread_native.and_then(|at| word_at(state, at));
        let native = u32::try_from(native.unwrap_or(0)).unwrap_or(0);
        let mut tid = [0; 4];
        let read = id != 0 && self.memory.read(id.wrapping_add(PTHREAD_TID), &mut tid);
        let tid = if read { u32::from_ne_bytes(tid) } else { 0 };
        Some((ThreadState { address, id, native: [native, tid] }, next))
    }

    /// As much of a thread state as has the fields that are read.
    fn thread_size(&self) -> usize {
        let lists = self.lists.thread_next.max(self.lists.thread_native.unwrap_or(0)) + 8;
        self.layout.thread_size().max(lists).min(THREAD_ROOM)
    }

    /// Whether the garbage collector runs in a thread.
    pub fn collects(&self, thread: &ThreadState) -> bool {
        let Some(collector) = &self.collector else { return false };
        let mut interpreter = self.memory.word(self.runtime.wrapping_add(self.lists.interpreters));
        for _ in 0..MOST_INTERPRETERS {
            let Some(at) = interpreter.filter(|at| *at != 0) else { return false };
            if collector.runs_in(self.memory, (self.runtime, at), thread.address, self.layout.gils) {
                return true;
            }
            interpreter = self.memory.word(at.wrapping_add(self.lists.interpreter_next));
        }
        false
    }

    /// Reads the places of a thread's Python frames, innermost first, at most `most`. `trail` is the thread's own.
    pub fn stack(
        &self,
        thread: &ThreadState,
        trail: &mut Trail,
        most: usize,
        places: &mut Vec<Place>,
    ) -> Reading {
        let mut before: Vec<Place> = Vec::new();
        let mut any = false;
        for _ in 0..ATTEMPTS {
            std::mem::swap(&mut before, places);
            match self.attempt(thread, trail, most, places) {
                Ok(true) => return Reading::Whole,
                Ok(false) if any => {
                    keep_common(&before, places);
                }
                Ok(false) => any = true,
                Err(Wrong) => std::mem::swap(&mut before, places),
            }
        }
        if places.is_empty() || !any { Reading::Nothing } else { Reading::Outer }
    }

    /// Reads the places once; whether the thread's innermost frame was the same before and after.
    fn attempt(
        &self,
        thread: &ThreadState,
        trail: &mut Trail,
        most: usize,
        places: &mut Vec<Place>,
    ) -> Result<bool, Wrong> {
        places.clear();
        let walker = Walker { layout: &self.layout, memory: self.memory };
        let (runtime, state, id) = (self.runtime, thread.address, thread.id);
        let frame = walker.along(trail, (runtime, state, id), most, &mut |place| {
            places.push(place);
            Ok(true)
        })?;
        Ok(walker.innermost(runtime, state, id)? == frame)
    }

    /// Reads the identities of the code objects of places, in their order; false if one of them is no code object.
    pub fn identities(&self, places: &[Place], identities: &mut Vec<Identity>) -> bool {
        identities.clear();
        let size = self.layout.code_lines.max(self.layout.code_name).max(self.layout.code_file) + 8;
        if size > CODE_ROOM {
            return false;
        }
        // Deep stacks have few functions, many times.
        let mut codes: Vec<usize> = places.iter().map(|place| place.code).collect();
        codes.sort_unstable();
        codes.dedup();
        let mut bytes = vec![0; codes.len() * size];
        if !codes.iter().all(|code| code.is_multiple_of(8)) || !self.memory.each(&codes, size, &mut bytes) {
            return false;
        }
        let each: Vec<Identity> = bytes.chunks_exact(size).map_while(|code| self.identity(code)).collect();
        let of = |place: &Place| each.get(codes.binary_search(&place.code).ok()?).copied();
        identities.extend(places.iter().map_while(of));
        identities.len() == places.len()
    }

    fn identity(&self, code: &[u8]) -> Option<Identity> {
        let layout = &self.layout;
        (word_at(code, object::TYPE)? == self.types.code).then_some(())?;
        Some(Identity {
            file: word_at(code, layout.code_file)?,
            name: word_at(code, layout.code_name)?,
            lines: word_at(code, layout.code_lines)?,
            first_line: int_at(code, layout.code_first_line)?,
        })
    }

    /// Calls `frame` with what a place means; not at all for a frame that is being set up and that Python itself would
    /// not show. False when something looked wrong.
    pub fn resolve(&self, place: Place, frame: &mut dyn FnMut(Frame<'_>)) -> bool {
        let mut code = Code::new();
        let reader = Reader { layout: &self.layout, types: self.types, memory: self.memory };
        let found = reader.resolve(place, &mut code);
        if let Ok(Some(found)) = found {
            frame(found);
        }
        found.is_ok()
    }
}

/// Keeps of `now` the outer frames that `before` has too. The innermost of them may have moved on.
fn keep_common(before: &[Place], now: &mut Vec<Place>) {
    let mut common = 0;
    for (before, now) in before.iter().rev().zip(now.iter().rev()) {
        if before.code != now.code {
            break;
        }
        common += 1;
        if before.offset != now.offset {
            break;
        }
    }
    now.drain(..now.len() - common);
}

/// `PY_VERSION_HEX`. Before 3.11 no variable has it: 3.10 is the release with `Py_NewRef` and without that variable.
fn version(memory: Memory, symbol: RemoteSymbols<'_>) -> Result<u64, Unreadable> {
    match symbol("Py_Version") {
        Some(address) => memory.word(address).map(|hex| hex as u64).ok_or(Unreadable::Forbidden),
        None if symbol("Py_NewRef").is_some() => Ok(0x030a_00f0),
        None => Err(Unreadable::Version(0)),
    }
}

/// The layouts of a release, `None` if it is not known.
fn layouts(
    memory: Memory,
    runtime: usize,
    minor: u8,
    hex: u64,
) -> Result<Option<(Layout, Lists)>, Unreadable> {
    if let (Some(layout), Some(lists)) = (Layout::fixed(minor), Lists::fixed(minor)) {
        return Ok(Some((layout, lists)));
    }
    let words: [u64; DEBUG_WORDS] = debug_offsets(memory, runtime).ok_or(Unreadable::Forbidden)?;
    let both = (Layout::published(&words, hex), Lists::published(&words, hex));
    Ok(if let (Some(layout), Some(lists)) = both { Some((layout, lists)) } else { None })
}

/// The place of the collector's state in an interpreter's: 3.13 and later publish it, in others it is searched.
fn collector(memory: Memory, runtime: usize, lists: &Lists, hex: u64) -> Option<Collector> {
    if let Some(words) = debug_offsets(memory, runtime).filter(|_| hex >> 16 >= 0x030d) {
        return Lists::collecting(&words, hex).map(|collecting| Collector { collecting });
    }
    let first = memory.word(runtime.wrapping_add(lists.interpreters)).filter(|first| *first != 0)?;
    Collector::find(memory, first)
}

/// The types that are expected, if they look like types.
fn types(memory: Memory, symbol: RemoteSymbols<'_>) -> Result<Types, Unreadable> {
    let meta = symbol("PyType_Type").ok_or(Unreadable::Symbols)?;
    let class = |name: &str| {
        let address = symbol(name).ok_or(Unreadable::Symbols)?;
        let of = memory.word(address.wrapping_add(object::TYPE)).ok_or(Unreadable::Forbidden)?;
        // As within the process: another word here means another object header.
        if of == meta || of == 0 { Ok(address) } else { Err(Unreadable::Version(0)) }
    };
    Ok(Types { code: class("PyCode_Type")?, string: class("PyUnicode_Type")?, bytes: class("PyBytes_Type")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{V3_10, V3_11, V3_12};
    use proptest::prelude::*;

    fn place(code: usize, offset: i32) -> Place {
        Place { code, offset, complete: false }
    }

    fn common(before: &[Place], now: &[Place]) -> Vec<Place> {
        let mut now = now.to_vec();
        keep_common(before, &mut now);
        now
    }

    #[test]
    fn two_readings_agree_on_outer_frames() {
        let [main, step, inner, other] = [place(8, 10), place(16, 20), place(24, 30), place(32, 40)];
        assert_eq!(common(&[inner, step, main], &[other, step, main]), [step, main]);
        assert_eq!(common(&[step, main], &[inner, step, main]), [step, main]);
        // The function went on: its own callee is not the other reading's.
        let further = place(16, 22);
        assert_eq!(common(&[inner, step, main], &[other, further, main]), [further, main]);
        assert_eq!(common(&[inner, step, main], &[inner, further, main]), [further, main]);
        assert_eq!(common(&[main], &[other]), []);
        assert_eq!(common(&[], &[main]), []);
    }

    #[test]
    fn nothing_without_symbols_or_permission() {
        assert_eq!(Remote::find(1, &|_| None).unwrap_err(), Unreadable::Symbols);
        // No process has this id: as one that may not be read.
        let found = Remote::find(i32::MAX, &|_| Some(4096));
        assert_eq!(found.unwrap_err(), Unreadable::Forbidden);
    }

    proptest! {
        #[test]
        fn no_memory_is_too_strange(
            words in proptest::collection::vec((0..3u8, 0..256u16, any::<u64>()), 256),
            start in 0..256usize,
            native: bool,
        ) {
            let mut memory = vec![0usize; words.len()];
            let base = memory.as_ptr().addr();
            for (word, &(kind, at, value)) in memory.iter_mut().zip(&words) {
                *word = match kind {
                    0 => value as usize,
                    1 => 0,
                    _ => base + 8 * usize::from(at),
                };
            }
            let types = Types { code: memory[0], string: memory[1], bytes: memory[2] };
            for (layout, minor) in [(V3_10, 10), (V3_11, 11), (V3_12, 12)] {
                let lists = Lists::fixed(minor).unwrap();
                let lists = if native { lists } else { Lists { interpreters: 8 * start, ..lists } };
                let collector = Some(Collector { collecting: 8 * start });
                let remote =
                    Remote { minor, layout, lists, types, collector, runtime: base, memory: Memory::ours() };
                let (mut threads, mut places, mut identities) = (Vec::new(), Vec::new(), Vec::new());
                let mut trail = Trail::new();
                remote.threads(&mut threads);
                prop_assert!(threads.len() <= MOST_THREADS);
                let address = base + 8 * start;
                threads.truncate(4);
                threads.push(ThreadState { address, id: memory[start], native: [0; 2] });
                for thread in &threads {
                    remote.collects(thread);
                    remote.stack(thread, &mut trail, 50, &mut places);
                    prop_assert!(places.len() <= 50);
                    remote.identities(&places, &mut identities);
                    places.iter().for_each(|place| _ = remote.resolve(*place, &mut |_| {}));
                }
            }
        }
    }
}
