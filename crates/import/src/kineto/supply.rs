//! Cuts a text into blocks that start and, as far as is visible without parsing, end between events.

use crate::json::is_event_start;
use memchr::{memchr_iter, memrchr_iter};
use std::io::{ErrorKind, Read};
use std::ops::Deref;

/// Bytes in a block of a mapped text: large enough that handing blocks to threads and interning
/// their names costs little.
pub(super) const BLOCK: usize = 1 << 20;

/// Bytes in a block of a stream, several of which are in memory at once.
pub(super) const STREAM_BLOCK: usize = 1 << 19;

/// Where the text comes from.
pub(crate) enum Text<'a> {
    /// All of it is in memory, for example as a mapped file.
    Whole(&'a [u8]),
    /// It comes piece by piece.
    Stream(&'a mut dyn Read),
}

/// A run of text between two cuts.
pub(super) enum Block<'a> {
    Slice(&'a [u8]),
    Owned(Buffer),
}

impl Deref for Block<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Block::Slice(bytes) => bytes,
            Block::Owned(buffer) => buffer.text(),
        }
    }
}

/// Memory that is reused for one block after another: new memory costs more than copying the text into it.
#[derive(Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    /// How many of the bytes are text.
    filled: usize,
}

impl Buffer {
    fn text(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }

    fn replace(&mut self, text: &[u8]) {
        self.make_room(text.len());
        self.bytes[..text.len()].copy_from_slice(text);
        self.filled = text.len();
    }

    fn make_room(&mut self, size: usize) {
        if self.bytes.len() < size {
            self.bytes.resize(size, 0);
        }
    }

    /// Reads up to `size` bytes of text in all; returns whether the stream ended before that.
    fn fill(&mut self, stream: &mut dyn Read, size: usize) -> std::io::Result<bool> {
        self.make_room(size);
        while self.filled < size {
            match stream.read(&mut self.bytes[self.filled..size]) {
                Ok(0) => return Ok(true),
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}

/// Hands out a text in blocks.
pub(super) struct Supply<'a> {
    text: Text<'a>,
    /// Bytes in a block; more if it cannot be cut.
    pub block_size: usize,
    /// Text that was read from a stream and not handed out.
    buffer: Buffer,
    /// Buffers of blocks that are done.
    spare: Vec<Buffer>,
    /// Whether the stream is at its end.
    ended: bool,
    /// Why the stream ended early.
    damage: Option<std::io::Error>,
}

impl<'a> Supply<'a> {
    pub fn new(text: Text<'a>, block_size: usize) -> Self {
        let (buffer, spare) = (Buffer::default(), Vec::new());
        Supply { text, block_size, buffer, spare, ended: false, damage: None }
    }

    /// Why the text ended early, if it did.
    pub fn damage(self) -> Option<std::io::Error> {
        self.damage
    }

    /// The text not handed out: at least `least` bytes, unless fewer are left.
    pub fn view(&mut self, least: usize) -> &[u8] {
        self.fill(least);
        match &self.text {
            Text::Whole(rest) => rest,
            Text::Stream(_) => self.buffer.text(),
        }
    }

    /// Drops the first `bytes` of the view.
    pub fn advance(&mut self, bytes: usize) {
        match &mut self.text {
            Text::Whole(rest) => *rest = &rest[bytes..],
            Text::Stream(_) => drop(self.split(bytes)),
        }
    }

    /// The next block; `None` at the end.
    pub fn block(&mut self) -> Option<Block<'a>> {
        let (mut searched, mut size) = (0, self.block_size);
        loop {
            let length = self.view(size).len();
            if length == 0 {
                return None;
            }
            let end = match length <= size && self.is_whole() {
                true => Some(length),
                false => self.cut(searched, size),
            };
            match end {
                Some(end) => return Some(self.split(end)),
                // No place to cut: one huge event, or no events at all.
                None => (searched, size) = (size, size * 2),
            }
        }
    }

    /// Takes back a block that is done.
    pub fn recycle(&mut self, block: Block<'a>) {
        if let Block::Owned(buffer) = block {
            self.spare.push(buffer);
        }
    }

    /// Whether the view holds all remaining text.
    fn is_whole(&self) -> bool {
        matches!(self.text, Text::Whole(_)) || self.ended
    }

    /// Where to cut between `searched` and `size` of the view: as late as possible in the first search, and as early
    /// as possible in later ones, which may go through gigabytes of a file and must read it forwards.
    fn cut(&mut self, searched: usize, size: usize) -> Option<usize> {
        let view = self.view(size);
        let view = &view[..size.min(view.len())];
        let starts_event = |brace: &usize| *brace > 0 && is_event_start(view, *brace);
        match searched {
            0 => memrchr_iter(b'{', view).find(starts_event),
            _ => memchr_iter(b'{', &view[searched..]).map(|brace| searched + brace).find(starts_event),
        }
    }

    fn split(&mut self, end: usize) -> Block<'a> {
        match &mut self.text {
            Text::Whole(rest) => {
                let (block, after) = rest.split_at(end);
                *rest = after;
                Block::Slice(block)
            }
            Text::Stream(_) => {
                let mut after = self.spare.pop().unwrap_or_default();
                after.replace(&self.buffer.text()[end..]);
                let mut block = std::mem::replace(&mut self.buffer, after);
                block.filled = end;
                Block::Owned(block)
            }
        }
    }

    fn fill(&mut self, least: usize) {
        let Text::Stream(stream) = &mut self.text else { return };
        if self.ended || self.buffer.filled >= least {
            return;
        }
        match self.buffer.fill(stream, least) {
            Ok(ended) => self.ended = ended,
            // Keep the text before the damage.
            Err(error) => (self.ended, self.damage) = (true, Some(error)),
        }
    }
}
