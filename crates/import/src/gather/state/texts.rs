//! Texts of a process, by their numbers.

use crate::suffix;
use rustc_hash::FxHashMap;
use trace::{Api, Strings, Sym};

/// Numbers below this one are found in a table: a recorder counts texts from 1.
const SMALL: u32 = 1 << 20;

/// A process's texts.
#[derive(Default)]
pub(crate) struct Texts {
    pub small: Vec<Sym>,
    pub large: FxHashMap<u32, Sym>,
    /// Names of functions without the suffixes that tools append.
    pub functions: FxHashMap<(u32, Api), Sym>,
}

impl Texts {
    /// The text with that number; empty for 0 and for one that was lost.
    pub fn get(&self, id: u32) -> Sym {
        let small = self.small.get(id as usize).copied();
        small.or_else(|| self.large.get(&id).copied()).unwrap_or_default()
    }

    pub fn insert(&mut self, id: u32, text: Sym) {
        if id >= SMALL {
            self.large.insert(id, text);
            return;
        }
        let at = id as usize;
        self.small.resize(self.small.len().max(at + 1), Sym::EMPTY);
        self.small[at] = text;
    }

    /// The function whose name has that number.
    pub fn function(&mut self, strings: &mut Strings, api: Api, id: u32) -> Sym {
        let name = self.get(id);
        *self.functions.entry((id, api)).or_insert_with(|| {
            let name = strings.text(name).to_owned();
            strings.intern(suffix::strip(api, &name))
        })
    }
}
