//! Runs a command as a process: its output goes into files, and nothing of it is left afterwards.

mod leftovers;

use crate::arms::Arm;
use crate::error::Problem;
use crate::proof::Run;
use leftovers::Leftovers;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often a run is checked for a signal and for its time limit. Both commands bear the same cost.
const LOOK: Duration = Duration::from_millis(50);

/// Runs commands, one at a time: the process that does has no other children.
pub struct Processes<'a> {
    timeout: Option<Duration>,
    interrupted: &'a AtomicBool,
    leftovers: Leftovers,
}

/// Reason why a run ended before the program did.
enum Stop {
    Signal,
    Timeout,
}

impl<'a> Processes<'a> {
    /// Ends a run that takes longer than `timeout`, and one during which `interrupted` becomes true.
    ///
    /// On Linux, processes that outlive the program that started them become children of this process, and are ended after
    /// each run.
    pub fn new(timeout: Option<Duration>, interrupted: &'a AtomicBool) -> Processes<'a> {
        Processes { timeout, interrupted, leftovers: Leftovers::new() }
    }

    /// Whether the command's program exists, before anything runs.
    ///
    /// # Errors
    /// It does not, or it is no program.
    pub fn check(arm: &Arm) -> Result<(), Problem> {
        let name = Path::new(&arm.program);
        if arm.program.as_bytes().contains(&b'/') {
            return match name.metadata() {
                Ok(found) if is_program(&found) => Ok(()),
                Ok(_) => Err(Problem::System(String::from("not a program: check its permissions"))),
                Err(_) => Err(Problem::NotFound),
            };
        }
        let inherited = std::env::var_os("PATH");
        // Without the variable the C library has directories of its own.
        let Some(path) = arm.variable("PATH").or(inherited.as_deref()) else { return Ok(()) };
        let is_there = |folder: &Path| folder.join(name).metadata().is_ok_and(|found| is_program(&found));
        match std::env::split_paths(path).any(|folder| is_there(&folder)) {
            true => Ok(()),
            false => Err(Problem::NotFound),
        }
    }

    /// Runs the command to its end; `None` if it was interrupted.
    ///
    /// # Errors
    /// It cannot be started, fails, or takes longer than the limit.
    pub fn run(&self, arm: &Arm) -> Result<Option<Run>, Problem> {
        if self.interrupted.load(Relaxed) {
            return Ok(None);
        }
        let (output, error) = (captured()?, captured()?);
        let mut command = Command::new(&arm.program);
        command.args(&arm.arguments).stdin(Stdio::null()).process_group(0);
        // All variables for both commands: to start one that inherits them takes less time, and gives them in another order.
        // That made a command of 5 ms seem 0.8 % faster than itself.
        command.env_clear().envs(std::env::vars_os());
        command.envs(arm.environment.iter().map(|of| (&of.name, &of.value)));
        command.stdout(output.try_clone().map_err(system)?).stderr(error.try_clone().map_err(system)?);
        leftovers::end_with_this(&mut command);
        let started = Instant::now();
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Problem::NotFound,
            _ => system(error),
        })?;
        let (wall, status, stopped) = self.wait(child, started)?;
        match stopped {
            Some(Stop::Signal) => return Ok(None),
            Some(Stop::Timeout) => {
                return Err(Problem::TimedOut(text_of(self.timeout.unwrap_or_default())));
            }
            None => {}
        }
        let error = text(error)?;
        match status.success() {
            true => Ok(Some(Run { wall, output: text(output)?, error })),
            // A signal that the terminal sent to all, or that a user sent to the program.
            false if self.interrupted.load(Relaxed) => Ok(None),
            false => Err(Problem::Failed { how: how(status), last: last_line(&error) }),
        }
    }

    /// Waits for the end of the program, and ends the processes that it leaves.
    fn wait(
        &self,
        mut child: Child,
        started: Instant,
    ) -> Result<(Duration, ExitStatus, Option<Stop>), Problem> {
        let group = child.id() as libc::pid_t;
        let deadline = self.timeout.and_then(|limit| started.checked_add(limit));
        let (done, is_done) = channel::<()>();
        let (wall, stopped) = std::thread::scope(|scope| {
            let watch = scope.spawn(move || self.watch(group, deadline, &is_done));
            // The process stays a zombie: as long as it is one, no other process gets the number of its group.
            leftovers::wait_for_end(group);
            let wall = started.elapsed();
            drop(done);
            (wall, watch.join().unwrap_or(None))
        });
        leftovers::end_group(group);
        let status = child.wait().map_err(system)?;
        self.leftovers.end();
        Ok((wall, status, stopped))
    }

    /// Ends the group at a signal or at the deadline, unless the program is done before.
    fn watch(&self, group: libc::pid_t, deadline: Option<Instant>, is_done: &Receiver<()>) -> Option<Stop> {
        loop {
            let left = deadline.map_or(LOOK, |at| at.saturating_duration_since(Instant::now()).min(LOOK));
            match is_done.recv_timeout(left) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return None,
            }
            let stop = match () {
                () if self.interrupted.load(Relaxed) => Stop::Signal,
                () if deadline.is_some_and(|at| Instant::now() >= at) => Stop::Timeout,
                () => continue,
            };
            leftovers::end_group(group);
            return Some(stop);
        }
    }
}

