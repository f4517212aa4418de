//! A table of the loaded objects, of our own: what runs within a program's call finds addresses here and asks nobody.
//!
//! It is renewed where libraries come and go, by who holds the [`Loader`]. Readers see one renewal or another, or nothing
//! while a library goes: then an address may be another library's.

use crate::elf::UnwindTable;
use crate::loader::Loader;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, fence};

/// Most objects that are known; those at the highest addresses of more are not.
const MOST: usize = 4096;

/// An object: where it lies, and its unwind table.
struct Entry {
    start: AtomicUsize,
    end: AtomicUsize,
    header: AtomicUsize,
    header_end: AtomicUsize,
    table_end: AtomicUsize,
}

/// The objects of one renewal, in the order of their addresses.
struct Table {
    /// How many objects had been loaded and unloaded.
    loaded: AtomicU64,
    unloaded: AtomicU64,
    count: AtomicUsize,
    entries: [Entry; MOST],
}

/// The table of the last renewal, and that of the one before, which the next one replaces.
static TABLES: [Table; 2] = [const { Table::new() }; 2];
/// The number of the renewal that was begun last, and of the last one that is complete; its table is that modulo 2.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static COMPLETE: AtomicU64 = AtomicU64::new(0);

/// How many threads are unloading libraries.
static UNLOADING: AtomicU32 = AtomicU32::new(0);
/// Libraries may have gone since the last renewal.
static STALE: AtomicBool = AtomicBool::new(false);

impl Entry {
    const fn new() -> Entry {
        Entry {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            header: AtomicUsize::new(0),
            header_end: AtomicUsize::new(0),
            table_end: AtomicUsize::new(0),
        }
    }

    fn addresses(&self) -> Range<usize> {
        self.start.load(Relaxed)..self.end.load(Relaxed)
    }

    fn unwind_table(&self) -> Option<UnwindTable> {
        let header = self.header.load(Relaxed)..self.header_end.load(Relaxed);
        (!header.is_empty()).then(|| UnwindTable { header, end: self.table_end.load(Relaxed) })
    }

    fn set(&self, addresses: &Range<usize>, table: Option<&UnwindTable>) {
        let (header, end) = table.map_or((&(0..0), 0), |table| (&table.header, table.end));
        self.start.store(addresses.start, Relaxed);
        self.end.store(addresses.end, Relaxed);
        self.header.store(header.start, Relaxed);
        self.header_end.store(header.end, Relaxed);
        self.table_end.store(end, Relaxed);
    }

    fn copy(&self, other: &Entry) {
        self.set(&other.addresses(), other.unwind_table().as_ref());
    }
}

impl Table {
    const fn new() -> Table {
        Table {
            loaded: AtomicU64::new(0),
            unloaded: AtomicU64::new(0),
            count: AtomicUsize::new(0),
            entries: [const { Entry::new() }; MOST],
        }
    }

    fn entries(&self) -> &[Entry] {
        self.entries.get(..self.count.load(Relaxed)).unwrap_or(&self.entries)
    }

    /// The object that an address lies in.
    fn around(&self, address: usize) -> Option<&Entry> {
        let entries = self.entries();
        let behind = entries.partition_point(|entry| entry.start.load(Relaxed) <= address);
        entries.get(behind.checked_sub(1)?).filter(|entry| entry.addresses().contains(&address))
    }

    /// Adds an object at its place.
    fn add(&self, addresses: &Range<usize>, table: Option<&UnwindTable>) {
        let mut at = self.entries().len();
        let Some(mut place) = self.entries.get(at) else { return };
        // Mostly libraries are loaded one below the other or one above the other: few are moved.
        while let Some(before) = at.checked_sub(1).and_then(|before| self.entries.get(before))
            && before.start.load(Relaxed) > addresses.start
        {
            place.copy(before);
            (place, at) = (before, at - 1);
        }
        place.set(addresses, table);
        self.count.store(self.count.load(Relaxed) + 1, Relaxed);
    }
}

/// The answer of `ask` about the last table; `None` without one, and while libraries go.
fn read<R>(ask: impl FnOnce(&Table) -> R) -> Option<R> {
    if UNLOADING.load(SeqCst) > 0 || STALE.load(Acquire) {
        return None;
    }
    let number = COMPLETE.load(Acquire);
    let answer = ask(TABLES.get((number % 2) as usize)?);
    // Where one of these loads read what a later renewal stored, the fence makes the next load see that it was begun.
    fence(Acquire);
    (number > 0 && BEGUN.load(Relaxed) <= number + 1).then_some(answer)
}

/// How many objects had been loaded and unloaded at the last renewal; `None` while libraries go.
pub fn counts() -> Option<(u64, u64)> {
    read(|table| (table.loaded.load(Relaxed), table.unloaded.load(Relaxed)))
}

/// The addresses of the object that contains an address: empty where none is known to; `None` while libraries go.
pub fn range_around(address: usize) -> Option<Range<usize>> {
    read(|table| table.around(address).map_or(0..0, Entry::addresses))
}

/// The unwind table of the object that contains an address.
pub fn unwind_table(address: usize) -> Option<UnwindTable> {
    read(|table| table.around(address).and_then(Entry::unwind_table)).flatten()
}

/// Renews the table if objects came or went; whether they did.
pub fn renew(loader: &Loader) -> bool {
    let now = loader.counts();
    let last = COMPLETE.load(Relaxed);
    let known = TABLES
        .get((last % 2) as usize)
        .map(|table| (table.loaded.load(Relaxed), table.unloaded.load(Relaxed)));
    let is_new = last == 0 || known != Some(now);
    if is_new {
        make(loader, now, last + 1);
    }
    STALE.store(false, Release);
    is_new
}

fn make(loader: &Loader, (loaded, unloaded): (u64, u64), number: u64) {
    let Some(table) = TABLES.get((number % 2) as usize) else { return };
    BEGUN.store(number, Relaxed);
    // Readers of the table that is replaced see that before any of what follows.
    fence(Release);
    table.loaded.store(loaded, Relaxed);
    table.unloaded.store(unloaded, Relaxed);
    table.count.store(0, Relaxed);
    loader.each(&mut |object| {
        table.add(&object.range(), object.unwind_table().as_ref());
        ControlFlow::Continue(())
    });
    COMPLETE.store(number, Release);
}

/// The calling thread is about to unload libraries. Nothing is found until it [`unloaded`].
pub fn unload() {
    UNLOADING.fetch_add(1, SeqCst);
}

/// The thread is done. Where the table was not `renewed` since, nothing is found until it is.
pub fn unloaded(renewed: bool) {
    if !renewed {
        STALE.store(true, Release);
    }
    _ = UNLOADING.fetch_update(SeqCst, SeqCst, |threads| threads.checked_sub(1));
}

/// In a fork's child: the threads that unloaded libraries are not here, and it is not known how far they came.
pub fn forget_all() {
    if UNLOADING.swap(0, Relaxed) > 0 {
        STALE.store(true, Relaxed);
    }
}
