//! The thread that watches: when it looks, at which processes, and at what price.

use crate::children::{Children, is_stand_in};
use crate::clock;
use crate::file::Budget;
use crate::process::{Process, Refusal};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Threads are looked at at least this often, ns.
const PERIOD: i64 = 10_000_000;

/// A look begins at the earliest so many times the duration of the last one after that: with so many threads that a
/// look takes long, the watcher uses a sixth of a processor and no more.
const SHARE: i64 = 5;

/// Looks at a process that records for each look at its children that do not: a choice.
const SELDOM: u64 = 5;

/// How often a file is tried whose process is not ready to be watched: for a second.
const ATTEMPTS: u32 = 100;

/// Options of a watcher.
#[derive(Clone, Debug)]
pub struct Options {
    /// The spool's directory.
    pub directory: PathBuf,
    /// Samples of stacks per second; 0 for none.
    pub sample_rate: u32,
    /// The most bytes that all processes of the program, and the watcher, may write together.
    pub max_size: u64,
}

/// Result of watching.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Notes for the reader of the recording, one line each.
    pub notes: Vec<String>,
    /// Processor time that watching took, ns.
    pub cost: i64,
    /// How many looks there were.
    pub looks: u64,
    /// The longest time between two looks, ns.
    pub longest: i64,
}

/// A thread of this process that watches.
pub struct Watcher {
    stop: Sender<()>,
    thread: JoinHandle<Report>,
}

impl Watcher {
    /// Starts the thread. It gets no signals. Raises this process's limit of open files as far as it may: start the
    /// program before.
    ///
    /// # Errors
    /// The operating system's if there can be no further thread.
    pub fn start(options: Options) -> std::io::Result<Watcher> {
        raise_files();
        let (stop, stopped) = channel();
        let watch = move || {
            block_signals();
            Watch::new(options).run(&stopped)
        };
        let thread = std::thread::Builder::new().name("watch".to_owned()).spawn(watch)?;
        Ok(Watcher { stop, thread })
    }

    /// Looks once more, and ends the thread.
    pub fn finish(self) -> Report {
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_else(|_| Report {
            notes: vec![
                "holdup's watcher failed: states and samples of threads are missing from then on".to_owned(),
            ],
            ..Report::default()
        })
    }
}

/// The thread's own state.
struct Watch {
    options: Options,
    budget: Budget,
    /// By the names of their files in the spool.
    processes: BTreeMap<OsString, Process>,
    /// Files that are not watched: how often they were tried.
    tried: BTreeMap<OsString, u32>,
    children: Children,
    /// When the directory last changed, as far as it was read.
    changed: Option<std::time::SystemTime>,
    chance: u64,
    next_sample: i64,
    report: Report,
}

impl Watch {
    fn new(options: Options) -> Watch {
        let budget = Budget::of(&options.directory, options.max_size);
        let chance = clock::unix().cast_unsigned() | 1;
        Watch {
            options,
            budget,
            processes: BTreeMap::new(),
            tried: BTreeMap::new(),
            children: Children::default(),
            changed: None,
            chance,
            next_sample: 0,
            report: Report::default(),
        }
    }

