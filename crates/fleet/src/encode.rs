//! Digests as Parquet files: a group of rows for each trace. The collectives have a file of their own: they are most rows, and most
//! questions need none of them.

use crate::cells::{COLUMNS, Row};
use crate::digest::Digest;
use crate::identity::Identity;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::writer::{ColumnCloseResult, get_column_writer, get_typed_column_writer};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, Type, TypePtr};
use std::sync::Arc;

/// Most bytes of a digest, compressed.
pub const LIMIT: usize = 64 << 10;

/// Why digests are not encoded.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// An error of the Parquet writer.
    #[error("Parquet: {0}")]
    Parquet(#[from] ParquetError),
    /// A trace does not fit, however little of it is kept.
    #[error("{0}: the digest has {1} bytes, over the limit of {LIMIT}: report this as a bug")]
    TooLarge(String, usize),
}

/// Digests of one run, encoded.
pub struct Files {
    /// The run.
    pub run: String,
    /// The groups of both files.
    groups: Vec<[Vec<Encoded>; 2]>,
    /// Hash of the traces' names, hosts and ranks: the names of the files have it.
    key: Hash,
}

type Encoded = (Bytes, ColumnCloseResult);

impl Files {
    /// Files without digests.
    pub fn new(run: &str) -> Files {
        Files { run: run.to_owned(), groups: Vec::new(), key: Hash::default() }
    }

    /// Adds a digest in the most detail that fits; returns its bytes.
    ///
    /// # Errors
    /// If the Parquet writer fails, or the digest fits in no level of detail.
    pub fn push(&mut self, digest: &Digest<'_>) -> Result<usize, EncodeError> {
        let identity = &digest.identity;
        let size = |group: &[Encoded]| group.iter().map(|(bytes, _)| bytes.len()).sum::<usize>();
        let rows = encode(identity, digest.rows())?;
        let mut bytes = size(&rows);
        for level in 0.. {
            let Some(collectives) = digest.collectives(level) else { break };
            let collectives = encode(identity, &collectives)?;
            bytes = size(&rows) + size(&collectives);
            if bytes <= LIMIT {
                self.groups.push([rows, collectives]);
                self.key.add(&identity.name);
                self.key.add(&identity.host);
                self.key.add(&identity.rank.map_or_else(String::new, |rank| rank.to_string()));
                return Ok(bytes);
            }
        }
        Err(EncodeError::TooLarge(identity.name.clone(), bytes))
    }

    /// The files, each with its place below the folder of all digests. The same traces give the same names, so that a second
    /// attempt replaces the first.
    ///
    /// # Errors
    /// If the Parquet writer fails.
    pub fn write(self) -> Result<[(String, Vec<u8>); 2], ParquetError> {
        let (folder, key) = (folder(&self.run), self.key.0);
        let name = |kind| format!("run={folder}/{kind}-{key:016x}.parquet");
        let (rows, collectives) =
            self.groups.into_iter().map(|[rows, collectives]| (rows, collectives)).unzip();
        Ok([(name("digests"), file(rows)?), (name("collectives"), file(collectives)?)])
    }
}

/// A file of some groups; a group without rows is left out.
fn file(groups: Vec<Vec<Encoded>>) -> Result<Vec<u8>, ParquetError> {
    let mut file = SerializedFileWriter::new(Vec::new(), schema()?, Arc::new(properties().build()))?;
    for group in groups.into_iter().filter(|group| group.iter().any(|(_, closed)| closed.rows_written > 0)) {
        let mut writer = file.next_row_group()?;
        for (bytes, closed) in group {
            writer.append_column(&bytes, closed)?;
        }
        writer.close()?;
    }
    file.into_inner()
}

/// A run's name as a folder's: letters, digits and a few signs; others as `%2F`, as in Hive's layout.
fn folder(run: &str) -> String {
    let mut name = String::new();
    for byte in run.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => name.push(char::from(byte)),
            b'.' if !name.is_empty() => name.push('.'),
            _ => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name
}

