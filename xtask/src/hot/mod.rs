//! `cargo xtask hot`: proves by the library's machine code what the functions that run within a program's own calls
//! cannot do: panic, allocate, unwind, wait for a lock, ask the loader, or make a system call that is not on a list.
//!
//! The compiler decides which checks of Rust stay in the code, so the source cannot show it. Functions and the
//! calls between them are read from `llvm-objdump`; `crates/capture/hot.toml` lists where hot code begins.

mod arm;
mod code;
mod data;
mod flow;
mod library;
mod list;
mod machine;
mod text;
mod verdict;
mod x86;

use addr2line::Loader;
use code::Code;
use list::{LIST, List};
use machine::Machine;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use verdict::{Fault, Found, Used, unused, verdict};

/// Checks libraries; the summary if all pass. Builds that of each machine if none is given; `both` must be checked then,
/// or it is an error.
pub(crate) fn check(libraries: &[PathBuf], both: bool) -> Result<String, String> {
    let list = library::home().join(LIST);
    let text = std::fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let list = List::read(&text).map_err(|error| format!("{}: {error}", list.display()))?;
    let (mut summary, mut built) = (String::new(), Vec::new());
    if libraries.is_empty() {
        for machine in Machine::ALL {
            match library::missing(machine) {
                None => built.push(library::build(machine)?),
                Some(why) if both => return Err(format!("{}: {why}", machine.name())),
                Some(why) => eprintln!("cargo xtask hot: {}: not checked: {why}", machine.name()),
            }
        }
    }
    let (mut report, mut used, mut machines) = (Report::default(), Used::default(), Vec::new());
    for library in libraries.iter().chain(&built) {
        let code = Code::read(&library::disassemble(library)?)
            .map_err(|error| format!("{}: {error}", library.display()))?;
        let found = verdict(&list, &code);
        _ = writeln!(summary, "{}:\n{}", code.machine.name(), found.summary.trim_end());
        report.add(code.machine.name(), library, &found);
        used.add(&found.used);
        machines.push(code.machine);
    }
    // An entry may be needed on one machine only.
    if Machine::ALL.iter().all(|machine| machines.contains(machine)) {
        report.add_all(&unused(&list, &used));
    }
    report.end(summary)
}

/// The faults of all libraries.
#[derive(Default)]
struct Report {
    text: String,
    count: usize,
}

impl Report {
    /// Adds those of a library, each with its source lines if the library has them.
    fn add(&mut self, name: &str, library: &Path, found: &Found) {
        const SHOWN: usize = 3;
        let loader = Loader::new(library).ok();
        for fault in &found.faults {
            _ = writeln!(self.text, "{name}: {}", fault.text);
            for at in fault.at.iter().take(SHOWN) {
                let lines = loader.as_ref().map_or_else(String::new, |loader| lines(loader, *at));
                _ = writeln!(self.text, "    at {at:#x}{lines}");
            }
            if fault.at.len() > SHOWN {
                _ = writeln!(self.text, "    and at {} more", fault.at.len() - SHOWN);
            }
        }
        self.count += found.faults.len();
    }

    fn add_all(&mut self, faults: &[Fault]) {
        faults.iter().for_each(|fault| _ = writeln!(self.text, "{}", fault.text));
        self.count += faults.len();
    }

    fn end(mut self, summary: String) -> Result<String, String> {
        if self.count == 0 {
            return Ok(summary);
        }
        _ = write!(self.text, "{} to mend", self.count);
        Err(self.text)
    }
}

/// The source lines of an address, innermost first.
fn lines(loader: &Loader, at: u64) -> String {
    let mut text = String::new();
    let Ok(mut frames) = loader.find_frames(at) else { return text };
    while let Ok(Some(frame)) = frames.next() {
        let Some(location) = frame.location else { continue };
        let file = location.file.and_then(|file| file.rsplit('/').next()).unwrap_or_default();
        _ = write!(text, ", {file}:{}", location.line.unwrap_or(0));
    }
    text
}

#[cfg(test)]
mod tests;
