//! One process of the program: its threads look by look.

mod memory;
mod samples;
mod stacks;
mod state;

pub use memory::read_byte;
pub use state::Process;

use crate::calls::Calls;
use crate::clock;
use crate::file::{Budget, Watched, spool_file};
use crate::limits::{self, Limits};
use crate::proc;
use crate::task::{Found, Task};
use memory::UNREADABLE;
use rustc_hash::FxHashMap;
use spool::{Glance, Look, Run, Unseen};
use state::{Entry, Who};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How often what changes seldom is read, ns: limits, chunks, who the process is.
const SELDOM: i64 = 100_000_000;

/// Why a process is not watched.
pub enum Refusal {
    /// It has gone.
    Gone,
    /// It has not got so far.
    NotYet,
    /// No process of that id writes to the spool's file.
    Other,
}

impl Process {
    /// Begins to watch the process that writes the spool file at `path`, named `PID-N.spool`; `is_own` is false for one that only
    /// stands for the process's own ([`Watched::stand_in`]).
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn open(path: &Path, budget: &Budget, samples: bool, is_own: bool) -> Result<Process, Refusal> {
        let name = path.file_name().and_then(|name| name.to_str()).ok_or(Refusal::Other)?;
        let pid = name.split('-').next().and_then(|pid| pid.parse::<i32>().ok()).ok_or(Refusal::Other)?;
        let header = spool_file().open(path).map_err(|_| Refusal::Gone)?;
        let mut magic = [0; 8];
        std::os::unix::fs::FileExt::read_exact_at(&header, &mut magic, 0).map_err(|_| Refusal::NotYet)?;
        if u64::from_ne_bytes(magic) != spool::MAGIC {
            return Err(Refusal::NotYet);
        }
        let who = who(pid).ok_or(Refusal::Gone)?;
        if is_own && !maps(pid, path) {
            return Err(Refusal::Other);
        }
        let stem = name.strip_suffix(spool::SUFFIX).ok_or(Refusal::Other)?;
        let beside = path.with_file_name(format!("{stem}{}", spool::WATCH_SUFFIX));
        let now = clock::now();
        let file =
            Watched::make(&beside, pid.cast_unsigned(), now, clock::unix()).map_err(|_| Refusal::Gone)?;
        let mut process = Process {
            pid,
            folder: PathBuf::from(format!("/proc/{pid}/task")),
            who,
            file,
            entries: BTreeMap::new(),
            names: FxHashMap::default(),
            calls: Calls::open(path).map_err(|_| Refusal::Gone)?,
            unknown_calls: false,
            limits: Limits::of(pid),
            limit_row: None,
            throttled: 0,
            links: 0,
            complete: 0,
            seldom: i64::MIN,
            stacks: None,
            began_with: 0,
            ended: 0,
            unseen: Unseen::default(),
            unseen_row: None,
            next_stack: 1,
        };
        process.begin(budget, samples);
        Ok(process)
    }

    fn begin(&mut self, budget: &Budget, samples: bool) {
        self.scan(None, budget);
        let lived = clock::of_process(self.pid).unwrap_or(0);
        let counted: i64 = self.entries.values().map(|entry| entry.task.running()).sum();
        self.began_with = lived - counted;
        if samples {
            self.begin_samples(budget);
        }
        self.check_permissions(budget);
    }

    /// Says what the kernel does not permit any more, as of a process that has changed its user.
    fn check_permissions(&mut self, budget: &Budget) {
        if !self.unknown_calls && self.entries.values().any(|entry| entry.task.forbidden) {
            self.unknown_calls = true;
            self.note(
                budget,
                "the system calls that its threads are blocked in are unknown: the kernel does not show them \
                 (holdup doctor says why)",
            );
        }
        let first = self.stacks.as_ref().and_then(|stacks| stacks.modules.get(0));
        let forbidden = |start| read_byte(self.pid, start) == Err(libc::EPERM);
        if first.is_some_and(|first| forbidden(first.mapping.start)) {
            self.stacks = None;
            self.note(budget, UNREADABLE);
        }
    }

    /// The process's id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Looks at all threads, and samples their stacks if `sample`; false when the process has gone.
    pub fn look(&mut self, sample: bool, budget: &Budget) -> bool {
        let now = clock::now();
        let Ok(folder) = std::fs::metadata(&self.folder) else { return false };
        if folder.nlink() != self.links {
            self.scan(Some(self.complete), budget);
        }
        self.links = folder.nlink();
        if self.look_at_threads(budget) {
            // Another thread may have come for one that went.
            self.links = 0;
        } else {
            self.complete = now;
        }
        if now.saturating_sub(self.seldom) >= SELDOM {
            self.seldom = now;
            if who(self.pid).is_none_or(|who| !who.is(self.who)) {
                return false;
            }
            self.calls.refresh();
            self.check_permissions(budget);
            for entry in self.entries.values_mut().filter(|entry| !entry.named) {
                entry.named = true;
                entry.name(self.pid, &mut self.file, budget);
            }
            self.look_at_limits(now, budget);
            self.count_unseen(now, budget);
        }
        if sample {
            self.sample(now, budget);
        }
        true
    }

