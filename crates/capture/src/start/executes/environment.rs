//! An environment without this library.

use crate::sys::{env, seccomp};
use libc::c_char;
use spool::{VAR_CUDA_INJECTION, VAR_NVTX_INJECTION, VAR_PRELOAD};
use std::ffi::CStr;
use std::ptr::{null, null_mut};

/// A list of texts that a null ends: a program's arguments or environment.
pub type Texts = *const *const c_char;

/// Whether an environment has this library preloaded.
///
/// # Safety
///
/// It is one, or null.
pub unsafe fn names_library(environment: Texts) -> bool {
    // SAFETY: the caller's promise.
    unsafe { env::text_in(environment, VAR_PRELOAD) }.is_some_and(|list| libraries(list).any(is_own))
}

/// The libraries in a list of the loader's.
fn libraries(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| matches!(byte, b' ' | b':')).filter(|library| !library.is_empty())
}

fn is_own(library: &[u8]) -> bool {
    library.rsplit(|byte| *byte == b'/').next().is_some_and(|name| name.starts_with(env::LIBRARY))
}

/// Entries that have room on the stack, of 2 KiB: most environments. A child of `vfork` leaves a mapping to its parent.
const ON_STACK: usize = 256;

/// Memory for a changed copy of an environment.
pub struct Room {
    stack: [*const c_char; ON_STACK],
    /// For more entries than that; null mostly.
    mapped: *mut *const c_char,
    words: usize,
    entries: usize,
}

impl Drop for Room {
    fn drop(&mut self) {
        if !self.mapped.is_null() {
            // SAFETY: the mapping that `of` made, which nobody uses any more.
            unsafe { libc::munmap(self.mapped.cast(), self.words * size_of::<*const c_char>()) };
        }
    }
}

impl Room {
    /// Room for an environment; `None` if there is no memory, or none may be asked for.
    ///
    /// # Safety
    ///
    /// It is one.
    pub unsafe fn of(environment: Texts) -> Option<Room> {
        let (mut entries, mut bytes) = (0, 0);
        // SAFETY: the caller's promise.
        while let Some(entry) = unsafe { entry(environment, entries) } {
            entries += 1;
            bytes += value(entry).map_or(0, |_| entry.count_bytes() + 1);
        }
        let words = entries + 1 + bytes.div_ceil(size_of::<*const c_char>());
        let mut room = Room { stack: [null(); ON_STACK], mapped: null_mut(), words, entries };
        if words > ON_STACK {
            if !seccomp::allows_calls() {
                return None;
            }
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            // SAFETY: asks for new memory.
            let mapped =
                unsafe { libc::mmap(null_mut(), words * size_of::<*const c_char>(), access, flags, -1, 0) };
            if mapped == libc::MAP_FAILED {
                return None;
            }
            room.mapped = mapped.cast();
        }
        Some(room)
    }

    /// Copies the environment that it has room for, without this library; the copy lives as long as the room. With `injected`
    /// the driver still loads it. `None` if another thread made the environment longer meanwhile.
    ///
    /// # Safety
    ///
    /// It is one.
    pub unsafe fn fill(&mut self, environment: Texts, injected: bool) -> Option<Texts> {
        let room = if self.mapped.is_null() {
            self.stack.get_mut(..self.words)?
        } else {
            // SAFETY: a mapping of that many words, of zeros, that nobody else knows.
            unsafe { std::slice::from_raw_parts_mut(self.mapped, self.words) }
        };
        let (list, text) = room.split_at_mut_checked(self.entries + 1)?;
        // SAFETY: the same memory as bytes, of which each is initialised.
        let mut text =
            unsafe { std::slice::from_raw_parts_mut(text.as_mut_ptr().cast::<u8>(), size_of_val(text)) };
        let (mut place, mut number) = (0, 0);
        // SAFETY: the caller's promise.
        while let Some(entry) = unsafe { entry(environment, number) } {
            number += 1;
            let kept = match value(entry) {
                None if !injected && injects(entry) => continue,
                None => entry.as_ptr(),
                Some(libraries) => match rewritten(libraries, &mut text)? {
                    Some(kept) => kept,
                    None => continue,
                },
            };
            // The last one stays null.
            *list.get_mut(..self.entries)?.get_mut(place)? = kept;
            place += 1;
        }
        Some(list.as_ptr())
    }
}

/// An entry by its number; `None` behind the last one.
unsafe fn entry<'a>(environment: Texts, number: usize) -> Option<&'a CStr> {
    // SAFETY: the caller's promise: all entries before this one are none that end it.
    unsafe {
        let entry = *environment.add(number);
        (!entry.is_null()).then(|| CStr::from_ptr(entry))
    }
}

/// The list of libraries, if an entry is that of `LD_PRELOAD`.
fn value(entry: &CStr) -> Option<&[u8]> {
    of_variable(entry, VAR_PRELOAD)
}

fn of_variable<'a>(entry: &'a CStr, name: &str) -> Option<&'a [u8]> {
    entry.to_bytes().strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

/// Whether an entry has the driver or NVTX load this library.
fn injects(entry: &CStr) -> bool {
    let names = [VAR_CUDA_INJECTION, VAR_NVTX_INJECTION];
    names.into_iter().any(|name| of_variable(entry, name).is_some_and(is_own))
}

/// Writes the entry of `LD_PRELOAD` without this library, at the beginning of `text`, of which the rest is left: `None` if it
/// does not fit, `Some(None)` if no library is left.
fn rewritten(list: &[u8], text: &mut &mut [u8]) -> Option<Option<*const c_char>> {
    let mut others = libraries(list).filter(|library| !is_own(library));
    let Some(first) = others.next() else { return Some(None) };
    let room = std::mem::take(text);
    let start = room.as_ptr();
    let mut rest = room;
    for part in [VAR_PRELOAD.as_bytes(), b"=", first] {
        rest = append(rest, part)?;
    }
    for other in others {
        rest = append(append(rest, b":")?, other)?;
    }
    *text = append(rest, b"\0")?;
    Some(Some(start.cast()))
}

/// Writes bytes into a room; the rest of it. `None` if they do not fit.
fn append<'a>(room: &'a mut [u8], bytes: &[u8]) -> Option<&'a mut [u8]> {
    let (place, rest) = room.split_at_mut_checked(bytes.len())?;
    for (to, from) in place.iter_mut().zip(bytes) {
        *to = *from;
    }
    Some(rest)
}
