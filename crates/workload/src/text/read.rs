//! TOML tables and values, with their place in the text and errors about them.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::model::{Number, Value};

/// A problem, with its byte in the text.
#[derive(Debug)]
pub struct Fail {
    pub at: usize,
    pub what: String,
}

/// The result of reading.
pub type Read<T> = Result<T, Fail>;

/// A table with known keys.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    /// Where it begins.
    pub at: usize,
    rows: &'a DeTable<'a>,
}

/// A value in a table or array.
#[derive(Clone, Copy)]
pub struct Field<'a> {
    /// Where it begins.
    pub at: usize,
    /// Its key, or that of its array.
    key: &'a str,
    value: &'a DeValue<'a>,
}

impl<'a> Table<'a> {
    /// The table at `at`, whose keys must be among those of `known`.
    pub fn new(rows: &'a DeTable<'a>, at: usize, known: &[&str]) -> Read<Table<'a>> {
        let table = Table { at, rows };
        table.only(known)?;
        Ok(table)
    }

    /// Checks that every key is known.
    pub fn only(&self, known: &[&str]) -> Read<()> {
        let unknown = self.entries().into_iter().find(|(key, _)| !known.contains(key));
        let Some((key, field)) = unknown else { return Ok(()) };
        Err(field.fail(format!("there is no key {key:?} here{}", instead(key, known))))
    }

    /// Every key with its value, in the order of the text.
    pub fn entries(&self) -> Vec<(&'a str, Field<'a>)> {
        let mut entries: Vec<_> = self
            .rows
            .iter()
            .map(|(key, value)| {
                (
                    key.get_ref().as_ref(),
                    Field { at: key.span().start, key: key.get_ref(), value: value.get_ref() },
                )
            })
            .collect();
        entries.sort_by_key(|(_, field)| field.at);
        entries
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<Field<'a>> {
        let (key, value) = self.rows.get_key_value(key)?;
        Some(Field { at: key.span().start, key: key.get_ref(), value: value.get_ref() })
    }

    /// The value of a key that must be there.
    pub fn need(&self, key: &str) -> Read<Field<'a>> {
        self.get(key).ok_or_else(|| Fail { at: self.at, what: format!("{key:?} is missing: add it") })
    }
}

/// Suggests a known name, or lists them.
pub fn instead<'n>(name: &str, known: &[&'n str]) -> String {
    let distance = |known: &&&'n str| strsim::osa_distance(name, known);
    let nearest =
        known.iter().min_by_key(distance).filter(|known| distance(known) <= 1 + name.chars().count() / 3);
    match (nearest, known) {
        (Some(nearest), _) => format!(": did you mean {nearest:?}?"),
        (None, []) => ": there is none".to_owned(),
        (None, _) if known.len() <= 30 => format!(": use one of {}", known.join(", ")),
        (None, _) => format!(": use one of {}, …", known[..30].join(", ")),
    }
}

impl<'a> Field<'a> {
    /// An error about it.
    pub fn fail(&self, what: impl Into<String>) -> Fail {
        Fail { at: self.at, what: what.into() }
    }

    /// The error of a value of another type.
    fn not(&self, must: &str) -> Fail {
        self.fail(format!("{:?} must be {must}", self.key))
    }

    pub fn text(&self) -> Read<&'a str> {
        self.as_text().ok_or_else(|| self.not("a name in quotes"))
    }

    pub fn as_text(&self) -> Option<&'a str> {
        match self.value {
            DeValue::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_table(&self, known: &[&str]) -> Read<Option<Table<'a>>> {
        match self.value {
            DeValue::Table(rows) => Table::new(rows, self.at, known).map(Some),
            _ => Ok(None),
        }
    }

    pub fn table(&self, known: &[&str]) -> Read<Table<'a>> {
        self.as_table(known)?.ok_or_else(|| self.not("a table"))
    }

    /// A table whose keys are names.
    pub fn names(&self) -> Read<Table<'a>> {
        match self.value {
            DeValue::Table(rows) => Ok(Table { at: self.at, rows }),
            _ => Err(self.not("a table with a name a line")),
        }
    }

    /// A table with any keys, before its possible keys are known.
    pub fn any_table(&self) -> Option<Table<'a>> {
        match self.value {
            DeValue::Table(rows) => Some(Table { at: self.at, rows }),
            _ => None,
        }
    }

    /// The elements of an array.
    pub fn array(&self) -> Read<Vec<Field<'a>>> {
        self.as_array().ok_or_else(|| self.not("an array in [ ]"))
    }

    pub fn as_array(&self) -> Option<Vec<Field<'a>>> {
        let DeValue::Array(elements) = self.value else { return None };
        let field = |value: &'a Spanned<DeValue<'a>>| Field {
            at: value.span().start,
            key: self.key,
            value: value.get_ref(),
        };
        Some(elements.iter().map(field).collect())
    }

    pub fn yes(&self) -> Read<bool> {
        match self.value {
            DeValue::Boolean(yes) => Ok(*yes),
            _ => Err(self.not("true or false")),
        }
    }

    /// A whole number that fits its type.
    pub fn number<T: TryFrom<u64>>(&self) -> Read<T> {
        let most = u64::MAX >> (64 - 8 * size_of::<T>().min(8));
        let number = self.as_number().and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| self.not(&format!("a whole number from 0 to {most}")))
    }

    pub fn as_number(&self) -> Option<u64> {
        match self.value {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        }
    }

    pub fn bytes(&self) -> Read<u64> {
        let bytes = match self.value {
            DeValue::String(text) => quantity::size(text),
            _ => self.as_number(),
        };
        bytes.ok_or_else(|| self.not("a number of bytes, as in 4096 or \"64 MiB\""))
    }

    pub fn time(&self) -> Read<u64> {
        let ns = self.as_text().and_then(quantity::duration);
        ns.ok_or_else(|| self.not("a time with its unit, as in \"10 ms\""))
    }

    /// A value of an element: an integer as such, anything with a point or an exponent as a float.
    pub fn value(&self) -> Read<Value> {
        let value = match self.value {
            DeValue::Integer(number) => {
                i32::from_str_radix(number.as_str(), number.radix()).ok().map(Value::Int)
            }
            DeValue::Float(number) => number.as_str().parse().ok().map(Value::Float),
            _ => None,
        };
        value.ok_or_else(|| self.not("an integer of 32 bits, as in 7, or a float, as in 7.0"))
    }

    /// A number, or a table with the number in the first round and its increase per round. `single` reads both.
    pub fn counted(&self, single: fn(&Field<'a>) -> Read<u64>) -> Read<Number> {
        let Some(table) = self.as_table(&["first", "each"])? else { return single(self).map(Number::Is) };
        let first = table.get("first").map_or(Ok(0), |first| single(&first))?;
        Ok(Number::Index { first, each: single(&table.need("each")?)? })
    }
}