fn is_program(found: &std::fs::Metadata) -> bool {
    found.is_file() && found.permissions().mode() & 0o111 != 0
}

/// A file without a name. A pipe would make the program wait for its reader, and would stay open while any process that the
/// program started has it.
fn captured() -> Result<File, Problem> {
    tempfile::tempfile().map_err(system)
}

fn text(mut file: File) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(system)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn system(error: io::Error) -> Problem {
    let text = error.to_string();
    Problem::System(text.split(" (os error").next().unwrap_or(&text).to_owned())
}

/// The last line that says something.
fn last_line(error: &str) -> Option<String> {
    /// Characters of it that help.
    const MOST: usize = 200;
    let line = error.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(MOST).collect())
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit status {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}{}", name(signal)),
        (None, None) => String::from("failed"),
    }
}

/// ` (SIGSEGV)`; nothing for a signal that programs seldom end by.
fn name(signal: i32) -> String {
    let names = [
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGTERM, "SIGTERM"),
    ];
    names.iter().find(|(number, _)| *number == signal).map_or(String::new(), |(_, name)| format!(" ({name})"))
}

fn text_of(limit: Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arms::Variable;
    use std::sync::Mutex;

    /// A run ends all children of this process.
    static ALONE: Mutex<()> = Mutex::new(());

    fn shell(script: &str) -> Arm {
        Arm::new(["sh", "-c", script].map(Into::into)).expect("a command")
    }

    fn run(script: &str) -> Result<Option<Run>, Problem> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Processes::new(None, &NEVER).run(&shell(script))
    }

    #[test]
    fn output_is_captured_and_input_is_empty() {
        let run = run("cat; echo out; echo err >&2").expect("it runs").expect("to its end");
        assert_eq!((&*run.output, &*run.error), ("out\n", "err\n"));
        assert!(run.wall > Duration::ZERO);
    }

    #[test]
    fn a_failure_has_the_status_and_the_last_line() {
        let failed = |script: &str| match run(script) {
            Err(problem) => problem.to_string(),
            Ok(_) => panic!("{script}: no failure"),
        };
        assert_eq!(failed("exit 3"), "ended with exit status 3: run it by itself first");
        assert_eq!(failed("echo a >&2; echo 'b c' >&2; echo >&2; false"), {
            "ended with exit status 1 (b c): run it by itself first"
        });
        assert_eq!(failed("kill -9 $$"), "ended by signal 9 (SIGKILL): run it by itself first");
    }

    #[test]
    fn a_program_is_looked_up_before_anything_runs() {
        assert_eq!(Processes::check(&shell("true")), Ok(()));
        let arm = |line: &str| Arm::parse(line).expect("a command");
        assert_eq!(Processes::check(&arm("no-such-program-here")), Err(Problem::NotFound));
        assert_eq!(Processes::check(&arm("./no/such")), Err(Problem::NotFound));
        assert!(matches!(Processes::check(&arm("/")), Err(Problem::System(_))));
        let elsewhere = Variable { name: String::from("PATH"), value: String::from("/nowhere") };
        assert_eq!(Processes::check(&arm("sh").with(&[elsewhere])), Err(Problem::NotFound));
    }

    #[test]
    fn a_run_beyond_the_limit_is_ended_with_its_children() {
        let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        static NEVER: AtomicBool = AtomicBool::new(false);
        let processes = Processes::new(Some(Duration::from_millis(100)), &NEVER);
        let outcome = processes.run(&shell("sleep 100 & sleep 100"));
        assert!(matches!(outcome, Err(Problem::TimedOut(limit)) if limit == "0.1 s"));
    }

    #[test]
    fn a_signal_ends_a_run() {
        let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        static SOON: AtomicBool = AtomicBool::new(false);
        let processes = Processes::new(None, &SOON);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                SOON.store(true, Relaxed);
            });
            assert!(processes.run(&shell("sleep 100")).expect("no failure").is_none());
        });
        assert!(processes.run(&shell("exit 1")).expect("does not run").is_none());
    }
}
