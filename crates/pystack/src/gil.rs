//! Python's global interpreter locks (GIL): where they are, and which thread holds one.
//!
//! A GIL is a flag, a condition by which threads wait for it, and a mutex for both; since 3.12 an interpreter may have
//! its own. Whether a condition is that of a GIL follows from the interpreter's own structures alone.

use crate::frame::{Place, Wrong};
use crate::layout::{DEBUG_WORDS, Gils, gil};
use crate::memory::{KeepErrno, Memory, int_at, word_at};
use crate::walk::Walker;
use crate::{Interpreter, Symbols, debug_offsets};

/// Most interpreters of a process that are looked at: a circle of them must end.
const MOST: usize = 1024;

/// As much of a GIL as has the fields that are read.
const HEAD: usize = gil::LOCKED + 8;

/// Python's lock of one interpreter, or of several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gil {
    /// Address of the condition by which threads wait for it (`cond`). Its mutex lies right behind it, then the
    /// condition by which the thread that releases it waits (`switch_cond`).
    pub condition: usize,
    /// The kernel's id of the thread that holds it; 0 for none, or where Python does not say (3.10).
    pub holder: u32,
    /// The state of the thread that holds it, or held it last.
    state: usize,
    locked: bool,
}

impl Interpreter {
    /// The GIL whose condition is at that address; `None` where there is none.
    ///
    /// It takes two system calls, and one more for each interpreter that has a GIL of its own.
    pub fn gil_at(&self, condition: usize) -> Option<Gil> {
        let _errno = KeepErrno::new();
        let memory = Memory::ours();
        let wanted = condition.checked_sub(gil::CONDITION)?;
        let mut known = false;
        self.each_gil(memory, &mut |at| {
            known = at == wanted;
            known
        });
        if !known {
            return None;
        }
        let mut head = [0; HEAD];
        let read = memory.read(wanted, &mut head);
        let locked = int_at(&head, gil::LOCKED).filter(|_| read)?;
        let state = word_at(&head, gil::HOLDER)?;
        // -1: there is none yet.
        let locked = matches!(locked, 0 | 1).then_some(locked == 1)?;
        let holder = if locked { self.native_id(memory, state) } else { 0 };
        Some(Gil { condition, holder, state, locked })
    }

    /// Calls `place` for the Python frames of the thread that holds a GIL, innermost first, at most `most` times; false
    /// when it is not `holder` by its kernel's id, or something looked wrong.
    ///
    /// The thread runs meanwhile: its innermost frame is looked at twice, and nothing is reported where it changed.
    pub fn holder_places(
        &self,
        condition: usize,
        holder: u32,
        most: usize,
        place: &mut dyn FnMut(Place),
    ) -> bool {
        let _errno = KeepErrno::new();
        let Some(found) = self.gil_at(condition).filter(|gil| gil.locked && gil.holder == holder) else {
            return false;
        };
        let memory = Memory::ours();
        let walker = Walker { layout: &self.layout, memory };
        let innermost = || walker.frame_of(self.runtime, found.state, |state| self.is_of(state, holder));
        let look = |report: &mut dyn FnMut(Place)| -> Result<usize, Wrong> {
            let frame = innermost()?;
            walker.places(frame, most, &mut |found| {
                report(found);
                Ok(true)
            })?;
            Ok(frame)
        };
        let mut code = [None; 2];
        let first = look(&mut |found| {
            code[0] = code[0].or(Some(found.code));
        });
        let mut kept = [None; MOST_KEPT];
        let mut count = 0;
        let second = look(&mut |found| {
            code[1] = code[1].or(Some(found.code));
            if let Some(room) = kept.get_mut(count) {
                *room = Some(found);
                count += 1;
            }
        });
        let same = matches!((first, second), (Ok(one), Ok(other)) if one == other) && code[0] == code[1];
        if same {
            kept.iter().flatten().for_each(|found| place(*found));
        }
        same
    }

    fn is_of(&self, state: &[u8], tid: u32) -> bool {
        let native = self.layout.native_id.and_then(|at| word_at(state, at));
        native.is_some_and(|native| native as u64 == u64::from(tid))
    }

    /// The kernel's id of the thread that a thread state is of; 0 for unknown.
    fn native_id(&self, memory: Memory, state: usize) -> u32 {
        let at = self.layout.native_id.filter(|_| state != 0);
        let id = at.and_then(|at| memory.word(state.wrapping_add(at)));
        id.and_then(|id| u32::try_from(id).ok()).unwrap_or(0)
    }

    /// Calls `visit` with the address of each GIL until it returns true.
    fn each_gil(&self, memory: Memory, visit: &mut dyn FnMut(usize) -> bool) {
        match self.layout.gils {
            Gils::One(at) => {
                visit(self.runtime.wrapping_add(at));
            }
            Gils::Each { head, next, gil } => {
                let mut interpreter = memory.word(self.runtime.wrapping_add(head)).unwrap_or(0);
                for _ in 0..MOST {
                    let (mut lock, mut following) = ([0; 8], [0; 8]);
                    let pieces = [
                        (interpreter.wrapping_add(gil), &mut lock[..]),
                        (interpreter.wrapping_add(next), &mut following[..]),
                    ];
                    if interpreter == 0 || !memory.gather(pieces) || visit(usize::from_ne_bytes(lock)) {
                        return;
                    }
                    interpreter = usize::from_ne_bytes(following);
                }
            }
        }
    }
}

/// Most places of another thread that are reported.
const MOST_KEPT: usize = 64;

/// Whether the CPython of this process is a free-threaded build, which has no GIL. Only 3.13 and later can be.
/// `symbol` gives the addresses of public symbols.
pub fn is_free_threaded(symbol: Symbols<'_>) -> bool {
    let _errno = KeepErrno::new();
    let runtime = symbol(c"_PyRuntime").map(|runtime| runtime.addr());
    let words = runtime.and_then(|runtime| debug_offsets(Memory::ours(), runtime));
    words.is_some_and(|words: [u64; DEBUG_WORDS]| {
        words[0] == u64::from_ne_bytes(*b"xdebugpy") && words[2] == 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::{CStr, c_void};

    #[test]
    fn builds_without_a_gil_say_so() {
        let mut words = [0u64; DEBUG_WORDS];
        let is_it = |words: &[u64; DEBUG_WORDS]| {
            let start: *mut c_void = words.as_ptr().cast_mut().cast();
            is_free_threaded(&|name: &CStr| (name == c"_PyRuntime").then_some(start))
        };
        words[2] = 1;
        assert!(!is_it(&words), "no cookie: before 3.13");
        words[0] = u64::from_ne_bytes(*b"xdebugpy");
        assert!(is_it(&words));
        words[2] = 0;
        assert!(!is_it(&words));
        assert!(!is_free_threaded(&|_| None), "no Python");
    }
}
