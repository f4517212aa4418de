//! `cargo xtask hot`: proves by the library's machine code that nothing of what runs within a program's own calls
//! can panic, allocate or start an unwinding.
//!
//! The compiler decides which checks of Rust stay in the code, so the source cannot show it. Functions and the
//! calls between them are read from `objdump`; `crates/capture/hot.toml` lists where hot code begins.

mod code;
mod list;

use code::{Code, Place};
use list::{List, Never, Roots};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The list, from the workspace's root.
const LIST: &str = "crates/capture/hot.toml";

/// Checks a library; the summary of one that passes. Builds the shipped one where none is given.
pub(crate) fn check(library: Option<PathBuf>) -> Result<String, String> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let list = home.join(LIST);
    let text = std::fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let list = List::read(&text).map_err(|error| format!("{}: {error}", list.display()))?;
    let library = match library {
        Some(library) => library,
        None => build(&home)?,
    };
    let code = Code::read(&objdump(&library)?)?;
    let found = verdict(&list, &code);
    match found.faults.is_empty() {
        true => Ok(found.summary),
        false => Err(report(&library, &found.faults)),
    }
}

/// Builds the library as it is shipped.
fn build(home: &Path) -> Result<PathBuf, String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "build",
        "--profile",
        "dist",
        "--package",
        "holdup-capture",
        "--message-format=json-render-diagnostics",
    ]);
    let output = cargo.current_dir(home).output().map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo cannot build the library:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let path = messages.split('"').find(|text| text.ends_with("/libholdup_capture.so"));
    path.map(PathBuf::from).ok_or_else(|| "cargo does not say where the library is".to_owned())
}

/// Symbols, relocations and instructions of a library, as binutils' `objdump` prints them.
fn objdump(library: &Path) -> Result<String, String> {
    let mut objdump = Command::new("objdump");
    objdump.args([
        "--syms",
        "--dynamic-reloc",
        "--disassemble",
        "--demangle",
        "--wide",
        "--no-show-raw-insn",
    ]);
    let output = objdump.arg(library).output().map_err(|error| {
        format!("objdump does not start: {error}: install binutils (Debian: apt install binutils)")
    })?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

/// Something that hot code must not reach, or a mistake in the list.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Fault {
    /// The call, where there is one.
    at: Option<u64>,
    text: String,
}

/// What the check found.
struct Found {
    faults: BTreeSet<Fault>,
    summary: String,
}

/// Follows calls from every root.
fn verdict(list: &List, code: &Code) -> Found {
    let mut faults = BTreeSet::new();
    let mut fault = |at: Option<u64>, text: String| _ = faults.insert(Fault { at, text });
    let mut summary = String::new();
    let stops: BTreeMap<&str, usize> =
        list.stop.iter().enumerate().map(|(at, stop)| (stop.name.as_str(), at)).collect();
    let mut used = BTreeSet::new();
    for roots in &list.roots {
        let mut walk = Walk::default();
        for name in &roots.names {
            let starts = code.named(name);
            if starts.is_empty() {
                fault(None, format!("{name}: not in the library: rename or remove it in {LIST}"));
            }
            starts.into_iter().for_each(|start| walk.come(start, None));
        }
        let never = list.never_of(roots);
        while let Some(function) = walk.next.pop_front() {
            for call in code.calls(function) {
                let stop = stops.iter().find(|(name, _)| list::matches(name, code.name(call.to)));
                if let Some((_, at)) = stop {
                    used.insert(*at);
                } else if let Some(never) = never.iter().find(|never| never.has(code.name(call.to))) {
                    let path = walk.path(function).map(|at| code.name(Place::Function(at)).to_owned());
                    let path: Vec<String> = path.collect::<Vec<_>>().into_iter().rev().collect();
                    fault(Some(call.at), describe(roots, never, &path, code.name(call.to)));
                } else if let Place::Function(to) = call.to {
                    walk.come(to, Some(function));
                }
            }
        }
        _ = writeln!(
            summary,
            "{}: {} functions from {} roots",
            roots.what,
            walk.from.len(),
            roots.names.len()
        );
    }
    for (at, stop) in list.stop.iter().enumerate() {
        if !used.contains(&at) {
            fault(None, format!("{}: no hot code calls it: remove it from {LIST}", stop.name));
        }
    }
    Found { faults, summary }
}

fn describe(roots: &Roots, never: &Never, path: &[String], last: &str) -> String {
    format!("{} reaches {}: {} -> {last}", roots.what, never.what, path.join(" -> "))
}

/// A walk over functions, and how it got to each.
#[derive(Default)]
struct Walk {
    from: BTreeMap<usize, Option<usize>>,
    next: VecDeque<usize>,
}

impl Walk {
    fn come(&mut self, to: usize, from: Option<usize>) {
        self.from.entry(to).or_insert_with(|| {
            self.next.push_back(to);
            from
        });
    }

    /// From a function back to a root.
    fn path(&self, function: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(function), |at| self.from.get(at).copied().flatten())
    }
}

/// The faults, each with its source lines where `addr2line` has them.
fn report(library: &Path, faults: &BTreeSet<Fault>) -> String {
    let mut text = String::new();
    for fault in faults {
        _ = writeln!(text, "{}", fault.text);
        if let Some(at) = fault.at {
            _ = writeln!(text, "    at {at:#x}{}", lines(library, at));
        }
    }
    _ = write!(text, "{} to mend", faults.len());
    text
}

