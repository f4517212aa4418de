//! The walk from a thread state along its frames. Nothing that is read is trusted.

use crate::frame::{Place, Wrong};
use crate::layout::{FRAME_ROOM, Innermost, Layout, OWNED_BY_C, OWNED_BY_GENERATOR, Position, THREAD_ROOM};
use crate::memory::{Memory, int_at, word_at};
use crate::trail::{Batch, Trail};

/// The least size of a page.
const PAGE: usize = 4096;

/// Reads frames of one interpreter.
#[derive(Clone, Copy)]
pub(crate) struct Walker<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) memory: Memory,
}

impl Walker<'_> {
    /// The innermost frame of a thread state, 0 for none. It must say that it belongs to the thread `id`: a wrong
    /// layout does not, nor does a thread state that was freed. `runtime` is the address of `_PyRuntime`: while it
    /// says that the interpreter is finalizing, other threads' states are freed, and there is nothing to be had.
    pub(crate) fn innermost(&self, runtime: usize, thread: usize, id: usize) -> Result<usize, Wrong> {
        self.frame_of(runtime, thread, |state| word_at(state, self.layout.thread_id) == Some(id))
    }

    /// Like [`innermost`](Self::innermost), but of a thread state that `is_it` recognizes by its first bytes.
    pub(crate) fn frame_of(
        &self,
        runtime: usize,
        thread: usize,
        is_it: impl FnOnce(&[u8]) -> bool,
    ) -> Result<usize, Wrong> {
        let mut finalizing = [0; size_of::<usize>()];
        let mut room = [0; THREAD_ROOM];
        let state = room.get_mut(..self.layout.thread_size()).ok_or(Wrong)?;
        let flag = runtime.wrapping_add(self.layout.finalizing);
        if !self.memory.gather([(flag, &mut finalizing), (thread, state)]) {
            return Err(Wrong);
        }
        if usize::from_ne_bytes(finalizing) != 0 {
            return Ok(0);
        }
        if !is_it(state) {
            return Err(Wrong);
        }
        self.frame_in(state, |at| self.memory.word(at))
    }

    /// The innermost frame of a thread state, whose words elsewhere `word` reads.
    fn frame_in(&self, state: &[u8], word: impl FnOnce(usize) -> Option<usize>) -> Result<usize, Wrong> {
        let frame = word_at(state, self.layout.thread_frame).ok_or(Wrong)?;
        match self.layout.innermost {
            Innermost::Direct => Ok(frame),
            Innermost::Through(offset) => word(frame.wrapping_add(offset)).ok_or(Wrong),
        }
    }

    /// Like [`innermost`](Self::innermost) and [`places`](Self::places) from there, but with few system calls if the
    /// thread's frames are where the trail has them; it has them afterwards.
    pub(crate) fn along(
        &self,
        trail: &mut Trail,
        (runtime, thread, id): (usize, usize, usize),
        most: usize,
        report: &mut dyn FnMut(Place) -> Result<bool, Wrong>,
    ) -> Result<usize, Wrong> {
        let mut finalizing = [0; size_of::<usize>()];
        let mut room = [0; THREAD_ROOM];
        let state = room.get_mut(..self.layout.thread_size()).ok_or(Wrong)?;
        let flag = runtime.wrapping_add(self.layout.finalizing);
        let begin = [(flag, &mut finalizing[..]), (thread, &mut *state)];
        let mut frames = Along { batch: Batch::of(trail), window: Window::new() };
        if !frames.batch.read(self.memory, begin) {
            return Err(Wrong);
        }
        if usize::from_ne_bytes(finalizing) != 0 {
            return Ok(0);
        }
        if word_at(state, self.layout.thread_id) != Some(id) {
            return Err(Wrong);
        }
        let frame = self.frame_in(state, |at| match frames.batch.get(at, size_of::<usize>()) {
            Some(word) => word_at(word, 0),
            None => self.memory.word(at),
        })?;
        let walked = self.places_in(&mut frames, frame, most, report);
        frames.batch.end();
        walked.map(|()| frame)
    }

    /// Calls `report` for the places from the frame at `address` outward, until it was true for `most` of them.
    pub(crate) fn places(
        &self,
        address: usize,
        most: usize,
        report: &mut dyn FnMut(Place) -> Result<bool, Wrong>,
    ) -> Result<(), Wrong> {
        self.places_in(&mut Window::new(), address, most, report)
    }

    fn places_in(
        &self,
        frames: &mut impl Frames,
        mut address: usize,
        most: usize,
        report: &mut dyn FnMut(Place) -> Result<bool, Wrong>,
    ) -> Result<(), Wrong> {
        let mut reported = 0;
        // Frames that are not reported count too, so that no circle of them holds the thread up.
        for _ in 0..most.saturating_mul(2).saturating_add(16) {
            if address == 0 || reported == most {
                return Ok(());
            }
            let frame = frames.get(self.memory, address, self.layout.frame_size).ok_or(Wrong)?;
            address = word_at(frame, self.layout.frame_previous).ok_or(Wrong)?;
            if let Some(place) = self.place(frame)? {
                reported += usize::from(report(place)?);
            }
        }
        Err(Wrong)
    }

    /// Where a frame is; `None` for one that stands for C code.
    fn place(&self, frame: &[u8]) -> Result<Option<Place>, Wrong> {
        let layout = self.layout;
        let owner = layout.frame_owner.map_or(Some(0), |at| frame.get(at).copied()).ok_or(Wrong)?;
        if owner >= OWNED_BY_C {
            return Ok(None);
        }
        let code = word_at(frame, layout.frame_code).ok_or(Wrong)? & !layout.frame_code_tag;
        let offset = match layout.frame_position {
            Position::Index(at) => int_at(frame, at).and_then(|index| index.checked_mul(2)),
            Position::Pointer(at) => word_at(frame, at).and_then(|at| {
                let start = code.wrapping_add(layout.code_start);
                i32::try_from(at.wrapping_sub(start).cast_signed()).ok()
            }),
        };
        // One code unit before the code: a frame that has not begun.
        let offset = offset.filter(|&offset| offset >= -2 && offset % 2 == 0).ok_or(Wrong)?;
        Ok(Some(Place { code, offset, complete: owner == OWNED_BY_GENERATOR }))
    }
}

