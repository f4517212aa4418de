//! NVIDIA's Multi-Process Service: the run's own daemon if the workload uses MPS, and no daemon if it does not.

use super::partial::Partial;
use super::signals::Signals;
use crate::Error;
use crate::error::said;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use workload::Workload;

/// The daemon's program, which also sends commands to a running daemon.
const CONTROL: &str = "nvidia-cuda-mps-control";

/// Where a daemon's sockets are, and its log.
const PIPES: &str = "CUDA_MPS_PIPE_DIRECTORY";
const LOGS: &str = "CUDA_MPS_LOG_DIRECTORY";

/// The default directory of a daemon.
const USUAL: &str = "/tmp/nvidia-mps";

/// The longest path of a directory with sockets: a socket's path has at most 108 bytes, the daemon's longest name about 30.
const LONGEST: usize = 70;

/// The time for a daemon to start or to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time between two checks whether it has.
const GLANCE: Duration = Duration::from_millis(5);

/// The file with the daemon's output at its start.
const WORDS: &str = "holdup-start";

/// The state of MPS during a run.
pub enum Mps {
    /// No daemon, and nothing changed.
    None,
    /// Another daemon runs on this machine, and processes must not use it: they get an empty directory.
    Avoided { server: PathBuf, empty: TempDir },
    /// The run's own daemon.
    Own(Daemon),
}

impl Mps {
    /// Prepares what the workload needs.
    pub fn of(workload: &Workload, signals: &Signals) -> Result<Mps, Error> {
        if workload.mps {
            return Daemon::start(signals).map(Mps::Own);
        }
        match serving() {
            None => Ok(Mps::None),
            Some(server) => Ok(Mps::Avoided { server, empty: directory()? }),
        }
    }

    /// Variables of the processes.
    pub fn variables(&self) -> Vec<(String, Option<OsString>)> {
        let directory = match self {
            Mps::None => return Vec::new(),
            Mps::Avoided { empty, .. } => empty.path(),
            Mps::Own(daemon) => daemon.directory.path(),
        };
        vec![(PIPES.to_owned(), Some(directory.into()))]
    }

    /// Ends the run's own daemon. Returns remarks, one line each.
    pub fn end(self) -> Vec<String> {
        match self {
            Mps::None => Vec::new(),
            Mps::Avoided { server, .. } => {
                vec![format!("an MPS daemon runs in {}; the workload did not use it", server.display())]
            }
            Mps::Own(mut daemon) => {
                daemon.stop().err().map(|problem| problem.to_string()).into_iter().collect()
            }
        }
    }
}

/// The directory of the daemon that programs started here would use, if one runs.
pub(crate) fn serving() -> Option<PathBuf> {
    let directory = std::env::var_os(PIPES).filter(|directory| !directory.is_empty());
    let directory = directory.map_or(USUAL.into(), PathBuf::from);
    pid(&directory).is_some_and(is_daemon).then_some(directory)
}

/// The daemon of a run, in its own directory.
pub struct Daemon {
    directory: TempDir,
    pid: Option<u32>,
}

impl Daemon {
    /// Starts a daemon and waits until it accepts commands.
    fn start(signals: &Signals) -> Result<Daemon, Error> {
        let mut daemon = Daemon { directory: directory()?, pid: None };
        let status = daemon.launch(signals).map_err(|error| not_started(&error))?;
        let began = Instant::now();
        let waits = || status.is_some_and(|status| status.success()) && began.elapsed() < PATIENCE;
        while waits() && !signals.came() {
            daemon.pid = daemon.written();
            if daemon.pid.is_some() && daemon.directory.path().join("control").exists() {
                return Ok(daemon);
            }
            std::thread::sleep(GLANCE);
        }
        // Ctrl-C also ends the daemon's program: its failure is no error then.
        if let Some(signal) = signals.take() {
            return Err(Partial::Signal(signal).interrupting("an MPS daemon was started"));
        }
        let words = std::fs::read_to_string(daemon.directory.path().join(WORDS)).unwrap_or_default();
        let words = words.trim().lines().last().unwrap_or("it says nothing").to_owned();
        problem(format!("{CONTROL} does not start a server: {words}: run `{CONTROL} -d` to see why"))
    }

