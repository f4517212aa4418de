//! Code that the program makes while it runs: compilers at run time (Julia's, Numba's, others that use LLVM)
//! announce each piece to debuggers, as an ELF object in memory (GDB's JIT interface). Those that a slow call came
//! through are recorded.
//!
//! The list of objects is the program's, and may change on another thread: it is read through the kernel.

mod hidden_lists;

use crate::sys::seccomp;
use crate::write::writer::Writer;
use hidden_lists::LIST;
use interpose::Loader;
use spool::{MOST_OBJECT, MOST_PIECE, Made};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

/// Most lists: each compiler in the process may have one of its own.
const LISTS: usize = 8;

/// Most objects that are known at once, in a list.
const MOST: usize = 16 << 10;

/// Most sections of an object that are read.
const SECTIONS: usize = 64;

/// A list of objects.
struct List {
    /// Address of its `__jit_debug_descriptor`, 0 for none.
    descriptor: AtomicUsize,
    /// Its first entry when it was last read: new ones come before.
    first: AtomicUsize,
}

/// An object, and where its code lies.
struct Object {
    start: AtomicUsize,
    end: AtomicUsize,
    image: AtomicUsize,
    size: AtomicU64,
    written: AtomicBool,
}

static JIT_LISTS: [List; LISTS] =
    [const { List { descriptor: AtomicUsize::new(0), first: AtomicUsize::new(0) } }; LISTS];
