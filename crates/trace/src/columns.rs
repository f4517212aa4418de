//! A table's columns from Parquet, through the readers of single columns: the Arrow interface of the `parquet` crate
//! would take a third of holdup's build time.

use crate::chunk::BATCH;
use crate::error::{CellError, ColumnError};
use bytes::Bytes;
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

/// A column's type as [`CellError::Type`] names it, in Arrow's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Int64,
    Int32,
    UInt32,
    Utf8,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Int64 => "Int64",
            Kind::Int32 => "Int32",
            Kind::UInt32 => "UInt32",
            Kind::Utf8 => "Utf8",
        }
    }

    /// The kind of a column in a file, or the name of a type that no table uses.
    fn of(column: &ColumnDescriptor) -> Result<Kind, String> {
        let flat = column.max_rep_level() == 0 && column.max_def_level() <= 1;
        match (column.physical_type(), column.converted_type()) {
            _ if !flat => Err(String::from("nested")),
            (Physical::INT64, ConvertedType::NONE | ConvertedType::INT_64)
                if matches!(column.logical_type_ref(), None | Some(LogicalType::Integer(_))) =>
            {
                Ok(Kind::Int64)
            }
            (Physical::INT32, ConvertedType::NONE | ConvertedType::INT_32)
                if matches!(column.logical_type_ref(), None | Some(LogicalType::Integer(_))) =>
            {
                Ok(Kind::Int32)
            }
            (Physical::INT32, ConvertedType::UINT_32) => Ok(Kind::UInt32),
            (Physical::BYTE_ARRAY, ConvertedType::UTF8) => Ok(Kind::Utf8),
            (physical, ConvertedType::NONE) => Err(physical.to_string()),
            (_, converted) => Err(converted.to_string()),
        }
    }
}

/// A Parquet file of a table, open.
pub(crate) struct Columns {
    file: SerializedFileReader<Bytes>,
}

impl Columns {
    pub(crate) fn open(bytes: Bytes) -> Result<Columns, ParquetError> {
        Ok(Columns { file: SerializedFileReader::new(bytes)? })
    }

    pub(crate) fn metadata(&self) -> &ParquetMetaData {
        self.file.metadata()
    }

    /// The number of rows in all groups; `None` if a group's number is negative or the sum overflows.
    pub(crate) fn rows(&self) -> Option<u64> {
        let mut groups = self.metadata().row_groups().iter();
        groups.try_fold(0, |sum: u64, group| sum.checked_add(u64::try_from(group.num_rows()).ok()?))
    }

    /// Calls `each` with every group of rows.
    pub(crate) fn groups(
        &self,
        each: &mut dyn FnMut(&Group<'_>) -> Result<(), ColumnError>,
    ) -> Result<(), ColumnError> {
        for at in 0..self.file.num_row_groups() {
            let group = self.file.get_row_group(at)?;
            let schema = self.metadata().file_metadata().schema_descr();
            let rows = group.metadata().num_rows() as usize;
            each(&Group { reader: &*group, schema, rows })?;
        }
        Ok(())
    }
}

/// Most rows of a table in so many bytes.
pub(crate) fn most_rows(bytes: usize) -> u64 {
    const FREE: u64 = 1 << 20;
    const A_BYTE: u64 = 16;
    (FREE + A_BYTE * bytes as u64).min(u64::from(u32::MAX))
}

/// Some rows of a table in a file.
pub(crate) struct Group<'a> {
    reader: &'a dyn RowGroupReader,
    schema: &'a SchemaDescriptor,
    /// Number of rows.
    pub(crate) rows: usize,
}

impl Group<'_> {
    /// The column of that name, which must be of that kind; `None` if the file lacks it.
    pub(crate) fn column(&self, name: &'static str, kind: Kind) -> Result<Option<Rows>, ColumnError> {
        let same =
            |column: &ColumnDescriptor| column.path().parts().first().is_some_and(|first| first == name);
        let Some(at) = self.schema.columns().iter().position(|column| same(column)) else { return Ok(None) };
        let found = Kind::of(&self.schema.column(at));
        if found != Ok(kind) {
            let found = found.map_or_else(|other| other, |kind| kind.name().to_owned());
            return Err(ColumnError::Cell(CellError::Type { column: name, found, expected: kind.name() }));
        }
        Ok(Some(Rows { name, reader: self.reader.get_column_reader(at)?, rows: self.rows }))
    }
}

/// A column's values, row by row.
pub(crate) struct Rows {
    name: &'static str,
    reader: ColumnReader,
    rows: usize,
}

impl Rows {
    pub(crate) fn int64(self, mut each: impl FnMut(Option<i64>)) -> Result<(), ColumnError> {
        match self.reader {
            ColumnReader::Int64ColumnReader(reader) => read(self.name, reader, self.rows, |value| {
                each(value.copied());
                Ok(())
            }),
            _ => unreachable!("Group::column asked for the kind"),
        }
    }

    /// For signed and unsigned numbers: Parquet stores both in the same bits.
    pub(crate) fn int32(self, mut each: impl FnMut(Option<i32>)) -> Result<(), ColumnError> {
        match self.reader {
            ColumnReader::Int32ColumnReader(reader) => read(self.name, reader, self.rows, |value| {
                each(value.copied());
                Ok(())
            }),
            _ => unreachable!("Group::column asked for the kind"),
        }
    }

    /// Appends the cell of every text, null as "".
    pub(crate) fn texts<C: Copy>(
        self,
        column: &mut Vec<C>,
        mut cell: impl FnMut(&str) -> C,
    ) -> Result<(), ColumnError> {
        let ColumnReader::ByteArrayColumnReader(reader) = self.reader else {
            unreachable!("Group::column asked for the kind")
        };
        read(self.name, reader, self.rows, |value| {
            column.push(match value {
                None => cell(""),
                Some(value) => cell(value.as_utf8()?),
            });
            Ok(())
        })
    }
}

/// Calls `each` with the value of every row.
fn read<D: DataType>(
    name: &str,
    mut reader: ColumnReaderImpl<D>,
    rows: usize,
    mut each: impl FnMut(Option<&D::T>) -> Result<(), ParquetError>,
) -> Result<(), ColumnError> {
    let (mut values, mut present) = (Vec::new(), Vec::new());
    let mut left = rows;
    while left > 0 {
        values.clear();
        present.clear();
        let (read, ..) = reader.read_records(left.min(BATCH), Some(&mut present), None, &mut values)?;
        if read == 0 {
            let problem = format!("column {name} has {} of {rows} rows", rows - left);
            return Err(ParquetError::General(problem).into());
        }
        let mut values = values.iter();
        match present.is_empty() {
            // A column that cannot be null has no levels.
            true => values.try_for_each(|value| each(Some(value)))?,
            false => {
                let value = |&level: &i16| if level == 0 { None } else { values.next() };
                present.iter().map(value).try_for_each(&mut each)?;
            }
        }
        left -= read;
    }
    Ok(())
}
