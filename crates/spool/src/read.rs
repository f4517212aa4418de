//! A reader for files that a dying process may have left in any state.

use crate::{
    ALIGN, BriefCall, CHUNK_HEADER, CHUNK_MAGIC, Call, CallMade, ChunkHeader, FactCall, FileHeader, Full,
    Head, Kind, Level, MAGIC, OuterCall, Place, Progress, PythonFrame, Stack, Step, Text, call,
};
use std::mem::offset_of;

/// A spool file in memory.
#[derive(Clone, Copy)]
pub struct File<'a> {
    bytes: &'a [u8],
}

/// Parts of a file or chunk that make no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Damage {
    /// Bytes that had to be passed over.
    pub bytes: u64,
}

/// A thread's run of records.
#[derive(Clone, Copy)]
pub struct Chunk<'a> {
    header: &'a [u8],
    records: &'a [u8],
    /// Complete bytes that the header claims beyond the end of the chunk or file.
    overrun: u64,
}

/// A record.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Its first word.
    pub head: Head,
    /// The rest of it.
    pub body: &'a [u8],
}

/// Where a chunk's header has its [`Progress`].
const PROGRESS: usize = offset_of!(ChunkHeader, progress);

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map_or(0, u64::from_ne_bytes)
}

impl<'a> File<'a> {
    /// A file's bytes, if they are a spool file's.
    pub fn new(bytes: &'a [u8]) -> Option<File<'a>> {
        (u64_at(bytes, 0) == MAGIC).then_some(File { bytes })
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        u32_at(self.bytes, offset_of!(FileHeader, pid))
    }

    /// Process id of the parent.
    pub fn parent(&self) -> u32 {
        u32_at(self.bytes, offset_of!(FileHeader, parent))
    }

    /// `CLOCK_MONOTONIC` when the file was made, ns.
    pub fn began(&self) -> i64 {
        u64_at(self.bytes, offset_of!(FileHeader, monotonic_ns)) as i64
    }

    /// `CLOCK_REALTIME` minus `CLOCK_MONOTONIC`, ns.
    pub fn unix_offset(&self) -> i64 {
        let at = |field| u64_at(self.bytes, field) as i64;
        at(offset_of!(FileHeader, unix_ns)).wrapping_sub(at(offset_of!(FileHeader, monotonic_ns)))
    }

    /// Level of recording; `None` for an unknown number.
    pub fn level(&self) -> Option<Level> {
        Level::from_number(u32_at(self.bytes, offset_of!(FileHeader, level)))
    }

    /// Whether the process ended in an orderly way.
    pub fn finished(&self) -> bool {
        u32_at(self.bytes, offset_of!(FileHeader, finished)) == 1
    }

    /// Records dropped by threads without a chunk.
    pub fn dropped(&self) -> u64 {
        u64_at(self.bytes, offset_of!(FileHeader, dropped))
    }

    /// Why records were dropped, if it is known.
    pub fn full(&self) -> Option<Full> {
        Full::from_number(u32_at(self.bytes, offset_of!(FileHeader, full)))
    }

    /// Slots through which the driver takes locks that are watched.
    pub fn driver_slots(&self) -> u64 {
        u64_at(self.bytes, offset_of!(FileHeader, driver_slots))
    }

    /// Waits and counts that were not recorded: their thread was writing.
    pub fn unwritten(&self) -> u64 {
        u32_at(self.bytes, offset_of!(FileHeader, unwritten)).into()
    }

    /// Threads that were not recorded.
    pub fn untracked_threads(&self) -> u64 {
        u64_at(self.bytes, offset_of!(FileHeader, untracked_threads))
    }

    /// The chunks in the order in which they were begun, and what lies between them and is none.
    pub fn chunks(&self) -> (Vec<Chunk<'a>>, Damage) {
        let length = self.bytes.len() as u64;
        let end = u64_at(self.bytes, offset_of!(FileHeader, next)).min(length);
        let (mut chunks, mut damage) = (Vec::new(), Damage::default());
        let mut at = ALIGN;
        while at < end {
            let rest = &self.bytes[at as usize..];
            let size = u64_at(rest, offset_of!(ChunkHeader, size));
            let sane = size >= ALIGN && size.is_multiple_of(ALIGN) && size <= length - at;
            if u64_at(rest, 0) == CHUNK_MAGIC && sane {
                chunks.push(Chunk::new(&rest[..size as usize]));
                at += size;
            } else {
                // Reserved by a thread that did not live to fill it, or damaged.
                let zero = rest[..rest.len().min(ALIGN as usize)].iter().all(|byte| *byte == 0);
                damage.bytes += if zero { 0 } else { (end - at).min(ALIGN) };
                at += ALIGN;
            }
        }
        // Those that began at once, as in files of other makers, stay in the order of the file.
        chunks.sort_by_key(Chunk::number);
        (chunks, damage)
    }
}

impl<'a> Chunk<'a> {
    fn new(bytes: &'a [u8]) -> Chunk<'a> {
        let (header, records) = bytes.split_at(CHUNK_HEADER);
        let used = u64_at(header, offset_of!(ChunkHeader, used)) & u64::from(u32::MAX);
        let kept = used.min(records.len() as u64);
        Chunk { header, records: &records[..kept as usize], overrun: used - kept }
    }

    /// Kernel's id of the thread.
    pub fn tid(&self) -> u32 {
        u32_at(self.header, offset_of!(ChunkHeader, tid))
    }

    /// How many chunks were begun before it.
    pub fn number(&self) -> u32 {
        u32_at(self.header, offset_of!(ChunkHeader, number))
    }

    /// How many of its records others may not miss: all but those of clocks.
    pub fn written(&self) -> u64 {
        u64_at(self.header, offset_of!(ChunkHeader, used)) >> 32
    }

    /// Records that were overwritten in its place.
    pub fn overwritten(&self) -> u64 {
        let done = offset_of!(ChunkHeader, overwritten);
        let is_empty = u64_at(self.header, offset_of!(ChunkHeader, used)) == 0;
        u64_at(self.header, if is_empty { offset_of!(ChunkHeader, overwriting) } else { done })
    }

    /// When the last of them was written at the latest, ticks; `None` where none was overwritten.
    pub fn overwritten_until(&self) -> Option<i64> {
        let until = u64_at(self.header, offset_of!(ChunkHeader, until)) as i64;
        (until != 0).then_some(until)
    }

    /// Whether it holds records that last and no others.
    pub fn is_lasting(&self) -> bool {
        u32_at(self.header, offset_of!(ChunkHeader, lasting)) == 1
    }

    /// Records dropped for want of room.
    pub fn dropped(&self) -> u64 {
        u64_at(self.header, offset_of!(ChunkHeader, dropped))
    }

    /// Driver calls begun.
    pub fn calls(&self) -> u64 {
        u64_at(self.header, PROGRESS + offset_of!(Progress, calls))
    }

    /// Of those, the ones that launch a kernel.
    pub fn launches(&self) -> u64 {
        u32_at(self.header, PROGRESS + offset_of!(Progress, launches)).into()
    }

    /// The call the thread was in: id of the function's name, and when it began, ticks.
    pub fn within(&self) -> Option<(u32, i64)> {
        let function = u32_at(self.header, PROGRESS + offset_of!(Progress, function));
        let since = u64_at(self.header, PROGRESS + offset_of!(Progress, since)) as i64;
        (function != 0).then_some((function, since))
    }

    /// The records in order; what follows a record that makes no sense is damage.
    pub fn records(&self) -> impl Iterator<Item = Result<Record<'a>, Damage>> + use<'a> {
        let overrun = self.overrun;
        let mut rest = self.records;
        let mut ended = false;
        std::iter::from_fn(move || {
            if ended {
                return None;
            }
            match split(rest) {
                Some((record, after)) => {
                    rest = after;
                    Some(Ok(record))
                }
                None => {
                    ended = true;
                    let bytes = (rest.len() as u64).saturating_add(overrun);
                    (bytes > 0).then_some(Err(Damage { bytes }))
                }
            }
        })
    }

    /// The calls that wrappers saw, in the order they returned, brief ones at length, each with the id of its function's
    /// name.
    pub fn calls_made(&self) -> impl Iterator<Item = (u32, Call)> + use<'a> {
        let (mut last, mut stream) = (0, 0);
        self.records().flatten().filter_map(move |record| {
            let Some(Step::CallMade(kind)) = record.kind().map(Kind::step) else { return None };
            let (name, call) = record.call(kind, last, stream)?;
            last = call.end;
            if call.flags & call::HAS_STREAM != 0 {
                stream = call.stream;
            }
            Some((name, call))
        })
    }
}

/// The first record of some bytes, and the rest of them.
fn split(bytes: &[u8]) -> Option<(Record<'_>, &[u8])> {
    let head = Head::read(bytes)?;
    // Of the short forms a word is all.
    let size = if head.kind < OuterCall::KIND { head.words as usize * 8 } else { 8 };
    if head.kind == 0 || size < 8 || size > bytes.len() {
        return None;
    }
    let (record, rest) = bytes.split_at(size);
    Some((Record { head, body: &record[8..] }, rest))
}

impl<'a> Record<'a> {
    /// Its kind; `None` for one that this version does not know.
    #[inline]
    pub fn kind(&self) -> Option<Kind> {
        Kind::of(self.head.kind)
    }

