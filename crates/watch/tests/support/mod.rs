//! Runs a program with a watcher beside it, and reads what it saw.

#![allow(dead_code, reason = "each test program uses a part")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trace::{StackId, State, ThreadId, Trace};
use watch::{Options, Report, Watcher};

/// Longer than any program here takes on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// Facts that a program stated, and the trace and report of it.
pub struct Seen {
    /// Numbers by name, in the order they were said.
    pub facts: HashMap<String, Vec<Vec<u64>>>,
    pub trace: Trace,
    pub report: Report,
}

/// A spool's folder, and a header for programs that are not Rust.
pub fn spool() -> TempDir {
    let folder = TempDir::new().expect("a temporary folder");
    let header = spool::Build::new(0, spool::Level::Light).finish();
    std::fs::write(folder.path().join("header"), header).expect("a file");
    folder
}

pub fn planted() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let target = test.ancestors().nth(2).expect("tests lie in <profile>/deps");
    let program = target.join("examples/watch_planted");
    assert!(program.exists(), "{} is missing: cargo build -p holdup-watch --examples", program.display());
    program
}

/// Runs a program of one case to its end, watched.
pub fn watched(program: &Path, arguments: &[&str], sample_rate: u32) -> Seen {
    with(program, arguments, sample_rate, |_| {})
}

/// Like [`watched`], but again if it did not see enough: on a machine with much else to do a watcher may look seldom.
pub fn watched_until(
    program: &Path,
    arguments: &[&str],
    sample_rate: u32,
    enough: impl Fn(&Seen) -> bool,
) -> Seen {
    const TRIES: usize = 5;
    let mut tries = std::iter::repeat_with(|| watched(program, arguments, sample_rate)).take(TRIES);
    let first = tries.next().expect("there is a first");
    if enough(&first) { first } else { tries.find(&enough).unwrap_or(first) }
}

/// Like [`watched`], but calls `started` with the program's process.
pub fn with(program: &Path, arguments: &[&str], sample_rate: u32, started: impl FnOnce(&Child)) -> Seen {
    run(program, arguments, started, |folder| start(folder, sample_rate))
}

fn run(
    program: &Path,
    arguments: &[&str],
    started: impl FnOnce(&Child),
    watch: impl FnOnce(&Path) -> Watcher,
) -> Seen {
    let folder = spool();
    let mut command = Command::new(program);
    // A script is the interpreter's first argument, the spool its own.
    let (script, rest) =
        arguments.split_at(arguments.iter().take_while(|word| word.ends_with(".py")).count());
    command.args(script).arg(folder.path()).args(rest).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().expect("it starts");
    started(&child);
    let watcher = watch(folder.path());
    await_end(&mut child);
    let report = watcher.finish();
    let output = child.wait_with_output().expect("it ended");
    assert!(output.status.success(), "{}", output.status);
    let trace = import::open(folder.path(), &mut |_| {}).expect("a spool");
    Seen { facts: facts(&String::from_utf8_lossy(&output.stdout)), trace, report }
}

fn start(folder: &Path, sample_rate: u32) -> Watcher {
    limited(folder, sample_rate, 1 << 30)
}

fn limited(folder: &Path, sample_rate: u32, max_size: u64) -> Watcher {
    Watcher::start(Options { directory: folder.to_owned(), sample_rate, max_size }).expect("a thread")
}

/// Like [`watched`], but at 1000 samples a second, with so many bytes to write.
pub fn watched_within(program: &Path, arguments: &[&str], max_size: u64) -> Seen {
    run(program, arguments, |_| {}, |folder| limited(folder, 1000, max_size))
}

/// A program that ends by a signal while it is watched.
pub fn watched_to_death(program: &Path, arguments: &[&str]) -> Seen {
    let folder = spool();
    let mut command = Command::new(program);
    command.arg(folder.path()).args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let watcher = start(folder.path(), 100);
    await_end(&mut child);
    let report = watcher.finish();
    let output = child.wait_with_output().expect("it ended");
    assert!(!output.status.success());
    let trace = import::open(folder.path(), &mut |_| {}).expect("a spool");
    Seen { facts: facts(&String::from_utf8_lossy(&output.stdout)), trace, report }
}

/// Like [`watched`], but by a watcher that may not see more than any other user may.
pub fn watched_by_nobody(program: &Path, arguments: &[&str], sample_rate: u32) -> Seen {
    run(
        program,
        arguments,
        |_| {},
        |folder| {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777)).expect("own folder");
            std::thread::scope(|scope| {
                let starts = || {
                    // SAFETY: the system call changes the user of this thread alone, and of those that it starts.
                    unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) };
                    start(folder, sample_rate)
                };
                scope.spawn(starts).join().expect("it starts")
            })
        },
    )
}

fn await_end(child: &mut Child) {
    let began = Instant::now();
    while child.try_wait().expect("our child").is_none() {
        if began.elapsed() > PATIENCE {
            child.kill().expect("our child");
            panic!("the program does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn facts(text: &str) -> HashMap<String, Vec<Vec<u64>>> {
    let mut facts = HashMap::<String, Vec<Vec<u64>>>::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default().to_owned();
        facts.entry(name).or_default().push(words.map(|word| word.parse().expect("a number")).collect());
    }
    facts
}

impl Seen {
    /// The numbers of a fact that was said once.
    pub fn fact(&self, name: &str) -> &[u64] {
        match self.facts.get(name).map(Vec::as_slice) {
            Some([only]) => only,
            other => panic!("{name}: {other:?}"),
        }
    }

    pub fn thread(&self, tid: u64) -> ThreadId {
        let is_it = |id: &ThreadId| self.trace.threads.tid[id.index()] == tid as i64;
        self.trace.threads.ids().find(is_it).unwrap_or_else(|| panic!("thread {tid} was not seen"))
    }

    /// The rows of a thread, which must be in order.
    pub fn states(&self, tid: u64) -> Vec<State> {
        let thread = self.thread(tid);
        let rows = self.trace.states.ids().map(|id| self.trace.states.row(id));
        let rows: Vec<State> = rows.filter(|row| row.thread == thread).collect();
        assert!(rows.is_sorted_by(|a, b| a.end <= b.start), "rows overlap");
        rows
    }

    /// The innermost samples of a thread that `keep` takes: its frames as function and line, innermost first.
    pub fn samples(&self, tid: u64) -> Vec<Vec<(String, u32)>> {
        let thread = self.thread(tid);
        let of_thread = self.trace.samples.ids().map(|id| self.trace.samples.row(id));
        of_thread.filter(|sample| sample.thread == thread).map(|sample| self.frames(sample.stack)).collect()
    }

    fn frames(&self, innermost: StackId) -> Vec<(String, u32)> {
        let trace = &self.trace;
        let stacks =
            std::iter::successors(innermost.some(), |stack| trace.stacks.caller[stack.index()].some());
        let frame = |stack: StackId| trace.frames.row(trace.stacks.frame[stack.index()]);
        stacks.map(frame).map(|frame| (trace.text(frame.function).to_owned(), frame.line)).collect()
    }
}

/// Whether two times differ by no more than 2 % and the kernel's resolution, ns: its counters of a thread that another
/// one reads are exact to a tick, at most 10 ms.
pub fn is_close(found: i64, truth: i64) -> bool {
    (found - truth).abs() <= truth / 50 + 2_000_000
}
