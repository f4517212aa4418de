//! One process of the program: its threads look by look.

use crate::account::Change;
use crate::calls::Calls;
use crate::clock;
use crate::file::{At, Budget, Watched};
use crate::limits::{self, Limits};
use crate::modules::Modules;
use crate::native::{self, Native};
use crate::perf::{self, Sampler};
use crate::proc;
use crate::python::Python;
use crate::syscalls;
use crate::task::{self, Found, Task};
use pystack::Unreadable;
use rustc_hash::FxHashMap;
use spool::{Glance, Look, Module, Note, PythonFrame, Run, Seen, State, ThreadName, Unseen};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How often what changes seldom is read, ns: limits, chunks, who the process is.
const SELDOM: i64 = 100_000_000;

/// How often the interpreter is asked for its threads though no thread came or went, ns.
const THREADS: i64 = 1_000_000_000;

/// How often the map of a process is read again, ns: where an address lies in no known module, and anyway.
const MAP_IF_UNKNOWN: i64 = 1_000_000_000;
const MAP: i64 = 5_000_000_000;

/// The most threads of a process that the kernel writes down: each has a ring of its own.
const MOST_SAMPLERS: usize = 128;

const UNREADABLE: &str = "its threads' stacks are not sampled: the kernel does not permit to read its memory \
                          (holdup doctor says why)";

/// How many different stacks are remembered.
const MOST_STACKS: usize = 20_000;

/// A thread and what was written of it.
struct Entry {
    task: Task,
    /// Its last row.
    row: Option<At>,
    /// What was last said of its stack.
    glance: Option<Glance>,
    /// It has run since then.
    moved: bool,
    /// Its time on a processor then, ns.
    sampled: i64,
    /// What the kernel writes down while it runs.
    sampler: Option<Sampler>,
    /// Its name, and whether that was read again: threads are named soon after they begin.
    name: Option<String>,
    named: bool,
}

/// Who a process is, for as long as it runs one program: its id alone may be used again.
#[derive(Clone, Copy)]
struct Who {
    began: Option<u64>,
    /// Where its code begins; `None` for unknown.
    code: Option<u64>,
}

impl Who {
    fn is(self, other: Who) -> bool {
        let same_code = self.code.zip(other.code).is_none_or(|(code, other)| code == other);
        self.began == other.began && same_code
    }
}

/// A process.
pub struct Process {
    pid: i32,
    folder: PathBuf,
    who: Who,
    file: Watched,
    entries: BTreeMap<u32, Entry>,
    names: FxHashMap<i64, u32>,
    calls: Calls,
    /// It was said that system calls are unknown.
    unknown_calls: bool,
    limits: Limits,
    limit_row: Option<(At, spool::Limits)>,
    throttled: i64,
    /// Links of the folder of its threads: their number and two.
    links: u64,
    /// When all threads were known.
    complete: i64,
    seldom: i64,
    stacks: Option<Stacks>,
    /// Processor time of the process and of its threads that ended.
    began_with: i64,
    ended: i64,
    unseen: Unseen,
    unseen_row: Option<At>,
    next_stack: u32,
}

