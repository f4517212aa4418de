//! Spool files made in memory, for tests and generators: a capture library writes its own in place.

use crate::{
    ALIGN, BriefCall, CHUNK_HEADER, CHUNK_MAGIC, ChunkHeader, FactCall, FileHeader, Head, Level, MAGIC,
    MOST_BYTES, OuterCall, Text,
};
use std::collections::{BTreeMap, HashMap};
use std::mem::offset_of;

/// A spool file in the making.
pub struct Build {
    header: Vec<u8>,
    threads: BTreeMap<u32, Vec<u8>>,
    texts: HashMap<String, u32>,
}

impl Build {
    /// The file of process `pid`, which began at time 1 and ended in an orderly way, with the driver's
    /// locks watched.
    pub fn new(pid: u32, level: Level) -> Build {
        let header = vec![0; ALIGN as usize];
        let mut build = Build { header, threads: BTreeMap::new(), texts: HashMap::new() };
        build.set(offset_of!(FileHeader, magic), &MAGIC.to_ne_bytes());
        build.set(offset_of!(FileHeader, pid), &pid.to_ne_bytes());
        build.set(offset_of!(FileHeader, monotonic_ns), &1i64.to_ne_bytes());
        build.set(offset_of!(FileHeader, unix_ns), &1i64.to_ne_bytes());
        build.set(offset_of!(FileHeader, level), &(level as u32).to_ne_bytes());
        build.set(offset_of!(FileHeader, finished), &1u32.to_ne_bytes());
        build.set(offset_of!(FileHeader, driver_slots), &1u64.to_ne_bytes());
        build
    }

    /// Writes `bytes` at an offset of the [`FileHeader`].
    pub fn set(&mut self, at: usize, bytes: &[u8]) {
        self.header[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// The number of a text, written as the thread `tid`'s the first time.
    pub fn text(&mut self, tid: u32, text: &str) -> u32 {
        if let Some(id) = self.texts.get(text) {
            return *id;
        }
        let id = self.texts.len() as u32 + 1;
        self.texts.insert(text.to_owned(), id);
        self.record(tid, Text::KIND, id, &[Text { length: text.len() as u64 }.bytes(), text.as_bytes()]);
        id
    }

    /// Appends a record to the thread `tid`'s.
    ///
    /// # Panics
    /// When it is longer than [`MOST_BYTES`].
    pub fn record(&mut self, tid: u32, kind: u16, tag: u32, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let words = 1 + length.div_ceil(8);
        assert!(words * 8 <= MOST_BYTES, "a record of {length} bytes");
        let head = Head { kind, words: words as u16, tag };
        let bytes = self.word(tid, head);
        let end = bytes.len() + (words - 1) * 8;
        parts.iter().for_each(|part| bytes.extend(*part));
        bytes.resize(end, 0);
    }

    /// Appends a brief call to the thread `tid`'s records.
    ///
    /// # Panics
    /// When it does not fit.
    pub fn brief(&mut self, tid: u32, BriefCall { function, gap, duration, flags }: BriefCall) {
        let word = BriefCall::word(function, gap.into(), duration.into(), flags != 0);
        self.word(tid, word.expect("a brief call is brief"));
    }

    /// As [`Build::brief`], with a fact.
    ///
    /// # Panics
    /// When it does not fit.
    pub fn brief_with(&mut self, tid: u32, fact: u32, call: BriefCall) {
        self.word(tid, FactCall::head(fact));
        self.brief(tid, call);
    }

    /// Appends a brief call around those before it to the thread `tid`'s records.
    ///
    /// # Panics
    /// When it does not fit.
    pub fn outer(&mut self, tid: u32, OuterCall { function, back, tail }: OuterCall) {
        let word = OuterCall::word(function, back.into(), tail.into());
        self.word(tid, word.expect("a brief call is brief"));
    }

    fn word(&mut self, tid: u32, word: Head) -> &mut Vec<u8> {
        let bytes = self.threads.entry(tid).or_default();
        bytes.extend(word.kind.to_ne_bytes());
        bytes.extend(word.words.to_ne_bytes());
        bytes.extend(word.tag.to_ne_bytes());
        bytes
    }

    /// The file's bytes: a chunk a thread, in order of their ids.
    pub fn finish(self) -> Vec<u8> {
        let mut file = self.header;
        for (tid, records) in self.threads {
            let size = (CHUNK_HEADER + records.len()).next_multiple_of(ALIGN as usize);
            let mut chunk = [0; CHUNK_HEADER];
            let mut set = |at: usize, bytes: &[u8]| chunk[at..at + bytes.len()].copy_from_slice(bytes);
            set(offset_of!(ChunkHeader, magic), &CHUNK_MAGIC.to_ne_bytes());
            set(offset_of!(ChunkHeader, size), &(size as u64).to_ne_bytes());
            set(offset_of!(ChunkHeader, used), &(records.len() as u64).to_ne_bytes());
            set(offset_of!(ChunkHeader, tid), &tid.to_ne_bytes());
            let end = file.len() + size;
            file.extend(chunk);
            file.extend(records);
            file.resize(end, 0);
        }
        let next = file.len() as u64;
        file[offset_of!(FileHeader, next)..][..8].copy_from_slice(&next.to_ne_bytes());
        file
    }
}
