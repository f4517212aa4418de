//! Runs an adversary bare and at every level, and compares.

use crate::adversary::{Adversary, End, Place};
use crate::build::Built;
use crate::ledger::{self, Entry};
use crate::recording::Recording;
use std::ffi::CString;
use std::fmt::Write;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const LEVELS: [&str; 3] = ["light", "full", "calls"];
/// Longer than any program here takes on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(20);
/// What a start of a recording may take besides: the library of a test is not optimized.
const START: Duration = Duration::from_secs(1);
/// What a program exits with that cannot do its part on this machine; it says why on standard error.
const CANNOT: i32 = 77;

/// How the failure of a run begins that was ended from outside.
const HANGS: &str = "it did not end";

/// How the failure of a run begins whose place cannot be made.
const CANNOT_MOUNT: &str = "no file system can be mounted";

/// How the failure of a run begins that took too long.
const SLOW: &str = "it took";

/// How often such a run may be tried again.
const RETRIES: usize = 2;

/// Why there is no comparison, or what it found.
pub enum Failure {
    Skipped(String),
    Failed(String),
}

/// A run as seen from outside.
#[derive(PartialEq, Eq, Debug)]
struct Outcome {
    stdout: String,
    stderr: String,
    code: Option<i32>,
    signal: Option<i32>,
}

struct Run {
    outcome: Outcome,
    took: Duration,
    entries: Vec<Entry>,
}

/// Runs it in every way; fails with everything that is wrong.
pub fn compare(adversary: &Adversary, built: &Built) -> Result<(), Failure> {
    let bare = run(adversary, built, None).map_err(|what| Failure::Failed(format!("bare: {what}")))?;
    if bare.outcome.code == Some(CANNOT) {
        return Err(Failure::Skipped(bare.outcome.stderr.trim().to_owned()));
    }
    let end = match bare.outcome {
        Outcome { code: Some(code), .. } => End::Exit(code),
        Outcome { signal, .. } => End::Signal(signal.expect("it ended by either")),
    };
    if end != adversary.ends {
        let text = format!("bare: it ended with {end:?}, not {:?}: {:?}", adversary.ends, bare.outcome);
        return Err(Failure::Failed(text));
    }
    let mut wrong = String::new();
    for level in LEVELS {
        let mut found = at_level(adversary, built, &bare, level);
        // Other programs may have had the processors meanwhile: again, beside a bare run of the same moment.
        for _ in 0..RETRIES {
            if let (true, Ok(bare)) =
                (found.iter().any(|what| what.starts_with(SLOW)), run(adversary, built, None))
            {
                found = at_level(adversary, built, &bare, level);
            }
        }
        if let Some(why) = found.iter().find(|what| what.starts_with(CANNOT_MOUNT)) {
            return Err(Failure::Skipped(why.clone()));
        }
        found.iter().for_each(|what| writeln!(wrong, "{level}: {what}").unwrap());
        // It would hang at the next level, too.
        if found.iter().any(|what| what.starts_with(HANGS)) {
            break;
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Failure::Failed(wrong)) }
}

/// What is wrong at one level.
fn at_level(adversary: &Adversary, built: &Built, bare: &Run, level: &'static str) -> Vec<String> {
    let folder = TempDir::new().expect("a temporary folder");
    let spool = folder.path().join("spool");
    fs::create_dir(&spool).expect("a folder for the spool");
    let _mounted = match Mounted::at(&spool, adversary.place) {
        Ok(mounted) => mounted,
        Err(what) => return vec![what],
    };
    let recorded = match run(adversary, built, Some((level, &spool))) {
        Ok(recorded) => recorded,
        Err(what) => return vec![what],
    };
    let mut wrong = Vec::new();
    if recorded.outcome != bare.outcome {
        wrong.push(format!("it shows: {:?}, bare: {:?}", recorded.outcome, bare.outcome));
    }
    if is_slow(bare, &recorded) {
        wrong.push(format!("{SLOW} {:?}, bare: {:?}", recorded.took, bare.took));
    }
    if let Err(error) = import::open(&spool, &mut |_| {}) {
        // There may be nothing to read.
        let is_empty = Recording::read(&spool).processes.is_empty();
        wrong.extend((!is_empty).then(|| format!("holdup cannot read it: {error}")));
    }
    wrong.extend(ledger::compare(adversary, &recorded.entries, &Recording::read(&spool), level));
    wrong
}

/// Whether a recorded run took too long.
fn is_slow(bare: &Run, recorded: &Run) -> bool {
    recorded.took > 2 * bare.took + START
}