    fn run(mut self, stopped: &Receiver<()>) -> Report {
        let (mut wait, mut last, mut pause) = (Duration::ZERO, clock::now(), PERIOD);
        loop {
            let stop = !matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout));
            let began = clock::now();
            self.report.longest = self.report.longest.max(began - last);
            if began - last > 2 * pause {
                self.processes.values_mut().for_each(Process::was_late);
            }
            last = began;
            self.find_children(began);
            self.find();
            self.look(began);
            if stop {
                break;
            }
            let took = clock::now() - began;
            pause = self.pause();
            let rest = (pause - took).max(took.saturating_mul(SHARE));
            wait = Duration::from_nanos(rest.max(0).cast_unsigned());
        }
        for process in std::mem::take(&mut self.processes).into_values() {
            process.finish(&self.budget);
        }
        self.report.cost = clock::own();
        self.report
    }

    /// Time from one look to the next, ns. It varies by a tenth, so that no rhythm of the program, or of the kernel's
    /// ticks, agrees with it.
    fn pause(&mut self) -> i64 {
        let sample = 1_000_000_000 / i64::from(self.options.sample_rate.max(1));
        let period = if self.options.sample_rate == 0 { PERIOD } else { PERIOD.min(sample) };
        // Marsaglia's xorshift64.
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        period - (self.chance % (period / 10).max(1).cast_unsigned()).cast_signed()
    }

    fn look(&mut self, now: i64) {
        let sample = self.options.sample_rate > 0 && now >= self.next_sample;
        if sample {
            let period = 1_000_000_000 / i64::from(self.options.sample_rate);
            // A pause may be a tenth shorter than the period: a rate of one look each is not halved by that.
            self.next_sample = now + period - period / 9;
        }
        let (budget, with_children) = (&self.budget, self.report.looks.is_multiple_of(SELDOM));
        let seen = self.processes.iter_mut().filter(|(name, _)| with_children || !is_stand_in(name));
        let look = |(name, process): (&OsString, &mut Process)| {
            // A child is sampled at each look at it.
            let sample = sample || self.options.sample_rate > 0 && is_stand_in(name);
            (!process.look(sample, budget)).then(|| name.clone())
        };
        let gone: Vec<OsString> = seen.filter_map(look).collect();
        for process in gone.iter().filter_map(|name| self.processes.remove(name)) {
            process.finish(&self.budget);
        }
        self.report.looks += 1;
    }

    /// Finds children of the processes that do not record by themselves.
    fn find_children(&mut self, now: i64) {
        let parents: Vec<i32> = self.processes.values().map(Process::pid).collect();
        if !parents.is_empty() {
            self.children.find(&self.options.directory, &parents, now);
        }
    }

    /// Finds processes that began to record.
    fn find(&mut self) {
        let changed = std::fs::metadata(&self.options.directory).and_then(|found| found.modified()).ok();
        let waits = self.tried.values().any(|tries| *tries < ATTEMPTS);
        if changed == self.changed && !waits {
            return;
        }
        self.changed = changed;
        for entry in std::fs::read_dir(&self.options.directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_spool = name.as_encoded_bytes().ends_with(spool::SUFFIX.as_bytes());
            let is_done = self.tried.get(&name).is_some_and(|tries| *tries >= ATTEMPTS);
            if is_spool && !is_done && !self.processes.contains_key(&name) {
                self.open(name, &entry.path());
            }
        }
    }

    fn open(&mut self, name: OsString, path: &Path) {
        match Process::open(path, &self.budget, self.options.sample_rate > 0, !is_stand_in(&name)) {
            Ok(process) => {
                // A process that executed another program begins another file.
                let pid = process.pid();
                let former = self.processes.iter().find(|(_, former)| former.pid() == pid);
                if let Some(former) = former.map(|(name, _)| name.clone())
                    && let Some(former) = self.processes.remove(&former)
                {
                    former.finish(&self.budget);
                }
                self.tried.insert(name.clone(), ATTEMPTS);
                self.processes.insert(name, process);
            }
            Err(Refusal::Gone) => _ = self.tried.insert(name, ATTEMPTS),
            Err(why) => {
                let tries = self.tried.entry(name.clone()).or_insert(0);
                *tries += 1;
                if *tries == ATTEMPTS && matches!(why, Refusal::Other) {
                    let name = name.to_string_lossy();
                    let pid = name.split('-').next().unwrap_or_default();
                    self.report.notes.push(format!(
                        "process {pid}: states and samples of its threads are missing: it is in another namespace of \
                         processes, or has ended"
                    ));
                }
            }
        }
    }
}

/// Allows as many open files as the system does: every thread has two.
fn raise_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes the struct that it is given, then reads it.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// Keeps this process's signals for its other threads.
fn block_signals() {
    let mut all = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: initializes the set, then reads it.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), std::ptr::null_mut());
    }
}

/// Permissions of the kernel to observe a child that this process started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Permissions {
    /// Time on a processor, and time ready without one.
    pub counters: bool,
    /// The system call that a thread is blocked in.
    pub calls: bool,
    /// Its memory, and so its stacks.
    pub memory: bool,
    /// Registers of running threads, and so their native stacks.
    pub registers: bool,
}

/// Tries what the kernel permits with the process `pid`, which is blocked: `address` is one of its memory.
pub fn permissions(pid: i32, address: usize) -> Permissions {
    let read = |name| std::fs::read(format!("/proc/{pid}/task/{pid}/{name}")).unwrap_or_default();
    let counters = crate::proc::counters(&read("schedstat"));
    Permissions {
        counters: counters.is_some_and(|counters| counters.times > 0),
        calls: crate::proc::syscall(&read("syscall")).is_some(),
        memory: crate::process::read_byte(pid, address as u64).is_ok(),
        registers: crate::perf::Sampler::of(pid.cast_unsigned()).is_some(),
    }
}
