//! The file that is written about one process: mapped, so that what was written stays however this process ends.

use memmap2::{MmapMut, MmapOptions};
use spool::{ALIGN, CHUNK_HEADER, CHUNK_MAGIC, ChunkHeader, FileHeader, Full, Level, MAGIC, MOST_TEXT, Text};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// Largest chunk, bytes. The first has [`ALIGN`], each further one four times the last.
const LARGEST: u64 = 4 << 20;

/// Bytes that all processes of the program have written together.
pub struct Budget {
    taken: Option<MmapMut>,
    limit: u64,
}

impl Budget {
    /// Of the spool at `directory`; the capture library counts in the same file.
    pub fn of(directory: &Path, limit: u64) -> Budget {
        Budget { taken: map_budget(directory).ok(), limit }
    }

    /// Counts `size` bytes against the limit; false if they are beyond it.
    fn take(&self, size: u64) -> bool {
        let Some(taken) = &self.taken else { return true };
        // SAFETY: a mapping of a page, which begins with a counter that all processes use atomically, and which lives as
        // long as `self`.
        let taken = unsafe { &*taken.as_ptr().cast::<AtomicU64>() };
        if taken.fetch_add(size, Relaxed).saturating_add(size) <= self.limit {
            return true;
        }
        taken.fetch_sub(size, Relaxed);
        false
    }
}

fn map_budget(directory: &Path) -> io::Result<MmapMut> {
    let file = open_budget(&directory.join(spool::SHARED))?;
    if !is_safe(&file, directory)? {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    reserve(&file, 0, spool::Shared::BYTES).map_err(|_| io::ErrorKind::StorageFull)?;
    // SAFETY: no process truncates the file, so the page stays; it is used atomically.
    unsafe { MmapOptions::new().len(spool::Shared::BYTES as usize).map_mut(&file) }
}

/// Opens the file, or makes it. The program may make it at the same time.
fn open_budget(path: &Path) -> io::Result<File> {
    let mut options = spool_file();
    options.write(true);
    options.open(path).or_else(|_| options.create_new(true).open(path)).or_else(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => options.create_new(false).open(path),
        _ => Err(error),
    })
}

/// Whether a file is a plain one of one name that this user made, or the user who made the folder.
fn is_safe(file: &File, directory: &Path) -> io::Result<bool> {
    let (found, folder) = (file.metadata()?, directory.symlink_metadata()?);
    // SAFETY: only returns a number.
    let user = unsafe { libc::geteuid() };
    Ok(found.is_file() && found.nlink() == 1 && [user, folder.uid()].contains(&found.uid()))
}

/// How files of a spool are opened to read them: a link, which another user may have put there, is not followed, and
/// a pipe is not waited for. A file that is made is its owner's alone.
pub fn spool_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options
}

/// Takes disk blocks for a part of a file: writing to a mapped hole of a full disk would end this process.
fn reserve(file: &File, offset: u64, size: u64) -> Result<(), Full> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes the struct that it is given.
    let limited = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
    if limited && offset + size > limit.rlim_cur {
        return Err(Full::FileSize);
    }
    // SAFETY: a plain system call.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), offset as i64, size as i64) } {
        0 => Ok(()),
        libc::EFBIG => Err(Full::FileSize),
        _ => Err(Full::Disk),
    }
}

/// Where a record lies, to write it again.
#[derive(Clone, Copy, Debug)]
pub struct At {
    chunk: usize,
    offset: usize,
}

/// The file.
pub struct Watched {
    file: File,
    header: MmapMut,
    chunks: Vec<MmapMut>,
    /// Bytes of the last chunk that are used, with its header.
    used: usize,
    /// Where the next chunk goes.
    next: u64,
    full: bool,
    texts: HashMap<Box<str>, u32>,
}

impl Watched {
    /// Makes the file.
    ///
    /// # Errors
    /// The operating system's, as when there is one of that name.
    pub fn make(path: &Path, pid: u32, now: i64, unix: i64) -> io::Result<Watched> {
        Watched::make_at(path, (pid, 0), (now, unix), Level::Light)
    }

    /// Makes the file that stands for the one of a process that has none of its own: it is complete from the beginning.
    ///
    /// # Errors
    /// The errors of [`Watched::make`].
    pub fn stand_in(path: &Path, pid: u32, parent: u32, now: i64, unix: i64) -> io::Result<()> {
        let file = Watched::make_at(path, (pid, parent), (now, unix), Level::Watched)?;
        file.finish();
        Ok(())
    }