    /// The call that the record is, with the id of its function's name; `None` where it is too short. The call before it
    /// returned at `last`; `stream` is that of the last one that had one.
    #[inline]
    pub fn call(&self, kind: CallMade, last: i64, stream: u64) -> Option<(u32, Call)> {
        let head = self.head;
        Some(match kind {
            CallMade::BriefCall => {
                let brief = BriefCall::read(head)?;
                (brief.function, brief.unfold(last, stream))
            }
            CallMade::OuterCall => {
                let outer = OuterCall::read(head)?;
                (outer.function, outer.unfold(last))
            }
            CallMade::FactCall => {
                let brief = FactCall::read(self.body)?;
                (brief.function, Call { fact: head.tag, ..brief.unfold(last, stream) })
            }
            CallMade::NumberedCall => {
                let brief = FactCall::read(self.body)?;
                (brief.function, Call { correlation: head.tag, ..brief.unfold(last, stream) })
            }
            CallMade::Call => (head.tag, Call::read(self.body)?),
        })
    }

    /// The bytes of a [`Text`].
    pub fn text(&self) -> Option<&'a [u8]> {
        let length = Text::read(self.body)?.length;
        self.body.get(8..)?.get(..usize::try_from(length).ok()?)
    }

    /// The addresses and Python frames of a [`Stack`].
    pub fn frames(&self) -> Option<(Vec<u64>, Vec<PythonFrame>)> {
        self.frames_behind(size_of::<Stack>(), Stack::read(self.body)?.python)
    }

    /// The addresses and Python frames of a [`Place`].
    pub fn place(&self) -> Option<(Vec<u64>, Vec<PythonFrame>)> {
        self.frames_behind(size_of::<Place>(), Place::read(self.body)?.python)
    }

    /// As many addresses as the head says, and so many Python frames, behind a fixed part of so many bytes.
    pub fn frames_behind(&self, fixed: usize, python: u64) -> Option<(Vec<u64>, Vec<PythonFrame>)> {
        let python = usize::try_from(python).ok()?;
        let rest = self.body.get(fixed..)?;
        let (native, rest) = rest.split_at_checked((self.head.tag as usize).checked_mul(8)?)?;
        let frames = rest.get(..python.checked_mul(size_of::<PythonFrame>())?)?;
        let frame = |at: usize| PythonFrame {
            file: u32_at(frames, at),
            function: u32_at(frames, at + 4),
            line: u32_at(frames, at + 8),
            zero: 0,
        };
        let native = (0..native.len()).step_by(8).map(|at| u64_at(native, at)).collect();
        Some((native, (0..frames.len()).step_by(size_of::<PythonFrame>()).map(frame).collect()))
    }
}
