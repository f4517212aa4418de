//! A reader must take whatever a dying process left.

use proptest::prelude::*;
use spool::{
    ALIGN, CHUNK_HEADER, CHUNK_MAGIC, Call, File, Head, Level, MAGIC, MOST_TEXT, PythonFrame, Stack, Text,
};

/// A file of one chunk a thread, each with the given records.
fn file(chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![0; ALIGN as usize];
    put(&mut bytes, 0, &MAGIC.to_ne_bytes());
    put(&mut bytes, 8, &7u32.to_ne_bytes());
    put(&mut bytes, 40, &(Level::Full as u32).to_ne_bytes());
    for (at, records) in chunks.iter().enumerate() {
        let mut chunk = vec![0; ALIGN as usize];
        put(&mut chunk, 0, &CHUNK_MAGIC.to_ne_bytes());
        put(&mut chunk, 8, &ALIGN.to_ne_bytes());
        put(&mut chunk, 16, &(records.len() as u64).to_ne_bytes());
        put(&mut chunk, 24, &(100 + at as u32).to_ne_bytes());
        put(&mut chunk, CHUNK_HEADER, records);
        bytes.extend(chunk);
    }
    let next = bytes.len() as u64;
    put(&mut bytes, 32, &next.to_ne_bytes());
    bytes
}

fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    bytes[at..at + what.len()].copy_from_slice(what);
}

fn record(kind: u16, tag: u32, body: &[u8]) -> Vec<u8> {
    let words = 1 + body.len().div_ceil(8);
    let head = Head { kind, words: words as u16, tag };
    let mut bytes = [head.kind.to_ne_bytes(), head.words.to_ne_bytes()].concat();
    bytes.extend(head.tag.to_ne_bytes());
    bytes.extend(body);
    bytes.resize(words * 8, 0);
    bytes
}

fn text(id: u32, text: &[u8]) -> Vec<u8> {
    record(Text::KIND, id, &[Text { length: text.len() as u64 }.bytes(), text].concat())
}

#[test]
fn what_was_written_is_read() {
    let call = Call { start: 1, end: 5, result: -3, flags: 6, bytes: 7, stream: 8, context: 9 };
    let frames = [4u64.to_ne_bytes(), 5u64.to_ne_bytes()].concat();
    let python = [[1u32.to_ne_bytes(), 2u32.to_ne_bytes()], [33u32.to_ne_bytes(), [0; 4]]].concat().concat();
    let stack = Stack { start: 1, end: 5, python: 1 };
    let one = [text(1, b"cuMemcpy"), record(Call::KIND, 1, call.bytes())].concat();
    let two = record(Stack::KIND, 2, &[stack.bytes(), &frames, &python].concat());
    let bytes = file(&[one, two]);
    let file = File::new(&bytes).unwrap();
    assert_eq!((file.pid(), file.level(), file.finished()), (7, Some(Level::Full), false));
    let (chunks, damage) = file.chunks();
    assert_eq!((chunks.len(), damage.bytes), (2, 0));
    assert_eq!((chunks[0].tid(), chunks[1].tid()), (100, 101));
    let first: Vec<_> = chunks[0].records().map(Result::unwrap).collect();
    assert_eq!(first[0].text(), Some(&b"cuMemcpy"[..]));
    assert_eq!(Call::read(first[1].body), Some(call));
    let second = chunks[1].records().next().unwrap().unwrap();
    let line = PythonFrame { file: 1, function: 2, line: 33, zero: 0 };
    assert_eq!(second.frames(), Some((vec![4, 5], vec![line])));
}

#[test]
fn a_chunk_that_was_only_reserved_is_passed_over() {
    let mut bytes = file(&[text(1, b"a"), text(2, b"b"), text(3, b"c")]);
    let start = 2 * ALIGN as usize;
    bytes[start..start + ALIGN as usize].fill(0);
    let (chunks, damage) = File::new(&bytes).unwrap().chunks();
    assert_eq!((chunks.len(), damage.bytes), (2, 0));
}

#[test]
fn what_follows_a_broken_record_is_damage() {
    let mut records = [text(1, b"whole"), text(2, b"broken")].concat();
    let broken = text(1, b"whole").len();
    put(&mut records, broken + 2, &u16::MAX.to_ne_bytes());
    let bytes = file(&[records.clone()]);
    let (chunks, _) = File::new(&bytes).unwrap().chunks();
    let read: Vec<_> = chunks[0].records().collect();
    assert!(read[0].is_ok());
    assert_eq!(read[1].unwrap_err().bytes, (records.len() - broken) as u64);
    assert_eq!(read.len(), 2);
}

proptest! {
    /// No file makes the reader panic, loop, or read outside of it.
    #[test]
    fn survives_anything(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let long = text(3, &[b'x'; MOST_TEXT]);
        let stack = record(Stack::KIND, 9, Stack { start: 1, end: 2, python: 3 }.bytes());
        let mut bytes = file(&[[text(1, b"a"), long].concat(), stack]);
        // Headers and the first records matter most.
        for (at, value) in changes {
            let region = at.index(3) * ALIGN as usize;
            bytes[region + at.index(CHUNK_HEADER + 64)] = value;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        if let Some(file) = File::new(&bytes) {
            let (chunks, _) = file.chunks();
            for chunk in chunks {
                let records = chunk.records().count();
                prop_assert!(records <= bytes.len());
                for record in chunk.records().flatten() {
                    record.text();
                    record.frames();
                    Call::read(record.body);
                }
            }
        }
    }
}
