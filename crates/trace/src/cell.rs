//! How one value of a column travels to and from Arrow.

use crate::kinds::{Api, CopyKind, LockKind, LockMode, MemoryKind, OpKind, RangeKind, SyncKind, ThreadRole};
use crate::model::*;
use crate::{Strings, Sym};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray, UInt32Array,
};
use arrow_schema::DataType;
use std::sync::Arc;

/// A column in a file that cannot be read as the schema has it.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// The column has another type.
    #[error("column {column} is {found}, expected {expected}")]
    Type {
        /// The column.
        column: &'static str,
        /// Its type in the file.
        found: String,
        /// The type of the schema.
        expected: &'static str,
    },
    /// A row number points past the end of the table it refers to.
    #[error("column {column}, row {row}: refers to row {target} of {table}, which has {rows} rows")]
    Dangling {
        /// The column.
        column: &'static str,
        /// Row within this table.
        row: usize,
        /// The number it holds.
        target: usize,
        /// The table referred to.
        table: &'static str,
        /// Rows that table has.
        rows: usize,
    },
    /// An interval ends before it starts.
    #[error("row {row}: ends at {end} ns, before its start at {start} ns")]
    Interval {
        /// Row within this table.
        row: usize,
        /// Start, ns.
        start: i64,
        /// End, ns.
        end: i64,
    },
}

/// A value of a table column.
pub(crate) trait Cell: Copy + Sized {
    /// What a row gets when its file lacks the column or the value.
    const MISSING: Self;
    /// The Arrow type, for error messages.
    const TYPE: &'static str;

    fn to_arrow(column: &[Self], strings: &Strings) -> ArrayRef;

    /// Appends the array's values to `column`; `false` when it has another type.
    fn from_arrow(array: &dyn Array, column: &mut Vec<Self>, strings: &mut Strings) -> bool;
}

/// Appends the batch's column of that name, or [`Cell::MISSING`] for every row when it has none.
pub(crate) fn append<C: Cell>(
    batch: &RecordBatch,
    name: &'static str,
    rows: usize,
    column: &mut Vec<C>,
    strings: &mut Strings,
) -> Result<(), CellError> {
    let Some(array) = batch.column_by_name(name) else {
        column.resize(column.len() + rows, C::MISSING);
        return Ok(());
    };
    if C::from_arrow(array.as_ref(), column, strings) {
        return Ok(());
    }
    let found = array.data_type().to_string();
    Err(CellError::Type { column: name, found, expected: C::TYPE })
}

macro_rules! number_cell {
    ($type:ty, $array:ty, $arrow:ty, $name:literal) => {
        impl Cell for $type {
            const MISSING: Self = 0;
            const TYPE: &'static str = $name;

            fn to_arrow(column: &[Self], _: &Strings) -> ArrayRef {
                Arc::new(<$array>::from(column.to_vec()))
            }

            fn from_arrow(array: &dyn Array, column: &mut Vec<Self>, _: &mut Strings) -> bool {
                let Some(array) = array.as_primitive_opt::<$arrow>() else { return false };
                column.extend(array.iter().map(|value| value.unwrap_or(Self::MISSING)));
                true
            }
        }
    };
}
number_cell!(i64, Int64Array, Int64Type, "Int64");
number_cell!(i32, Int32Array, Int32Type, "Int32");
number_cell!(u32, UInt32Array, UInt32Type, "UInt32");

macro_rules! id_cell {
    ($($id:ident)+) => {$(
        impl Cell for $id {
            const MISSING: Self = $id::NONE;
            const TYPE: &'static str = "UInt32";

            fn to_arrow(column: &[Self], _: &Strings) -> ArrayRef {
                Arc::new(column.iter().map(|id| id.some().map(|id| id.0)).collect::<UInt32Array>())
            }

            fn from_arrow(array: &dyn Array, column: &mut Vec<Self>, _: &mut Strings) -> bool {
                let Some(array) = array.as_primitive_opt::<UInt32Type>() else { return false };
                column.extend(array.iter().map(|value| value.map_or($id::NONE, $id)));
                true
            }
        }
    )+};
}
id_cell!(ProcessId ThreadId DeviceId ContextId StreamId CallId OpId SyncId WaitId ArgumentId RangeId FrameId StackId);

impl Cell for Sym {
    const MISSING: Self = Sym::EMPTY;
    const TYPE: &'static str = "Utf8";

    fn to_arrow(column: &[Self], strings: &Strings) -> ArrayRef {
        // A dictionary of the strings this column uses, not of all the trace has.
        let mut key_of = vec![-1i32; strings.len()];
        let mut values = Vec::new();
        let keys: Int32Array = column
            .iter()
            .map(|sym| {
                let key = &mut key_of[sym.index()];
                if *key < 0 {
                    *key = values.len() as i32;
                    values.push(strings.text(*sym));
                }
                Some(*key)
            })
            .collect();
        Arc::new(DictionaryArray::new(keys, Arc::new(StringArray::from(values))))
    }

    fn from_arrow(array: &dyn Array, column: &mut Vec<Self>, strings: &mut Strings) -> bool {
        texts(array, column, |text| strings.intern(text))
    }
}

macro_rules! kind_cell {
    ($($kind:ident)+) => {$(
        impl Cell for $kind {
            const MISSING: Self = $kind::Unknown;
            const TYPE: &'static str = "Utf8";

            fn to_arrow(column: &[Self], _: &Strings) -> ArrayRef {
                let keys = column.iter().map(|kind| Some(*kind as i32)).collect::<Int32Array>();
                let names = $kind::ALL.iter().map(|kind| Some(kind.name())).collect::<StringArray>();
                Arc::new(DictionaryArray::new(keys, Arc::new(names)))
            }

            fn from_arrow(array: &dyn Array, column: &mut Vec<Self>, _: &mut Strings) -> bool {
                texts(array, column, $kind::from_name)
            }
        }
    )+};
}
kind_cell!(Api CopyKind LockKind LockMode MemoryKind OpKind RangeKind SyncKind ThreadRole);

/// Appends the cell of every text of a string column, plain or dictionary-encoded, null as "". Of a
/// dictionary each text is looked at once, however many rows have it.
fn texts<C: Copy>(array: &dyn Array, column: &mut Vec<C>, mut cell: impl FnMut(&str) -> C) -> bool {
    if let Some(dictionary) = array.as_dictionary_opt::<Int32Type>() {
        let Some(values) = dictionary.values().as_string_opt::<i32>() else { return false };
        let mut known = vec![None; values.len()];
        column.extend(dictionary.keys().iter().map(|key| {
            let at = key.map(|key| key as usize).filter(|&at| at < values.len() && values.is_valid(at));
            match at {
                Some(at) => *known[at].get_or_insert_with(|| cell(values.value(at))),
                None => cell(""),
            }
        }));
        return true;
    }
    match array.data_type() {
        DataType::Utf8 => column.extend(array.as_string::<i32>().iter().map(|text| cell(text.unwrap_or("")))),
        DataType::LargeUtf8 => {
            column.extend(array.as_string::<i64>().iter().map(|text| cell(text.unwrap_or(""))));
        }
        DataType::Utf8View => {
            column.extend(array.as_string_view().iter().map(|text| cell(text.unwrap_or(""))))
        }
        _ => return false,
    }
    true
}
