//! Functions of code that a program generated at run time: announced to debuggers, or listed for profilers in a file
//! of the process.

use super::symbolizer::Symbol;
use crate::demangle;
use addr2line::gimli::{self, EndianSlice, LittleEndian, SectionId};
use object::read::elf::{ElfFile64, ElfSymbol64, FileHeader, Rela, SectionHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SymbolIndex, SymbolKind, elf};
use rustc_hash::FxHashMap;
use spool::{MOST_OBJECT, MOST_PIECE};

/// The module name of a generated function.
pub(super) const MODULE: &str = "[made at run time]";

/// Functions of a list that are checked for an address.
const NEAREST: usize = 16;

/// The generated code of one process.
#[derive(Default)]
pub(super) struct GeneratedCode {
    objects: FxHashMap<u64, Image>,
    /// Sorted by address after it is read.
    listed: Vec<ListedFunction>,
}

/// The pieces of an ELF object that were read so far.
struct Image {
    start: u64,
    end: u64,
    bytes: Vec<u8>,
    /// Number of bytes in these pieces.
    read: u64,
}

/// A function of a list for profilers.
struct ListedFunction {
    start: u64,
    end: u64,
    name: String,
}

impl GeneratedCode {
    /// Adds a piece of an object; false for one that fits no object.
    pub fn piece(&mut self, record: spool::Made, bytes: &[u8]) -> bool {
        let spool::Made { object, size, offset, start, end } = record;
        if size > MOST_OBJECT || offset >= size {
            return false;
        }
        let new = || Image { start, end, bytes: vec![0; size as usize], read: 0 };
        let image = self.objects.entry(object).or_insert_with(new);
        let length = (size - offset).min(MOST_PIECE as u64) as usize;
        let at = offset as usize;
        let (room, bytes) = (image.bytes.get_mut(at..at + length), bytes.get(..length));
        let (Some(room), Some(bytes)) = (room, bytes) else { return false };
        room.copy_from_slice(bytes);
        image.read += length as u64;
        true
    }

    /// Reads a list for profilers: each line has a start, a length (both hexadecimal) and a name. The last line for
    /// an address is the latest.
    pub fn list(&mut self, text: &[u8]) {
        for line in text.split(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(line);
            let mut words = line.trim_end().splitn(3, ' ');
            let number = |word: Option<&str>| u64::from_str_radix(word?.trim_start_matches("0x"), 16).ok();
            let (Some(start), Some(length)) = (number(words.next()), number(words.next())) else { continue };
            if let Some(name) = words.next().filter(|name| !name.is_empty()) {
                let (end, name) = (start.saturating_add(length), name.to_owned());
                self.listed.push(ListedFunction { start, end, name });
            }
        }
        // A stable sort keeps later lines of one address later.
        self.listed.sort_by_key(|listed| listed.start);
    }

