//! Which threads of a process are inside a CUDA call: the chunks of its own spool file say so.

use rustc_hash::FxHashMap;
use spool::{ALIGN, CHUNK_HEADER, CHUNK_MAGIC, ChunkHeader, Progress};
use std::fs::File;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The chunks of one spool file, as far as they are there.
pub struct Calls {
    file: File,
    /// Where each thread's last chunk is.
    chunks: FxHashMap<u32, u64>,
    /// Every chunk before this is known.
    known: u64,
}

/// What of a chunk's header is read.
const HEADER: usize = CHUNK_HEADER;

impl Calls {
    /// Opens a spool file.
    ///
    /// # Errors
    /// The operating system's.
    pub fn open(path: &Path) -> std::io::Result<Calls> {
        Ok(Calls { file: File::open(path)?, chunks: FxHashMap::default(), known: ALIGN })
    }

    /// Finds chunks that have come.
    pub fn refresh(&mut self) {
        let end = self.file.metadata().map_or(0, |metadata| metadata.len());
        let (mut at, mut all_there) = (self.known, true);
        while at < end {
            let chunk = self.chunk(at);
            // A part without a chunk may get one later.
            all_there &= chunk.is_some();
            let (tid, size) = chunk.unwrap_or((0, ALIGN));
            if chunk.is_some() {
                let last = self.chunks.entry(tid).or_default();
                *last = at.max(*last);
            }
            at += size;
            if all_there {
                self.known = at;
            }
        }
    }

    /// The thread and the size of a chunk.
    fn chunk(&self, at: u64) -> Option<(u32, u64)> {
        let mut header = [0; HEADER];
        self.file.read_exact_at(&mut header, at).ok()?;
        let word = |at: usize| Some(u64::from_ne_bytes(*header.get(at..)?.first_chunk()?));
        let tid = u32::from_ne_bytes(*header.get(offset_of!(ChunkHeader, tid)..)?.first_chunk()?);
        let size = word(offset_of!(ChunkHeader, size))?;
        let sane = size >= ALIGN && size.is_multiple_of(ALIGN) && size < 1 << 40;
        (word(offset_of!(ChunkHeader, magic))? == CHUNK_MAGIC && sane).then_some((tid, size))
    }

    /// Whether a thread is inside a call.
    pub fn is_inside(&self, tid: u32) -> bool {
        let Some(chunk) = self.chunks.get(&tid) else { return false };
        let at = chunk + (offset_of!(ChunkHeader, progress) + offset_of!(Progress, function)) as u64;
        let mut function = [0; 4];
        self.file.read_exact_at(&mut function, at).is_ok() && function != [0; 4]
    }
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
