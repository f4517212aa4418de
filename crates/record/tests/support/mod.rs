//! Starts the example `record_try`, which cargo builds before it runs tests.

#![allow(dead_code, reason = "each test program uses a part")]

pub mod interruptible;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A library that is harmless in any program that preloads it.
pub fn harmless() -> PathBuf {
    let loaded = std::fs::read_to_string("/proc/self/maps").expect("Linux");
    let path = loaded.lines().filter_map(|line| line.split_ascii_whitespace().nth(5));
    path.map(PathBuf::from)
        .find(|path| path.to_string_lossy().contains("/libgcc_s."))
        .expect("Rust's unwinder")
}

pub fn record_try() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let target = test.ancestors().nth(2).expect("tests lie in <profile>/deps");
    let program = target.join("examples/record_try");
    assert!(program.exists(), "{} is missing: cargo build -p holdup-record --examples", program.display());
    program
}

/// A command line to record, and a directory for its outcome.
pub struct Try {
    pub command: Command,
    pub directory: TempDir,
}

impl Try {
    pub fn new(argv: &[&str]) -> Try {
        let directory = TempDir::new().expect("a temporary directory");
        let mut command = Command::new(record_try());
        interruptible::interruptible(&mut command);
        let spools = directory.path().join("spools");
        std::fs::create_dir(&spools).expect("a directory");
        command.arg("run").args(argv).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("HOLDUP_CAPTURE_LIB", harmless()).env("RECORD_TRY_PARENT", &spools);
        command.env("RECORD_TRY_OUTCOME", directory.path().join("outcome"));
        for name in ["LD_PRELOAD", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"] {
            command.env_remove(name);
        }
        Try { command, directory }
    }

    pub fn shell(script: &str) -> Try {
        Try::new(&["sh", "-c", script])
    }

    pub fn env(mut self, name: &str, value: impl AsRef<Path>) -> Try {
        self.command.env(name, value.as_ref());
        self
    }

    /// Runs it to its end.
    pub fn run(&mut self) -> Output {
        self.command.output().expect("record_try starts")
    }

    /// Starts it in its own process group and waits until it is ready.
    pub fn start(&mut self) -> Child {
        let child = self.command.process_group(0).spawn().expect("record_try starts");
        self.await_ready();
        child
    }

    /// Waits until the program created the file `$READY`.
    pub fn await_ready(&self) {
        let patience = Instant::now() + Duration::from_secs(20);
        while !self.ready().exists() {
            assert!(Instant::now() < patience, "the program does not get ready");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn ready(&self) -> PathBuf {
        self.directory.path().join("ready")
    }

    /// How it ended, how many milliseconds the program took, and the notes.
    pub fn outcome(&self) -> (String, u64, String) {
        let text = std::fs::read_to_string(self.directory.path().join("outcome")).expect("an outcome");
        let mut lines = text.splitn(3, '\n');
        let status = lines.next().unwrap_or_default().to_owned();
        let took = lines.next().and_then(|took| took.strip_suffix(" ms")?.parse().ok()).expect("a time");
        (status, took, lines.next().unwrap_or_default().to_owned())
    }

    /// The number of spools that were left.
    pub fn left_behind(&self) -> usize {
        self.directory.path().join("spools").read_dir().expect("a directory").count()
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
