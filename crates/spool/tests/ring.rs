//! Chunks that are used again: a reader gets the last records, in order, and the number of those that were overwritten.

use proptest::prelude::*;
use spool::{
    ALIGN, CHUNK_HEADER, CHUNK_MAGIC, Call, ChunkHeader, File, FileHeader, Head, MAGIC, Ring, position,
};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const CHUNKS: usize = 5;
/// Bytes of a record here.
const RECORD: u32 = size_of::<Head>() as u32 + size_of::<Call>() as u32;
/// Records of a chunk, as far as these tests fill it: Miri takes long for more.
const FULL: u64 = 40;

/// A file in memory, aligned as a mapping is.
struct Memory(&'static [AtomicU64]);

impl Memory {
    fn new() -> Memory {
        let words = (1 + CHUNKS) * ALIGN as usize / 8;
        let memory = Memory(Vec::from_iter((0..words).map(|_| AtomicU64::new(0))).leak());
        let header = memory.header();
        header.next.store(words as u64 * 8, Relaxed);
        header.magic.store(MAGIC, Relaxed);
        memory
    }

    fn header(&self) -> &'static FileHeader {
        // SAFETY: the memory is large enough, aligned, zeroed, stays, and is used by atomic operations only.
        unsafe { &*self.0.as_ptr().cast::<FileHeader>() }
    }

    /// The chunk of that number.
    fn chunk(&self, number: usize) -> &'static ChunkHeader {
        let words = &self.0[(1 + number) * ALIGN as usize / 8..];
        // SAFETY: as above.
        let chunk = unsafe { &*words.as_ptr().cast::<ChunkHeader>() };
        chunk.size.store(ALIGN, Relaxed);
        chunk.magic.store(CHUNK_MAGIC, Relaxed);
        chunk
    }

    /// The file as a process leaves it that is killed now.
    fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.load(Acquire).to_ne_bytes()).collect()
    }
}

/// The numbers of the records of each thread, in order, and how many records were overwritten.
fn read(bytes: &[u8], threads: usize) -> (Vec<Vec<u64>>, u64) {
    let file = File::new(bytes).expect("a spool file");
    let (chunks, damage) = file.chunks();
    assert_eq!(damage.bytes, 0);
    let mut numbers = vec![Vec::new(); threads];
    for chunk in &chunks {
        for record in chunk.records() {
            let call = Call::read(record.expect("no damage").body).expect("a whole record");
            numbers[chunk.tid() as usize - 1].push(call.bytes);
        }
    }
    (numbers, chunks.iter().map(|chunk| chunk.overwritten()).sum())
}

/// A thread that writes.
struct Writer<'a, const N: usize> {
    memory: &'a Memory,
    ring: &'a Ring<N>,
    /// Chunks that were given out for the first time, and those that were begun.
    fresh: &'a AtomicU64,
    begun: &'a AtomicU64,
    tid: u32,
    chunk: Option<&'static ChunkHeader>,
}

impl<const N: usize> Writer<'_, N> {
    /// Another chunk, as the capture library takes it.
    fn go_on(&mut self, now: i64) {
        let fresh = self.fresh.fetch_add(1, Relaxed) as usize;
        let taken = match fresh < CHUNKS {
            true => {
                let chunk = self.memory.chunk(fresh);
                self.ring.add(chunk);
                Some(chunk)
            }
            false => self.ring.take(),
        };
        let before = self.chunk;
        let chunk = taken.or_else(|| before.inspect(|own| own.overwrite(now)));
        let Some(chunk) = chunk else { return };
        chunk.tid.store(self.tid, Relaxed);
        chunk.number.store(self.begun.fetch_add(1, Relaxed) as u32, Relaxed);
        self.chunk = Some(chunk);
        if let Some(before) = before.filter(|before| !std::ptr::eq(*before, chunk)) {
            self.ring.seal(before, now);
        }
    }

    /// Writes a record; false where there is no chunk for it.
    fn write(&mut self, number: u64, now: i64) -> bool {
        if self.chunk.is_none_or(|chunk| chunk.used.load(Relaxed) >> 32 == FULL) {
            self.go_on(now);
        }
        let Some(chunk) = self.chunk else { return false };
        let used = chunk.used.load(Relaxed);
        let call = Call { start: now, end: now, bytes: number, ..Call::default() };
        let head = u64::from(Call::KIND) | u64::from(RECORD / 8) << 16;
        let offset = std::ptr::from_ref(chunk).addr() - self.memory.0.as_ptr().addr();
        let place = (offset + CHUNK_HEADER + used as u32 as usize) / 8;
        let words = call.bytes().chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap()));
        for (word, place) in std::iter::once(head).chain(words).zip(&self.memory.0[place..]) {
            place.store(word, Relaxed);
        }
        chunk.used.store(used + position(1, RECORD), Release);
        true
    }

    fn end(&mut self, now: i64) {
        if let Some(chunk) = self.chunk.take() {
            self.ring.seal(chunk, now);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 200 }))]

    /// Threads that write, end and begin again, in any order: whenever the process ends, each has its last records, in
    /// order, and the numbers add up.
    #[test]
    fn the_last_records_are_kept(
        steps in proptest::collection::vec((0usize..3, 1u64..90, any::<bool>()), 1..60),
        kills in proptest::collection::vec(any::<prop::sample::Index>(), 1..6),
    ) {
        let (memory, ring) = (Memory::new(), Ring::<CHUNKS>::new());
        let [fresh, begun] = [0, 0].map(AtomicU64::new);
        let writer = |at: u32| Writer { memory: &memory, ring: &ring, fresh: &fresh, begun: &begun, tid: at + 1, chunk: None };
        let mut writers = [0, 1, 2].map(writer);
        let (mut now, mut written, mut when) = (0, [0u64; 3], vec![Vec::new(); 3]);
        let kills: Vec<usize> = kills.iter().map(|kill| kill.index(steps.len())).collect();
        for (step, (thread, count, ends)) in steps.iter().enumerate() {
            for _ in 0..*count {
                now += 1;
                prop_assert!(writers[*thread].write(written[*thread], now));
                written[*thread] += 1;
                when[*thread].push(now);
            }
            if *ends {
                now += 1;
                writers[*thread].end(now);
            }
            if !kills.contains(&step) && step + 1 < steps.len() {
                continue;
            }
            let bytes = memory.bytes();
            let (numbers, overwritten) = read(&bytes, 3);
            let file = File::new(&bytes).unwrap();
            let until = file.chunks().0.iter().filter_map(|chunk| chunk.overwritten_until()).max().unwrap_or(0);
            for (thread, numbers) in numbers.iter().enumerate() {
                let first = written[thread] - numbers.len() as u64;
                prop_assert_eq!(numbers, &Vec::from_iter(first..written[thread]));
                // What is missing was written until then, and all later ones are there.
                prop_assert!(when[thread][..first as usize].iter().all(|when| *when <= until));
            }
            let kept: usize = numbers.iter().map(Vec::len).sum();
            prop_assert_eq!(kept as u64 + overwritten, written.iter().sum::<u64>());
            // Unless threads ended, all chunks but those that threads just began are full of the last records.
            let any_ended = steps[..=step].iter().any(|(.., ends)| *ends);
            prop_assert!(overwritten == 0 || any_ended || kept as u64 > FULL);
        }
    }
}

