//! The text that `llvm-objdump` prints of a library: its parts, line by line.

use super::Machine;
use std::ops::Range;

/// A line of the text.
pub(crate) enum Line<'a> {
    /// The library's machine.
    Format(Machine),
    /// A flag of the dynamic section.
    Flags { name: &'a str, value: u64 },
    /// A part of the file that is loaded.
    Section { name: &'a str, addresses: Range<u64> },
    /// A function, or a variable.
    Symbol(Symbol),
    /// A value that the loader writes at an address.
    Relocation { place: u64, value: Value },
    /// The beginning of a function's instructions.
    Head { start: u64, name: String },
    /// An instruction, with what the disassembler says of its operands.
    Instruction { at: u64, text: &'a str },
    /// Bytes of constants.
    Bytes { at: u64, bytes: Vec<u8> },
}

/// A function or a variable of the library.
pub(crate) struct Symbol {
    pub(crate) start: u64,
    pub(crate) size: u64,
    pub(crate) name: String,
    pub(crate) is_function: bool,
    /// Whether other libraries can find it.
    pub(crate) is_public: bool,
}

/// A value that the loader writes into the library's data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    /// An address in the library.
    Address(u64),
    /// The address of another library's function or variable.
    Name(String),
    /// A way to memory of the thread's own, which the loader may have to allocate.
    ThreadLocal,
}

/// The lines that say something.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().filter_map(|line| {
        instruction(line)
            .or_else(|| symbol(line))
            .or_else(|| relocation(line))
            .or_else(|| head(line))
            .or_else(|| section(line))
            .or_else(|| bytes(line))
            .or_else(|| flags(line))
            .or_else(|| format(line))
    })
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

/// `lib.so: file format elf64-x86-64`
fn format(line: &str) -> Option<Line<'_>> {
    match line.split_once("file format ")?.1.trim() {
        "elf64-x86-64" => Some(Line::Format(Machine::X86)),
        "elf64-littleaarch64" => Some(Line::Format(Machine::Arm)),
        _ => None,
    }
}

/// `  FLAGS_1      0x0000000000000029`
fn flags(line: &str) -> Option<Line<'_>> {
    let mut words = line.strip_prefix("  ")?.split_whitespace();
    let name = words.next().filter(|name| matches!(*name, "FLAGS" | "FLAGS_1" | "BIND_NOW"))?;
    Some(Line::Flags { name, value: hex(words.next()?)? })
}

/// ` 11 .text  000fd2c8 000000000004df30 TEXT`
fn section(line: &str) -> Option<Line<'_>> {
    let mut words = line.split_whitespace();
    words.next()?.parse::<u32>().ok()?;
    let name = words.next().filter(|name| name.starts_with('.'))?;
    let size = words.next().filter(|size| size.len() == 8)?;
    let start = hex(words.next().filter(|start| start.len() == 16)?)?;
    Some(Line::Section { name, addresses: start..start + hex(size)? })
}

/// An address, flags, the section, a tab, a size and the name.
fn symbol(line: &str) -> Option<Line<'_>> {
    let (head, tail) = line.split_once('\t')?;
    let mut words = head.split_whitespace();
    let start = hex(words.next().filter(|word| word.len() == 16)?)?;
    let flags: Vec<&str> = words.collect();
    let (section, flags) = flags.split_last()?;
    let is = |flag| flags.contains(&flag);
    if !(is("F") || is("O")) || *section == "*UND*" {
        return None;
    }
    let size = hex(tail.get(..16)?)?;
    let name = tail.get(16..)?.trim_start();
    let shown = ["hidden", "internal", "protected"].iter().find_map(|how| {
        let name = name.strip_prefix('.')?.strip_prefix(how)?;
        name.strip_prefix(' ').map(|name| (name, *how == "protected"))
    });
    let (name, is_visible) = shown.unwrap_or((name, true));
    let is_public = is_visible && (is("g") || is("w"));
    Some(Line::Symbol(Symbol { start, size, name: plain(name), is_function: is("F"), is_public }))
}

/// `00000000000e6e90 R_X86_64_GLOB_DAT        free`
fn relocation(line: &str) -> Option<Line<'_>> {
    let mut words = line.split_whitespace();
    let place = hex(words.next().filter(|place| place.len() == 16)?)?;
    let kind = words.next().filter(|kind| kind.starts_with("R_"))?;
    let value = words.next()?;
    let value = match value.split_once("*ABS*") {
        _ if kind.ends_with("TLSDESC") => Value::ThreadLocal,
        // An offset within the memory of each thread, or the library's number for `__tls_get_addr`.
        _ if ["TPOFF64", "DTPMOD64", "DTPOFF64", "TPREL64"].iter().any(|end| kind.ends_with(end)) => {
            return None;
        }
        Some((_, address)) => Value::Address(hex(address.trim_start_matches('+')).unwrap_or(0)),
        None => Value::Name(value.split(['@', '+']).next().unwrap_or_default().to_owned()),
    };
    Some(Line::Relocation { place, value })
}

/// `0000000000033068 <NAME>:`
fn head(line: &str) -> Option<Line<'_>> {
    let (address, name) = line.strip_suffix(">:")?.split_once(" <")?;
    Some(Line::Head { start: hex(address)?, name: plain(name) })
}

/// An address, a colon, a tab and the instruction.
fn instruction(line: &str) -> Option<Line<'_>> {
    let (at, text) = line.split_once(':')?;
    let text = text.trim_start_matches(' ').strip_prefix('\t')?;
    let at = at.trim_start();
    hex(at).filter(|_| !at.is_empty()).map(|at| Line::Instruction { at, text })
}

/// ` 16c80 00000000 01000000 02000000 03000000  ................`
fn bytes(line: &str) -> Option<Line<'_>> {
    let (at, rest) = line.strip_prefix(' ')?.split_once(' ')?;
    let words = rest.split("  ").next()?;
    let digits: Vec<u8> = words.bytes().filter(|byte| *byte != b' ').collect();
    let byte = |two: &[u8]| std::str::from_utf8(two).ok().and_then(|two| u8::from_str_radix(two, 16).ok());
    let bytes = digits.chunks(2).map(byte).collect::<Option<Vec<u8>>>()?;
    Some(Line::Bytes { at: hex(at)?, bytes })
}

/// A name as people write it, without the hashes that differ from compiler to compiler.
fn plain(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}