    /// Starts it in the background. Its output goes into a file, because a pipe would stay open as long as it runs.
    fn launch(&self, signals: &Signals) -> io::Result<Option<ExitStatus>> {
        let words = File::create(self.directory.path().join(WORDS))?;
        let mut command = self.command();
        command.arg("-d").stdin(Stdio::null()).stdout(words.try_clone()?).stderr(words);
        wait_for(&mut command.spawn()?, || signals.came())
    }

    /// The daemon of the directory, if one runs.
    fn written(&self) -> Option<u32> {
        pid(self.directory.path()).filter(|pid| is_daemon(*pid))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(CONTROL);
        command.env(PIPES, self.directory.path()).env(LOGS, self.directory.path());
        command
    }

    /// Ends it, and waits until it has ended.
    fn stop(&mut self) -> Result<(), Error> {
        let Some(pid) = self.pid.take().or_else(|| self.written()) else { return Ok(()) };
        // The answer does not matter, only whether it ends.
        let _ = self.ask("quit\n");
        let gone = || wait_until_gone(pid);
        if gone() {
            return Ok(());
        }
        for signal in [libc::SIGTERM, libc::SIGKILL] {
            // SAFETY: takes no pointer. The process of that number is the daemon still: it was never gone.
            unsafe { libc::kill(pid as i32, signal) };
            if gone() {
                return Ok(());
            }
        }
        problem(format!("the daemon with process id {pid} does not end: kill it"))
    }

    fn ask(&self, order: &str) -> io::Result<()> {
        let mut asking =
            self.command().stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        if let Some(mut input) = asking.stdin.take() {
            input.write_all(order.as_bytes())?;
        }
        wait_for(&mut asking, || false).map(drop)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Nothing can report an error here.
        let _ = self.stop();
    }
}

/// Waits for a program of MPS to end, for a limited time and not after `stop`. Then it is killed, and there is no status.
fn wait_for(program: &mut Child, stop: impl Fn() -> bool) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE && !stop() {
        if let Some(status) = program.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(GLANCE);
    }
    program.kill()?;
    program.wait()?;
    Ok(None)
}

/// A new directory whose path is short enough for sockets.
fn directory() -> Result<TempDir, Error> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("holdup-mps-");
    let usual = std::env::temp_dir();
    let parent = if usual.as_os_str().len() <= LONGEST - 20 { usual.as_path() } else { Path::new("/tmp") };
    builder
        .tempdir_in(parent)
        .map_err(|error| Error::system(format!("a directory in {}", parent.display()), &error))
}

/// The process id in a daemon's file.
fn pid(directory: &Path) -> Option<u32> {
    std::fs::read_to_string(directory.join(format!("{CONTROL}.pid"))).ok()?.trim().parse().ok()
}

/// Whether the process with that id is a daemon, and not another process that reuses the id.
fn is_daemon(pid: u32) -> bool {
    // The kernel keeps 15 bytes of a name.
    std::fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with(&CONTROL.as_bytes()[..15]))
}

fn wait_until_gone(pid: u32) -> bool {
    let began = Instant::now();
    while is_daemon(pid) {
        if began.elapsed() > PATIENCE / 2 {
            return false;
        }
        std::thread::sleep(GLANCE);
    }
    true
}

fn not_started(error: &io::Error) -> Error {
    let what_to_do = "it is part of NVIDIA's driver (Debian: nvidia-cuda-mps), and of containers started with `--gpus all`";
    match error.kind() {
        io::ErrorKind::NotFound => Error::Mps { problem: format!("{CONTROL} is not in PATH: {what_to_do}") },
        _ => Error::Mps { problem: format!("{CONTROL} cannot be started: {}", said(error)) },
    }
}

fn problem<T>(problem: String) -> Result<T, Error> {
    Err(Error::Mps { problem })
}
