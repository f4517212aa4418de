//! Frames of Python functions at work, and their places in memory.

/// A Python function at work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    /// Address of the code object: the same for all calls of a function, and while the function exists no other's.
    pub code: usize,
    /// `co_filename` as UTF-8, at most 4096 bytes, cut at a character. What is not Unicode in it (bytes of a file
    /// name that were not UTF-8) is U+FFFD.
    pub file: &'a [u8],
    /// `co_qualname`, before Python 3.11 `co_name`; as UTF-8, at most 1024 bytes.
    pub function: &'a [u8],
    /// The line where the function begins.
    pub first_line: u32,
    /// The line being executed, as `frame.f_lineno` has it; 0 where bytecode belongs to no line.
    pub line: u32,
}

/// Where a Python function at work is: what [`Interpreter::places`](crate::Interpreter::places) gives quickly and [`Interpreter::resolve`](crate::Interpreter::resolve) explains.
///
/// Two equal places have the same file, function and line as long as the function exists.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// Address of the code object.
    pub code: usize,
    /// Offset of the current instruction in its bytecode, in bytes; negative before the first one.
    pub offset: i32,
    /// The frame is past the instructions that set frames up, whatever `offset` is.
    pub(crate) complete: bool,
}

impl Place {
    /// A number, never 0, that different places hardly ever share.
    pub fn key(&self) -> u64 {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let within = (self.offset as u32 as u64) << 1 | u64::from(self.complete);
        let product = u128::from(self.code as u64 ^ FACTOR) * u128::from(within.wrapping_mul(FACTOR) | 1);
        (product as u64 ^ (product >> 64) as u64) | 1 << 63
    }
}

/// Something in memory is not what it should be.
#[derive(Debug)]
pub(crate) struct Wrong;
