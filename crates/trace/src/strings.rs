//! Interned text.

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;
use std::ops::Range;

/// An interned string; [`Sym::EMPTY`] is the empty one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Sym(u32);

impl Sym {
    /// The empty string, in every interner.
    pub const EMPTY: Sym = Sym(0);

    /// Position in the interner, dense from 0: fits as an index of per-string tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether this is the empty string.
    pub fn is_empty(self) -> bool {
        self == Sym::EMPTY
    }
}

crate::table::indexes!(Sym);

/// All text of a trace, each distinct string once, in one allocation.
#[derive(Clone)]
pub struct Strings {
    text: String,
    /// `ends[i]` is where string `i` ends in `text`; it starts where its predecessor ended.
    ends: Vec<usize>,
    table: HashTable<u32>,
    hasher: FxBuildHasher,
}

impl Default for Strings {
    fn default() -> Self {
        let mut strings =
            Strings { text: String::new(), ends: Vec::new(), table: HashTable::new(), hasher: FxBuildHasher };
        strings.intern("");
        strings
    }
}

impl Strings {
    /// The symbol of `text`, added if it is new.
    ///
    /// # Panics
    /// After 2³² − 1 distinct strings.
    pub fn intern(&mut self, text: &str) -> Sym {
        match self.find(text.as_bytes()) {
            Some(sym) => sym,
            None => self.add(text),
        }
    }

    /// The symbol of `bytes` read as UTF-8, each invalid sequence replaced by U+FFFD.
    ///
    /// Cheaper than validating first: bytes that the interner already holds are valid.
    pub fn intern_bytes(&mut self, bytes: &[u8]) -> Sym {
        match self.find(bytes) {
            Some(sym) => sym,
            None => self.intern(&String::from_utf8_lossy(bytes)),
        }
    }

    fn find(&self, bytes: &[u8]) -> Option<Sym> {
        let hash = self.hasher.hash_one(bytes);
        let same = |&at: &u32| &self.text.as_bytes()[range(&self.ends, at)] == bytes;
        self.table.find(hash, same).map(|&at| Sym(at))
    }

    fn add(&mut self, text: &str) -> Sym {
        let hash = self.hasher.hash_one(text.as_bytes());
        let at = u32::try_from(self.ends.len()).expect("fewer than 2^32 distinct strings");
        self.text.push_str(text);
        self.ends.push(self.text.len());
        let (all, ends, hasher) = (&self.text, &self.ends, &self.hasher);
        self.table.insert_unique(hash, at, |&other| hasher.hash_one(slice(all, ends, other).as_bytes()));
        Sym(at)
    }

    /// The symbol of `text` if the interner holds it.
    pub fn get(&self, text: &str) -> Option<Sym> {
        self.find(text.as_bytes())
    }

    /// The text of a symbol of this interner.
    ///
    /// # Panics
    /// When the symbol comes from another, larger interner.
    pub fn text(&self, sym: Sym) -> &str {
        slice(&self.text, &self.ends, sym.0)
    }

    /// Number of distinct strings, the empty one included.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never true: the empty string is always there.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All strings with their symbols, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (Sym, &str)> {
        (0..self.ends.len() as u32).map(|at| (Sym(at), slice(&self.text, &self.ends, at)))
    }
}

fn slice<'a>(text: &'a str, ends: &[usize], at: u32) -> &'a str {
    &text[range(ends, at)]
}

fn range(ends: &[usize], at: u32) -> Range<usize> {
    let at = at as usize;
    let start = if at == 0 { 0 } else { ends[at - 1] };
    start..ends[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interns_each_text_once() {
        let mut strings = Strings::default();
        let a = strings.intern("cudaLaunchKernel");
        let b = strings.intern("cudaMemcpyAsync");
        assert_eq!(strings.intern("cudaLaunchKernel"), a);
        assert_ne!(a, b);
        assert_eq!(strings.text(b), "cudaMemcpyAsync");
        assert_eq!(strings.intern(""), Sym::EMPTY);
        assert_eq!(strings.get("cudaMalloc"), None);
        assert_eq!(strings.len(), 3);
    }
}
