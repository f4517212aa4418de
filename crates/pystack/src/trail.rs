//! Where a thread's frames were, so that they are read together the next time.
//!
//! A frame says where the next one is, so each takes a system call of its own, except those of Python functions that call
//! each other without C code in between, which lie together. But most of a thread's frames are where they were when its
//! stack was last read. So all of that memory is read at once, and the walk reads only what is elsewhere. Nothing of
//! what was read before is used again: a trail keeps addresses.

use crate::memory::{MOST_PIECES, Memory, Piece};

/// Frames at most so far apart are read as one piece, bytes: one more takes as long as copying about so many. Stacks
/// with twelve C functions in between took 8.7, 6.5 and 8.2 µs with 512, 1024 and 2048 (Python 3.13).
const NEAR: usize = 1024;

/// Pieces beside those that a walk begins with.
const MOST: usize = MOST_PIECES - 2;

/// Bytes of all pieces: frames of Python functions take 100 to 300 bytes each.
const ROOM: usize = 12 << 10;

/// A piece of memory, and where it is in what was read.
#[derive(Clone, Copy)]
struct Region {
    start: usize,
    end: usize,
    at: usize,
}

impl Region {
    const NONE: Region = Region { start: 0, end: 0, at: 0 };

    fn length(&self) -> usize {
        self.end - self.start
    }

    /// The piece that has these bytes too, unless they are too far away.
    fn with(&self, start: usize, end: usize) -> Option<Region> {
        let (start, end) = (self.start.min(start), self.end.max(end));
        (end - start <= self.length() + NEAR).then_some(Region { start, end, at: 0 })
    }
}

/// The memory that a walk along a thread's frames looked at, by its addresses.
#[derive(Clone, Copy)]
pub struct Trail {
    pieces: [Region; MOST],
    count: usize,
    /// Bytes of all of them.
    total: usize,
    /// The pieces looked at last: frames of Python functions lie in one, those that stand for C code apart.
    last: [usize; 2],
}

impl Trail {
    /// Of a thread whose stack was not read yet.
    pub const fn new() -> Trail {
        Trail { pieces: [Region::NONE; MOST], count: 0, total: 0, last: [0; 2] }
    }

    fn pieces(&self) -> &[Region] {
        self.pieces.get(..self.count).unwrap_or_default()
    }

    /// Adds what a walk looked at.
    fn add(&mut self, start: usize, end: usize) {
        for at in self.last {
            let Some(piece) = self.pieces.get_mut(at).filter(|_| at < self.count) else { continue };
            let Some(grown) = piece.with(start, end) else { continue };
            let total = self.total + grown.length() - piece.length();
            if total <= ROOM {
                (*piece, self.total) = (grown, total);
            }
            return self.turn_to(at);
        }
        let total = self.total + (end - start);
        if let Some(room) = self.pieces.get_mut(self.count).filter(|_| total <= ROOM) {
            (*room, self.total) = (Region { start, end, at: 0 }, total);
            self.turn_to(self.count);
            self.count += 1;
        }
    }

    fn turn_to(&mut self, at: usize) {
        if self.last[0] != at {
            self.last = [at, self.last[0]];
        }
    }

    /// The piece that has some bytes.
    fn find(&mut self, start: usize, end: usize) -> Option<Region> {
        let has = |piece: &Region| piece.start <= start && end <= piece.end;
        let [last, before] = self.last;
        let likely = [last, before, last.max(before) + 1];
        let likely = likely.into_iter().find(|at| self.pieces().get(*at).is_some_and(has));
        let at = likely.or_else(|| self.pieces().iter().position(has))?;
        self.turn_to(at);
        self.pieces().get(at).copied()
    }
}

impl Default for Trail {
    fn default() -> Trail {
        Trail::new()
    }
}

/// Bytes read along a trail, and the trail of the walk that looks at them.
pub(crate) struct Batch<'t> {
    old: &'t mut Trail,
    /// How many bytes of its pieces could be read.
    read: usize,
    bytes: [u8; ROOM],
    new: Trail,
}

