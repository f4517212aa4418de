//! Words of the text form for values of the model.

use super::read::{Read, Table, instead};
use crate::model::*;

/// Ways in which threads wait for a device, by name.
pub const SCHEDULES: [(&str, Schedule); 4] = [
    ("auto", Schedule::Auto),
    ("spin", Schedule::Spin),
    ("yield", Schedule::Yield),
    ("blocking", Schedule::Blocking),
];

/// Processors of threads, by name.
pub const AFFINITIES: [(&str, Affinity); 2] = [("any", Affinity::Any), ("node", Affinity::Node)];

/// Times of loading, by name.
pub const LOADINGS: [(&str, Loading); 2] = [("lazy", Loading::Lazy), ("eager", Loading::Eager)];

/// The value of a named key.
pub fn named<T: Copy>(table: &Table<'_>, key: &str, known: &[(&str, T)]) -> Read<Option<T>> {
    let Some(field) = table.get(key) else { return Ok(None) };
    let name = field.text()?;
    let value = known.iter().find(|(own, _)| *own == name).map(|(_, value)| *value);
    let names = || known.iter().map(|(own, _)| *own).collect::<Vec<_>>();
    let unknown = || field.fail(format!("there is no {key} {name:?}{}", instead(name, &names())));
    value.map(Some).ok_or_else(unknown)
}

/// The name of a value.
pub fn name_of<T: PartialEq>(known: &'static [(&'static str, T)], value: &T) -> &'static str {
    known.iter().find(|(_, own)| own == value).expect("every value has a name").0
}
