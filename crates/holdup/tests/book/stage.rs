//! Where documented command lines are run: a folder of its own that looks like the repository, with the files that the pages name, on a
//! stand-in for the driver. No GPU is needed, and nothing in the repository changes.

use crate::compile::{Binding, built, library};
use crate::page::root;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Files that pages name and no command of theirs makes, by what they are: examples, and files in `tests/data/book`.
const PROPS: &[(&str, &str)] = &[
    ("train.py", "crates/holdup/tests/data/book/train.py"),
    ("train.holdup", "examples/recorded-d2h-stall.holdup"),
    ("server.holdup", "examples/recorded-d2h-stall.holdup"),
    ("mine.toml", "crates/holdup/tests/data/book/mine.toml"),
    ("run.holdup", "examples/recorded-d2h-stall.holdup"),
    ("main.holdup", "examples/recorded-d2h-stall.holdup"),
    ("branch.holdup", "examples/recorded-d2h-own-streams.holdup"),
    ("trace.json.gz", "examples/pytorch-d2h-stall.json.gz"),
];

/// Programs that pages name: `python` is python3, and a browser opens nothing.
const PROGRAMS: &[(&str, &str)] = &[("python", "exec python3 \"$@\""), ("xdg-open", "exit 0")];

/// Result of a command line.
pub struct Run {
    /// Whether it succeeded.
    pub success: bool,
    /// Text that it printed on standard output.
    pub output: String,
    /// Text that it printed on standard error.
    pub errors: String,
}

/// The folder.
pub struct Stage {
    folder: TempDir,
}

impl Stage {
    /// A new one.
    pub fn new() -> Stage {
        let folder = tempfile::tempdir().expect("can create");
        for entry in root().read_dir().expect("the repository").flatten() {
            let name = entry.file_name();
            if !matches!(name.to_str(), Some("target" | ".git")) {
                symlink(entry.path(), folder.path().join(name)).expect("can link");
            }
        }
        let programs = folder.path().join(".programs");
        std::fs::create_dir(&programs).expect("can create");
        for (name, body) in PROGRAMS {
            let path = programs.join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("can write");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("can change");
        }
        Stage { folder }
    }

    /// Whether a test can run a command line: it builds and downloads nothing.
    pub fn can_run(line: &str) -> bool {
        let line = installed(line);
        let words = line.split_ascii_whitespace().filter(|word| !word.contains('=') && *word != "time");
        let program = words.map(str::to_owned).next().unwrap_or_default();
        !matches!(program.as_str(), "cargo" | "pip" | "uvx" | "docker") && !program.starts_with("benches/")
    }

    /// Runs a command line as a shell does.
    pub fn run(&self, line: &str) -> Run {
        self.bring(line);
        let line = installed(line);
        if line.starts_with("holdup view ") && !line.contains("--help") {
            return self.serve(&line);
        }
        let output = self.shell(&line).output().expect("bash starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        Run { success: output.status.success(), output: text(output.stdout), errors: text(output.stderr) }
    }

    /// Puts the files that a command line reads where it looks for them, except those that an earlier one wrote.
    fn bring(&self, line: &str) {
        let words: Vec<&str> = line.split([' ', ':']).collect();
        for (at, word) in words.iter().enumerate() {
            let written = at > 0 && matches!(words[at - 1], "-o" | "--output" | "--trace");
            let prop = PROPS.iter().find(|(name, _)| name == word);
            let path = self.folder.path().join(word);
            if let Some((_, source)) = prop.filter(|_| !written && !path.exists()) {
                std::fs::copy(root().join(source), path).expect("can copy");
            }
        }
    }

    fn shell(&self, line: &str) -> Command {
        // Nothing that a page shows takes a minute on an idle machine.
        let mut command = Command::new("timeout");
        let built_here = Path::new(env!("CARGO_BIN_EXE_holdup")).parent().expect("it lies in a folder");
        let paths = [self.folder.path().join(".programs"), built_here.to_owned()];
        let given = std::env::var_os("PATH").unwrap_or_default();
        let paths = paths.into_iter().chain(std::env::split_paths(&given).collect::<Vec<PathBuf>>());
        command.args(["200", "bash", "-c", line]).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("PATH", std::env::join_paths(paths).expect("no colons"));
        command.env("HOLDUP_CAPTURE_LIB", library()).env("STANDIN_FACTS", self.folder.path().join(".facts"));
        command.env("LD_LIBRARY_PATH", built().folder(Binding::Lazy)).env_remove("LD_PRELOAD");
        command.env("HOLDUP_LIBCUDA", "/nowhere/libcuda.so.1").env_remove("COLUMNS");
        command
    }

    /// Serves a page until its address is printed.
    fn serve(&self, line: &str) -> Run {
        let mut command = self.shell(&format!("exec {line}"));
        let mut server: Child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("bash starts");
        let mut output = String::new();
        let mut printed = BufReader::new(server.stdout.take().expect("a pipe"));
        printed.read_line(&mut output).expect("readable");
        // Not a kill: `timeout` passes this signal on.
        Command::new("kill").arg(server.id().to_string()).status().expect("kill starts");
        server.wait().expect("it ends");
        Run { success: !output.is_empty(), output, errors: String::new() }
    }
}

/// The line for a holdup that is installed: `cargo run -- explain` builds it first.
fn installed(line: &str) -> String {
    line.replacen("cargo run -- ", "holdup ", 1)
}
