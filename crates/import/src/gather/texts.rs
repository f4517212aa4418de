//! A process's texts, by their numbers.

use super::Process;
use crate::suffix;
use rustc_hash::FxHashMap;
use spool::{Clock, DeviceIdentity, Record, Reference, Switched};
use trace::{Api, Strings, Sym};

/// Numbers below this one are found in a table: a recorder counts texts from 1.
const SMALL: u32 = 1 << 20;

#[derive(Default)]
pub(super) struct Texts {
    small: Vec<Sym>,
    large: FxHashMap<u32, Sym>,
    /// Names of functions without the suffixes that tools append.
    functions: FxHashMap<(u32, Api), Sym>,
}

impl Texts {
    /// The text with that number; empty for 0 and for one that was lost.
    pub fn get(&self, id: u32) -> Sym {
        let small = self.small.get(id as usize).copied();
        small.or_else(|| self.large.get(&id).copied()).unwrap_or_default()
    }

    fn insert(&mut self, id: u32, text: Sym) {
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

impl Process<'_, '_> {
    /// Reads a record that others refer to; `None` where it is too short for its kind.
    pub(super) fn reference(&mut self, kind: Reference, record: &Record<'_>) -> Option<()> {
        let (body, tag) = (record.body, record.head.tag);
        match kind {
            Reference::Text => {
                let text = self.all.trace.strings.intern_bytes(record.text()?);
                // None has number 0, which stands for the empty one.
                match self.valid((tag != 0).then_some(tag)) {
                    0 => {}
                    id => self.texts.insert(id, text),
                }
            }
            Reference::Clock => self.readings.push(Clock::read(body)?),
            Reference::DeviceIdentity => self.identity(tag, DeviceIdentity::read(body)?),
            Reference::Switched => {
                let Switched { at } = Switched::read(body)?;
                let is_on = self.valid((tag <= 1).then_some(tag == 1));
                self.switches.push((at, is_on));
            }
        }
        Some(())
    }
}
