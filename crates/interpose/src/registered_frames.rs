//! Unwind tables of code that the program makes while it runs, as it registers them with the C compiler's unwinder
//! (`__register_frame`): this one must not ask the other, which has locks.

use crate::unwind_table::{self, CallerRule};
use std::ops::Range;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// Most functions that are known at once; frames of further ones are not found.
const MOST: usize = 8192;

/// A function's entry in a table. It is free while `table` is 0, and counts once `end` is not 0.
struct Entry {
    table: AtomicUsize,
    table_end: AtomicUsize,
    entry: AtomicUsize,
    start: AtomicUsize,
    end: AtomicUsize,
}

static ENTRIES: [Entry; MOST] = [const {
    Entry {
        table: AtomicUsize::new(0),
        table_end: AtomicUsize::new(0),
        entry: AtomicUsize::new(0),
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
    }
}; MOST];
/// Behind the last place that was ever in use.
static USED: AtomicUsize = AtomicUsize::new(0);
/// How many tables went.
static GONE: AtomicU64 = AtomicU64::new(0);

/// The program registers a table.
///
/// # Safety
///
/// It is one (`.eh_frame`), which an entry of length 0 ends, and stays until it is [`forget`]ten.
pub unsafe fn remember(table: *const u8) {
    let mut free = ENTRIES.iter().enumerate();
    // SAFETY: the caller's promise.
    let end = unsafe { unwind_table::end_of(table) };
    // SAFETY: as above.
    unsafe {
        unwind_table::each_function(table.addr()..end, &mut |entry, code| {
            let is_free =
                |place: &Entry| place.table.compare_exchange(0, table.addr(), AcqRel, Relaxed).is_ok();
            if let Some((at, place)) = free.find(|(_, place)| is_free(place)) {
                place.table_end.store(end, Relaxed);
                place.entry.store(entry, Relaxed);
                place.start.store(code.start, Relaxed);
                place.end.store(code.end, Release);
                USED.fetch_max(at + 1, AcqRel);
            }
        });
    }
}

/// A table that the program registered goes.
pub fn forget(table: *const u8) {
    for place in used().iter().filter(|place| place.table.load(Acquire) == table.addr()) {
        place.end.store(0, Release);
        place.table.store(0, Release);
    }
    GONE.fetch_add(1, AcqRel);
}

/// How many tables went: what was found before then may be wrong.
pub fn gone() -> u64 {
    GONE.load(Acquire)
}

fn used() -> &'static [Entry] {
    ENTRIES.get(..USED.load(Acquire)).unwrap_or(&ENTRIES)
}

/// Where the caller of the function at an address is found.
///
/// # Safety
///
/// The function is one that the calling thread is in: so its table stays meanwhile.
pub unsafe fn caller_rule(address: usize) -> Option<CallerRule> {
    let is_it = |place: &&Entry| {
        let end = place.end.load(Acquire);
        (place.start.load(Relaxed)..end).contains(&address)
    };
    let found = used().iter().find(is_it)?;
    let table: Range<usize> = found.table.load(Acquire)..found.table_end.load(Relaxed);
    // SAFETY: the program registered the table, and it has a function that the thread is in.
    unsafe { unwind_table::registered_rule(table, found.entry.load(Relaxed), address) }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    /// A table of one function at `start`, in the form that compilers at run time write.
    fn table(start: usize, length: u64) -> Vec<u8> {
        let body = |id: u32, rest: &[u8]| {
            let mut bytes = id.to_le_bytes().to_vec();
            bytes.extend(rest);
            bytes.resize(bytes.len().next_multiple_of(8) + 4, 0);
            let mut entry = (bytes.len() as u32).to_le_bytes().to_vec();
            entry.extend(bytes);
            entry
        };
        // Version 1, no augmentation, units of 1 and -8, the return address, and where it lies.
        let (pointer, address) = if cfg!(target_arch = "x86_64") { (7, 16) } else { (31, 30) };
        let common = body(0, &[1, 0, 1, 0x78, address, 0x0c, pointer, 8, 0x80 | address, 1]);
        let mut code = start.to_le_bytes().to_vec();
        code.extend(length.to_le_bytes());
        let function = body(common.len() as u32 + 4, &code);
        [common, function, vec![0; 4]].concat()
    }

    #[test]
    fn a_registered_function_is_found_until_it_is_forgotten() {
        let bytes = table(0x5000, 0x100);
        // SAFETY: a table, which stays.
        unsafe { remember(bytes.as_ptr()) };
        // SAFETY: as above.
        let rule = |address| unsafe { caller_rule(address) };
        assert_eq!(rule(0x5010).map(|rule| rule.stack.offset), Some(8));
        assert_eq!((rule(0x4fff), rule(0x5100)), (None, None));
        let before = gone();
        forget(bytes.as_ptr());
        assert_eq!((rule(0x5010), gone()), (None, before + 1));
    }
}
