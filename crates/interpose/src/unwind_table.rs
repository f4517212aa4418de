//! Reads unwind tables (`.eh_frame_hdr` and `.eh_frame`, as the Linux Standard Base and DWARF 5 have them): where a
//! function's caller left its stack pointer, its frame pointer and its return address.
//!
//! Of all that a table may say, only what these three need is kept, as compilers write it: a distance from a register, or
//! from where one was saved (a function that aligns its stack, a signal's frame). A table that says something else about
//! them, or makes no sense, gives no answer.

use crate::elf::UnwindTable;
use std::ops::Range;

/// The DWARF numbers of the frame pointer, the stack pointer and the return address.
#[cfg(target_arch = "x86_64")]
const NUMBERS: [u64; 3] = [6, 7, 16];
#[cfg(target_arch = "aarch64")]
const NUMBERS: [u64; 3] = [29, 31, 30];
const FRAME_POINTER: u64 = NUMBERS[0];
const STACK_POINTER: u64 = NUMBERS[1];
const RETURN_ADDRESS: u64 = NUMBERS[2];

/// Most states that a table may remember at once.
const MOST_REMEMBERED: usize = 8;

/// Where a function's caller is found, from the registers at some instruction of the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallerRule {
    /// The caller's stack pointer: this place, or the word that lies there if it `is_saved`.
    pub stack: Place,
    /// Whether the caller's stack pointer was saved at its place.
    pub is_saved: bool,
    /// Where the caller's frame pointer is saved; `None` where it is still in its register.
    pub frame: Option<Place>,
    /// Where the return address is saved; `None` where the function has no caller, as the first one of a thread.
    pub address: Option<Place>,
    /// The function is a signal's frame: its caller was interrupted, and its return address is no place behind a call.
    pub is_signal: bool,
}

/// A place on the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The base that it is counted from.
    pub base: Base,
    /// Bytes from there.
    pub offset: i64,
}

/// Bases of places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// The stack pointer.
    Stack,
    /// The frame pointer.
    Frame,
    /// The caller's stack pointer.
    Caller,
}

impl Base {
    fn of(register: u64) -> Option<Base> {
        match register {
            STACK_POINTER => Some(Base::Stack),
            FRAME_POINTER => Some(Base::Frame),
            _ => None,
        }
    }
}

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

/// Bytes of a table that are still to be read, and the address of the first of them.
#[derive(Clone, Copy)]
struct Bytes<'a> {
    bytes: &'a [u8],
    address: usize,
}

impl<'a> Bytes<'a> {
    /// # Safety
    ///
    /// All from `start` to `end` can be read and stays so.
    unsafe fn at(start: usize, end: usize) -> Option<Bytes<'a>> {
        let length = end.checked_sub(start).filter(|length| start != 0 && *length <= isize::MAX as usize)?;
        // SAFETY: the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(start), length) };
        Some(Bytes { bytes, address: start })
    }

    /// The rest behind so many bytes.
    fn skip(self, count: usize) -> Option<Bytes<'a>> {
        Some(Bytes { bytes: self.bytes.get(count..)?, address: self.address.wrapping_add(count) })
    }

    /// From an address within on.
    fn from(self, address: usize) -> Option<Bytes<'a>> {
        self.skip(address.checked_sub(self.address)?)
    }

    /// The next so many bytes.
    fn part(&mut self, count: usize) -> Option<Bytes<'a>> {
        let part = Bytes { bytes: self.bytes.get(..count)?, address: self.address };
        *self = self.skip(count)?;
        Some(part)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let array = *self.bytes.first_chunk()?;
        *self = self.skip(N)?;
        Some(array)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn i32(&mut self) -> Option<i32> {
        self.array().map(i32::from_le_bytes)
    }

    /// A number of seven bits a byte, the lowest first.
    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).unbounded_shl(shift);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Like [`unsigned`](Self::unsigned), but with the sign in the highest bit given.
    fn signed(&mut self) -> Option<i64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).unbounded_shl(shift);
            if byte & 0x80 == 0 {
                let unused = 64u32.saturating_sub(shift + 7);
                return Some((value << unused).cast_signed() >> unused);
            }
        }
        None
    }

    /// A pointer, written as `how` says (`DW_EH_PE_…`); `data` is what one relative to data is relative to.
    fn pointer(&mut self, how: u8, data: usize) -> Option<usize> {
        let here = self.address;
        let value = match how & 0xf {
            0x0 | 0x4 | 0xc => u64::from_le_bytes(self.array()?),
            0x1 => self.unsigned()?,
            0x2 => u16::from_le_bytes(self.array()?).into(),
            0x3 => self.u32()?.into(),
            0x9 => self.signed()?.cast_unsigned(),
            0xa => i64::from(i16::from_le_bytes(self.array()?)).cast_unsigned(),
            0xb => i64::from(self.i32()?).cast_unsigned(),
            _ => return None,
        };
        let base = match how & 0xf0 {
            0x00 => 0,
            0x10 => here,
            0x30 => data,
            _ => return None,
        };
        Some(base.wrapping_add(value as usize))
    }
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
struct Common<'a> {
    code_unit: u64,
    data_unit: i64,
    how_pointers: u8,
    has_augmentation: bool,
    is_signal: bool,
    instructions: Bytes<'a>,
}

