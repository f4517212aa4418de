//! Runs a program bare and under the capture library, and compares what can be seen from outside.

use crate::compile::{Binding, built, library};
use crate::recording::Recording;
use std::collections::HashMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than any program here takes on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longer than a benchmark takes.
#[allow(dead_code, reason = "tests are none")]
const LONG_PATIENCE: Duration = Duration::from_secs(300);

/// A program to run, and how.
#[derive(Clone)]
pub struct Program {
    path: PathBuf,
    words: Vec<String>,
    folder: PathBuf,
    environment: Vec<(String, String)>,
    preloaded: Option<String>,
    /// The library under test is loaded by the driver alone.
    late: bool,
    /// Whether the recording is also read as holdup reads it.
    gathered: bool,
    in_memory: bool,
    patience: Duration,
}

/// Outcome of a run, as seen from outside.
#[derive(PartialEq, Eq, Debug)]
pub struct Outcome {
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

/// A recorded run: what the program said of itself, and what was recorded.
pub struct Recorded {
    pub outcome: Outcome,
    pub facts: HashMap<String, Vec<u64>>,
    pub recording: Recording,
    /// As holdup reads it.
    pub trace: Option<trace::Trace>,
}

impl Recorded {
    /// The one number that the program gave under a name.
    pub fn fact(&self, name: &str) -> u64 {
        match self.facts.get(name).map(Vec::as_slice) {
            Some([only]) => *only,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// All numbers under a name, in the order they were given.
    pub fn facts(&self, name: &str) -> &[u64] {
        self.facts.get(name).map_or(&[], Vec::as_slice)
    }

    /// The frames of the first call of a function that has a stack, as holdup reads them, innermost first:
    /// function, file's name and line.
    pub fn frames_of(&self, function: &str) -> Vec<(String, String, u32)> {
        let trace = self.trace.as_ref().expect("it was gathered");
        let is_it = |call: &trace::CallId| {
            let (stack, name) = (trace.calls.stack[call.index()], trace.calls.name[call.index()]);
            stack.is_some() && trace.text(name).trim_end_matches("_v2") == function.trim_end_matches("_v2")
        };
        let call = trace.calls.ids().find(is_it).expect("a call with a stack");
        let innermost = trace.calls.stack[call.index()].some();
        let stacks = std::iter::successors(innermost, |stack| trace.stacks.caller[stack.index()].some());
        let frame = |stack: trace::StackId| {
            let frame = trace.frames.row(trace.stacks.frame[stack.index()]);
            let file = trace.text(frame.file).rsplit('/').next().unwrap_or_default();
            (trace.text(frame.function).to_owned(), file.to_owned(), frame.line)
        };
        stacks.map(frame).collect()
    }

    /// The process of a program that has one.
    pub fn process(&self) -> &crate::recording::Process {
        match self.recording.processes.as_slice() {
            [only] => only,
            several => panic!("{} files in the spool", several.len()),
        }
    }
}

impl Program {
    /// One that is linked with the driver.
    pub fn linked(binding: Binding, program: &str, scenario: &str) -> Program {
        Program::new(built().linked(binding, program), built().folder(binding), &[scenario])
    }

    /// One that looks the driver's functions up: by `dlsym`, or by the driver's own look-up.
    pub fn looking_up(program: &str, scenario: &str) -> Program {
        Program::new(built().looking_up(program), built().folder(Binding::Lazy), &[scenario])
    }

    /// Any program, which finds the libraries of `folder`.
    pub fn new(path: PathBuf, folder: PathBuf, words: &[&str]) -> Program {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Program {
            path,
            words,
            folder,
            environment: Vec::new(),
            preloaded: None,
            late: false,
            gathered: false,
            in_memory: false,
            patience: PATIENCE,
        }
    }

    /// With an environment variable.
    pub fn with(mut self, name: &str, value: &str) -> Program {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// At a level for which there is a stand-in for CUPTI.
    pub fn at_level(self, level: &str) -> Program {
        let folders =
            [self.folder.clone(), self.folder.join("inner")].map(|folder| folder.display().to_string());
        self.with(spool::VAR_LEVEL, level).with("LD_LIBRARY_PATH", &folders.join(":"))
    }

    /// With a library that is preloaded, too.
    pub fn preloading(mut self, library: &str) -> Program {
        self.preloaded = Some(library.to_owned());
        self
    }

    /// And has holdup read what was recorded.
    pub fn gathered(mut self) -> Program {
        self.gathered = true;
        self
    }

    /// And records into memory: pages of a file on a disk fault again whenever they were written there.
    #[allow(dead_code, reason = "benchmarks are none")]
    pub fn in_memory(mut self) -> Program {
        self.in_memory = true;
        self
    }

    /// And takes as long as a benchmark.
    #[allow(dead_code, reason = "tests are none")]
    pub fn patient(mut self) -> Program {
        self.patience = LONG_PATIENCE;
        self
    }

    /// And ends within so long.
    #[allow(dead_code, reason = "most programs have no limit of their own")]
    pub fn within(mut self, patience: Duration) -> Program {
        self.patience = patience;
        self
    }

    /// As where something between holdup and the program takes `LD_PRELOAD` away.
    pub fn not_preloaded(mut self) -> Program {
        self.late = true;
        self
    }

    /// Runs it bare, then recorded, and compares the outcomes.
    pub fn both(&self) -> Recorded {
        let (bare, _) = self.bare();
        let recorded = self.recorded();
        assert_eq!(recorded.outcome, bare, "recording shows: {} {:?}", self.path.display(), self.words);
        recorded
    }

    /// Runs it recorded, and again if that did not meet what it waits for: threads that wait for each other do so less where
    /// other programs have the processors.
    pub fn recorded_until(&self, enough: impl Fn(&Recorded) -> bool) -> Recorded {
        const TRIES: usize = 5;
        let mut tries = std::iter::repeat_with(|| self.recorded()).take(TRIES);
        let first = tries.next().expect("there is a first");
        if enough(&first) { first } else { tries.find(&enough).unwrap_or(first) }
    }

    /// Runs it without the library: what it looked like, and what it said of itself.
    pub fn bare(&self) -> (Outcome, HashMap<String, Vec<u64>>) {
        let folder = TempDir::new().expect("a temporary folder");
        let facts = folder.path().join("facts");
        (self.run(&facts, self.preloaded.as_deref().unwrap_or(""), &[]), read_facts(&facts))
    }

    /// Runs it with the library, as `holdup record` does.
    pub fn recorded(&self) -> Recorded {
        let memory = self.in_memory.then(|| TempDir::new_in("/dev/shm").ok()).flatten();
        let folder = memory.unwrap_or_else(|| TempDir::new().expect("a temporary folder"));
        let spool = folder.path().join("spool");
        fs::create_dir(&spool).expect("a folder for the spool");
        let [library, directory] =
            [library(), spool.as_path()].map(|path| path.to_str().expect("paths are UTF-8"));
        let environment = [
            ("CUDA_INJECTION64_PATH", library),
            (spool::VAR_DIRECTORY, directory),
            (spool::VAR_LEVEL, "light"),
        ];
        let facts = folder.path().join("facts");
        let first = if self.late { "" } else { library };
        let preloaded = [first, self.preloaded.as_deref().unwrap_or("")].join(":");
        let outcome = self.run(&facts, &preloaded, &environment);
        let trace = self.gathered.then(|| import::open(&spool, &mut |_| {}).expect("the spool can be read"));
        Recorded { outcome, facts: read_facts(&facts), recording: Recording::read(&spool), trace }
    }

    fn run(&self, facts: &Path, preloaded: &str, environment: &[(&str, &str)]) -> Outcome {
        let folder = facts.parent().expect("facts lie in a folder");
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| folder.join(name));
        let file = |path: &Path| Stdio::from(fs::File::create(path).expect("a file for what it says"));
        let mut command = Command::new(&self.path);
        command.args(&self.words).stdin(Stdio::null()).stdout(file(&stdout)).stderr(file(&stderr));
        command.env("LD_LIBRARY_PATH", &self.folder).env("STANDIN_FACTS", facts).env("LD_PRELOAD", preloaded);
        command.envs(environment.iter().copied());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", self.path.display()));
        let status = self.wait(&mut child, &stderr);
        let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).expect("it was made")).into_owned();
        let (stdout, stderr) = (read(&stdout), read(&stderr));
        Outcome { stdout, stderr, code: status.code(), signal: status.signal() }
    }

