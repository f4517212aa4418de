//! Columns whose values repeat, as Parquet's dictionaries: each distinct value once, and the rows as numbers of them, in
//! runs or in as few bits as they need.
//!
//! The `parquet` crate hashes every value of a column, texts in full, where most columns of a trace have numbers already:
//! kinds, names, rows of threads and streams.

use crate::chunk::{BATCH, Cells, Encoded, Fill, PAGE, ZSTD, compression};
use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Most distinct numbers of a column chunk: more, and differences take less.
const MOST_NUMBERS: usize = 1 << 14;

/// Most bytes of a dictionary of texts: the limit of Parquet's writers.
const MOST_BYTES: usize = 1 << 20;

/// Numbers below this one are found in a table.
const SMALL: i64 = 1 << 12;

/// Longest text in the statistics, bytes: the limit of Parquet's writers.
const MOST_TEXT: usize = 64;

/// No number of a dictionary.
const NONE: u32 = u32::MAX;

/// The rows of a column chunk as numbers in a dictionary.
pub(crate) struct Indexed {
    /// The distinct values, each as Parquet's encoding `PLAIN` has it.
    dictionary: Vec<u8>,
    distinct: usize,
    /// The number of each row that is not null.
    indices: Vec<u32>,
    /// Of each row, 1 for a value and 0 for null.
    present: Vec<i16>,
    statistics: Statistics,
}

/// Rows of numbers as numbers in a dictionary.
pub(crate) struct Numbers {
    /// In the order of their first rows.
    distinct: Vec<i64>,
    indices: Vec<u32>,
    present: Vec<i16>,
}

impl Numbers {
    /// The rows, if their values repeat often enough.
    pub(crate) fn of<T: Copy>(
        fill: &Fill<'_, T>,
        rows: Range<usize>,
        number: impl Fn(T) -> i64,
    ) -> Option<Numbers> {
        let mut numbers = Numbers { distinct: Vec::new(), indices: Vec::new(), present: Vec::new() };
        let (mut small, mut large) = (vec![NONE; SMALL as usize], FxHashMap::default());
        let (mut last, mut last_index) = (0, NONE);
        let mut cells = Cells::default();
        for start in rows.clone().step_by(BATCH) {
            cells.clear();
            fill(start..rows.end.min(start + BATCH), &mut cells);
            numbers.present.extend(&cells.present);
            for value in cells.values.iter().map(|value| number(*value)) {
                if value != last || last_index == NONE {
                    last = value;
                    let index = match value {
                        0..SMALL => &mut small[value as usize],
                        _ => large.entry(value).or_insert(NONE),
                    };
                    if *index == NONE {
                        if numbers.distinct.len() == MOST_NUMBERS {
                            return None;
                        }
                        *index = numbers.distinct.len() as u32;
                        numbers.distinct.push(value);
                    }
                    last_index = *index;
                }
                numbers.indices.push(last_index);
            }
        }
        // A value that is there once takes more in a dictionary than outside.
        (numbers.distinct.len() * 2 <= numbers.indices.len().max(2)).then_some(numbers)
    }

    pub(crate) fn int64(self) -> Indexed {
        let (min, max, nulls) = self.bounds();
        let statistics = Statistics::int64(min, max, None, Some(nulls), false);
        let bytes = self.distinct.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.indexed(bytes, statistics)
    }

    pub(crate) fn int32(self) -> Indexed {
        let (min, max, nulls) = self.bounds();
        let narrow = |value: Option<i64>| value.map(|value| value as i32);
        let statistics = Statistics::int32(narrow(min), narrow(max), None, Some(nulls), false);
        let bytes = self.distinct.iter().flat_map(|value| (*value as i32).to_le_bytes()).collect();
        self.indexed(bytes, statistics)
    }

    /// Like [`Numbers::int32`]: Parquet stores both in the same bits, and their order was that of unsigned ones.
    pub(crate) fn uint32(self) -> Indexed {
        self.int32()
    }

    fn bounds(&self) -> (Option<i64>, Option<i64>, u64) {
        let nulls = self.present.len() - self.indices.len();
        (self.distinct.iter().min().copied(), self.distinct.iter().max().copied(), nulls as u64)
    }

    fn indexed(self, dictionary: Vec<u8>, statistics: Statistics) -> Indexed {
        let Numbers { distinct, indices, present } = self;
        Indexed { dictionary, distinct: distinct.len(), indices, present, statistics }
    }
}

/// The rows of a column of texts, each given by its number among them, if those that occur are a small dictionary.
pub(crate) fn of_texts(texts: &[ByteArray], fill: &Fill<'_, u32>, rows: Range<usize>) -> Option<Indexed> {
    let mut cells = Cells::default();
    fill(rows, &mut cells);
    let mut index_of = vec![NONE; texts.len()];
    let (mut dictionary, mut used) = (Vec::new(), Vec::new());
    for number in &mut cells.values {
        let index = &mut index_of[*number as usize];
        if *index == NONE {
            let text = texts[*number as usize].data();
            *index = used.len() as u32;
            used.push(text);
            dictionary.extend((text.len() as u32).to_le_bytes());
            dictionary.extend(text);
            if dictionary.len() > MOST_BYTES {
                return None;
            }
        }
        *number = *index;
    }
    let bound = |text: Option<&&[u8]>| {
        text.filter(|text| text.len() <= MOST_TEXT).map(|text| ByteArray::from(text.to_vec()))
    };
    let nulls = cells.present.len() - cells.values.len();
    let (min, max) = (bound(used.iter().min()), bound(used.iter().max()));
    let statistics = Statistics::byte_array(min, max, None, Some(nulls as u64), false);
    Some(Indexed {
        dictionary,
        distinct: used.len(),
        indices: cells.values,
        present: cells.present,
        statistics,
    })
}