fn common(entry: Bytes<'_>) -> Option<Common<'_>> {
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
    Some(Common { code_unit, data_unit, how_pointers, has_augmentation, is_signal, instructions: next })
}

/// The common part of a function's entry (an FDE) and others, the function's addresses, and what follows in the entry.
fn function<'a>(entries: Bytes<'a>, entry: Bytes<'a>) -> Option<(Common<'a>, Range<usize>, Bytes<'a>)> {
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
    let mut machine =
        Machine { common: &common, at: start, wanted: address, state: State::default(), initial: None };
    machine.run(common.instructions)?;
    machine.initial = Some(machine.state);
    machine.at = start;
    machine.run(next)?;
    Some(CallerRule { is_signal: common.is_signal, ..machine.state.rule()? })
}

/// Where a register's value at the call is.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Saved {
    /// Still in the register.
    #[default]
    Kept,
    /// On the stack.
    At(Place),
    /// Nowhere.
    Lost,
    /// Elsewhere.
    Other,
}

#[derive(Clone, Copy, Default)]
struct State {
    /// The register that the caller's stack pointer is counted from, how far it is, and whether it was saved there.
    stack: Option<(u64, i64, bool)>,
    frame: Saved,
    address: Saved,
}

impl State {
    fn rule(self) -> Option<CallerRule> {
        let (register, offset, is_saved) = self.stack?;
        let stack = Place { base: Base::of(register)?, offset };
        let frame = match self.frame {
            Saved::Kept => None,
            Saved::At(place) => Some(place),
            Saved::Lost | Saved::Other => return None,
        };
        let address = match self.address {
            Saved::At(place) => Some(place),
            Saved::Lost => None,
            Saved::Kept | Saved::Other => return None,
        };
        Some(CallerRule { stack, is_saved, frame, address, is_signal: false })
    }

    fn of(&mut self, register: u64) -> Option<&mut Saved> {
        match register {
            FRAME_POINTER => Some(&mut self.frame),
            RETURN_ADDRESS => Some(&mut self.address),
            _ => None,
        }
    }
}

/// Carries out a table's instructions (`DW_CFA_…`) up to those for an address.
struct Machine<'a> {
    common: &'a Common<'a>,
    /// The address that the next instructions are for.
    at: usize,
    wanted: usize,
    state: State,
    /// The state that the function begins with.
    initial: Option<State>,
}

