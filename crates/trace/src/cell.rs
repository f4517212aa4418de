//! Converts one value of a column to and from a Parquet file.

use crate::columns::{Group, Kind, Rows};
use crate::encode::Values;
use crate::error::{CellError, ColumnError};
use crate::kinds::*;
use crate::model::*;
use crate::moved::{Marks, Moved, Tables};
use crate::{Strings, Sym};
use parquet::data_type::ByteArray;

/// A value of a table column.
pub(crate) trait Cell: Copy + Sized {
    /// The value of a row whose file lacks the column or the value.
    const MISSING: Self;
    /// The column's type in a file.
    const KIND: Kind;

    fn values<'a>(column: &'a [Self], strings: &Strings) -> Values<'a>;

    /// Appends the values of a column of [`Self::KIND`].
    fn append(rows: Rows, column: &mut Vec<Self>, strings: &mut Strings) -> Result<(), ColumnError>;

    /// Changes values that refer to rows or texts, as these are now.
    fn moved(_column: &mut [Self], _to: &Moved<'_>) {}

    /// Marks the rows to which the values refer, in tables that have marks.
    fn mark(_column: &[Self], _marks: &mut Marks) {}

    /// Checks that the rows to which the values refer are there, in tables of so many rows.
    fn check(_column: &[Self], _name: &'static str, _rows: &Tables<usize>) -> Result<(), CellError> {
        Ok(())
    }

    /// Gives `each` the values, if they are texts.
    fn texts(_column: &mut [Self], _each: &mut dyn FnMut(&mut [Sym])) {}

    /// Gives `each` the table to which the values refer, and the row numbers; nothing where they refer to none.
    #[cfg(test)]
    fn references(_column: &mut [Self], _each: &mut dyn FnMut(&'static str, &mut [u32])) {}
}

/// Appends the file's column of that name, or [`Cell::MISSING`] for every row if the file lacks it.
pub(crate) fn append<C: Cell>(
    group: &Group<'_>,
    name: &'static str,
    column: &mut Vec<C>,
    strings: &mut Strings,
) -> Result<(), ColumnError> {
    match group.column(name, C::KIND)? {
        Some(rows) => C::append(rows, column, strings)?,
        None => column.resize(column.len() + group.rows, C::MISSING),
    }
    Ok(())
}

macro_rules! number_cell {
    ($type:ty, $values:ident, $rows:ident, $kind:ident) => {
        impl Cell for $type {
            const MISSING: Self = 0;
            const KIND: Kind = Kind::$kind;

            fn values<'a>(column: &'a [Self], _: &Strings) -> Values<'a> {
                Values::$values(|row| Some(column[row]))
            }

            fn append(rows: Rows, column: &mut Vec<Self>, _: &mut Strings) -> Result<(), ColumnError> {
                rows.$rows(|value| column.push(value.map_or(Self::MISSING, |value| value as Self)))
            }
        }
    };
}
number_cell!(i64, int64, int64, Int64);
number_cell!(i32, int32, int32, Int32);
number_cell!(u32, uint32, int32, UInt32);

macro_rules! id_cells {
    ($($(#[$doc:meta])* $field:ident $columns:ident $id:ident;)*) => {$(
        impl Cell for $id {
            const MISSING: Self = $id::NONE;
            const KIND: Kind = Kind::UInt32;

            fn values<'a>(column: &'a [Self], _: &Strings) -> Values<'a> {
                Values::uint32(|row| column[row].some().map(|id| id.0))
            }

            fn append(rows: Rows, column: &mut Vec<Self>, _: &mut Strings) -> Result<(), ColumnError> {
                rows.int32(|value| column.push(value.map_or($id::NONE, |value| $id(value as u32))))
            }

            fn moved(column: &mut [Self], to: &Moved<'_>) {
                to.rows.$field.renumber(column.iter_mut().map(|id| &mut id.0));
            }

            fn mark(column: &[Self], marks: &mut Marks) {
                let Some(marks) = &mut marks.$field else { return };
                column.iter().filter_map(|id| id.some()).for_each(|id| marks[id] = true);
            }

            fn check(column: &[Self], name: &'static str, rows: &Tables<usize>) -> Result<(), CellError> {
                let (column, ids, table, rows) = (name, column, $columns::NAME, rows.$field);
                match ids.iter().position(|id| id.is_some() && id.index() >= rows) {
                    None => Ok(()),
                    Some(row) => {
                        Err(CellError::Dangling { column, row, target: ids[row].index(), table, rows })
                    }
                }
            }

            #[cfg(test)]
            fn references(column: &mut [Self], each: &mut dyn FnMut(&'static str, &mut [u32])) {
                let mut rows: Vec<u32> = column.iter().map(|id| id.0).collect();
                each($columns::NAME, &mut rows);
                column.iter_mut().zip(rows).for_each(|(id, row)| *id = $id(row));
            }
        }
    )*};
}
tables!(id_cells);

impl Cell for Sym {
    const MISSING: Self = Sym::EMPTY;
    const KIND: Kind = Kind::Utf8;

    fn values<'a>(column: &'a [Self], strings: &Strings) -> Values<'a> {
        // Only the texts that this column uses, not all texts of the trace.
        let mut number_of = vec![u32::MAX; strings.len()];
        let mut texts = Vec::new();
        for sym in column {
            let number = &mut number_of[*sym];
            if *number == u32::MAX {
                *number = texts.len() as u32;
                texts.push(ByteArray::from(strings.text(*sym)));
            }
        }
        Values::among(texts, move |row| number_of[column[row].index()] as usize)
    }

    fn append(rows: Rows, column: &mut Vec<Self>, strings: &mut Strings) -> Result<(), ColumnError> {
        rows.texts(column, |text| strings.intern(text))
    }

    fn moved(column: &mut [Self], to: &Moved<'_>) {
        if let Some(texts) = to.texts {
            column.iter_mut().for_each(|text| *text = texts[*text]);
        }
    }

    fn texts(column: &mut [Self], each: &mut dyn FnMut(&mut [Sym])) {
        each(column);
    }
}

macro_rules! kind_cell {
    ($($kind:ident)+) => {$(
        impl Cell for $kind {
            const MISSING: Self = $kind::Unknown;
            const KIND: Kind = Kind::Utf8;

            fn values<'a>(column: &'a [Self], _: &Strings) -> Values<'a> {
                let names = $kind::ALL.iter().map(|kind| ByteArray::from(kind.name())).collect();
                Values::among(names, |row| column[row] as usize)
            }

            fn append(rows: Rows, column: &mut Vec<Self>, _: &mut Strings) -> Result<(), ColumnError> {
                rows.texts(column, $kind::from_name)
            }
        }
    )+};
}
kind_cell!(Api CopyKind LockKind LockLayer LockMode MemoryKind OpKind RangeKind SyncKind TallyKind ThreadRole ThreadState);