    /// Waits for it to end, but not for ever.
    fn wait(&self, child: &mut Child, stderr: &Path) -> ExitStatus {
        let begin = Instant::now();
        while begin.elapsed() < self.patience {
            if let Some(status) = child.try_wait().expect("it is our child") {
                return status;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let stacks = stacks(child.id());
        child.kill().expect("it is our child");
        child.wait().expect("it is our child");
        let said = fs::read_to_string(stderr).unwrap_or_default();
        panic!("{} {:?} did not end; it said: {said}\n{stacks}", self.path.display(), self.words);
    }
}

/// The stacks of a process's threads, if there is a debugger.
fn stacks(pid: u32) -> String {
    let mut gdb = Command::new("gdb");
    gdb.args(["--batch", "--nx", "-ex", "thread apply all backtrace 24", "-p", &pid.to_string()]);
    match gdb.stdin(Stdio::null()).output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(error) => format!("no stacks: gdb: {error}"),
    }
}

fn read_facts(path: &Path) -> HashMap<String, Vec<u64>> {
    let mut facts = HashMap::<String, Vec<u64>>::new();
    for line in fs::read_to_string(path).unwrap_or_default().lines() {
        let (name, value) = line.split_once(' ').expect("a name and a number");
        facts.entry(name.to_owned()).or_default().push(value.parse().expect("a number"));
    }
    facts
}