/// FNV-1a, 64 bits: a name must be the same in every version of holdup.
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Hash(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

fn schema() -> Result<TypePtr, ParquetError> {
    let column = |column: &crate::Column| {
        let (physical, logical) = match column.is_text {
            true => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            false => (Physical::INT64, None),
        };
        let of = Type::primitive_type_builder(column.name, physical).with_repetition(Repetition::OPTIONAL);
        of.with_logical_type(logical).build().map(Arc::new)
    };
    let columns: Result<Vec<_>, _> = COLUMNS.iter().map(column).collect();
    Ok(Arc::new(Type::group_type_builder("digest").with_fields(columns?).build()?))
}

/// Footers are read whole by every query, so they have no statistics.
fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).unwrap_or_default()))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_created_by(String::from("holdup"))
}

/// The columns of some rows.
fn encode(identity: &Identity, rows: &[Row]) -> Result<Vec<Encoded>, ParquetError> {
    let described = SchemaDescriptor::new(schema()?);
    let mut encoded = Vec::new();
    for (column, of) in described.columns().iter().zip(COLUMNS) {
        encoded.push(match of.is_text {
            true => texts(column, rows.iter().map(|row| text_of(of.name, identity, row)))?,
            false => numbers(column, rows.iter().map(|row| number_of(of.name, identity, row)))?,
        });
    }
    Ok(encoded)
}

fn text_of<'a>(column: &str, identity: &'a Identity, row: &'a Row) -> Option<&'a str> {
    match column {
        "run" => Some(&identity.run),
        "host" => (!identity.host.is_empty()).then_some(&identity.host),
        "trace" => Some(&identity.name),
        "kind" => Some(row.kind.id()),
        "cause" => row.cause,
        "place" => row.place.as_deref(),
        "name" => row.name.as_deref(),
        "comm" => row.comm.as_deref(),
        "detail" => row.detail.as_deref(),
        _ => unreachable!("no column of texts has this name: {column}"),
    }
}

fn number_of(column: &str, identity: &Identity, row: &Row) -> Option<i64> {
    match column {
        "rank" => identity.rank,
        "device" => row.device,
        "n" => Some(row.n),
        "begin_ns" => row.begin,
        "end_ns" => row.end,
        "ns" => row.ns,
        "ns2" => row.ns2,
        "count" => row.count,
        "bytes" => row.bytes,
        _ => unreachable!("no column of numbers has this name: {column}"),
    }
}

fn texts<'a>(
    column: &ColumnDescPtr,
    cells: impl Iterator<Item = Option<&'a str>>,
) -> Result<Encoded, ParquetError> {
    write::<ByteArrayType>(column, properties(), cells.map(|cell| cell.map(ByteArray::from)))
}

/// Numbers as differences to the one before: most grow in small steps.
fn numbers(
    column: &ColumnDescPtr,
    cells: impl Iterator<Item = Option<i64>>,
) -> Result<Encoded, ParquetError> {
    let properties = properties().set_dictionary_enabled(false).set_encoding(Encoding::DELTA_BINARY_PACKED);
    write::<Int64Type>(column, properties, cells)
}

fn write<D: DataType>(
    column: &ColumnDescPtr,
    properties: WriterPropertiesBuilder,
    cells: impl Iterator<Item = Option<D::T>>,
) -> Result<Encoded, ParquetError> {
    let (mut values, mut present) = (Vec::new(), Vec::new());
    for cell in cells {
        present.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    let mut bytes = TrackedWrite::new(Vec::new());
    let pages = Box::new(SerializedPageWriter::new(&mut bytes));
    let writer = get_column_writer(column.clone(), Arc::new(properties.build()), pages);
    let mut writer = get_typed_column_writer::<D>(writer);
    writer.write_batch(&values, Some(&present), None)?;
    let closed = writer.close()?;
    Ok((Bytes::from(bytes.into_inner()?), closed))
}
