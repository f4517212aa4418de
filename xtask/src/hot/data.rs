//! Pointers in a library's data: tables of functions and of methods, and slots for other libraries' functions.

use super::text::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The data of a library, as far as calls can be followed by it.
#[derive(Default)]
pub(crate) struct Data {
    values: BTreeMap<u64, Value>,
    /// Addresses that are made or that the loader writes: there a table begins, and the one before ends.
    borders: BTreeSet<u64>,
    /// Variables that have a name, by their beginning.
    variables: BTreeMap<u64, u64>,
    /// Sections of single slots.
    slots: Vec<Range<u64>>,
    constants: BTreeMap<u64, Vec<u8>>,
    /// Where functions begin.
    functions: BTreeSet<u64>,
}

impl Data {
    pub(crate) fn add(&mut self, place: u64, value: Value) {
        if let Value::Address(address) = &value {
            self.borders.insert(*address);
        }
        self.values.insert(place, value);
    }

    pub(crate) fn add_section(&mut self, name: &str, addresses: Range<u64>) {
        self.borders.extend([addresses.start, addresses.end]);
        if name.starts_with(".got") {
            self.slots.push(addresses);
        }
    }

    pub(crate) fn add_variable(&mut self, addresses: Range<u64>) {
        self.variables.insert(addresses.start, addresses.end);
    }

    pub(crate) fn add_constants(&mut self, at: u64, bytes: Vec<u8>) {
        self.constants.insert(at, bytes);
    }

    pub(crate) fn add_function(&mut self, start: u64) {
        self.functions.insert(start);
    }

    pub(crate) fn add_border(&mut self, address: u64) {
        self.borders.insert(address);
    }

    /// Slots by which memory of the thread's own is found.
    pub(crate) fn thread_local(&self) -> BTreeSet<u64> {
        let slots = self.values.iter().filter(|(_, value)| **value == Value::ThreadLocal);
        slots.map(|(slot, _)| *slot).collect()
    }

    /// The value in a slot.
    pub(crate) fn at(&self, slot: u64) -> Option<&Value> {
        self.values.get(&slot)
    }

    /// The values in so many bytes at an address, and those in the tables that they point to.
    pub(crate) fn read(&self, at: u64, bytes: u64) -> Vec<Value> {
        let mut found = Vec::new();
        for value in self.values.range(at..at + bytes).map(|(_, value)| value) {
            found.push(value.clone());
            if let Value::Address(address) = value {
                found.extend(self.behind(*address));
            }
        }
        found
    }

    /// The values in the table that begins at an address, and in those that it points to.
    pub(crate) fn behind(&self, start: u64) -> Vec<Value> {
        let (mut found, mut seen, mut next) = (Vec::new(), BTreeSet::from([start]), vec![start]);
        while let Some(start) = next.pop() {
            let end = self.end(start);
            for value in self.values.range(start..end).map(|(_, value)| value) {
                if let Value::Address(address) = value
                    && seen.insert(*address)
                {
                    next.push(*address);
                }
                found.push(value.clone());
            }
            found.extend(self.offsets(start, end).into_iter().map(Value::Address));
        }
        found
    }

    /// The end of the table that an address lies in.
    fn end(&self, start: u64) -> u64 {
        if self.slots.iter().any(|slots| slots.contains(&start)) {
            return start + 8;
        }
        let variable = self.variables.range(..=start).next_back().map(|(_, end)| *end);
        let border = || self.borders.range(start + 1..).next().copied();
        variable.filter(|end| *end > start).or_else(border).unwrap_or(start + 8)
    }

    /// The functions in a constant table of offsets from its beginning, which the compiler makes of a table of functions. One
    /// alone is none: tables of jumps and texts may look like it.
    fn offsets(&self, start: u64, end: u64) -> Vec<u64> {
        let words = (start..end).step_by(4).map_while(|at| self.word(at));
        let addresses = words.map(|offset| start.wrapping_add_signed(i64::from(offset)));
        let found: Vec<u64> = addresses.take_while(|address| self.functions.contains(address)).collect();
        if found.len() > 1 { found } else { Vec::new() }
    }

    /// Four bytes of constants.
    fn word(&self, at: u64) -> Option<i32> {
        let byte = |at: u64| {
            let (start, bytes) = self.constants.range(..=at).next_back()?;
            bytes.get(usize::try_from(at - start).ok()?).copied()
        };
        Some(i32::from_le_bytes([byte(at)?, byte(at + 1)?, byte(at + 2)?, byte(at + 3)?]))
    }
}
