//! Functions by address.

use super::libraries;

/// A function in a library or program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Symbol<'a> {
    /// Its name; empty for unknown.
    pub function: &'a str,
    /// Its source file; empty for unknown.
    pub file: &'a str,
    /// The line, from 1; 0 for unknown.
    pub line: u32,
}

/// Finds functions by address.
pub(super) trait Symbolizer {
    /// Gives `found` the functions at `address`, a virtual address of the ELF file at `module`: the innermost first,
    /// then those it is inlined into. Unknown functions give nothing.
    fn symbolize(&mut self, module: &str, address: u64, found: &mut dyn FnMut(Symbol<'_>));

    /// The list for profilers of the code that a process generated; empty without one. `_began` is the process's
    /// start, ns since 1970.
    fn list(&mut self, _process: u32, _began: i64) -> Vec<u8> {
        Vec::new()
    }

    /// The version of the library at `module`, from its name only; other implementations may read the file.
    fn version(&mut self, module: &str) -> Option<String> {
        libraries::version(module)
    }
}

/// Without symbols: a place is a library and an address in it.
pub(super) struct NoSymbols;

impl Symbolizer for NoSymbols {
    fn symbolize(&mut self, _: &str, _: u64, _: &mut dyn FnMut(Symbol<'_>)) {}
}