/// What sampling needs.
struct Stacks {
    modules: Modules,
    native: Native,
    python: Option<Python>,
    /// Why there is no Python though there is an interpreter: said once.
    refused: bool,
    known: FxHashMap<(Vec<u64>, Vec<PythonFrame>), u32>,
    threads_read: i64,
    map_read: i64,
    /// How many threads the kernel may write down besides, 0 where it does not permit it.
    samplers: usize,
}

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
    /// Begins to watch the process that writes the spool file at `path`, named `PID-N.spool`.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn open(path: &Path, budget: &Budget, samples: bool) -> Result<Process, Refusal> {
        let name = path.file_name().and_then(|name| name.to_str()).ok_or(Refusal::Other)?;
        let pid = name.split('-').next().and_then(|pid| pid.parse::<i32>().ok()).ok_or(Refusal::Other)?;
        let header = std::fs::File::open(path).map_err(|_| Refusal::Gone)?;
        let mut magic = [0; 8];
        std::os::unix::fs::FileExt::read_exact_at(&header, &mut magic, 0).map_err(|_| Refusal::NotYet)?;
        if u64::from_ne_bytes(magic) != spool::MAGIC {
            return Err(Refusal::NotYet);
        }
        let who = who(pid).ok_or(Refusal::Gone)?;
        if !maps(pid, path) {
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

    fn begin_samples(&mut self, budget: &Budget) {
        let mut modules = Modules::default();
        modules.refresh(self.pid);
        if modules.get(0).is_none_or(|first| read_byte(self.pid, first.mapping.start).is_err()) {
            return self.note(budget, UNREADABLE);
        }
        let native = Native::new(self.pid);
        let stacks = Stacks {
            modules,
            native,
            python: None,
            refused: false,
            known: FxHashMap::default(),
            threads_read: i64::MIN,
            map_read: clock::now(),
            samplers: if perf::is_permitted() { MOST_SAMPLERS } else { 0 },
        };
        let permitted = stacks.samplers > 0;
        self.stacks = Some(stacks);
        let count = self.stacks.as_ref().map_or(0, |stacks| stacks.modules.len());
        self.add_modules(budget, 0..count);
        if !permitted {
            self.note(
                budget,
                "samples of threads on a processor have no native frames: perf_event_open is not permitted \
                 (holdup doctor says why)",
            );
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
            glance: None,
            moved: true,
            sampled: 0,
            sampler: None,
            name: None,
            named: false,
        };
        if entry.look(since, &mut self.file, &mut self.names, budget) == Found::Gone {
            return;
        }
        entry.name(self.pid, &mut self.file, budget);
        self.entries.insert(tid, entry);
        // The interpreter learns of it soon.
        if let Some(stacks) = &mut self.stacks {
            stacks.threads_read = i64::MIN;
        }
    }

    /// Looks at every thread; whether one went.
    fn look_at_threads(&mut self, budget: &Budget) -> bool {
        let (file, names, ended) = (&mut self.file, &mut self.names, &mut self.ended);
        let mut gone = Vec::new();
        for (tid, entry) in &mut self.entries {
            if entry.look(None, file, names, budget) == Found::Gone {
                *ended += entry.task.running();
                gone.push(*tid);
            }
        }
        let glances: Vec<u8> = gone
            .iter()
            .filter(|tid| self.entries.get(tid).is_some_and(|entry| entry.glance.is_some()))
            .flat_map(|tid| Glance { tid: *tid, state: Glance::GONE, ..Glance::default() }.bytes())
            .collect();
        self.write_look(clock::now(), &glances, budget);
        for tid in &gone {
            let entry = self.entries.remove(tid);
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

    fn note(&mut self, budget: &Budget, text: &str) {
        let text = self.file.text(budget, &format!("process {}: {text}", self.pid));
        self.file.append(budget, Note::KIND, text, &[Note { at: clock::now() }.bytes()]);
    }

    /// Adds modules to what is written and to the unwinder.
    fn add_modules(&mut self, budget: &Budget, fresh: std::ops::Range<usize>) {
        let Some(stacks) = &mut self.stacks else { return };
        for module in fresh.clone().filter_map(|index| stacks.modules.get(index)) {
            let path = self.file.text(budget, &module.mapping.path);
            let record = Module {
                base: module.base,
                start: module.mapping.start,
                end: module.mapping.end,
                seen: clock::now(),
            };
            self.file.append(budget, Module::KIND, path, &[record.bytes()]);
        }
        native::add_all(&mut stacks.native, &stacks.modules, fresh);
        self.find_python(budget);
    }

    fn find_python(&mut self, budget: &Budget) {
        let Some(stacks) = self.stacks.as_mut().filter(|stacks| stacks.python.is_none() && !stacks.refused)
        else {
            return;
        };
        match Python::find(self.pid, &stacks.modules) {
            Ok(python) => stacks.python = python,
            Err(why) => {
                stacks.refused = true;
                self.note(budget, &refusal(why));
            }
        }
    }

    /// Samples the threads that have run since the last sample.
    fn sample(&mut self, now: i64, budget: &Budget) {
        self.prepare(now, budget);
        let mut glances = Vec::new();
        let tids: Vec<u32> = self.entries.keys().copied().collect();
        for tid in tids {
            if let Some(glance) = self.glance(tid, budget) {
                glances.extend(glance.bytes());
            }
        }
        if self.stacks.is_some() {
            let count = (glances.len() / size_of::<Glance>()) as u32;
            let look = Look { at: now };
            self.file.append(budget, Look::KIND, count, &[look.bytes(), &glances]);
        }
    }

    /// Reads again what may have changed of the process.
    fn prepare(&mut self, now: i64, budget: &Budget) {
        let Some(stacks) = &mut self.stacks else { return };
        if now.saturating_sub(stacks.map_read) >= MAP {
            stacks.map_read = now;
            let fresh = stacks.modules.refresh(self.pid);
            self.add_modules(budget, fresh);
        }
        let (Some(stacks), entries) = (&mut self.stacks, &self.entries) else { return };
        if let Some(python) = stacks.python.as_mut()
            && now.saturating_sub(stacks.threads_read) >= THREADS
        {
            stacks.threads_read = now;
            python.refresh(|tid| entries.contains_key(&tid));
        }
    }

    /// What a thread does, if that may have changed.
    fn glance(&mut self, tid: u32, budget: &Budget) -> Option<Glance> {
        let entry = self.entries.get_mut(&tid)?;
        let running = entry.task.running();
        let state = match entry.task.seen.place.state {
            Run::Ready if running > entry.sampled => Run::Running,
            state => state,
        };
        let same = entry.glance.is_some_and(|glance| glance.state == state as u32);
        let is_ready = matches!(state, Run::Ready | Run::Running);
        if same && !entry.moved && !is_ready {
            return None;
        }
        entry.sampled = running;
        entry.moved = false;
        let seen = entry.task.seen;
        let (native, python) = self.frames(tid, seen.stack, seen.counter, budget);
        let stack = self.stack_id(native, python, budget);
        let glance = Glance { tid, state: state as u32, stack, zero: 0 };
        self.entries.get_mut(&tid)?.glance = Some(glance);
        Some(glance)
    }

    /// The frames of a thread; `stack` and `counter` are 0 for one that is not blocked.
    fn frames(
        &mut self,
        tid: u32,
        stack: u64,
        counter: u64,
        budget: &Budget,
    ) -> (Vec<u64>, Vec<PythonFrame>) {
        let (mut native, mut python) = (Vec::new(), Vec::new());
        let blocked = stack != 0 && counter != 0 && !self.calls.is_inside(tid);
        if blocked {
            self.know(counter, budget);
        }
        let Some(stacks) = &mut self.stacks else { return (native, python) };
        if blocked && !stacks.native.unwind(stack, counter, &mut native) {
            self.unseen.cut += 1;
        }
        if let Some(interpreter) = &mut stacks.python
            && !interpreter.stack(tid, &mut self.file, budget, &mut python)
        {
            // Without its Python frames, the stack would name the wrong function.
            native.clear();
            return (native, python);
        }
        // Python's frames are not those of the moment that the kernel wrote down.
        if !blocked && python.is_empty() && !self.calls.is_inside(tid) {
            self.running_frames(tid, &mut native);
        }
        (native, python)
    }

    /// The frames of a thread that runs, as the kernel wrote them down since the last look.
    fn running_frames(&mut self, tid: u32, native: &mut Vec<u64>) {
        let (Some(stacks), Some(entry)) = (&mut self.stacks, self.entries.get_mut(&tid)) else { return };
        if !matches!(entry.task.seen.place.state, Run::Ready | Run::Running) {
            return;
        }
        let Some(sampler) = &mut entry.sampler else {
            if stacks.samplers > 0 {
                stacks.samplers -= 1;
                entry.sampler = Sampler::of(tid);
            }
            return;
        };
        if let Some(sample) = sampler.last()
            && !stacks.native.unwind_sample(sample, native)
        {
            self.unseen.cut += 1;
        }
    }

    /// Reads the map of the process again if an address lies in no known module.
    fn know(&mut self, address: u64, budget: &Budget) {
        let Some(stacks) = &mut self.stacks else { return };
        let now = clock::now();
        if now.saturating_sub(stacks.map_read) >= MAP_IF_UNKNOWN && !stacks.modules.contains(address) {
            stacks.map_read = now;
            let fresh = stacks.modules.refresh(self.pid);
            self.add_modules(budget, fresh);
        }
    }

    /// The number of a stack; 0 for one without frames.
    fn stack_id(&mut self, native: Vec<u64>, python: Vec<PythonFrame>, budget: &Budget) -> u32 {
        let Some(stacks) = self.stacks.as_mut().filter(|_| !native.is_empty() || !python.is_empty()) else {
            return 0;
        };
        let key = (native, python);
        if let Some(id) = stacks.known.get(&key) {
            return *id;
        }
        // Numbers go on: those of forgotten stacks are not used again.
        let id = self.next_stack;
        let (native, python) = &key;
        let seen = Seen { native: native.len() as u32, python: python.len() as u32 };
        let addresses: Vec<u8> = native.iter().flat_map(|address| address.to_ne_bytes()).collect();
        let frames: Vec<u8> = python
            .iter()
            .flat_map(|frame| [frame.file, frame.function, frame.line, 0])
            .flat_map(u32::to_ne_bytes)
            .collect();
        let parts = [seen.bytes(), &addresses, &frames];
        if self.file.append(budget, Seen::KIND, id, &parts).is_none() {
            return 0;
        }
        self.next_stack += 1;
        if stacks.known.len() >= MOST_STACKS {
            stacks.known.clear();
        }
        stacks.known.insert(key, id);
        id
    }

    fn write_look(&mut self, now: i64, glances: &[u8], budget: &Budget) {
        if !glances.is_empty() {
            let count = (glances.len() / size_of::<Glance>()) as u32;
            self.file.append(budget, Look::KIND, count, &[Look { at: now }.bytes(), glances]);
        }
    }

    /// Ends the file: its process has gone, or recording ends.
    pub fn finish(mut self, budget: &Budget) {
        self.count_unseen(clock::now(), budget);
        if let Some(at) = self.unseen_row {
            self.file.rewrite(at, 0, self.unseen.bytes());
        }
        self.file.finish();
    }
}

impl Entry {
    /// Writes the thread's name down if it has another one now.
    fn name(&mut self, pid: i32, file: &mut Watched, budget: &Budget) {
        let tid = self.task.tid;
        if let Some(name) = task::name(pid, tid).filter(|name| self.name.as_ref() != Some(name)) {
            let id = file.text(budget, &name);
            file.append(budget, ThreadName::KIND, id, &[ThreadName { tid: tid.into() }.bytes()]);
            self.name = Some(name);
        }
    }

    fn look(
        &mut self,
        began_after: Option<i64>,
        file: &mut Watched,
        names: &mut FxHashMap<i64, u32>,
        budget: &Budget,
    ) -> Found {
        let (tid, at) = (self.task.tid, &mut self.row);
        let found = self.task.look(began_after, &mut |change| {
            let (Change::Last(row) | Change::Next(row)) = change;
            let name = row.place.call.map_or(0, |number| {
                *names.entry(number).or_insert_with(|| file.text(budget, &syscalls::name(number)))
            });
            let record = State {
                start: row.start,
                end: row.end,
                running: row.running,
                runnable: row.runnable,
                object: row.place.object,
                tid,
                state: row.place.state as u32,
            };
            match (change, *at) {
                (Change::Last(_), Some(at)) => file.rewrite(at, name, record.bytes()),
                // A row that there was no room for stays lost, and counted.
                (Change::Last(_), None) => {}
                (Change::Next(_), _) => *at = file.append(budget, State::KIND, name, &[record.bytes()]),
            }
        });
        self.moved |= found == Found::Moved;
        found
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

/// Who a process is; `None` when it is gone.
fn who(pid: i32) -> Option<Who> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let lives = proc::state(&text)? != Run::Unknown;
    // The kernel shows 1 to those who may not know it.
    let code = proc::code_start(&text).filter(|start| *start > 1);
    lives.then(|| Who { began: proc::began(&text), code })
}

/// Reads a byte of a process's memory.
///
/// # Errors
/// The system's error number: `EPERM` where this process may not.
pub fn read_byte(pid: i32, address: u64) -> Result<u8, i32> {
    let mut byte = [0u8; 1];
    let local = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(address as usize), iov_len: 1 };
    // SAFETY: writes at most one byte into `byte`; the kernel checks the remote address.
    match unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) } {
        1 => Ok(byte[0]),
        _ => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
    }
}

/// Why Python stacks are missing.
fn refusal(why: Unreadable) -> String {
    let what = match why {
        Unreadable::Symbols => "the interpreter's symbols are missing".to_owned(),
        Unreadable::Forbidden => "its memory cannot be read".to_owned(),
        Unreadable::Version(0) => "this build of Python is not known".to_owned(),
        Unreadable::Version(hex) => {
            format!(
                "this build of Python {}.{} is not known (free-threaded, or a pre-release)",
                hex >> 24,
                hex >> 16 & 0xff
            )
        }
    };
    format!("its Python stacks are not sampled: {what}")
}
