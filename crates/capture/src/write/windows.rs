//! Parts of the spool file that are mapped in one piece and cut into chunks: a process may have only so
//! many mappings (65,530), and a program that starts threads all the time takes a chunk for each.
//!
//! A window may reach beyond the end of the file. A piece is read once its part of the file exists.

use crate::sys::file::File;
use spool::{ALIGN, FileHeader, Full};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};

/// Bytes of a window.
pub const SIZE: u64 = 4 << 20;
/// Pieces of a window.
const PIECES: u64 = SIZE / ALIGN;
/// Most windows: room for 16 GiB of small chunks. Further ones are mapped by themselves.
const MOST: usize = 4096;

struct Window {
    address: AtomicPtr<u8>,
    /// Where it lies in the file.
    offset: AtomicU64,
    /// The disk has blocks for all of it.
    reserved: AtomicBool,
}

static WINDOWS: [Window; MOST] = [const {
    Window {
        address: AtomicPtr::new(null_mut()),
        offset: AtomicU64::new(0),
        reserved: AtomicBool::new(false),
    }
}; MOST];
/// The window that is being cut, times [`STEP`], plus the pieces that are cut off.
static CURSOR: AtomicU64 = AtomicU64::new(PIECES);
const STEP: u64 = 1 << 32;
/// A thread is mapping another window. Nobody waits for it.
static MAPPING: AtomicBool = AtomicBool::new(false);

/// Maps the first window of a file, whose first piece is the caller's; `whole` as for [`cut`].
pub fn begin(file: &File, whole: bool) -> Result<*mut u8, Full> {
    match file.map(0, SIZE) {
        Ok(address) => {
            open(0, MappedPart { address, offset: 0, reserved: whole && file.reserve(0, SIZE).is_ok() }, 1);
            Ok(address)
        }
        Err(_) => file.map(0, ALIGN),
    }
}

/// A part of the file that is mapped.
#[derive(Clone, Copy)]
pub struct MappedPart {
    pub address: *mut u8,
    /// Where it lies in the file.
    pub offset: u64,
    /// The disk has blocks for it.
    pub reserved: bool,
}

/// Cuts so many bytes off the window that is being cut, if it has them, without a system call.
pub fn cut_off_at_hand(size: u64) -> Option<MappedPart> {
    let pieces = size / ALIGN;
    if pieces < PIECES { cut_off(pieces) } else { None }
}

/// Cuts off so many bytes; `None` when they are to be mapped by themselves. If `whole`, the disk's blocks are taken for a
/// window at once.
pub fn cut(header: &FileHeader, file: &File, size: u64, whole: bool) -> Option<MappedPart> {
    let pieces = size / ALIGN;
    if pieces >= PIECES {
        return None;
    }
    another(header, file, pieces, whole)
}

/// So many pieces of the window that is being cut, if it has them.
fn cut_off(pieces: u64) -> Option<MappedPart> {
    let rest = |cursor: u64| (cursor % STEP + pieces <= PIECES).then_some(cursor + pieces);
    CURSOR.fetch_update(Acquire, Acquire, rest).ok().map(piece)
}

/// Maps another window, and cuts off its first pieces.
fn another(header: &FileHeader, file: &File, pieces: u64, whole: bool) -> Option<MappedPart> {
    if MAPPING.swap(true, Acquire) {
        return None;
    }
    // Another thread may have been done just before.
    let part = cut_off(pieces).or_else(|| map_another(header, file, pieces, whole));
    MAPPING.store(false, Release);
    part
}

fn map_another(header: &FileHeader, file: &File, pieces: u64, whole: bool) -> Option<MappedPart> {
    let number = CURSOR.load(Relaxed) / STEP + 1;
    if number >= MOST as u64 {
        return None;
    }
    let offset = header.next.fetch_add(SIZE, Relaxed);
    let address = file.map(offset, SIZE).ok()?;
    let mapped = MappedPart { address, offset, reserved: whole && file.reserve(offset, SIZE).is_ok() };
    open(number, mapped, pieces);
    Some(mapped)
}

/// From now on that window is cut, of which so many pieces are taken.
fn open(number: u64, MappedPart { address, offset, reserved }: MappedPart, taken: u64) {
    let window = &WINDOWS[number as usize % MOST];
    window.address.store(address, Relaxed);
    window.offset.store(offset, Relaxed);
    window.reserved.store(reserved, Relaxed);
    CURSOR.store(number * STEP + taken, Release);
}

/// The piece that the cursor was at.
fn piece(cursor: u64) -> MappedPart {
    let (window, at) = (&WINDOWS[(cursor / STEP) as usize % MOST], cursor % STEP * ALIGN);
    // SAFETY: the piece lies within the window, which is mapped for good.
    let address = unsafe { window.address.load(Relaxed).add(at as usize) };
    MappedPart { address, offset: window.offset.load(Relaxed) + at, reserved: window.reserved.load(Relaxed) }
}

/// In a fork's child: the windows are the parent's.
pub fn forget() {
    CURSOR.store(PIECES, Release);
    MAPPING.store(false, Release);
}
