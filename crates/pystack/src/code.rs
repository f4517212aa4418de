//! Names and lines in a code object. Nothing that is read is trusted: not pointers, not sizes.

use crate::frame::{Frame, Place, Wrong};
use crate::layout::{CODE_ROOM, Layout, Lines, Position, object};
use crate::line;
use crate::memory::{Memory, int_at, word_at};
use crate::text::{CHUNK, Shape, Text};

/// Longest file name and function name that are reported, in bytes of UTF-8.
const MOST_FILE: usize = 4096;
const MOST_FUNCTION: usize = 1024;

/// How much of a line table is read at once.
const TABLE_CHUNK: usize = 512;

/// The addresses of the types that objects must be of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Types {
    pub(crate) code: usize,
    pub(crate) string: usize,
    pub(crate) bytes: usize,
}

/// A code object that was read, kept for further frames of the same one.
pub(crate) struct Code {
    /// 0 before it was read well.
    address: usize,
    file: Text<MOST_FILE>,
    function: Text<MOST_FUNCTION>,
    first_line: i32,
    first_traceable: i32,
    /// Bytes of bytecode.
    length: i64,
    table: usize,
    table_length: usize,
    /// The table's first bytes.
    chunk: [u8; TABLE_CHUNK],
}

/// Reads code objects.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) types: Types,
    pub(crate) memory: Memory,
}

