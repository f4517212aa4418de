//! Text in blocks that start and, as far as one can tell without reading it, end between events.

use crate::json::is_event_start;
use memchr::memrchr_iter;
use std::io::Read;
use std::ops::Deref;

/// Bytes in a block: large enough that handing blocks to threads costs nothing, small enough
/// that a few in flight are little memory.
pub(super) const BLOCK: usize = 1 << 20;

/// Where the text comes from.
pub(crate) enum Text<'a> {
    /// All of it lies in memory, as a mapped file.
    Whole(&'a [u8]),
    /// It comes piece by piece.
    Stream(&'a mut dyn Read),
}

/// A run of text between two cuts.
pub(super) enum Block<'a> {
    Slice(&'a [u8]),
    Owned(Vec<u8>),
}

impl Deref for Block<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Block::Slice(bytes) => bytes,
            Block::Owned(bytes) => bytes,
        }
    }
}

/// Hands out a text in blocks.
pub(super) struct Supply<'a> {
    text: Text<'a>,
    /// Bytes in a block, more where it cannot be cut.
    pub block_size: usize,
    /// What was read from a stream and not handed out.
    buffer: Vec<u8>,
    /// The stream gave all it has.
    ended: bool,
    /// Why the stream ended early.
    damage: Option<std::io::Error>,
}

impl<'a> Supply<'a> {
    pub fn new(text: Text<'a>, block_size: usize) -> Self {
        Supply { text, block_size, buffer: Vec::new(), ended: false, damage: None }
    }

    /// Why the text ended early, if it did.
    pub fn damage(self) -> Option<std::io::Error> {
        self.damage
    }

    /// The text not handed out, at least `least` bytes of it unless there are no more.
    pub fn view(&mut self, least: usize) -> &[u8] {
        self.fill(least);
        match &self.text {
            Text::Whole(rest) => rest,
            Text::Stream(_) => &self.buffer,
        }
    }

    /// Drops the first `bytes` of the view.
    pub fn advance(&mut self, bytes: usize) {
        match &mut self.text {
            Text::Whole(rest) => *rest = &rest[bytes..],
            Text::Stream(_) => drop(self.buffer.drain(..bytes)),
        }
    }

    /// The next block; `None` at the end.
    pub fn block(&mut self) -> Option<Block<'a>> {
        let mut size = self.block_size;
        loop {
            let view = self.view(size);
            if view.is_empty() {
                return None;
            }
            let end = match view.len() <= size && self.is_whole() {
                true => self.view(0).len(),
                false => match self.cut(size) {
                    Some(end) => end,
                    // No place to cut: one huge event, or no events at all.
                    None => {
                        size *= 2;
                        continue;
                    }
                },
            };
            return Some(self.split(end));
        }
    }

    /// Whether the view holds all that is left.
    fn is_whole(&self) -> bool {
        matches!(self.text, Text::Whole(_)) || self.ended
    }

    /// Where to cut within the first `size` bytes of the view.
    fn cut(&mut self, size: usize) -> Option<usize> {
        let view = self.view(size);
        let view = &view[..size.min(view.len())];
        memrchr_iter(b'{', view).find(|&brace| brace > 0 && is_event_start(view, brace))
    }

    fn split(&mut self, end: usize) -> Block<'a> {
        match &mut self.text {
            Text::Whole(rest) => {
                let (block, after) = rest.split_at(end);
                *rest = after;
                Block::Slice(block)
            }
            Text::Stream(_) => {
                let after = self.buffer.split_off(end);
                Block::Owned(std::mem::replace(&mut self.buffer, after))
            }
        }
    }

    fn fill(&mut self, least: usize) {
        let Text::Stream(stream) = &mut self.text else { return };
        let missing = least.saturating_sub(self.buffer.len());
        if missing == 0 || self.ended {
            return;
        }
        self.buffer.reserve(missing);
        match stream.take(missing as u64).read_to_end(&mut self.buffer) {
            Ok(read) => self.ended = read < missing,
            // Keep what came before the damage.
            Err(error) => (self.ended, self.damage) = (true, Some(error)),
        }
    }
}