/// Where the code of an address comes from, innermost first.
fn lines(library: &Path, at: u64) -> String {
    let mut command = Command::new("addr2line");
    let output = command.args(["-i", "-p", "-s", "-e"]).arg(library).arg(format!("{at:#x}")).output();
    let output =
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    output.lines().map(|line| format!(", {}", line.trim_start_matches(" (inlined by) "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str = r#"
        [[never]]
        what = "a panic"
        why = "it would unwind through C"
        names = ["core::panicking::*"]

        [[never]]
        what = "an allocation"
        why = "the program may hold the allocator's lock"
        names = ["malloc"]

        [[roots]]
        what = "launch"
        why = "most calls"
        names = ["ours::launch", "ours::table"]

        [[roots]]
        what = "start"
        why = "once"
        never = ["a panic"]
        names = ["ours::start"]

        [[stop]]
        name = "ours::start"
        why = "once"
    "#;

    /// A library as `objdump` prints it: `BODY` is what `ours::inner` does.
    fn library(body: &str) -> String {
        format!(
            "
lib.so:     file format elf64-x86-64

SYMBOL TABLE:
0000000000001000 l     F .text\t0000000000000010              ours::launch::h0123456789abcdef
0000000000001010 l     F .text\t0000000000000010              ours::inner
0000000000001020 g     F .text\t0000000000000010              ours::start
0000000000001030 l     F .text\t0000000000000010              core[c1f1a40a060b9bfa]::panicking::panic_bounds_check
0000000000001040 l     F .text\t0000000000000010              ours::table::<3>
0000000000001050 l     F .text\t0000000000000010              ours::by_table

DYNAMIC RELOCATION RECORDS
OFFSET           TYPE              VALUE
0000000000003008 R_X86_64_RELATIVE  *ABS*+0x0000000000001050
0000000000003ff0 R_X86_64_GLOB_DAT  malloc@GLIBC_2.2.5

Disassembly of section .text:

0000000000001000 <ours::launch::h0123456789abcdef>:
    1000:\tjne    1008 <ours::launch::h0123456789abcdef+0x8>
    1004:\tcall   1020 <ours::start>
    1008:\tjmp    1010 <ours::inner>

0000000000001010 <ours::inner>:
    {body}
    1018:\tret

0000000000001020 <ours::start>:
    1020:\tcall   *0x2ff0(%rip)        # 3ff0 <malloc@GLIBC_2.2.5>
    1026:\tret

0000000000001030 <core[c1f1a40a060b9bfa]::panicking::panic_bounds_check>:
    1030:\tud2

0000000000001040 <ours::table::<3>>:
    1040:\tlea    0x2000(%rip),%rax        # 3000 <_DYNAMIC+0x10>
    1047:\tret

0000000000001050 <ours::by_table>:
    1050:\tret
"
        )
    }

    fn faults(listed: &str, library: &str) -> Vec<String> {
        let (list, code) = (List::read(listed).expect("a list"), Code::read(library).expect("code"));
        verdict(&list, &code).faults.into_iter().map(|fault| fault.text).collect()
    }

    #[test]
    fn clean_code_passes() {
        assert_eq!(faults(LISTED, &library("1010:\tnop")), Vec::<String>::new());
    }

    #[test]
    fn a_planted_panic_is_found_through_a_tail_jump() {
        let planted = library("1010:\tcall   1030 <core[c1f1a40a060b9bfa]::panicking::panic_bounds_check>");
        let expected =
            "launch reaches a panic: ours::launch -> ours::inner -> core::panicking::panic_bounds_check";
        assert_eq!(faults(LISTED, &planted), [expected]);
    }

    #[test]
    fn an_allocation_is_found_by_call_and_by_address() {
        let expected = ["launch reaches an allocation: ours::launch -> ours::inner -> malloc"];
        assert_eq!(
            faults(LISTED, &library("1010:\tcall   *0x2fe0(%rip)        # 3ff0 <malloc@GLIBC_2.2.5>")),
            expected
        );
        assert_eq!(
            faults(LISTED, &library("1010:\tmov    0x2fe0(%rip),%rax        # 3ff0 <malloc@GLIBC_2.2.5>")),
            expected
        );
        assert_eq!(faults(LISTED, &library("1010:\tcall   2000 <malloc@plt>")), expected);
    }

    #[test]
    fn functions_in_a_table_are_followed() {
        let planted = library("1010:\tnop").replace(
            "    1050:\tret",
            "    1050:\tjmp    1030 <core[c1f1a40a060b9bfa]::panicking::panic_bounds_check>",
        );
        let expected = "launch reaches a panic: ours::table::<3> -> ours::by_table -> core::panicking::panic_bounds_check";
        assert_eq!(faults(LISTED, &planted), [expected]);
    }

    #[test]
    fn a_name_that_is_gone_fails() {
        let renamed = library("1010:\tnop").replace("ours::table::<3>", "ours::other::<3>");
        assert_eq!(
            faults(LISTED, &renamed),
            ["ours::table: not in the library: rename or remove it in crates/capture/hot.toml"]
        );
        let uncalled = library("1010:\tnop").replace("call   1020 <ours::start>", "nop");
        assert_eq!(
            faults(LISTED, &uncalled),
            ["ours::start: no hot code calls it: remove it from crates/capture/hot.toml"]
        );
    }

    #[test]
    fn a_library_without_symbols_is_refused() {
        assert!(Code::read("SYMBOL TABLE:\nno symbols\n").is_err());
    }
}