    fn make_at(
        path: &Path,
        (pid, parent): (u32, u32),
        (now, unix): (i64, i64),
        level: Level,
    ) -> io::Result<Watched> {
        let file = spool_file().write(true).create_new(true).open(path)?;
        reserve(&file, 0, ALIGN).map_err(|_| io::ErrorKind::StorageFull)?;
        // SAFETY: no process truncates the file, which this one has just made.
        let header = unsafe { MmapOptions::new().len(ALIGN as usize).map_mut(&file)? };
        let watched = Watched {
            file,
            header,
            chunks: Vec::new(),
            used: 0,
            next: ALIGN,
            full: false,
            texts: HashMap::new(),
        };
        let header = watched.header();
        header.pid.store(pid, Relaxed);
        header.monotonic_ns.store(now, Relaxed);
        header.unix_ns.store(unix, Relaxed);
        header.parent.store(parent, Relaxed);
        header.level.store(level as u32, Relaxed);
        header.next.store(ALIGN, Relaxed);
        header.magic.store(MAGIC, Release);
        Ok(watched)
    }

    fn header(&self) -> &FileHeader {
        // SAFETY: a mapping that is large enough, aligned to a page, and lives as long as `self`; its fields are atomic.
        unsafe { &*self.header.as_ptr().cast::<FileHeader>() }
    }

    /// Marks the file as complete.
    pub fn finish(&self) {
        self.header().finished.store(1, Release);
    }