static OBJECTS: [Object; MOST] = [const {
    Object {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        image: AtomicUsize::new(0),
        size: AtomicU64::new(0),
        written: AtomicBool::new(false),
    }
}; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// A thread reads lists.
static BUSY: AtomicBool = AtomicBool::new(false);

/// Finds the lists: when libraries were loaded. A library that LLVM is linked into often keeps its list to
/// itself (Numba's does): where such a one was loaded, its file says where the list is.
pub fn look(loader: &Loader) {
    let (mut found, mut count) = ([0; LISTS], 0);
    let mut keep = |descriptor: usize| {
        if let Some(place) = found.get_mut(count).filter(|_| descriptor != 0) {
            *place = descriptor;
            count += 1;
        }
    };
    loader.each_symbol(LIST, &mut |descriptor| keep(descriptor.addr()));
    hidden_lists::each_known(loader, &mut keep);
    for (list, found) in JIT_LISTS.iter().zip(found) {
        if list.descriptor.swap(found, AcqRel) != found {
            list.first.store(0, Relaxed);
        }
    }
}

/// Reads the files of libraries for lists that they keep to themselves, each while nobody holds the loader's list: a thread
/// that loads a library does not wait for it.
pub fn read_files() {
    while let Some(library) = Loader::hold().and_then(|loader| hidden_lists::unknown(&loader)) {
        let descriptor = hidden_lists::learn(&library);
        let is_free = |list: &&List| list.descriptor.compare_exchange(0, descriptor, AcqRel, Relaxed).is_ok();
        if descriptor != 0
            && let Some(list) = JIT_LISTS.iter().find(is_free)
        {
            list.first.store(0, Relaxed);
        }
    }
}

/// Writes down the objects that describe the code at some addresses.
pub fn describe(writer: &mut Writer, addresses: &[u64]) {
    if JIT_LISTS[0].descriptor.load(Acquire) == 0 || !seccomp::allows_calls() || BUSY.swap(true, AcqRel) {
        return;
    }
    let (mut within, mut is_read) = (0..0, false);
    for address in addresses.iter().map(|address| (*address as usize).wrapping_sub(1)) {
        if within.contains(&address) {
            continue;
        }
        let Some(object) = interpose::object_around(address) else { break };
        within = object;
        if !within.is_empty() {
            continue;
        }
        if !is_read {
            JIT_LISTS.iter().for_each(read_list);
            is_read = true;
        }
        if let Some(number) = around(address) {
            write(writer, number);
        }
    }
    BUSY.store(false, Release);
}

/// Learns of the objects that came into a list since it was read.
fn read_list(list: &List) {
    let descriptor = list.descriptor.load(Acquire);
    // A version, what was done last, to which entry, and the first entry.
    let first = if descriptor == 0 { None } else { words::<3>(descriptor).map(|[_, _, first]| first) };
    let Some(first) = first else { return };
    let known = list.first.swap(first, Relaxed);
    let (mut entry, mut left) = (first, MOST);
    // Of new ones, the latest come first: their numbers are to be the highest.
    let from = COUNT.load(Relaxed);
    while entry != 0 && entry != known && left > 0 {
        let Some([next, _, image, size]) = words(entry) else { break };
        add(image, size as u64);
        (entry, left) = (next, left - 1);
    }
    turn(from, COUNT.load(Relaxed));
}

/// Turns the order of some objects round.
fn turn(from: usize, to: usize) {
    let exchange = |a: &AtomicUsize, b: &AtomicUsize| b.store(a.swap(b.load(Relaxed), Relaxed), Relaxed);
    for (at, other) in (from..to).zip((from..to).rev()).take((to - from) / 2) {
        let (Some(a), Some(b)) = (OBJECTS.get(at), OBJECTS.get(other)) else { return };
        exchange(&a.start, &b.start);
        exchange(&a.end, &b.end);
        exchange(&a.image, &b.image);
        b.size.store(a.size.swap(b.size.load(Relaxed), Relaxed), Relaxed);
    }
}

/// Keeps an object that is an ELF object with code in it.
fn add(image: usize, size: u64) {
    let at = COUNT.load(Relaxed);
    if let (Some(object), Some((start, end))) = (OBJECTS.get(at), code(image, size)) {
        object.start.store(start, Relaxed);
        object.end.store(end, Relaxed);
        object.image.store(image, Relaxed);
        object.size.store(size, Relaxed);
        object.written.store(false, Relaxed);
        COUNT.store(at + 1, Release);
    }
}

/// Where the code of an ELF object lies: its sections say, as compilers at run time have it. Apart, as above.
#[inline(never)]
fn code(image: usize, size: u64) -> Option<(usize, usize)> {
    const ALLOCATED_CODE: u64 = 2 | 4;
    let mut header = [0; 64];
    let known =
        size <= MOST_OBJECT && pystack::read(image, &mut header) && header.starts_with(b"\x7fELF\x02\x01");
    let table = u64::from_le_bytes(*header.get(40..)?.first_chunk()?);
    let count = usize::from(u16::from_le_bytes(*header.get(60..)?.first_chunk()?)).min(SECTIONS);
    let mut room = [[0u64; 8]; SECTIONS];
    let sections = room.get_mut(..count)?;
    // SAFETY: plain numbers, as bytes.
    let bytes =
        unsafe { std::slice::from_raw_parts_mut(sections.as_mut_ptr().cast::<u8>(), size_of_val(sections)) };
    if !known || table >= size || !pystack::read(image.checked_add(table as usize)?, bytes) {
        return None;
    }
    let is_code = |section: &&[u64; 8]| section[1] & ALLOCATED_CODE == ALLOCATED_CODE && section[2] != 0;
    let ranges = || {
        let code = sections.iter().filter(is_code);
        code.map(|section| (section[2] as usize, section[2].wrapping_add(section[4]) as usize))
    };
    Some((ranges().map(|(start, _)| start).min()?, ranges().map(|(_, end)| end).max()?))
}

/// The latest object whose code is around an address.
fn around(address: usize) -> Option<usize> {
    let known = &OBJECTS[..COUNT.load(Acquire).min(MOST)];
    known.iter().rposition(|object| (object.start.load(Relaxed)..object.end.load(Relaxed)).contains(&address))
}

/// Writes an object down, once. Apart, as its room on the stack is.
#[inline(never)]
fn write(writer: &mut Writer, number: usize) {
    let Some(object) = OBJECTS.get(number) else { return };
    if object.written.swap(true, Relaxed) {
        return;
    }
    let (image, size) = (object.image.load(Relaxed), object.size.load(Relaxed));
    let (start, end) = (object.start.load(Relaxed) as u64, object.end.load(Relaxed) as u64);
    let mut piece = [0; MOST_PIECE];
    for offset in (0..size).step_by(MOST_PIECE) {
        let length = (size - offset).min(MOST_PIECE as u64) as usize;
        let Some(piece) = piece.get_mut(..length) else { return };
        if !pystack::read(image.wrapping_add(offset as usize), piece) {
            return;
        }
        let record = Made { object: number as u64, size, offset, start, end };
        if !writer.append(Made::KIND, 0, &[record.bytes(), piece]) {
            return;
        }
    }
}

/// Words at an address, if they can be read.
fn words<const N: usize>(address: usize) -> Option<[usize; N]> {
    let mut words = [0; N];
    // SAFETY: plain numbers, as bytes.
    let bytes =
        unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), size_of_val(&words)) };
    pystack::read(address, bytes).then_some(words)
}

/// In a fork's child: its file has no object yet.
pub fn forget() {
    BUSY.store(false, Relaxed);
    OBJECTS[..COUNT.load(Relaxed).min(MOST)].iter().for_each(|object| object.written.store(false, Relaxed));
}