/// Where frames are read from.
trait Frames {
    /// So many bytes at an address.
    fn get(&mut self, memory: Memory, address: usize, size: usize) -> Option<&[u8]>;
}

/// Bytes read along a trail, and a window for all others.
struct Along<'t> {
    batch: Batch<'t>,
    window: Window,
}

impl Frames for Along<'_> {
    fn get(&mut self, memory: Memory, address: usize, size: usize) -> Option<&[u8]> {
        match self.batch.get(address, size) {
            Some(frame) => Some(frame),
            None => self.window.get(memory, address, size),
        }
    }
}

/// A piece of memory that was read at once because frames, since 3.11, mostly lie one behind the other.
struct Window {
    bytes: [u8; PAGE],
    start: usize,
    length: usize,
}

impl Window {
    fn new() -> Window {
        Window { bytes: [0; PAGE], start: 0, length: 0 }
    }
}

impl Frames for Window {
    fn get(&mut self, memory: Memory, address: usize, size: usize) -> Option<&[u8]> {
        const { assert!(FRAME_ROOM < PAGE) };
        let end = address.checked_add(size)?;
        if address < self.start || end > self.start + self.length {
            if !address.is_multiple_of(8) || size > FRAME_ROOM {
                return None;
            }
            // Outer frames lie before inner ones. What precedes the frame in its page can be read if it can.
            self.start = (address & !(PAGE - 1)).max(end.saturating_sub(PAGE));
            self.length = end - self.start;
            let room = self.bytes.get_mut(..self.length)?;
            if !memory.read(self.start, room) {
                self.length = 0;
                return None;
            }
        }
        self.bytes.get(address - self.start..end - self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{Code, Reader, Types};
    use crate::layout::{V3_10, V3_11, V3_12};
    use proptest::prelude::*;

    /// Memory of made-up words, many of which point into it.
    fn memory() -> impl Strategy<Value = Vec<(u8, u16, u64)>> {
        proptest::collection::vec((0..4u8, 0..256u16, any::<u64>()), 256)
    }

    fn fill(words: &[(u8, u16, u64)]) -> Vec<usize> {
        let mut memory = vec![0usize; words.len()];
        let base = memory.as_ptr().addr();
        for (word, &(kind, at, value)) in memory.iter_mut().zip(words) {
            *word = match kind {
                0 => value as usize,
                1 => usize::from(at),
                _ => base + 8 * usize::from(at),
            };
        }
        memory
    }

    proptest! {
        #[test]
        fn no_memory_is_too_strange(words in memory(), types in proptest::array::uniform3(0..256usize), start in 0..256usize) {
            let memory = fill(&words);
            let at = |index: usize| memory[index];
            let types = Types { code: at(types[0]), string: at(types[1]), bytes: at(types[2]) };
            let base = memory.as_ptr().addr() + 8 * start;
            for layout in [V3_10, V3_11, V3_12] {
                let ours = Memory::ours();
                let (walker, reader) = (Walker { layout: &layout, memory: ours }, Reader { layout: &layout, types, memory: ours });
                let _ = walker.innermost(base, base, at(0));
                let mut places = Vec::new();
                let _ = walker.places(base, 50, &mut |place| { places.push(place); Ok(true) });
                prop_assert!(places.len() <= 50);
                let mut trail = Trail::new();
                for thread in [base, base + 8, base] {
                    let id = memory[start.saturating_sub(1)];
                    let mut along = Vec::new();
                    let walked = walker.along(&mut trail, (base, thread, id), 50, &mut |place| { along.push(place); Ok(true) });
                    let mut apart = Vec::new();
                    let found = walker.innermost(base, thread, id).and_then(|frame| {
                        walker.places(frame, 50, &mut |place| { apart.push(place); Ok(true) }).map(|()| frame)
                    });
                    prop_assert_eq!((walked.ok(), along), (found.ok(), apart));
                }
                for (word, &(_, _, offset)) in memory.iter().zip(&words) {
                    let mut code = Code::new();
                    let place = Place { code: *word, offset: offset as i32, complete: true };
                    if let Ok(Some(frame)) = reader.resolve(place, &mut code) {
                        prop_assert!(std::str::from_utf8(frame.file).is_ok() && std::str::from_utf8(frame.function).is_ok());
                    }
                }
            }
        }
    }
}
