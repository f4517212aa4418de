//! Runs a program with the capture library.

use crate::clock::{monotonic_ns, unix_ns};
use crate::control::Control;
use crate::refused::{self, Ear};
use crate::signals::{Meaning, Signal, Signals};
use crate::witness::Witness;
use crate::{Error, Obstacle, Options, Recording, Spool, Status, descendants, image};
use libc::{c_int, pid_t};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::{Duration, Instant};
use watch::Watcher;

/// How long to wait for processes that outlive the program and still write.
pub const GRACE: Duration = Duration::from_secs(5);

/// Time between two checks of these processes.
const GLANCE: Duration = Duration::from_millis(50);

/// How long to sleep while the program runs: signals end the sleep.
const SLEEP: Duration = Duration::from_secs(60);

/// A program to record.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program and its arguments. A program without a slash is searched in `PATH`.
    pub argv: Vec<OsString>,
    /// Options of the recording.
    pub options: Options,
}

/// A moment on both clocks, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// `CLOCK_MONOTONIC`, the clock of everything in a spool.
    pub monotonic_ns: i64,
    /// `CLOCK_REALTIME`, since 1970.
    pub unix_ns: i64,
}

/// The result of recording a program.
#[derive(Debug)]
pub struct Outcome {
    /// The recording; removed when dropped.
    pub spool: Spool,
    /// How the program ended.
    pub status: Status,
    /// Notes for the reader of the recording, one line each.
    pub notes: Vec<String>,
    /// Processes that are not recorded, since they could not make their file; the notes say why.
    pub unrecorded: u64,
    /// How often programs of another C library (musl), or for another processor, were executed, which are not recorded.
    pub foreign_programs: u64,
    /// How often programs were executed under a seccomp filter of the program's, which are not recorded.
    pub filtered_programs: u64,
    /// Obstacle that kept the program itself from being recorded.
    pub obstacle: Option<Obstacle>,
    /// Just before the program was started.
    pub started: Moment,
    /// When the program ended; processes that it left may have written later.
    pub ended: Moment,
}

impl Command {
    /// Runs the program to its end, with this process's standard input, output and error, and passes on signals sent
    /// only to this process, except SIGUSR2, which switches recording on and off. Then waits at most [`GRACE`] for
    /// processes of the program that outlive it and still write; a signal ends that wait.
    ///
    /// Meanwhile a second thread watches the program's processes; it has ended when this returns.
    ///
    /// Only for the main thread of a process without other threads or children: it blocks the thread's signals, waits
    /// for all children, and makes this process adopt orphans.
    ///
    /// # Errors
    ///
    /// [`Error`]: the program cannot be started, there is no capture library, or no place for a spool. An error leaves
    /// no files.
    pub fn run(&self) -> Result<Outcome, Error> {
        let recording = Recording::prepare(&self.options)?;
        descendants::adopt();
        let signals = Signals::hold();
        let witness = Witness::start(&signals);
        let failed = |source| Error::Spool { path: recording.spool.path().to_owned(), source };
        let mut control = Control::new(&recording.spool, self.options.schedule).map_err(failed)?;
        let ear = Ear::of(recording.spool.path());
        let started = Moment::now();
        let obstacle = self.obstacle();
        let child = self.start(&recording, obstacle.as_ref(), &signals)?;
        let watcher = self.watch(recording.spool.path());
        let status = attend(child, &signals, witness, &mut control)
            .map_err(|source| Error::Lost { program: self.program().display().to_string(), source })?;
        let ended = Moment::now();
        signals.forget();
        let Recording { spool, environment } = recording;
        let mut notes = environment.notes;
        notes.extend(linger(spool.path(), &signals));
        notes.extend(finish(watcher));
        let refused = ear.heard();
        notes.extend(refused::notes(&refused));
        let unrecorded = refused.len() as u64;
        let shared = std::fs::read(spool.path().join(spool::SHARED)).unwrap_or_default();
        let foreign_programs = spool::foreign_programs(&shared);
        let filtered_programs = spool::filtered_programs(&shared);
        Ok(Outcome {
            spool,
            status,
            notes,
            unrecorded,
            foreign_programs,
            filtered_programs,
            obstacle,
            started,
            ended,
        })
    }

    /// Obstacle that keeps the program itself from being recorded. The program runs nevertheless, and programs that a
    /// static one starts are recorded.
    pub fn obstacle(&self) -> Option<Obstacle> {
        image::obstacle(self.program())
    }

    /// Starts to watch, once the program was started: before, a second thread would hold locks in its copy of this
    /// process.
    fn watch(&self, spool: &Path) -> io::Result<Watcher> {
        let Options { sample_rate, max_size, keep_last, .. } = self.options;
        // What was seen is not overwritten: it must leave room for the names that the program's records refer to.
        let max_size = if keep_last { max_size - max_size / 8 } else { max_size };
        Watcher::start(watch::Options { directory: spool.to_owned(), sample_rate, max_size })
    }

    fn program(&self) -> &Path {
        Path::new(self.argv.first().map_or("".as_ref(), OsString::as_os_str))
    }

