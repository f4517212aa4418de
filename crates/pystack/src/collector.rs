//! Python's garbage collector in another process: whether it runs, and in which thread.
//!
//! Releases before 3.13 do not say where an interpreter has the collector's state (`PyInterpreterState.gc`). It shows itself: its field
//! `generation0` points at its field `generations`, which lies right before it. From there to `collecting` it is the same in 3.10 to 3.12
//! (`struct _gc_runtime_state`, Include/internal/pycore_gc.h; 64-bit builds).

use crate::layout::Gils;
use crate::layout::gil::{HOLDER, LOCKED};
use crate::memory::{Memory, int_at, word_at};

/// `sizeof(generations)`: from it to `generation0`.
const GENERATIONS: usize = 72;
/// Offsets of `permanent_generation.head` and `collecting` from `generation0`.
const PERMANENT: usize = 8;
const COLLECTING: usize = 104;

/// Bytes of an interpreter's state that are searched: more than any release has before these fields.
const MOST: usize = 1 << 19;

/// Bytes of one read.
const PAGE: usize = 4096;

/// The place of the collector's flag in an interpreter's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Collector {
    /// `PyInterpreterState.gc.collecting`
    pub(crate) collecting: usize,
}

impl Collector {
    /// Looks for it in an interpreter's state.
    pub(crate) fn find(memory: Memory, interpreter: usize) -> Option<Collector> {
        let mut state = Vec::new();
        while state.len() < MOST {
            let at = interpreter.wrapping_add(state.len());
            // Up to the next page: what is behind may not be there.
            let size = PAGE - at % PAGE;
            let from = state.len();
            state.resize(from + size, 0);
            if !memory.read(at, &mut state[from..]) {
                state.truncate(from);
                break;
            }
        }
        let is_it = |at: &usize| is_generation0(&state, *at, interpreter.wrapping_add(*at));
        let at = (GENERATIONS..state.len()).step_by(8).find(is_it)?;
        Some(Collector { collecting: at + COLLECTING })
    }

    /// Whether the collector of an interpreter runs in the thread with this state: that holds the lock which it needs.
    pub(crate) fn runs_in(
        &self,
        memory: Memory,
        (runtime, interpreter): (usize, usize),
        thread: usize,
        gils: Gils,
    ) -> bool {
        let mut flag = [0; 4];
        if !memory.read(interpreter.wrapping_add(self.collecting), &mut flag) || i32::from_ne_bytes(flag) != 1
        {
            return false;
        }
        let gil = match gils {
            Gils::One(at) => Some(runtime.wrapping_add(at)),
            Gils::Each { gil, .. } => memory.word(interpreter.wrapping_add(gil)),
        };
        let mut head = [0; LOCKED + 8];
        let read = gil.is_some_and(|gil| memory.read(gil, &mut head));
        read && word_at(&head, HOLDER) == Some(thread) && int_at(&head, LOCKED) == Some(1)
    }
}

/// Whether the word at an offset of an interpreter's state, at this address, is `generation0`.
fn is_generation0(state: &[u8], at: usize, address: usize) -> bool {
    let word = |at: usize| word_at(state, at);
    // A list of objects that is never null: an empty one points at itself.
    let is_list =
        |at: usize| word(at).is_some_and(|next| next != 0) && word(at + 8).is_some_and(|last| last != 0);
    word(at) == Some(address.wrapping_sub(GENERATIONS))
        && is_list(at - GENERATIONS)
        && is_list(at + PERMANENT)
        && matches!(int_at(state, at + COLLECTING), Some(0 | 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generation0_is_found_by_where_it_points() {
        let mut words = vec![0usize; 64];
        let base = words.as_ptr().addr();
        let (generations, generation0) = (8, 8 + GENERATIONS / 8);
        words[generation0] = base + 8 * generations;
        let lists = [generations, generation0 + PERMANENT / 8];
        for list in lists {
            (words[list], words[list + 1]) = (base + 8 * list, base + 8 * list);
        }
        let bytes = |words: &[usize]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let found = |words: &[usize]| {
            let state = bytes(words);
            (GENERATIONS..state.len()).step_by(8).find(|at| is_generation0(&state, *at, base + *at))
        };
        assert_eq!(found(&words), Some(8 * generation0));
        let mut other = words.clone();
        other[generation0 + COLLECTING / 8] = 2;
        assert_eq!(found(&other), None, "no flag");
        words[lists[1]] = 0;
        assert_eq!(found(&words), None, "no list");
    }
}
