//! Small libraries as `llvm-objdump` prints them.

use super::super::Machine;
use std::fmt::Write;

/// The first function, and the distance of the next.
const CODE: u64 = 0x1000;
const FAR: u64 = 0x100;
/// The slots with the addresses of other libraries' functions.
const SLOTS: u64 = 0x9000;
/// A table of addresses, and one of offsets from its beginning.
const TABLE: u64 = 0xa000;
const OFFSETS: u64 = 0xb000;

/// A library to be.
pub(super) struct Text {
    machine: Machine,
    /// Names with instructions, one a line. `{f:NAME}` stands for a function, `{s:NAME}` for the slot of another
    /// library's, `{p:NAME}` for the slot's place in its page.
    functions: Vec<(String, String)>,
    public: Vec<String>,
    /// Functions in the table at `TABLE`, and in that at `OFFSETS`.
    pub(super) table: Vec<String>,
    pub(super) offsets: Vec<String>,
    pub(super) is_bound: bool,
}

impl Text {
    pub(super) fn new(machine: Machine) -> Text {
        let (functions, public, table, offsets) = Default::default();
        Text { machine, functions, public, table, offsets, is_bound: true }
    }

    /// Adds a function, or gives it other instructions.
    pub(super) fn function(&mut self, name: &str, instructions: &str) {
        self.remove(name);
        self.functions.push((name.to_owned(), instructions.to_owned()));
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.functions.retain(|(known, _)| known != name);
    }

    /// Lets other libraries find a function.
    pub(super) fn publish(&mut self, name: &str) {
        self.public.push(name.to_owned());
    }

    fn address(&self, name: &str) -> u64 {
        let at = self.functions.iter().position(|(known, _)| known == name);
        CODE + FAR * at.unwrap_or_else(|| panic!("no function {name}")) as u64
    }

    /// Instructions with addresses in place of names.
    fn place(&self, instruction: &str, slots: &mut Vec<String>) -> String {
        let mut text = String::new();
        let mut rest = instruction;
        while let Some((before, (kind, name, behind))) = rest.split_once('{').and_then(|(before, rest)| {
            let (inner, behind) = rest.split_once('}')?;
            let (kind, name) = inner.split_once(':')?;
            Some((before, (kind, name, behind)))
        }) {
            text.push_str(before);
            let mut slot = || {
                let known = slots.iter().position(|slot| slot == name);
                known.unwrap_or_else(|| {
                    slots.push(name.to_owned());
                    slots.len() - 1
                }) as u64
            };
            _ = match kind {
                "f" => write!(text, "0x{:x} <{name}>", self.address(name)),
                "s" => write!(text, "0x{:x} <_GLOBAL_OFFSET_TABLE_+0x10>", SLOTS + 8 * slot()),
                _ => write!(text, "#0x{:x}", 8 * slot()),
            };
            rest = behind;
        }
        text + rest
    }

    pub(super) fn print(&self) -> String {
        let (format, relocation) = match self.machine {
            Machine::X86 => ("elf64-x86-64", "R_X86_64"),
            Machine::Arm => ("elf64-littleaarch64", "R_AARCH64"),
        };
        let flags = if self.is_bound { 0x8 } else { 0 };
        let mut text = format!(
            "lib.so:\tfile format {format}\n\nDynamic Section:\n  FLAGS        {flags:#018x}\n\nSections:\n"
        );
        for (name, start) in [(".rodata", OFFSETS), (".text", CODE), (".data.rel.ro", TABLE), (".got", SLOTS)]
        {
            _ = writeln!(text, "  1 {name} 00001000 {start:016x} DATA");
        }
        text.push_str("\nSYMBOL TABLE:\n");
        for (name, _) in &self.functions {
            let scope = if self.public.contains(name) { 'g' } else { 'l' };
            _ = writeln!(text, "{:016x} {scope}     F .text\t{FAR:016x} {name}", self.address(name));
        }
        let (mut slots, mut code) = (Vec::new(), String::new());
        for (name, instructions) in &self.functions {
            let start = self.address(name);
            _ = writeln!(code, "\n{start:016x} <{name}>:");
            for (number, instruction) in instructions.lines().map(str::trim).enumerate() {
                let instruction = self.place(instruction, &mut slots).replacen(' ', "\t", 1);
                _ = writeln!(code, "    {:x}:      \t{instruction}", start + 4 * number as u64);
            }
        }
        text.push_str("\nDYNAMIC RELOCATION RECORDS\nOFFSET           TYPE                     VALUE\n");
        for (number, name) in slots.iter().enumerate() {
            let at = SLOTS + 8 * number as u64;
            _ = match name.as_str() {
                "TLS" => writeln!(text, "{at:016x} {relocation}_TLSDESC         *ABS*"),
                name => writeln!(text, "{at:016x} {relocation}_GLOB_DAT        {name}"),
            };
        }
        for (number, name) in self.table.iter().enumerate() {
            let (at, to) = (TABLE + 8 * number as u64, self.address(name));
            _ = writeln!(text, "{at:016x} {relocation}_RELATIVE        *ABS*+{to:#x}");
        }
        _ = writeln!(text, "\nDisassembly of section .text:\n{code}\nContents of section .rodata:");
        for (number, name) in self.offsets.iter().enumerate() {
            let offset = self.address(name).wrapping_sub(OFFSETS) as u32;
            _ = writeln!(text, " {:x} {:08x}  ....", OFFSETS + 4 * number as u64, offset.swap_bytes());
        }
        text
    }
}
