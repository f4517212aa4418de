//! Facts about a loaded library that users of the crate get.

use crate::elf::Object;
use std::ops::Range;

/// A loaded library, or the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Library<'a> {
    /// The path of its file; empty for the program.
    pub path: &'a [u8],
    /// Where its file's virtual address 0 is loaded.
    pub base: usize,
    /// From its first address to behind its last.
    pub addresses: Range<usize>,
}

impl<'a> Library<'a> {
    pub(crate) fn of(object: &Object<'a>) -> Library<'a> {
        Library { path: object.path(), base: object.base() as usize, addresses: object.range() }
    }

    /// The name of its file.
    pub fn name(&self) -> &'a [u8] {
        self.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
    }
}