    /// The number of a text.
    pub fn text(&mut self, budget: &Budget, text: &str) -> u32 {
        if let Some(id) = self.texts.get(text) {
            return *id;
        }
        let mut end = text.len().min(MOST_TEXT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let kept = &text[..end];
        let id = self.texts.len() as u32 + 1;
        self.texts.insert(text.into(), id);
        self.append(budget, Text::KIND, id, &[Text { length: kept.len() as u64 }.bytes(), kept.as_bytes()]);
        id
    }

    /// Appends a record; `None`, and counted, if there is no room for it.
    pub fn append(&mut self, budget: &Budget, kind: u16, tag: u32, parts: &[&[u8]]) -> Option<At> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let words = 1 + length.div_ceil(8);
        let fits = u16::try_from(words).is_ok() && self.room(budget, words * 8);
        let (true, Some(chunk)) = (fits, self.chunks.last_mut()) else {
            self.header().dropped.fetch_add(1, Relaxed);
            return None;
        };
        let record = &mut chunk[self.used..self.used + words * 8];
        record[0..2].copy_from_slice(&kind.to_ne_bytes());
        record[2..4].copy_from_slice(&(words as u16).to_ne_bytes());
        record[4..8].copy_from_slice(&tag.to_ne_bytes());
        let mut at = 8;
        for part in parts {
            record[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        let place = At { chunk: self.chunks.len() - 1, offset: self.used };
        self.used += words * 8;
        let used = (self.used - CHUNK_HEADER) as u64;
        chunk_header(self.chunks.last()?).used.store(used, Release);
        Some(place)
    }

    /// Writes the fixed part of a record again, and its tag.
    pub fn rewrite(&mut self, at: At, tag: u32, bytes: &[u8]) {
        let Some(record) = self.chunks.get_mut(at.chunk).and_then(|chunk| chunk.get_mut(at.offset + 4..))
        else {
            return;
        };
        if let Some((head, body)) = record.split_at_mut_checked(4)
            && let Some(body) = body.get_mut(..bytes.len())
        {
            head.copy_from_slice(&tag.to_ne_bytes());
            body.copy_from_slice(bytes);
        }
    }

    /// Makes sure that so many bytes fit into the last chunk.
    fn room(&mut self, budget: &Budget, size: usize) -> bool {
        let last = self.chunks.last().map_or(0, |chunk| chunk.len());
        if self.used + size <= last {
            return true;
        }
        if self.full {
            return false;
        }
        let wanted = (CHUNK_HEADER + size).next_multiple_of(ALIGN as usize) as u64;
        let next = (last as u64 * 4).clamp(ALIGN, LARGEST).max(wanted);
        match self.chunk(budget, next) {
            Ok(chunk) => {
                self.chunks.push(chunk);
                self.used = CHUNK_HEADER;
                true
            }
            Err(why) => {
                self.full = true;
                self.header().full.store(why as u32, Relaxed);
                false
            }
        }
    }

    fn chunk(&mut self, budget: &Budget, size: u64) -> Result<MmapMut, Full> {
        if !budget.take(size) {
            return Err(Full::Limit);
        }
        reserve(&self.file, self.next, size)?;
        // SAFETY: no process truncates the file, and the part was reserved.
        let map = unsafe { MmapOptions::new().offset(self.next).len(size as usize).map_mut(&self.file) };
        let map = map.map_err(|_| Full::Memory)?;
        let header = chunk_header(&map);
        header.size.store(size, Relaxed);
        header.magic.store(CHUNK_MAGIC, Release);
        self.next += size;
        self.header().next.store(self.next, Release);
        Ok(map)
    }
}

fn chunk_header(chunk: &MmapMut) -> &ChunkHeader {
    // SAFETY: a chunk has at least `ALIGN` bytes, aligned to a page; the header's fields are atomic, and the records
    // behind it are written through the exclusive borrow of the mapping.
    unsafe { &*chunk.as_ptr().cast::<ChunkHeader>() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spool::{Run, State};

    fn records(path: &Path) -> Vec<(u16, u32, Vec<u8>)> {
        let bytes = std::fs::read(path).unwrap();
        let file = spool::File::new(&bytes).unwrap();
        let (chunks, damage) = file.chunks();
        assert_eq!(damage.bytes, 0);
        let records = chunks.iter().flat_map(|chunk| chunk.records());
        records
            .map(|record| record.unwrap())
            .map(|record| (record.head.kind, record.head.tag, record.body.to_vec()))
            .collect()
    }

    #[test]
    fn what_was_written_is_read_though_nobody_finished_it() {
        let folder = tempfile::tempdir().unwrap();
        let budget = Budget::of(folder.path(), 1 << 30);
        let path = folder.path().join("7-0.watch");
        let mut file = Watched::make(&path, 7, 1, 2).unwrap();
        let futex = file.text(&budget, "futex");
        assert_eq!(file.text(&budget, "futex"), futex);
        let mut row = State { start: 1, end: 2, tid: 7, state: Run::Blocked as u32, ..State::default() };
        let at = file.append(&budget, State::KIND, futex, &[row.bytes()]).unwrap();
        for _ in 0..3000 {
            file.append(&budget, State::KIND, 0, &[row.bytes()]).unwrap();
        }
        row.end = 99;
        file.rewrite(at, futex, row.bytes());
        let found = records(&path);
        assert_eq!(found.len(), 3002);
        assert_eq!((found[1].0, found[1].1, State::read(&found[1].2)), (State::KIND, futex, Some(row)));
        assert!(Watched::make(&path, 7, 1, 2).is_err(), "another one's file");
    }

    #[test]
    fn files_are_their_owners_alone_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, budget] =
            ["7-0.watch", "8-0.watch", spool::SHARED].map(|name| folder.path().join(name));
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        assert!(Watched::make(&link, 8, 1, 2).is_err());
        std::os::unix::fs::symlink(&victim, &budget).unwrap();
        assert!(map_budget(folder.path()).is_err());
        std::fs::remove_file(&budget).unwrap();
        // It would be another file of its user's.
        std::fs::hard_link(&victim, &budget).unwrap();
        assert!(map_budget(folder.path()).is_err());
        std::fs::remove_file(&budget).unwrap();
        assert_eq!(victim.metadata().unwrap().len(), 0, "nothing was written");
        assert!(map_budget(folder.path()).is_ok() && Watched::make(&file, 7, 1, 2).is_ok());
        for made in [file, budget] {
            assert_eq!(made.metadata().unwrap().mode() & 0o077, 0, "{}", made.display());
        }
    }

    #[test]
    fn the_limit_of_all_processes_holds() {
        let folder = tempfile::tempdir().unwrap();
        let budget = Budget::of(folder.path(), ALIGN);
        let path = folder.path().join("7-0.watch");
        let mut file = Watched::make(&path, 7, 1, 2).unwrap();
        let row = State::default();
        let written =
            (0..3000).filter(|_| file.append(&budget, State::KIND, 0, &[row.bytes()]).is_some()).count();
        let bytes = std::fs::read(&path).unwrap();
        let header = spool::File::new(&bytes).unwrap();
        assert_eq!((header.dropped(), header.full()), (3000 - written as u64, Some(Full::Limit)));
        assert!(written > 900 && records(&path).len() == written);
    }
}