/// Between any two stores of a process that is killed while it begins a chunk again, the records are there or counted.
#[test]
fn a_process_that_is_killed_while_it_overwrites_counts_each_record_once() {
    let memory = Memory::new();
    // Only this one is left.
    let chunk = memory.chunk(CHUNKS - 1);
    let total = || {
        let bytes = memory.bytes();
        let (numbers, overwritten) = read(&bytes, 1);
        numbers[0].len() as u64 + overwritten
    };
    let (ring, fresh, begun) = (Ring::<1>::new(), AtomicU64::new(CHUNKS as u64 - 1), AtomicU64::new(0));
    let mut writer =
        Writer { memory: &memory, ring: &ring, fresh: &fresh, begun: &begun, tid: 1, chunk: None };
    (0..FULL + 7).for_each(|number| assert!(writer.write(number, number as i64 + 1)));
    assert_eq!((total(), chunk.overwritten.load(Relaxed)), (FULL + 7, FULL));
    // As `overwrite` does it.
    chunk.until.store(99, Relaxed);
    assert_eq!(total(), FULL + 7);
    chunk.overwriting.store(FULL + 7, Relaxed);
    assert_eq!(total(), FULL + 7);
    chunk.used.store(0, Relaxed);
    assert_eq!(total(), FULL + 7);
    chunk.overwritten.store(FULL + 7, Relaxed);
    assert_eq!(total(), FULL + 7);
    assert!(writer.write(FULL + 7, 100));
    assert_eq!(total(), FULL + 8);
}

/// Threads take each other's chunks: none is used by two, and no record is lost or counted twice.
#[test]
fn threads_share_a_ring() {
    const THREADS: u32 = 3;
    const RECORDS: u64 = if cfg!(miri) { 200 } else { 20_000 };
    let (memory, ring) = (Memory::new(), Ring::<CHUNKS>::new());
    let [fresh, begun, clock] = [0, 0, 0].map(AtomicU64::new);
    std::thread::scope(|scope| {
        for tid in 1..=THREADS {
            let (memory, ring, fresh, begun, clock) = (&memory, &ring, &fresh, &begun, &clock);
            scope.spawn(move || {
                let mut writer = Writer { memory, ring, fresh, begun, tid, chunk: None };
                for number in 0..RECORDS {
                    assert!(writer.write(number, clock.fetch_add(1, Relaxed) as i64 + 1));
                }
            });
        }
    });
    let bytes = memory.bytes();
    let (numbers, overwritten) = read(&bytes, THREADS as usize);
    for numbers in &numbers {
        assert_eq!(*numbers, Vec::from_iter(RECORDS - numbers.len() as u64..RECORDS));
    }
    let kept: usize = numbers.iter().map(Vec::len).sum();
    assert_eq!(kept as u64 + overwritten, RECORDS * u64::from(THREADS));
}

#[test]
fn the_ring_of_a_child_begins_empty() {
    let memory = Memory::new();
    let ring = Ring::<2>::new();
    let chunks = [0, 1, 2].map(|number| memory.chunk(number));
    chunks.iter().for_each(|chunk| ring.add(chunk));
    // There is no place for the third.
    assert_eq!(chunks.map(|chunk| chunk.place.load(Relaxed)), [1, 2, 0]);
    [2, 1, 0].into_iter().for_each(|at| ring.seal(chunks[at], 10 - at as i64));
    assert!(std::ptr::eq(ring.take().expect("two are sealed"), chunks[1]));
    ring.forget();
    assert!(ring.take().is_none());
}
