//! A process's texts, by their numbers.

use super::Process;
use crate::suffix;
use rustc_hash::FxHashMap;
use spool::{Clock, DeviceIdentity, Record, Switched, Text};
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
    /// Reads a record that others refer to.
    pub(super) fn reference(&mut self, record: &Record<'_>) {
        match record.head.kind {
            Text::KIND => {
                let text = self.all.trace.strings.intern_bytes(record.text().unwrap_or_default());
                self.texts.insert(record.head.tag, text);
            }
            Clock::KIND => self.readings.extend(Clock::read(record.body)),
            DeviceIdentity::KIND => {
                if let Some(identity) = DeviceIdentity::read(record.body) {
                    self.identity(record.head.tag, &identity);
                }
            }
            Switched::KIND => {
                let is_on = record.head.tag == 1;
                self.switches.extend(Switched::read(record.body).map(|switched| (switched.at, is_on)));
            }
            _ => {}
        }
    }
}