/// One run, bare or into a spool at a level.
fn run(adversary: &Adversary, built: &Built, recorded: Option<(&str, &Path)>) -> Result<Run, String> {
    let folder = TempDir::new().expect("a temporary folder");
    let [stdout, stderr, ledger] = ["stdout", "stderr", "ledger"].map(|name| folder.path().join(name));
    let ledger_file = File::create(&ledger).expect("a ledger");
    ledger_file.set_len(ledger::SIZE).expect("a ledger");
    for (path, mode) in [(folder.path(), 0o755), (&*ledger, 0o666)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }
    let file = |path: &Path| Stdio::from(File::create(path).expect("a file for what it says"));
    let mut command = Command::new(&built.line[0]);
    command.args(&built.line[1..]).current_dir(folder.path()).process_group(0);
    command.stdin(Stdio::null()).stdout(file(&stdout)).stderr(file(&stderr));
    command.env("LD_LIBRARY_PATH", joined(&built.folders)).env("STANDIN_LEDGER", &ledger);
    command.env("STANDIN_FOLDER", &built.folder);
    command.envs(adversary.environment.iter().copied());
    let library = crate::compile::library().to_owned();
    let ours = if recorded.is_some() { std::slice::from_ref(&library) } else { &[] };
    command.env("LD_PRELOAD", joined(&[&built.before[..], ours, &built.after[..]].concat()));
    if let Some((level, spool)) = recorded {
        command.env("CUDA_INJECTION64_PATH", &library).env("NVTX_INJECTION64_PATH", &library);
        command.env(spool::VAR_DIRECTORY, spool).env(spool::VAR_LEVEL, level);
    }
    let begin = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", built.line[0]))?;
    let ended = wait(&mut child, begin);
    let took = begin.elapsed();
    let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let entries = ledger::read(&ledger);
    let left = end_all(child.id(), &entries);
    let (stdout, stderr) = (read(&stdout), read(&stderr));
    let status = ended.map_err(|stacks| format!("{HANGS}; it said {stderr:?}\n{stacks}"))?;
    if left {
        return Err("a child did not end".to_owned());
    }
    let outcome = Outcome { stdout, stderr, code: status.code(), signal: status.signal() };
    Ok(Run { outcome, took, entries })
}

fn joined(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(":")
}

/// Waits for it to end; its threads' stacks if it does not.
fn wait(child: &mut Child, begin: Instant) -> Result<ExitStatus, String> {
    while begin.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().expect("it is our child") {
            return Ok(status);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let stacks = stacks(child.id());
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
    Err(stacks)
}

/// Where the threads of a process are, if there is a debugger.
fn stacks(pid: u32) -> String {
    let mut command = Command::new("timeout");
    command.args(["20", "gdb", "--batch", "-ex", "thread apply all bt 14", "-p", &pid.to_string()]);
    let output = command.stdin(Stdio::null()).output();
    output.map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a process group has a process that did not end. Those that ended may wait for one that asks for their status.
fn has_members(group: u32) -> bool {
    // SAFETY: asks whether there is a process of that group.
    if unsafe { libc::kill(-(group as i32), 0) } != 0 {
        return false;
    }
    let is_member = |entry: fs::DirEntry| {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // State, parent, group.
        let mut fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        fields.next() != Some("Z") && fields.nth(1) == Some(&group.to_string())
    };
    fs::read_dir("/proc").is_ok_and(|entries| entries.flatten().any(is_member))
}

/// Waits a while for all other processes of a program to end, then ends them; whether there were any.
fn end_all(group: u32, entries: &[Entry]) -> bool {
    let begin = Instant::now();
    // A process of a namespace has the id of another one here.
    let lives = |entry: &&Entry| {
        let program = fs::read_link(format!("/proc/{}/exe", entry.pid)).unwrap_or_default();
        program.starts_with(env!("CARGO_TARGET_TMPDIR"))
    };
    while has_members(group) || entries.iter().any(|entry| lives(&entry)) {
        if begin.elapsed() > Duration::from_secs(5) {
            // SAFETY: ends processes that the program started.
            unsafe { libc::kill(-(group as i32), libc::SIGKILL) };
            entries.iter().filter(lives).for_each(|entry| {
                // SAFETY: as before.
                unsafe { libc::kill(entry.pid as i32, libc::SIGKILL) };
            });
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// A file system for a recording, which goes when this is dropped.
struct Mounted(Option<CString>);

impl Mounted {
    fn at(folder: &Path, place: Place) -> Result<Mounted, String> {
        let (flags, size) = match place {
            Place::Folder => return Ok(Mounted(None)),
            Place::Disk(size) => (0, size),
            Place::ReadOnly => (libc::MS_RDONLY, 4096),
        };
        let path = CString::new(folder.as_os_str().as_bytes()).expect("no zero byte");
        let options = CString::new(format!("size={size}")).expect("no zero byte");
        // SAFETY: strings that end in a zero byte.
        let done = unsafe {
            libc::mount(c"none".as_ptr(), path.as_ptr(), c"tmpfs".as_ptr(), flags, options.as_ptr().cast())
        };
        match done {
            0 => Ok(Mounted(Some(path))),
            _ => Err(format!("{CANNOT_MOUNT}: {}", std::io::Error::last_os_error())),
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // SAFETY: a string that ends in a zero byte. Programs may not have ended.
            unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
        }
    }
}
