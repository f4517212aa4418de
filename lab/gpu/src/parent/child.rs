//! A process of the operating system that runs a process of a workload.

use crate::Error;
use crate::wire::{self, ARGUMENT, Arrival, Order};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The time that a process may take to end after its last message; a tool that records it may have much to write.
const FAREWELL: Duration = Duration::from_secs(30);

/// A process, from its start to its end.
pub struct Child {
    /// Its name in the workload.
    pub name: String,
    process: std::process::Child,
    /// The pipe of its messages; `None` after the last.
    results: Option<File>,
    bytes: Vec<u8>,
    /// Bytes that were received and not read yet.
    pub arrived: Vec<Arrival>,
    /// The time of its last message.
    heard: Instant,
    /// Whether it has sent its last message.
    pub is_done: bool,
    /// How it ended.
    pub status: Option<ExitStatus>,
}

/// Variables to set or, with none, to remove.
pub type Variables = [(String, Option<OsString>)];

impl Child {
    /// Starts the executable as such a process, and sends its order.
    pub fn start(
        executable: &Path,
        name: &str,
        order: &Order,
        segment: Option<RawFd>,
        variables: &Variables,
    ) -> Result<Child, Error> {
        let failed =
            |error: io::Error| Error::system(format!("process \"{name}\" cannot be started"), &error);
        let (results, sender) = pipe().map_err(failed)?;
        let inherited = [Some(sender.as_raw_fd()), segment];
        let mut command = Command::new(executable);
        command.arg(ARGUMENT).arg(std::process::id().to_string());
        command.args(inherited.map(|file| file.unwrap_or(-1).to_string()));
        for (name, value) in variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        // Text that the driver may print is not a result.
        let error = io::stderr().as_fd().try_clone_to_owned().map_err(failed)?;
        command.stdin(Stdio::piped()).stdout(error);
        // SAFETY: between fork and exec only system calls are made: the files are to stay open in the new program.
        unsafe {
            command.pre_exec(move || {
                for file in inherited.into_iter().flatten() {
                    if libc::fcntl(file, libc::F_SETFD, 0) != 0 {
                        return Err(io::Error::last_os_error());
                    }
                }
                Ok(())
            });
        }
        let mut process = command.spawn().map_err(failed)?;
        drop(sender);
        let order = serde_json::to_vec(order).map_err(|error| failed(error.into()))?;
        // If it has ended already, waiting for it finds that.
        if let Some(mut input) = process.stdin.take() {
            let _ = input.write_all(&order);
        }
        let (bytes, arrived) = (Vec::new(), Vec::new());
        Ok(Child {
            name: name.to_owned(),
            process,
            results: Some(results.into()),
            bytes,
            arrived,
            heard: Instant::now(),
            is_done: false,
            status: None,
        })
    }

    /// The pipe of its messages, while more may arrive.
    pub fn results(&self) -> Option<RawFd> {
        self.results.as_ref().map(File::as_raw_fd)
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Reads what has arrived. At the end of the pipe it waits for the process, which has nothing else to do then.
    pub fn take(&mut self) -> Result<(), Error> {
        let Some(results) = &mut self.results else { return Ok(()) };
        let mut piece = [0; 1 << 16];
        match results.read(&mut piece) {
            Ok(0) => {
                self.results = None;
                let status = self.process.wait();
                let lost = |error| Error::system(format!("process \"{}\"", self.name), &error);
                self.status = Some(status.map_err(lost)?);
            }
            Ok(count) => {
                self.heard = Instant::now();
                self.bytes.extend_from_slice(&piece[..count]);
                let arrived = wire::arrivals(&mut self.bytes);
                self.arrived.extend(arrived.ok_or_else(|| self.died("sent a message that cannot be read"))?);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::system(format!("results of process \"{}\"", self.name), &error)),
        }
        Ok(())
    }

    /// Whether it does not end after its last message: the driver hangs in its clean-up.
    pub fn lingers(&self) -> bool {
        self.is_done && self.status.is_none() && self.heard.elapsed() > FAREWELL
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        if self.status.is_none() {
            // It may have ended by now.
            let _ = self.process.kill();
        }
    }

    /// The error of a process that ended too early.
    pub fn died(&self, how: &str) -> Error {
        Error::Died { process: self.name.clone(), how: how.to_owned(), advice: String::new() }
    }

    /// The error of a process that ended, in whatever way, without a message.
    pub fn died_silently(&self) -> Error {
        let (how, advice) = self.status.map_or(("is gone".to_owned(), String::new()), ended);
        Error::Died { process: self.name.clone(), how, advice }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.status.is_none() {
            self.kill();
            let _ = self.process.wait();
        }
    }
}

/// How a process ended, and what to do about it.
fn ended(status: ExitStatus) -> (String, String) {
    match (status.signal(), status.code()) {
        (Some(libc::SIGKILL), _) => {
            let advice = ": check `dmesg`: the system may have had too little memory";
            ("was killed".to_owned(), advice.to_owned())
        }
        (Some(signal), _) => {
            (format!("was ended by signal {signal}"), ": check nvidia-smi, and `dmesg` for Xid".to_owned())
        }
        (None, code) => (format!("exited with {}", code.unwrap_or_default()), String::new()),
    }
}

/// A pipe: where to read, where to write. Neither is inherited.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: writes two numbers.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both are new, and nobody else's.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}
