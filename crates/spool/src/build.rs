//! Spool files made in memory, for tests and generators: a capture library writes its own in place.

use crate::{
    ALIGN, BriefCall, CHUNK_HEADER, CHUNK_MAGIC, ChunkHeader, FactCall, FileHeader, Head, Level, MAGIC,
    MOST_BYTES, OuterCall, Text,
};
use std::collections::{BTreeMap, HashMap};
use std::mem::offset_of;

/// A spool file in the making.
pub struct Build {
    /// The file's header, and the chunks that are complete.
    file: Vec<u8>,
    threads: BTreeMap<u32, Vec<u8>>,
    texts: HashMap<String, u32>,
}

impl Build {
    /// The file of process `pid`, which began at time 1 and ended in an orderly way, with the driver's
    /// locks watched.
    pub fn new(pid: u32, level: Level) -> Build {
        let file = vec![0; ALIGN as usize];
        let mut build = Build { file, threads: BTreeMap::new(), texts: HashMap::new() };
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
        self.file[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Bytes of the records in the thread `tid`'s current chunk.
    pub fn used(&self, tid: u32) -> usize {
        self.threads.get(&tid).map_or(0, Vec::len)
    }

    /// Ends the thread `tid`'s current chunk: its next record begins another. The chunks of a file are in the order in
    /// which they end.
    pub fn end_chunk(&mut self, tid: u32) {
        if let Some(records) = self.threads.remove(&tid) {
            append_chunk(&mut self.file, tid, &records);
        }
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

    /// Like [`Build::brief`], but with a fact.
    ///
    /// # Panics
    /// When it does not fit.
    pub fn brief_with(&mut self, tid: u32, fact: u32, call: BriefCall) {
        self.brief_behind(tid, FactCall::head(fact), call);
    }

    /// Like [`Build::brief`], but behind the first word of a record that says more of the call.
    ///
    /// # Panics
    /// When it does not fit.
    pub fn brief_behind(&mut self, tid: u32, head: Head, call: BriefCall) {
        self.word(tid, head);
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

    /// The file's bytes: the chunks that ended before, then the threads' current ones, in order of their ids.
    pub fn finish(self) -> Vec<u8> {
        let Build { mut file, threads, .. } = self;
        for (tid, records) in threads {
            append_chunk(&mut file, tid, &records);
        }
        let next = file.len() as u64;
        file[offset_of!(FileHeader, next)..][..8].copy_from_slice(&next.to_ne_bytes());
        file
    }
}

fn append_chunk(file: &mut Vec<u8>, tid: u32, records: &[u8]) {
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