    /// Finds the threads that came. `since`: when all were known.
    fn scan(&mut self, since: Option<i64>, budget: &Budget) {
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let Some(tid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            if !self.entries.contains_key(&tid) {
                self.add(tid, since, budget);
            }
        }
    }

    fn add(&mut self, tid: u32, since: Option<i64>, budget: &Budget) {
        let task = Task::new(self.pid, tid);
        let mut entry = Entry {
            task,
            row: None,
            call: None,
            glance: None,
            moved: true,
            sampled: 0,
            sampler: None,
            name: None,
            named: false,
        };
        if entry.look(self.pid, since, &mut self.file, &mut self.names, budget) == Found::Gone {
            return;
        }
        entry.name(self.pid, &mut self.file, budget);
        self.entries.insert(tid, entry);
        // The interpreter learns of it soon.
        if let Some(stacks) = &mut self.stacks {
            stacks.thread_came = clock::now();
        }
    }

    /// Looks at every thread; whether one went.
    fn look_at_threads(&mut self, budget: &Budget) -> bool {
        let (file, names, ended) = (&mut self.file, &mut self.names, &mut self.ended);
        let mut gone = Vec::new();
        for (tid, entry) in &mut self.entries {
            if entry.look(self.pid, None, file, names, budget) == Found::Gone {
                *ended += entry.task.running();
                gone.push(*tid);
            }
        }
        let glances: Vec<u8> = gone
            .iter()
            .filter(|tid| self.entries.get(tid).is_some_and(|entry| entry.glance.is_some()))
            .flat_map(|tid| Glance { tid: *tid, state: Glance::GONE, ..Glance::default() }.bytes())
            .collect();
        let now = clock::now();
        self.write_look(now, &glances, budget);
        for tid in &gone {
            let entry = self.entries.remove(tid);
            if let Some(entry) = &entry {
                entry.leave(now, &mut self.file, budget);
            }
            if let (Some(stacks), Some(_)) = (&mut self.stacks, entry.and_then(|entry| entry.sampler)) {
                stacks.samplers += 1;
            }
        }
        !gone.is_empty()
    }

    fn look_at_limits(&mut self, now: i64, budget: &Budget) {
        let limits::Now { processors, quota, throttled } = self.limits.now();
        let more = throttled - self.throttled;
        self.throttled = throttled;
        let start = self.limit_row.as_ref().map_or(now, |(_, row)| row.end);
        let row = spool::Limits { start, end: now, throttled: more, quota, processors };
        let same = self.limit_row.filter(|(_, last)| {
            (last.processors, last.quota, last.throttled, more) == (processors, quota, 0, 0)
        });
        self.limit_row = match same {
            Some((at, last)) => {
                let longer = spool::Limits { end: now, ..last };
                self.file.rewrite(at, 0, longer.bytes());
                Some((at, longer))
            }
            None => self.file.append(budget, spool::Limits::KIND, 0, &[row.bytes()]).map(|at| (at, row)),
        };
    }

    /// Compares the process's time with that of its threads.
    fn count_unseen(&mut self, now: i64, budget: &Budget) {
        let Some(lived) = clock::of_process(self.pid) else { return };
        let seen: i64 = self.entries.values().map(|entry| entry.task.running()).sum();
        self.unseen.at = now;
        self.unseen.running = (lived - self.began_with - seen - self.ended).max(0);
        let python = self.stacks.as_ref().and_then(|stacks| stacks.python.as_ref());
        self.unseen.torn = python.map_or(self.unseen.torn, |python| python.torn);
        match self.unseen_row {
            Some(at) => self.file.rewrite(at, 0, self.unseen.bytes()),
            None => {
                self.unseen_row = self.file.append(budget, Unseen::KIND, 0, &[self.unseen.bytes()]);
            }
        }
    }

    /// Counts a look that came too late.
    pub fn was_late(&mut self) {
        self.unseen.late += 1;
    }

    fn write_look(&mut self, now: i64, glances: &[u8], budget: &Budget) {
        if !glances.is_empty() {
            let count = (glances.len() / size_of::<Glance>()) as u32;
            self.file.append(budget, Look::KIND, count, &[Look { at: now }.bytes(), glances]);
        }
    }

    /// Ends the file: its process has gone, or recording ends.
    pub fn finish(mut self, budget: &Budget) {
        let now = clock::now();
        for entry in self.entries.values() {
            entry.leave(now, &mut self.file, budget);
        }
        self.count_unseen(now, budget);
        if let Some(at) = self.unseen_row {
            self.file.rewrite(at, 0, self.unseen.bytes());
        }
        self.file.finish();
    }
}

/// Whether a process maps a file; also true if this may not be known.
fn maps(pid: i32, path: &Path) -> bool {
    let text = match std::fs::read(format!("/proc/{pid}/maps")) {
        Ok(text) => text,
        Err(error) => return error.kind() == std::io::ErrorKind::PermissionDenied,
    };
    let path = path.as_os_str().as_encoded_bytes();
    text.split(|byte| *byte == b'\n').any(|line| line.ends_with(path))
}

/// Identity of a process; `None` when it is gone.
fn who(pid: i32) -> Option<Who> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let lives = proc::state(&text)? != Run::Unknown;
    // The kernel shows 1 to those who may not know it.
    let code = proc::code_start(&text).filter(|start| *start > 1);
    lives.then(|| Who { began: proc::began(&text), code })
}
