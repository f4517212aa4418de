//! Reads unwind tables (`.eh_frame_hdr` and `.eh_frame`, as the Linux Standard Base and DWARF 5 have them): where a
//! function's caller left its stack pointer, its frame pointer and its return address.
//!
//! Of all that a table may say, only what these three need is kept, as compilers write it: a distance from a register, or
//! from where one was saved (a function that aligns its stack, a signal's frame). A table that says something else about
//! them, or makes no sense, gives no answer.

mod bytes;
mod machine;
mod rule;

pub use rule::{Base, CallerRule, Place};

use crate::elf::UnwindTable;
use bytes::Bytes;
use machine::{Machine, Units};
use rule::RETURN_ADDRESS;
use std::ops::Range;

/// The rule for an address, by the table of the object that it lies in.
///
/// # Safety
///
/// The table lies where `table` says, in memory that stays mapped meanwhile.
pub unsafe fn caller_rule(table: &UnwindTable, address: usize) -> Option<CallerRule> {
    // SAFETY: the caller's promise.
    let header = unsafe { Bytes::at(table.header.start, table.header.end) }?;
    let (entries, entry) = find(header, table, address)?;
    rule(entries, entry, address)
}

/// Behind a table that an entry of length 0 ends.
///
/// # Safety
///
/// It is one (`.eh_frame`), in memory that stays mapped meanwhile.
pub unsafe fn end_of(table: *const u8) -> usize {
    let mut at = table;
    loop {
        // SAFETY: an entry begins there, with its length.
        let length = unsafe { at.cast::<u32>().read_unaligned() } as usize;
        // SAFETY: behind the length, or the entry, lies the next one or the end.
        at = unsafe { at.add(size_of::<u32>() + length) };
        // Entries of 4 GiB have another form, which nobody writes.
        if length == 0 || length == u32::MAX as usize {
            return at.addr();
        }
    }
}

/// Calls `visit` with the address of each function's entry in a table, and the function's addresses.
///
/// # Safety
///
/// The table lies there, in memory that stays mapped meanwhile.
pub unsafe fn each_function(table: Range<usize>, visit: &mut dyn FnMut(usize, Range<usize>)) {
    // SAFETY: the caller's promise.
    let Some(entries) = (unsafe { Bytes::at(table.start, table.end) }) else { return };
    let mut next = Some(entries);
    while let Some(entry) = next.filter(|entry| entry.bytes.len() > size_of::<u32>()) {
        if let Some((_, code, _)) = function(entries, entry) {
            visit(entry.address, code);
        }
        let mut behind = entry;
        let length = behind.u32().map(|length| length as usize);
        next = length.filter(|length| *length > 0).and_then(|length| behind.skip(length));
    }
}

/// The rule for an address within the function of an entry of a table that is known otherwise.
///
/// # Safety
///
/// The table lies there, with an entry at `entry`, in memory that stays mapped meanwhile.
pub unsafe fn registered_rule(table: Range<usize>, entry: usize, address: usize) -> Option<CallerRule> {
    // SAFETY: the caller's promise.
    let entries = unsafe { Bytes::at(table.start, table.end) }?;
    rule(entries, entries.from(entry)?, address)
}

/// The table of functions in order of their addresses, which every linker writes in this form: both relative to the
/// header, four bytes each.
const SORTED: u8 = 0x3b;

/// All entries, and the one of the function that an address may lie in.
fn find<'a>(header: Bytes<'a>, table: &UnwindTable, address: usize) -> Option<(Bytes<'a>, Bytes<'a>)> {
    let base = header.address;
    let mut next = header;
    let [1, how_entries, how_count, SORTED] = next.array()? else { return None };
    let entries = next.pointer(how_entries, base)?;
    let count = next.pointer(how_count, base)?;
    let (pairs, _) = next.bytes.as_chunks::<8>();
    let pairs = pairs.get(..count)?;
    let absolute = |word: &[u8; 4]| base.wrapping_add_signed(i32::from_le_bytes(*word) as isize);
    let starts = |[a, b, c, d, ..]: &[u8; 8]| absolute(&[*a, *b, *c, *d]) <= address;
    let [_, _, _, _, a, b, c, d] = pairs.get(pairs.partition_point(starts).checked_sub(1)?)?;
    // SAFETY: `caller_rule` was promised that the table lies in the segment that ends there.
    let entries = unsafe { Bytes::at(entries, table.end) }?;
    Some((entries, entries.from(absolute(&[*a, *b, *c, *d]))?))
}

