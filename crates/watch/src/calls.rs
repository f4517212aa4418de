//! Which threads of a process are inside a CUDA call: the chunks of its own spool file say so.

use crate::file::spool_file;
use rustc_hash::FxHashMap;
use spool::{ALIGN, CHUNK_HEADER, CHUNK_MAGIC, ChunkHeader, Progress};
use std::cell::Cell;
use std::fs::File;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The chunks of one spool file, as far as they are there.
pub struct Calls {
    file: File,
    /// Each thread's last chunk: its number, and where it is.
    chunks: FxHashMap<u32, (u32, u64)>,
    /// Every chunk before this is known.
    known: u64,
    /// A chunk was found to be another thread's now: chunks are used again where the last records are kept.
    stale: Cell<bool>,
    /// When all chunks were last read.
    read: Instant,
}

/// Least time between two times at which all chunks are read: there may be thousands.
const SELDOM: Duration = Duration::from_millis(500);

/// Bytes of a chunk's header that are read.
const HEADER: usize = CHUNK_HEADER;

impl Calls {
    /// Opens a spool file.
    ///
    /// # Errors
    /// The operating system's.
    pub fn open(path: &Path) -> std::io::Result<Calls> {
        let (file, chunks) = (spool_file().open(path)?, FxHashMap::default());
        Ok(Calls { file, chunks, known: ALIGN, stale: Cell::new(false), read: Instant::now() })
    }

    /// Finds chunks that have come.
    pub fn refresh(&mut self) {
        if self.stale.get() && self.read.elapsed() >= SELDOM {
            self.chunks.clear();
            (self.known, self.read) = (ALIGN, Instant::now());
            self.stale.set(false);
        }
        let end = self.file.metadata().map_or(0, |metadata| metadata.len());
        let (mut at, mut all_there) = (self.known, true);
        while at < end {
            let chunk = self.chunk(at);
            // A part without a chunk may get one later.
            all_there &= chunk.is_some();
            if let Some(Chunk { tid, number, .. }) = chunk.filter(|chunk| !chunk.is_lasting) {
                let last = self.chunks.entry(tid).or_default();
                *last = (number, at).max(*last);
            }
            at += chunk.map_or(ALIGN, |chunk| chunk.size);
            if all_there {
                self.known = at;
            }
        }
    }

    fn chunk(&self, at: u64) -> Option<Chunk> {
        let mut header = [0; HEADER];
        self.file.read_exact_at(&mut header, at).ok()?;
        let word = |at: usize| Some(u64::from_ne_bytes(*header.get(at..)?.first_chunk()?));
        let half = |at: usize| Some(u32::from_ne_bytes(*header.get(at..)?.first_chunk()?));
        let is_lasting = half(offset_of!(ChunkHeader, lasting))? == 1;
        let (tid, number) = (half(offset_of!(ChunkHeader, tid))?, half(offset_of!(ChunkHeader, number))?);
        let size = word(offset_of!(ChunkHeader, size))?;
        let sane = size >= ALIGN && size.is_multiple_of(ALIGN) && size < 1 << 40;
        (word(offset_of!(ChunkHeader, magic))? == CHUNK_MAGIC && sane).then_some(Chunk {
            tid,
            number,
            size,
            is_lasting,
        })
    }

    /// Whether a thread is inside a call.
    pub fn is_inside(&self, tid: u32) -> bool {
        let Some((_, at)) = self.chunks.get(&tid) else { return false };
        if self.chunk(*at).is_none_or(|chunk| chunk.tid != tid) {
            self.stale.set(true);
            return false;
        }
        let at = at + (offset_of!(ChunkHeader, progress) + offset_of!(Progress, function)) as u64;
        let mut function = [0; 4];
        self.file.read_exact_at(&mut function, at).is_ok() && function != [0; 4]
    }
}

/// Contents of a chunk's header.
#[derive(Clone, Copy)]
struct Chunk {
    tid: u32,
    number: u32,
    size: u64,
    is_lasting: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use spool::{Build, Call, Level};

    #[test]
    fn a_thread_is_inside_the_call_that_its_last_chunk_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1-0.spool");
        let mut build = Build::new(1, Level::Light);
        for tid in [7, 8] {
            build.record(tid, Call::KIND, 0, &[Call::default().bytes()]);
        }
        let mut bytes = build.finish();
        let second = 2 * ALIGN as usize;
        let function = offset_of!(ChunkHeader, progress) + offset_of!(Progress, function);
        bytes[second + function] = 3;
        std::fs::write(&path, &bytes).unwrap();
        let mut calls = Calls::open(&path).unwrap();
        assert!(!calls.is_inside(8), "not known yet");
        calls.refresh();
        assert!(calls.is_inside(8) && !calls.is_inside(7) && !calls.is_inside(9));
        // A gap that a thread fills later.
        bytes.extend(vec![0; ALIGN as usize]);
        bytes.extend_from_within(second..second + ALIGN as usize);
        bytes[second + 2 * ALIGN as usize + offset_of!(ChunkHeader, tid)] = 9;
        std::fs::write(&path, &bytes).unwrap();
        calls.refresh();
        assert!(calls.is_inside(9) && calls.known == 3 * ALIGN);
    }
}
