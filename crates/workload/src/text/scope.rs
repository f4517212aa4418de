//! Names and their rows.

use std::collections::BTreeMap;

use super::read::{Field, Read, instead};

/// The names of one kind of thing, of a thread's own and of its process.
#[derive(Clone, Default)]
pub struct Names(BTreeMap<String, u32>);

/// Names that steps may use.
#[derive(Clone, Default)]
pub struct Scope {
    pub streams: Names,
    pub events: Names,
    pub buffers: Names,
    pub graphs: Names,
    pub barriers: Names,
}

impl Names {
    /// Adds a name. A name of a thread replaces that of its process.
    pub fn set(&mut self, name: &str, row: u32) {
        self.0.insert(name.to_owned(), row);
    }

    /// The row of the thing that a field names.
    pub fn find(&self, kind: &str, field: &Field<'_>) -> Read<u32> {
        let name = field.text()?;
        self.0.get(name).copied().ok_or_else(|| {
            let known: Vec<&str> = self.0.keys().map(String::as_str).collect();
            field.fail(format!("there is no {kind} {name:?} here{}", instead(name, &known)))
        })
    }
}