/// The bytes of an entry behind its length.
fn body(mut entry: Bytes<'_>) -> Option<Bytes<'_>> {
    let length = entry.u32().filter(|length| *length != u32::MAX)?;
    entry.part(length as usize)
}

/// Properties that functions have in common (a CIE).
struct CommonEntry<'a> {
    units: Units,
    how_pointers: u8,
    has_augmentation: bool,
    is_signal: bool,
    instructions: Bytes<'a>,
}

fn common(entry: Bytes<'_>) -> Option<CommonEntry<'_>> {
    let mut next = body(entry)?;
    let 0 = next.u32()? else { return None };
    let version = next.byte().filter(|version| matches!(version, 1 | 3))?;
    let end = next.bytes.iter().position(|byte| *byte == 0)?;
    let augmentation = next.part(end)?.bytes;
    next = next.skip(1)?;
    let (code_unit, data_unit) = (next.unsigned()?, next.signed()?);
    let address = if version == 1 { next.byte()?.into() } else { next.unsigned()? };
    if address != RETURN_ADDRESS {
        return None;
    }
    let (mut how_pointers, mut is_signal) = (0, false);
    let has_augmentation = augmentation.first() == Some(&b'z');
    if has_augmentation {
        let length = next.unsigned()?;
        let mut data = next.part(usize::try_from(length).ok()?)?;
        for letter in augmentation.iter().skip(1) {
            match letter {
                b'R' => how_pointers = data.byte()?,
                b'L' => _ = data.byte()?,
                b'P' => {
                    let how = data.byte()?;
                    // Where it is relative to does not matter: it is not used.
                    data.pointer(how & 0xf, 0)?;
                }
                b'S' => is_signal = true,
                // A key for return addresses: nothing follows.
                b'B' => {}
                _ => return None,
            }
        }
    } else if !augmentation.is_empty() {
        return None;
    }
    let units = Units { code: code_unit, data: data_unit };
    Some(CommonEntry { units, how_pointers, has_augmentation, is_signal, instructions: next })
}

/// The common part of a function's entry (an FDE) and others, the function's addresses, and what follows in the entry.
fn function<'a>(entries: Bytes<'a>, entry: Bytes<'a>) -> Option<(CommonEntry<'a>, Range<usize>, Bytes<'a>)> {
    let mut next = body(entry)?;
    let here = next.address;
    let back = next.u32().filter(|back| *back != 0)? as usize;
    let common = common(entries.from(here.checked_sub(back)?)?)?;
    let start = next.pointer(common.how_pointers, 0)?;
    // A length is written as a pointer is, and is relative to nothing.
    let length = next.pointer(common.how_pointers & 0xf, 0)?;
    Some((common, start..start.checked_add(length)?, next))
}

/// The rule for an address within the function of an entry (an FDE).
fn rule(entries: Bytes<'_>, entry: Bytes<'_>, address: usize) -> Option<CallerRule> {
    let (common, code, mut next) = function(entries, entry)?;
    if !code.contains(&address) {
        return None;
    }
    let start = code.start;
    if common.has_augmentation {
        let length = next.unsigned()?;
        next = next.skip(usize::try_from(length).ok()?)?;
    }
    let mut machine = Machine::new(common.units, start, address);
    machine.run(common.instructions)?;
    machine.begin_function(start);
    machine.run(next)?;
    Some(CallerRule { is_signal: common.is_signal, ..machine.rule()? })
}

#[cfg(all(test, not(miri)))]
mod tests;