impl Reader<'_> {
    /// Meaning of a place; `None` for a frame that is still being made: the interpreter itself passes over it.
    /// `code` may hold what an earlier call read.
    pub(crate) fn resolve<'c>(&self, place: Place, code: &'c mut Code) -> Result<Option<Frame<'c>>, Wrong> {
        if code.address != place.code {
            code.address = 0;
            self.code(place.code, code)?;
            code.address = place.code;
        }
        let offset = i64::from(place.offset);
        if offset >= code.length {
            return Err(Wrong);
        }
        if !place.complete && offset < i64::from(code.first_traceable) * 2 {
            return Ok(None);
        }
        Ok(Some(Frame {
            code: code.address,
            file: code.file.as_bytes(),
            function: code.function.as_bytes(),
            first_line: u32::try_from(code.first_line).unwrap_or(0),
            line: self.line(code, place.offset),
        }))
    }

    fn code(&self, address: usize, code: &mut Code) -> Result<(), Wrong> {
        let layout = self.layout;
        let mut room = [0; CODE_ROOM];
        let raw = room.get_mut(..layout.code_start).ok_or(Wrong)?;
        if !address.is_multiple_of(8) || !self.memory.read(address, raw) {
            return Err(Wrong);
        }
        if word_at(raw, object::TYPE) != Some(self.types.code) {
            return Err(Wrong);
        }
        let pointer = |at: usize| word_at(raw, at).ok_or(Wrong);
        let int = |at: usize| int_at(raw, at).ok_or(Wrong);
        code.first_line = int(layout.code_first_line)?;
        code.first_traceable = layout.code_first_traceable.map_or(Ok(0), int)?;
        code.length = match layout.frame_position {
            // `ob_size` counts code units.
            Position::Pointer(_) => {
                i64::try_from(pointer(object::SIZE)?).map_err(|_| Wrong)?.saturating_mul(2)
            }
            Position::Index(_) => i64::MAX,
        };
        self.parts(pointer(layout.code_file)?, pointer(layout.code_name)?, pointer(layout.code_lines)?, code)
    }

    /// The names and the beginning of the line table, with two system calls if the names are ASCII.
    fn parts(&self, file: usize, name: usize, table: usize, code: &mut Code) -> Result<(), Wrong> {
        let mut heads = [[0; object::HEAD]; 3];
        let [of_file, of_name, of_table] = &mut heads;
        // Bytes objects may be shorter than a string's head: read only what every one of them has.
        let of_table = &mut of_table[..object::BYTES];
        if !self.memory.gather([(file, of_file), (name, of_name), (table, of_table)]) {
            return Err(Wrong);
        }
        let (file_shape, file_length) = self.string(of_file)?;
        let (name_shape, name_length) = self.string(of_name)?;
        if word_at(of_table, object::TYPE) != Some(self.types.bytes) {
            return Err(Wrong);
        }
        code.table_length = word_at(of_table, object::SIZE).ok_or(Wrong)?;
        code.table = table.wrapping_add(object::BYTES);
        let ascii = |shape: Shape, length: usize| if shape.ascii { length } else { 0 };
        let chunk = code.chunk.len().min(code.table_length);
        let pieces = [
            (file.wrapping_add(self.layout.ascii_size), code.file.room(ascii(file_shape, file_length))),
            (name.wrapping_add(self.layout.ascii_size), code.function.room(ascii(name_shape, name_length))),
            (code.table, &mut code.chunk[..chunk]),
        ];
        if !self.memory.gather(pieces)
            || !code.file.as_bytes().is_ascii()
            || !code.function.as_bytes().is_ascii()
        {
            return Err(Wrong);
        }
        if !file_shape.ascii {
            self.characters(file, file_shape, file_length, &mut code.file)?;
        }
        if !name_shape.ascii {
            self.characters(name, name_shape, name_length, &mut code.function)?;
        }
        Ok(())
    }

    /// A string object's shape and number of characters.
    fn string(&self, head: &[u8]) -> Result<(Shape, usize), Wrong> {
        if word_at(head, object::TYPE) != Some(self.types.string) {
            return Err(Wrong);
        }
        let state = int_at(head, object::STATE).ok_or(Wrong)?.cast_unsigned();
        Ok((Shape::of(state).ok_or(Wrong)?, word_at(head, object::SIZE).ok_or(Wrong)?))
    }

    /// The text of a string that is not ASCII.
    fn characters<const N: usize>(
        &self,
        address: usize,
        shape: Shape,
        length: usize,
        text: &mut Text<N>,
    ) -> Result<(), Wrong> {
        let mut chunk = [0; CHUNK];
        let mut at = address.wrapping_add(self.layout.compact_size);
        let mut left = length.saturating_mul(shape.width);
        while left > 0 {
            let raw = chunk.get_mut(..left.min(CHUNK)).ok_or(Wrong)?;
            if !self.memory.read(at, raw) {
                return Err(Wrong);
            }
            if !text.push(raw, shape.width) {
                break;
            }
            at = at.wrapping_add(raw.len());
            left -= raw.len();
        }
        Ok(())
    }

    /// The line of an offset, 0 if it has none.
    fn line(&self, code: &Code, offset: i32) -> u32 {
        // So the interpreter: a frame before its first instruction is at the first line.
        let Ok(offset) = u32::try_from(offset) else { return u32::try_from(code.first_line).unwrap_or(0) };
        let table = Table { reader: self, code, at: 0, chunk: code.chunk, chunk_start: 0 };
        match self.layout.lines {
            Lines::Pairs => line::of_pairs(table, code.first_line, offset),
            Lines::Locations => line::of_locations(table, code.first_line, offset),
        }
    }
}

impl Code {
    pub(crate) fn new() -> Code {
        Code {
            address: 0,
            file: Text::new(),
            function: Text::new(),
            first_line: 0,
            first_traceable: 0,
            length: 0,
            table: 0,
            table_length: 0,
            chunk: [0; TABLE_CHUNK],
        }
    }
}

/// The bytes of a line table, read chunk by chunk; they end where memory cannot be read.
struct Table<'a> {
    reader: &'a Reader<'a>,
    code: &'a Code,
    at: usize,
    chunk: [u8; TABLE_CHUNK],
    chunk_start: usize,
}

impl Iterator for Table<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        if self.at >= self.code.table_length {
            return None;
        }
        if self.at - self.chunk_start == TABLE_CHUNK {
            let room = self.chunk.get_mut(..TABLE_CHUNK.min(self.code.table_length - self.at))?;
            if !self.reader.memory.read(self.code.table.wrapping_add(self.at), room) {
                self.at = usize::MAX;
                return None;
            }
            self.chunk_start = self.at;
        }
        let byte = *self.chunk.get(self.at - self.chunk_start)?;
        self.at += 1;
        Some(byte)
    }
}