    /// Starts the program.
    fn start(
        &self,
        recording: &Recording,
        obstacle: Option<&Obstacle>,
        signals: &Signals,
    ) -> Result<pid_t, Error> {
        let (program, arguments) = self.argv.split_first().ok_or(Error::NoCommand)?;
        let mut command = std::process::Command::new(program);
        command.args(arguments);
        // Its loader would end it: it cannot load the library.
        let is_foreign = matches!(obstacle, Some(Obstacle::Foreign { .. } | Obstacle::Processor(_)));
        let variables = recording.environment.variables.iter();
        for (name, value) in variables.filter(|(name, _)| !(is_foreign && *name == spool::VAR_PRELOAD)) {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let original = signals.original();
        // SAFETY: `restore_all` makes system calls only.
        unsafe { command.pre_exec(move || original.restore_all()) };
        let child = command.spawn().map_err(|source| Error::refused(self.program(), source))?;
        Ok(child.id() as pid_t)
    }
}

/// Ends the watcher; returns its notes.
fn finish(watcher: io::Result<Watcher>) -> Vec<String> {
    match watcher {
        Ok(watcher) => watcher.finish().notes,
        Err(error) => vec![format!("states and samples of threads are missing: {error}")],
    }
}

impl Moment {
    fn now() -> Moment {
        Moment { monotonic_ns: monotonic_ns(), unix_ns: unix_ns() }
    }
}

/// Waits for the program to end; meanwhile passes signals on, stops and continues with it, and switches recording.
fn attend(
    child: pid_t,
    signals: &Signals,
    mut witness: Witness,
    control: &mut Control,
) -> io::Result<Status> {
    loop {
        match next_change(child)? {
            Some(Change::Ended(status)) => return Ok(status),
            Some(Change::Stopped(signal)) => stop_along(signal, signals),
            None => {}
        }
        if let Some(signal) = witness.next(signals, control.wait(SLEEP)) {
            pass_on(child, signal, &mut witness, control);
        }
    }
}

/// A change of the program's state.
enum Change {
    Ended(Status),
    Stopped(c_int),
}

/// Waits for all children that ended, including orphans of the program; returns the program's next change.
fn next_change(child: pid_t) -> io::Result<Option<Change>> {
    loop {
        let mut status = 0;
        // SAFETY: writes to `status`.
        let pid = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG | libc::WUNTRACED) };
        match pid {
            -1 => return Err(io::Error::last_os_error()),
            0 => return Ok(None),
            pid if pid == child => return Ok(change(status)),
            _ => {}
        }
    }
}

fn change(status: c_int) -> Option<Change> {
    if libc::WIFEXITED(status) {
        Some(Change::Ended(Status::Exited(libc::WEXITSTATUS(status))))
    } else if libc::WIFSIGNALED(status) {
        Some(Change::Ended(Status::Signaled(libc::WTERMSIG(status))))
    } else {
        Some(Change::Stopped(libc::WSTOPSIG(status))).filter(|_| libc::WIFSTOPPED(status))
    }
}

/// Stops with the program, so that the shell sees its job stopped.
fn stop_along(signal: c_int, signals: &Signals) {
    // A sender that stops only the program by SIGSTOP also continues only the program.
    if signal != libc::SIGSTOP {
        signals.stop(signal);
    }
}

fn pass_on(child: pid_t, signal: Signal, witness: &mut Witness, control: &mut Control) {
    let told = match signal.meaning() {
        Meaning::Child => return,
        Meaning::Continue => return go_on(child),
        // The program decides whether it stops; this process then stops too. A second signal is harmless.
        Meaning::Stop => false,
        Meaning::Message => witness.heard(signal.number),
    };
    // One that went to the whole group is the program's.
    if signal.number == libc::SIGUSR2 {
        if !told {
            control.switch();
        }
        return;
    }
    if !told && signal.is_for_program() {
        send(child, signal.number);
    }
}

/// Continues the program, unless the sender that continued this process already did.
fn go_on(child: pid_t) {
    if descendants::is_stopped(child) {
        send(child, libc::SIGCONT);
    }
}

/// Sends a signal to the program; its process id is still valid because nothing has waited for it.
fn send(child: pid_t, signal: c_int) {
    // SAFETY: a plain system call.
    unsafe { libc::kill(child, signal) };
}

/// Waits up to [`GRACE`] for processes that the program left; returns a note if some still run.
fn linger(spool: &Path, signals: &Signals) -> Option<String> {
    let began = Instant::now();
    loop {
        // An error means that no children are left, which is no change either.
        let _ = next_change(0);
        let writers = descendants::writers(spool);
        if writers.is_empty() {
            return None;
        }
        let signal = signals.next(GLANCE);
        match signal.map(Signal::meaning) {
            Some(Meaning::Stop) => signals.stop(libc::SIGTSTP),
            Some(Meaning::Message) => return Some(left(&writers)),
            _ if began.elapsed() >= GRACE => return Some(left(&writers)),
            _ => {}
        }
    }
}

fn left(writers: &[pid_t]) -> String {
    let (what, pids) = (if writers.len() == 1 { "process" } else { "processes" }, shown(writers));
    format!("the program left {what} {pids} running: their records after the program's end may be missing")
}

pub(crate) fn shown(pids: &[pid_t]) -> String {
    const MOST: usize = 5;
    let first: Vec<String> = pids.iter().take(MOST).map(pid_t::to_string).collect();
    let more = pids.len().saturating_sub(MOST);
    if more == 0 { first.join(", ") } else { format!("{} and {more} more", first.join(", ")) }
}