impl Machine<'_> {
    fn run(&mut self, mut code: Bytes<'_>) -> Option<()> {
        let (mut remembered, mut depth) = ([State::default(); MOST_REMEMBERED], 0usize);
        while let Some(byte) = code.byte() {
            let low = u64::from(byte & 0x3f);
            match (byte >> 6, byte & 0x3f) {
                (1, _) => self.advance(low),
                (2, _) => {
                    let offset = code.unsigned()?;
                    self.save(low, offset.cast_signed());
                }
                (3, _) => self.restore(low)?,
                (_, 0x00 | 0x2d) => {}
                (_, 0x02) => {
                    let units = code.byte()?;
                    self.advance(units.into());
                }
                (_, 0x03) => {
                    let units = u16::from_le_bytes(code.array()?);
                    self.advance(units.into());
                }
                (_, 0x04) => {
                    let units = code.u32()?;
                    self.advance(units.into());
                }
                (_, 0x05) => {
                    let (register, offset) = (code.unsigned()?, code.unsigned()?);
                    self.save(register, offset.cast_signed());
                }
                (_, 0x06) => {
                    let register = code.unsigned()?;
                    self.restore(register)?;
                }
                (_, 0x07) => {
                    let register = code.unsigned()?;
                    self.set(register, Saved::Lost);
                }
                (_, 0x08) => {
                    let register = code.unsigned()?;
                    self.set(register, Saved::Kept);
                }
                (_, 0x09 | 0x14) => {
                    let (register, _) = (code.unsigned()?, code.unsigned()?);
                    self.set(register, Saved::Other);
                }
                (_, 0x0a) => {
                    *remembered.get_mut(depth)? = self.state;
                    depth += 1;
                }
                (_, 0x0b) => {
                    depth = depth.checked_sub(1)?;
                    self.state = *remembered.get(depth)?;
                }
                (_, 0x0c) => {
                    self.state.stack = Some((code.unsigned()?, code.unsigned()?.cast_signed(), false))
                }
                (_, 0x0d) => self.state.stack = Some((code.unsigned()?, self.state.stack?.1, false)),
                (_, 0x0e) => {
                    self.state.stack = Some((self.state.stack?.0, code.unsigned()?.cast_signed(), false))
                }
                (_, 0x0f) => {
                    self.state.stack = match expression(block(&mut code)?) {
                        Some((register, offset, true)) => Some((register, offset, true)),
                        _ => None,
                    };
                }
                (_, 0x10) => {
                    let register = code.unsigned()?;
                    let place = match expression(block(&mut code)?) {
                        Some((from, offset, false)) => Base::of(from).map(|base| Place { base, offset }),
                        _ => None,
                    };
                    self.set(register, place.map_or(Saved::Other, Saved::At));
                }
                (_, 0x16) => {
                    let register = code.unsigned()?;
                    block(&mut code)?;
                    self.set(register, Saved::Other);
                }
                (_, 0x11) => {
                    let (register, offset) = (code.unsigned()?, code.signed()?);
                    self.save(register, offset);
                }
                (_, 0x12) => {
                    let (register, offset) = (code.unsigned()?, code.signed()?);
                    self.state.stack = Some((register, offset.wrapping_mul(self.common.data_unit), false));
                }
                (_, 0x13) => {
                    let offset = code.signed()?.wrapping_mul(self.common.data_unit);
                    self.state.stack = Some((self.state.stack?.0, offset, false));
                }
                (_, 0x15) => {
                    let (register, _) = (code.unsigned()?, code.signed()?);
                    self.set(register, Saved::Other);
                }
                // How many bytes of arguments lie on the stack.
                (_, 0x2e) => _ = code.unsigned()?,
                _ => return None,
            }
            if self.at > self.wanted {
                break;
            }
        }
        Some(())
    }

    fn advance(&mut self, units: u64) {
        self.at = self.at.saturating_add(units.saturating_mul(self.common.code_unit) as usize);
    }

    fn set(&mut self, register: u64, saved: Saved) {
        if let Some(place) = self.state.of(register) {
            *place = saved;
        }
    }

    fn save(&mut self, register: u64, units: i64) {
        let offset = units.wrapping_mul(self.common.data_unit);
        self.set(register, Saved::At(Place { base: Base::Caller, offset }));
    }

    /// As the function began.
    fn restore(&mut self, register: u64) -> Option<()> {
        if let Some(initial) = self.initial?.of(register) {
            self.set(register, *initial);
        }
        Some(())
    }
}

/// An expression's bytes.
fn block<'a>(code: &mut Bytes<'a>) -> Option<Bytes<'a>> {
    let length = code.unsigned()?;
    code.part(usize::try_from(length).ok()?)
}

/// The parts of an expression as compilers write it: a register, a distance from it, and whether the word there is meant
/// (`DW_OP_breg…`, `DW_OP_deref`).
fn expression(mut code: Bytes<'_>) -> Option<(u64, i64, bool)> {
    const BY_REGISTER: u8 = 0x70;
    const REGISTERS: u8 = 32;
    const WORD: u8 = 0x06;
    let register = code.byte()?.checked_sub(BY_REGISTER).filter(|register| *register < REGISTERS)?;
    let offset = code.signed()?;
    match code.bytes {
        [] => Some((register.into(), offset, false)),
        [WORD] => Some((register.into(), offset, true)),
        _ => None,
    }
}

#[cfg(all(test, not(miri)))]
mod tests;
