//! One thread: its open files, and what was last read of it.

use crate::account::{Account, Change, Place, TaskReading};
use crate::clock;
use crate::proc::{self, Counters, Syscall};
use spool::Run;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A file of the kernel that is read again and again. Without a free descriptor it is opened for each reading.
struct Source {
    path: String,
    open: Option<File>,
}

/// Room for a whole file of a thread.
const ROOM: usize = 512;

impl Source {
    fn new(path: String) -> Source {
        let open = File::open(&path).ok();
        Source { path, open }
    }

    fn read<'b>(&self, room: &'b mut [u8; ROOM]) -> io::Result<&'b [u8]> {
        let length = match &self.open {
            Some(file) => file.read_at(room, 0)?,
            None => File::open(&self.path)?.read_at(room, 0)?,
        };
        // The files of a thread that ended are empty.
        if length == 0 { Err(io::ErrorKind::NotFound.into()) } else { Ok(&room[..length]) }
    }
}

/// A thread.
pub struct Task {
    /// Kernel's id of it.
    pub tid: u32,
    schedstat: Source,
    syscall: Source,
    stat: String,
    account: Option<Account>,
    counters: Counters,
    /// Where it is.
    pub seen: Syscall,
    /// Whether the kernel was asked what kind of wait this is.
    asked: bool,
    /// The kernel does not permit to read its system call.
    pub forbidden: bool,
}

/// How a look at a thread ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// It ended.
    Gone,
    /// It has not run since the last look.
    Same,
    /// It has run, or is ready to.
    Moved,
}

impl Task {
    /// A thread that is looked at for the first time.
    pub fn new(pid: i32, tid: u32) -> Task {
        let file = |name| format!("/proc/{pid}/task/{tid}/{name}");
        Task {
            tid,
            schedstat: Source::new(file("schedstat")),
            syscall: Source::new(file("syscall")),
            stat: file("stat"),
            account: None,
            counters: Counters::default(),
            seen: Syscall::default(),
            asked: false,
            forbidden: false,
        }
    }

    /// Its time on a processor so far, ns.
    pub fn running(&self) -> i64 {
        self.counters.running
    }

    /// Where its rows end, and the kernel's counters there.
    pub fn end(&self) -> Option<TaskReading> {
        self.account.as_ref().map(Account::end)
    }

    /// Looks at the thread; gives `change` what changes in its rows. `began_after` is a time at which it was not there,
    /// if that is known.
    pub fn look(&mut self, began_after: Option<i64>, change: &mut dyn FnMut(Change)) -> Found {
        let Some(found) = self.read() else { return Found::Gone };
        let look = TaskReading {
            at: clock::now(),
            running: self.counters.running,
            runnable: self.counters.runnable,
            place: self.seen.place,
        };
        let account = self.account.get_or_insert_with(|| match began_after {
            Some(since) => Account::of_new(&look, since),
            None => Account::from(&look),
        });
        account.look(&look, change);
        found
    }

    fn read(&mut self) -> Option<Found> {
        let mut room = [0; ROOM];
        let counters = proc::counters(self.schedstat.read(&mut room).ok()?)?;
        let is_waiting = !matches!(self.seen.place.state, Run::Running | Run::Ready | Run::Unknown);
        if is_waiting && counters == self.counters {
            if !self.asked {
                self.ask();
            }
            return Some(Found::Same);
        }
        self.asked = false;
        // What it runs between this reading and the next is in the next look's counters.
        self.counters = counters;
        self.seen = self.syscall();
        Some(Found::Moved)
    }

    /// Whether it ran since the last look.
    pub fn has_moved(&mut self) -> bool {
        let mut room = [0; ROOM];
        let counters = self.schedstat.read(&mut room).ok().and_then(proc::counters);
        counters != Some(self.counters)
    }

    fn syscall(&mut self) -> Syscall {
        let mut room = [0; ROOM];
        if !self.forbidden {
            match self.syscall.read(&mut room) {
                Ok(text) => return proc::syscall(text).unwrap_or_default(),
                Err(error) => self.forbidden = is_forbidden(&error),
            }
        }
        Syscall { place: Place { state: self.state(), ..Place::default() }, ..Syscall::default() }
    }

    /// Asks what kind of wait this is, once per wait: the kernel makes that file slowly.
    fn ask(&mut self) {
        self.asked = true;
        if let state @ (Run::Uninterruptible | Run::Stopped) = self.state() {
            self.seen.place.state = state;
        }
    }

    fn state(&self) -> Run {
        std::fs::read(&self.stat).ok().and_then(|text| proc::state(&text)).unwrap_or_default()
    }
}

/// Whether an error means that this process may not read a file, and not that its process ended.
fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES))
}

/// A thread's name, from a process's `comm`.
pub fn name(pid: i32, tid: u32) -> Option<String> {
    let text = std::fs::read(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
    Some(String::from_utf8_lossy(text.trim_ascii_end()).into_owned()).filter(|name| !name.is_empty())
}