impl Batch<'_> {
    /// Nothing of a trail is read yet.
    pub(crate) fn of(trail: &mut Trail) -> Batch<'_> {
        Batch { old: trail, read: 0, bytes: [0; ROOM], new: Trail::new() }
    }

    /// Reads what a walk begins with, and the memory along the trail; false where the beginning cannot be read.
    pub(crate) fn read(&mut self, memory: Memory, begin: [Piece<'_>; 2]) -> bool {
        let mut at = 0;
        for piece in self.old.pieces.iter_mut().take(self.old.count) {
            piece.at = at;
            at += piece.length();
        }
        self.old.last = [0; 2];
        let pieces = self.old.pieces().iter().map(|piece| (piece.start, piece.length()));
        let read = memory.read_along(begin, pieces, &mut self.bytes);
        self.read = read.unwrap_or(0);
        read.is_some()
    }

    /// So many bytes at an address; `None` where they were not read. The new trail has them in both cases.
    pub(crate) fn get(&mut self, address: usize, size: usize) -> Option<&[u8]> {
        let end = address.checked_add(size)?;
        self.new.add(address, end);
        let piece = self.old.find(address, end)?;
        let at = piece.at + (address - piece.start);
        self.bytes.get(..self.read)?.get(at..at + size)
    }

    /// The walk is over: the trail has what it looked at.
    pub(crate) fn end(self) {
        *self.old = self.new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Words that a walk gets at these indexes.
    fn walk(words: &[u64], trail: &mut Trail, indexes: &[usize]) -> Vec<Option<u64>> {
        let base = words.as_ptr().addr();
        let (mut one, mut other) = ([0; 8], [0; 8]);
        let begin = [(base, &mut one[..]), (base + 8, &mut other[..])];
        let mut batch = Batch::of(trail);
        assert!(batch.read(Memory::ours(), begin));
        assert_eq!([one, other].map(u64::from_ne_bytes), [words[0], words[1]]);
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("a word"));
        let got = indexes.iter().map(|index| batch.get(base + 8 * index, 8).map(word)).collect();
        batch.end();
        got
    }

    #[test]
    fn a_second_walk_has_what_the_first_looked_at() {
        let words: Vec<u64> = (100..2100).collect();
        let mut trail = Trail::new();
        let indexes = [900, 20, 880, 30, 860, 1900, 840];
        assert!(walk(&words, &mut trail, &indexes).iter().all(Option::is_none));
        // Those near each other are one piece.
        assert_eq!(trail.count, 3);
        let all: Vec<_> = indexes.iter().map(|index| Some(words[*index])).collect();
        assert_eq!(walk(&words, &mut trail, &indexes), all);
        // One is elsewhere: the others are read together all the same.
        assert_eq!(walk(&words, &mut trail, &[900, 500, 860, 30]), [all[0], None, all[4], all[3]]);
    }

    #[test]
    fn memory_that_has_gone_is_not_read() {
        let words: Vec<u64> = (0..1000).collect();
        let base = words.as_ptr().addr();
        let mut trail = Trail::new();
        walk(&words, &mut trail, &[2]);
        trail.add(usize::MAX - 4096, usize::MAX - 4088);
        trail.add(base + 8 * 900, base + 8 * 901);
        // A piece that cannot be read ends what is read.
        assert_eq!(walk(&words, &mut trail, &[2, 900]), [Some(2), None]);
        let mut gone = [0; 8];
        assert!(!Batch::of(&mut trail).read(Memory::ours(), [(base, &mut [0; 8]), (8, &mut gone)]));
    }

    proptest! {
        #[test]
        fn what_is_got_is_what_is_there(walks in proptest::collection::vec(proptest::collection::vec(0..4000usize, 0..120), 1..6)) {
            let words: Vec<u64> = (0..4000).collect();
            let mut trail = Trail::new();
            for indexes in walks {
                for (index, got) in indexes.iter().zip(walk(&words, &mut trail, &indexes)) {
                    prop_assert!(got.is_none_or(|got| got == *index as u64));
                }
                let total: usize = trail.pieces().iter().map(Region::length).sum();
                prop_assert!(total == trail.total && total <= ROOM);
            }
        }
    }
}