    /// Gives `found` the functions at an address, innermost first.
    pub fn symbolize(&self, address: u64, found: &mut dyn FnMut(Symbol<'_>)) {
        let around = |image: &&Image| {
            (image.start..image.end).contains(&address) && image.read == image.bytes.len() as u64
        };
        let latest =
            self.objects.iter().filter(|(_, image)| around(image)).max_by_key(|(object, _)| **object);
        if latest.is_some_and(|(_, image)| in_object(&image.bytes, address, found)) {
            return;
        }
        let behind = self.listed.partition_point(|listed| listed.start <= address);
        let mut before = self.listed[..behind].iter().rev();
        // Check several functions: if code was generated again, an older function at an earlier address may be longer.
        if let Some(listed) = before.by_ref().take(NEAREST).find(|listed| address < listed.end) {
            by_list(&listed.name, found);
        }
    }
}

/// Gives `found` a name from a list; CPython's names contain the file (`py::function:file`).
fn by_list(name: &str, found: &mut dyn FnMut(Symbol<'_>)) {
    let python = name.strip_prefix("py::").and_then(|rest| rest.split_once(':'));
    match python {
        Some((function, file)) => found(Symbol { function, file, line: 0 }),
        None => found(Symbol { function: &demangle::function(name), ..Symbol::default() }),
    }
}

/// Gives `found` the functions at an address that an ELF object describes; returns whether there is one.
fn in_object(image: &[u8], address: u64, found: &mut dyn FnMut(Symbol<'_>)) -> bool {
    let mut image = image.to_vec();
    if relocate(&mut image).is_none() {
        return false;
    }
    let Ok(file) = ElfFile64::<Endianness>::parse(&image[..]) else { return false };
    lines(&file, address, found) || function(&file, address, found)
}

type Elf<'a> = ElfFile64<'a, Endianness>;

/// Like [`in_object`], but from the debugging information.
fn lines(file: &Elf<'_>, address: u64, found: &mut dyn FnMut(Symbol<'_>)) -> bool {
    let section = |id: SectionId| {
        let data = file.section_by_name(id.name()).and_then(|section| section.data().ok());
        Ok::<_, gimli::Error>(EndianSlice::new(data.unwrap_or_default(), LittleEndian))
    };
    let context =
        gimli::Dwarf::load(section).ok().and_then(|dwarf| addr2line::Context::from_dwarf(dwarf).ok());
    let Some(context) = context else { return false };
    let Ok(mut frames) = context.find_frames(address).skip_all_loads() else { return false };
    let mut any = false;
    while let Ok(Some(frame)) = frames.next() {
        let Some(called) = &frame.function else { continue };
        let Ok(name) = called.raw_name() else { continue };
        let (file, line) = frame.location.map_or(("", 0), |at| (at.file.unwrap_or(""), at.line.unwrap_or(0)));
        found(Symbol { function: &demangle::function_in(&name, called.language), file, line });
        any = true;
    }
    any
}

/// Like [`in_object`], but from the symbol table.
fn function(file: &Elf<'_>, address: u64, found: &mut dyn FnMut(Symbol<'_>)) -> bool {
    let start = |symbol: &ElfSymbol64<'_, '_, Endianness>| {
        // In an object that was not linked, addresses count from the section's start.
        let linked = file.elf_header().e_type(file.endian()) != elf::ET_REL;
        let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
        let base = if linked { 0 } else { section.map_or(0, |section| section.address()) };
        base.wrapping_add(symbol.address())
    };
    let around = |symbol: &ElfSymbol64<'_, '_, Endianness>| {
        let start = start(symbol);
        symbol.kind() == SymbolKind::Text && (start..start.saturating_add(symbol.size())).contains(&address)
    };
    let name = file.symbols().find(around).and_then(|symbol| symbol.name().ok());
    if let Some(name) = name {
        found(Symbol { function: &demangle::function(name), ..Symbol::default() });
    }
    name.is_some()
}

/// Fills in the addresses in the debugging information of an object that was not linked; the program set the
/// addresses of its sections.
fn relocate(image: &mut [u8]) -> Option<()> {
    let mut changes = Vec::new();
    {
        let file = ElfFile64::<Endianness>::parse(&*image).ok()?;
        let endian = file.endian();
        if file.elf_header().e_type(endian) != elf::ET_REL {
            return Some(());
        }
        let (machine, sections) = (file.elf_header().e_machine(endian), file.elf_section_table());
        for section in sections.iter() {
            let Ok(Some((relocations, symbols))) = section.rela(endian, &*image) else { continue };
            let target = sections.section(section.info_link(endian)).ok()?;
            let is_debug =
                sections.section_name(endian, target).is_ok_and(|name| name.starts_with(b".debug"));
            let (start, size) = target.file_range(endian).unwrap_or_default();
            let symbols = sections.symbol_table_by_index(endian, &*image, symbols).ok()?;
            for relocation in relocations.iter().filter(|_| is_debug) {
                let bytes = width(machine, relocation.r_type(endian, false));
                let at = relocation.r_offset(endian);
                let number = SymbolIndex(relocation.r_sym(endian, false) as usize);
                let (Ok(symbol), Some(bytes)) = (symbols.symbol(number), bytes) else { continue };
                let base = match symbols.symbol_section(endian, symbol, number) {
                    Ok(Some(index)) => sections.section(index).map_or(0, |section| section.sh_addr(endian)),
                    _ => 0,
                };
                let value = base
                    .wrapping_add(symbol.st_value.get(endian))
                    .wrapping_add_signed(relocation.r_addend(endian));
                if at.checked_add(bytes as u64)? <= size {
                    changes.push((start.checked_add(at)? as usize, bytes, value));
                }
            }
        }
    }
    for (at, bytes, value) in changes {
        image.get_mut(at..at.checked_add(bytes)?)?.copy_from_slice(&value.to_le_bytes()[..bytes]);
    }
    Some(())
}

/// The number of bytes that a relocation fills in with an address or an offset in a section; `None` for other kinds.
fn width(machine: elf::Machine, kind: elf::RelocationType) -> Option<usize> {
    match (machine, kind) {
        (elf::EM_X86_64, elf::R_X86_64_64) | (elf::EM_AARCH64, elf::R_AARCH64_ABS64) => Some(8),
        (elf::EM_X86_64, elf::R_X86_64_32) | (elf::EM_AARCH64, elf::R_AARCH64_ABS32) => Some(4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(made: &GeneratedCode, address: u64) -> Vec<(String, String)> {
        let mut found = Vec::new();
        made.symbolize(address, &mut |symbol| {
            found.push((symbol.function.to_owned(), symbol.file.to_owned()))
        });
        found
    }

    #[test]
    fn a_list_names_functions_and_other_lines_are_skipped() {
        let mut made = GeneratedCode::default();
        made.list(
            b"2000 10 later\n\nnothing\n1000\n1000 20\n1000 20 f with spaces\nzz 10 g\n\xff\xfe 1 h\n\
              0x1010 8 inner\n3000 ffffffffffffffff endless\n4000 10 py::Trainer.step:/app/train.py\n\
              2000 10 anew\n",
        );
        let is = |address: u64, function: &str, file: &str| {
            assert_eq!(at(&made, address), [(function.to_owned(), file.to_owned())], "{address:x}");
        };
        is(0x1000, "f with spaces", "");
        is(0x1010, "inner", "");
        is(0x1018, "f with spaces", "");
        is(0x2008, "anew", "");
        is(0x4005, "Trainer.step", "/app/train.py");
        is(0x9999, "endless", "");
        assert_eq!((at(&made, 0xfff), at(&made, 0x1020)), (vec![], vec![]));
    }

    #[test]
    fn pieces_that_fit_no_object_are_skipped() {
        let mut made = GeneratedCode::default();
        let record = spool::Made { object: 1, size: 100, offset: 0, start: 0x1000, end: 0x2000 };
        let mut fits = |record, bytes: &[u8]| made.piece(record, bytes);
        assert!(!fits(spool::Made { offset: 100, ..record }, b"x"));
        assert!(!fits(spool::Made { size: MOST_OBJECT + 1, ..record }, &[0; MOST_PIECE]));
        assert!(!fits(record, b"too short"));
        assert!(fits(spool::Made { object: 2, ..record }, &[0x7f; 100]));
        assert!(!fits(spool::Made { object: 3, size: u64::MAX, offset: u64::MAX - 1, ..record }, &[1; 8]));
        assert_eq!(at(&made, 0x1500), []);
    }

    const NAMES: &[u8] = b"\0.text\0.symtab\0.strtab\0.debug_info\0.rela.debug_info\0made!\0";

    /// An object that was not linked: 16 bytes of code at 0x5000, of which the last 8 are `made!`, and eight bytes of
    /// debugging information that a relocation replaces by the address of `made!`.
    fn object() -> Vec<u8> {
        let words =
            |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>();
        let name = |name: &[u8]| NAMES.windows(name.len()).position(|part| part == name).unwrap() as u64;
        let function = words(&[name(b"made!") | 2 << 32 | 1 << 48, 8, 8]);
        let parts = [
            vec![0xcc; 16],
            [vec![0; 24], function].concat(),
            NAMES.to_vec(),
            vec![0; 8],
            words(&[0, 1 << 32 | 1, 0]),
        ];
        let names: [&[u8]; 5] = [b".text", b".symtab", b".strtab", b".debug_info", b".rela.debug_info"];
        // Kind, flags, address, link, the section it applies to, size of an entry.
        let about = [
            [1, 6, 0x5000, 0, 0, 0],
            [2, 0, 0, 3, 1, 24],
            [3, 0, 0, 0, 0, 0],
            [1, 0, 0, 0, 0, 0],
            [4, 0, 0, 2, 4, 24],
        ];
        let (mut bytes, mut sections) = (vec![0; 64], vec![0; 64]);
        for ((part, section), [kind, flags, address, link, info, entry]) in parts.iter().zip(names).zip(about)
        {
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            let (at, length) = (bytes.len() as u64, part.len() as u64);
            let row = [name(section) | kind << 32, flags, address, at, length, link | info << 32, 8, entry];
            sections.extend(words(&row));
            bytes.extend(part);
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let header = [
            0x0001_0102_464c_457f,
            0,
            1 | 62 << 16 | 1 << 32,
            0,
            0,
            bytes.len() as u64,
            64 << 32,
            64 << 16 | 6 << 32 | 3 << 48,
        ];
        bytes[..64].copy_from_slice(&words(&header));
        [bytes, sections].concat()
    }

    fn announced(bytes: &[u8]) -> GeneratedCode {
        let mut made = GeneratedCode::default();
        made.piece(
            spool::Made { object: 1, size: bytes.len() as u64, offset: 0, start: 0x5000, end: 0x5010 },
            bytes,
        );
        made
    }

    #[test]
    fn an_object_that_was_not_linked_names_its_functions_where_its_sections_lie() {
        let made = announced(&object());
        assert_eq!(at(&made, 0x5009), [("made!".to_owned(), String::new())]);
        assert_eq!((at(&made, 0x5007), at(&made, 9)), (vec![], vec![]));
        let mut relocated = object();
        relocate(&mut relocated).unwrap();
        let information = relocated.windows(8).position(|part| part == 0x5008u64.to_le_bytes());
        assert!(information.is_some());
    }

    #[test]
    fn a_damaged_object_causes_no_panic() {
        let whole = object();
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                in_object(&damaged, 0x5009, &mut |_| {});
            }
            in_object(&whole[..at], 0x5009, &mut |_| {});
        }
    }
}