/// Writes the pages of a column chunk.
pub(crate) fn write(column: &Indexed, of: &ColumnDescPtr) -> Result<Encoded, ParquetError> {
    let mut bytes = TrackedWrite::new(Vec::new());
    let mut pages = Pages { writer: SerializedPageWriter::new(&mut bytes), uncompressed: 0, written: 0 };
    let distinct = column.distinct as u32;
    pages.write(&column.dictionary, |buf| Page::DictionaryPage {
        buf,
        num_values: distinct,
        encoding: Encoding::PLAIN,
        is_sorted: false,
    })?;
    let data_page_offset = pages.written as i64;
    let width = (u32::BITS - distinct.saturating_sub(1).leading_zeros()).max(1);
    let mut indices = &column.indices[..];
    let mut page = Vec::new();
    for present in column.present.chunks(PAGE) {
        page.clear();
        let count = levels(present, &mut page);
        let own;
        (own, indices) = indices.split_at(count);
        page.push(width as u8);
        hybrid(own, width, &mut page);
        pages.write(&page, |buf| Page::DataPage {
            buf,
            num_values: present.len() as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })?;
    }
    let Pages { uncompressed, written, .. } = pages;
    let rows = column.present.len();
    let metadata = ColumnChunkMetaData::builder(of.clone())
        .set_compression(compression())
        .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
        .set_total_compressed_size(written as i64)
        .set_total_uncompressed_size(uncompressed as i64)
        .set_num_values(rows as i64)
        .set_dictionary_page_offset(Some(0))
        .set_data_page_offset(data_page_offset)
        .set_statistics(column.statistics.clone())
        .build()?;
    let closed = ColumnCloseResult {
        bytes_written: written as u64,
        rows_written: rows as u64,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    Ok((Bytes::from(bytes.into_inner()?), closed))
}

struct Pages<'a> {
    writer: SerializedPageWriter<'a, Vec<u8>>,
    /// Bytes with headers, before and after compression.
    uncompressed: usize,
    written: usize,
}

impl Pages<'_> {
    fn write(&mut self, content: &[u8], page: impl FnOnce(Bytes) -> Page) -> Result<(), ParquetError> {
        let compressed = zstd::bulk::compress(content, ZSTD)?;
        let written =
            self.writer.write_page(CompressedPage::new(page(Bytes::from(compressed)), content.len()))?;
        self.uncompressed += written.uncompressed_size;
        self.written += written.bytes_written as usize;
        Ok(())
    }
}

/// Appends which rows have a value, with the number of bytes that this takes before it; returns how many have.
fn levels(present: &[i16], to: &mut Vec<u8>) -> usize {
    let begin = to.len();
    to.extend([0; 4]);
    let count = present.iter().filter(|level| **level != 0).count();
    if count == present.len() {
        run(1, count, 1, to);
    } else {
        let levels: Vec<u32> = present.iter().map(|level| *level as u32).collect();
        hybrid(&levels, 1, to);
    }
    let length = (to.len() - begin - 4) as u32;
    to[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
    count
}

/// Appends numbers of at most `width` bits in Parquet's encoding `RLE`: runs of equal ones, and groups of eight between
/// them.
fn hybrid(numbers: &[u32], width: u32, to: &mut Vec<u8>) {
    // From where on numbers are not written.
    let (mut from, mut at) = (0, 0);
    while let Some(number) = numbers.get(at) {
        let equal = numbers[at..].iter().take_while(|other| *other == number).count();
        // Groups before a run are full.
        let missing = (at - from).next_multiple_of(8) - (at - from);
        if equal >= missing + 8 {
            pack(&numbers[from..at + missing], width, to);
            run(*number, equal - missing, width, to);
            from = at + equal;
        }
        at += equal;
    }
    pack(&numbers[from..], width, to);
}

/// Appends a run of equal numbers.
fn run(number: u32, count: usize, width: u32, to: &mut Vec<u8>) {
    if count > 0 {
        varint((count as u64) << 1, to);
        to.extend(&number.to_le_bytes()[..width.div_ceil(8) as usize]);
    }
}

/// Appends numbers in groups of eight, the last one filled with zeros.
fn pack(numbers: &[u32], width: u32, to: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    let groups = numbers.len().div_ceil(8);
    varint((groups as u64) << 1 | 1, to);
    let (mut bits, mut used) = (0u64, 0);
    let filling = std::iter::repeat_n(&0, groups * 8 - numbers.len());
    for number in numbers.iter().chain(filling) {
        bits |= u64::from(*number) << used;
        used += width;
        while used >= 8 {
            to.push(bits as u8);
            bits >>= 8;
            used -= 8;
        }
    }
}

/// Appends a number in groups of seven bits, the lowest first.
fn varint(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

#[cfg(test)]
mod tests;
