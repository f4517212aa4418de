//! A table's columns to Parquet. Columns and groups of rows are encoded at the same time, each for itself, so that the
//! file is the same however many processors there are.
//!
//! A column whose values repeat becomes numbers in a dictionary ([`crate::dictionary`]), all other numbers become
//! differences to the value before (`DELTA_BINARY_PACKED`): times, ids and row numbers mostly grow in small steps.

use crate::chunk::{BATCH, Cells, Encoded, Fill, PAGE, compression};
use crate::columns::most_rows;
use crate::dictionary::{self, Numbers};
use crate::error::FileError;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::{get_column_writer, get_typed_column_writer};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, Type};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Rows of a row group: the default of Parquet's writers.
const GROUP: usize = 1 << 20;

/// The values of a column, by row; `None` is null in the file.
pub struct Values<'a>(ValueSource<'a>);

enum ValueSource<'a> {
    Int64(Fill<'a, i64>),
    Int32(Fill<'a, i32>),
    UInt32(Fill<'a, i32>),
    Double(Fill<'a, f64>),
    Text(Fill<'a, ByteArray>),
    Among(Vec<ByteArray>, Fill<'a, u32>),
}

/// One closure for many rows: what a row costs must not include a call through a pointer.
fn fill<'a, T: 'a>(value: impl Fn(usize) -> Option<T> + Sync + 'a) -> Fill<'a, T> {
    Box::new(move |rows, cells| {
        cells.values.reserve(rows.len());
        cells.present.reserve(rows.len());
        for row in rows {
            let value = value(row);
            cells.present.push(i16::from(value.is_some()));
            cells.values.extend(value);
        }
    })
}

impl<'a> Values<'a> {
    /// Signed 64-bit numbers.
    pub fn int64(value: impl Fn(usize) -> Option<i64> + Sync + 'a) -> Values<'a> {
        Values(ValueSource::Int64(fill(value)))
    }

    /// Signed 32-bit numbers.
    pub fn int32(value: impl Fn(usize) -> Option<i32> + Sync + 'a) -> Values<'a> {
        Values(ValueSource::Int32(fill(value)))
    }

    /// Unsigned 32-bit numbers.
    pub fn uint32(value: impl Fn(usize) -> Option<u32> + Sync + 'a) -> Values<'a> {
        Values(ValueSource::UInt32(fill(move |row| value(row).map(|value| value as i32))))
    }

    /// Floating-point numbers.
    pub fn double(value: impl Fn(usize) -> Option<f64> + Sync + 'a) -> Values<'a> {
        Values(ValueSource::Double(fill(value)))
    }

    /// Texts, each created when its row is written.
    pub fn text<T: AsRef<str>>(value: impl Fn(usize) -> Option<T> + Sync + 'a) -> Values<'a> {
        Values(ValueSource::Text(fill(move |row| value(row).map(|text| ByteArray::from(text.as_ref())))))
    }

    /// Texts that many rows share: `number` gives the index of each row's text.
    pub(crate) fn among(texts: Vec<ByteArray>, number: impl Fn(usize) -> usize + Sync + 'a) -> Values<'a> {
        Values(ValueSource::Among(texts, fill(move |row| Some(number(row) as u32))))
    }

    /// The column's declaration in the file's schema.
    fn declared(&self, name: &str) -> Result<Type, ParquetError> {
        let (physical, logical) = match self.0 {
            ValueSource::Int64(_) => (Physical::INT64, None),
            ValueSource::Int32(_) => (Physical::INT32, None),
            ValueSource::UInt32(_) => (Physical::INT32, Some(LogicalType::integer(32, false))),
            ValueSource::Double(_) => (Physical::DOUBLE, None),
            ValueSource::Text(_) | ValueSource::Among(..) => {
                (Physical::BYTE_ARRAY, Some(LogicalType::String))
            }
        };
        let column = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        column.with_logical_type(logical).build()
    }

    /// The column chunk of some rows, every number with all its bytes. Texts are as ever.
    fn in_full(&self, rows: Range<usize>, column: &ColumnDescPtr) -> Result<Encoded, ParquetError> {
        let properties =
            properties().set_dictionary_enabled(false).set_compression(Compression::UNCOMPRESSED);
        match &self.0 {
            ValueSource::Int64(fill) => values::<Int64Type>(rows, fill, column, properties),
            ValueSource::Int32(fill) | ValueSource::UInt32(fill) => {
                values::<Int32Type>(rows, fill, column, properties)
            }
            ValueSource::Double(fill) => values::<DoubleType>(rows, fill, column, properties),
            ValueSource::Text(_) | ValueSource::Among(..) => self.encode(rows, column),
        }
    }

    /// The column chunk of some rows.
    fn encode(&self, rows: Range<usize>, column: &ColumnDescPtr) -> Result<Encoded, ParquetError> {
        match &self.0 {
            ValueSource::Int64(fill) => match Numbers::of(fill, rows.clone(), i64::from) {
                Some(numbers) => dictionary::write(&numbers.int64(), column),
                None => differences::<Int64Type>(rows, fill, column),
            },
            ValueSource::Int32(fill) => match Numbers::of(fill, rows.clone(), i64::from) {
                Some(numbers) => dictionary::write(&numbers.int32(), column),
                None => differences::<Int32Type>(rows, fill, column),
            },
            ValueSource::UInt32(fill) => match Numbers::of(fill, rows.clone(), |bits| (bits as u32).into()) {
                Some(numbers) => dictionary::write(&numbers.uint32(), column),
                None => differences::<Int32Type>(rows, fill, column),
            },
            ValueSource::Double(fill) => values::<DoubleType>(rows, fill, column, properties()),
            ValueSource::Text(fill) => values::<ByteArrayType>(rows, fill, column, properties()),
            ValueSource::Among(texts, fill) => match dictionary::of_texts(texts, fill, rows.clone()) {
                Some(indexed) => dictionary::write(&indexed, column),
                None => {
                    let text = |rows: Range<usize>, cells: &mut Cells<ByteArray>| {
                        let mut numbers = Cells::default();
                        fill(rows, &mut numbers);
                        cells.values.extend(numbers.values.iter().map(|at| texts[*at as usize].clone()));
                        cells.present.extend(numbers.present);
                    };
                    values::<ByteArrayType>(rows, &(Box::new(text) as Fill<'_, _>), column, properties())
                }
            },
        }
    }
}

/// Properties that all columns have in common. Statistics are those of a row group: nobody looks for single pages.
fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(compression())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_data_page_row_count_limit(PAGE)
        .set_write_batch_size(1 << 13)
}

fn differences<D: DataType>(
    rows: Range<usize>,
    fill: &Fill<'_, D::T>,
    column: &ColumnDescPtr,
) -> Result<Encoded, ParquetError> {
    let properties = properties().set_dictionary_enabled(false).set_encoding(Encoding::DELTA_BINARY_PACKED);
    values::<D>(rows, fill, column, properties)
}

fn values<D: DataType>(
    rows: Range<usize>,
    fill: &Fill<'_, D::T>,
    column: &ColumnDescPtr,
    properties: WriterPropertiesBuilder,
) -> Result<Encoded, ParquetError> {
    let mut bytes = TrackedWrite::new(Vec::new());
    let pages = Box::new(SerializedPageWriter::new(&mut bytes));
    let writer = get_column_writer(column.clone(), Arc::new(properties.build()), pages);
    let mut writer = get_typed_column_writer::<D>(writer);
    let mut cells = Cells::default();
    for start in rows.clone().step_by(BATCH) {
        cells.clear();
        fill(start..rows.end.min(start + BATCH), &mut cells);
        writer.write_batch(&cells.values, Some(&cells.present), None)?;
    }
    let closed = writer.close()?;
    Ok((Bytes::from(bytes.into_inner()?), closed))
}

/// The Parquet file of a table's rows, as in a `.holdup` archive.
///
/// # Errors
/// An error of the Parquet writer, with the table's name.
pub fn to_parquet(
    table: &'static str,
    rows: usize,
    columns: &[(&str, Values<'_>)],
) -> Result<Vec<u8>, FileError> {
    let write = || {
        let bytes = write(rows, columns, LeadColumn::AsOthers)?;
        // Rows that follow a rule take next to nothing: those of arguments, for example, if each call has one. A reader
        // refuses such a file, because a few bytes that mean any number of rows could fill its memory.
        match rows as u64 <= most_rows(bytes.len()) {
            true => Ok(bytes),
            false => write(rows, columns, LeadColumn::InFull),
        }
    };
    write().map_err(|error| FileError::Parquet(table, error))
}

/// How a table's first column is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeadColumn {
    AsOthers,
    /// Every value with all its bytes: at least four for each row that is not null.
    InFull,
}

fn write(rows: usize, columns: &[(&str, Values<'_>)], first: LeadColumn) -> Result<Vec<u8>, ParquetError> {
    let declared: Result<Vec<_>, _> =
        columns.iter().map(|(name, values)| values.declared(name).map(Arc::new)).collect();
    let schema = Type::group_type_builder("schema").with_fields(declared?).build()?;
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties().build()))?;
    let described: Vec<ColumnDescPtr> = file.schema_descr().columns().to_vec();
    let groups: Vec<_> = (0..rows).step_by(GROUP).map(|start| start..rows.min(start + GROUP)).collect();
    // As many groups at a time as there are threads: their columns are enough work for all of them to the end, and what
    // is encoded and not yet written stays small.
    for some in groups.chunks(rayon::current_num_threads()) {
        let each = some.par_iter().flat_map(|group| {
            let columns = columns.par_iter().zip(&described).enumerate();
            columns.map(|(at, ((_, values), column))| match first {
                LeadColumn::InFull if at == 0 => values.in_full(group.clone(), column),
                _ => values.encode(group.clone(), column),
            })
        });
        let encoded: Result<Vec<Encoded>, ParquetError> = each.collect();
        let mut encoded = encoded?.into_iter();
        for _ in some {
            let mut group = file.next_row_group()?;
            for (bytes, closed) in encoded.by_ref().take(columns.len()) {
                group.append_column(&bytes, closed)?;
            }
            group.close()?;
        }
    }
    file.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Columns;

    /// Launches of one thread in one stream at level light: nothing differs but the number of the call.
    #[test]
    fn a_table_whose_rows_follow_a_rule_is_written_so_that_it_can_be_read() {
        let rows = 3 << 20;
        let mut trace = crate::Trace::default();
        let process = trace.processes.push(crate::Process::default());
        let thread = trace.threads.push(crate::Thread { process, ..crate::Thread::default() });
        let context = trace.contexts.push(crate::Context { process, ..crate::Context::default() });
        let stream = trace.streams.push(crate::Stream { context, number: 0 });
        for row in 0..rows {
            let start = row as i64 * 10_000;
            let call = crate::Call { start, end: start + 10, thread, ..crate::Call::default() };
            let call = trace.calls.push(call);
            trace.arguments.push(crate::Argument { call, stream, ..crate::Argument::default() });
        }
        let mut file = std::io::Cursor::new(Vec::new());
        crate::write(&trace, &mut file).expect("a file in memory");
        let read = crate::read(file.into_inner()).expect("what was written is read");
        assert!(read.calls == trace.calls && read.arguments == trace.arguments);
    }

    #[test]
    fn a_table_of_several_groups_is_the_same_with_any_number_of_threads() {
        let rows = GROUP + 3;
        let columns = || {
            let names = ["launch", "copy"].map(ByteArray::from).to_vec();
            [
                ("time", Values::int64(|row| Some(row as i64 * 1_000 + (row % 7) as i64))),
                ("thread", Values::uint32(|row| (row % 5 > 0).then_some(row as u32 % 5))),
                ("name", Values::among(names, |row| row % 3 / 2)),
                ("ratio", Values::double(|row| Some(row as f64))),
            ]
        };
        let write = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| to_parquet("made up", rows, &columns()).expect("a file"))
        };
        let bytes = write(1);
        assert!(bytes == write(4));

        let file = Columns::open(Bytes::from(bytes)).expect("Parquet");
        let mut next = 0;
        let mut each = |group: &crate::columns::Group<'_>| {
            let (mut times, mut threads, mut names) = (Vec::new(), Vec::new(), Vec::new());
            group
                .column("time", crate::columns::Kind::Int64)?
                .expect("there")
                .int64(|time| times.push(time))?;
            group
                .column("thread", crate::columns::Kind::UInt32)?
                .expect("there")
                .int32(|id| threads.push(id))?;
            group.column("name", crate::columns::Kind::Utf8)?.expect("there").texts(&mut names, str::len)?;
            for ((time, thread), name) in times.into_iter().zip(threads).zip(names) {
                assert_eq!(time, Some(next as i64 * 1_000 + (next % 7) as i64));
                assert_eq!(thread, (next % 5 > 0).then_some(next as i32 % 5));
                assert_eq!(name, if next % 3 == 2 { 4 } else { 6 });
                next += 1;
            }
            Ok(())
        };
        assert!(file.groups(&mut each).is_ok());
        assert_eq!(next, rows);
    }
}
