//! Samples of a process's threads: where those are that ran since the last look.

use super::memory::{UNREADABLE, read_byte};
use super::stacks::Stacks;
use super::state::Process;
use crate::clock;
use crate::file::Budget;
use crate::modules::Modules;
use crate::native::{self, Native};
use crate::perf::{self, Sampler};
use crate::python::Python;
use pystack::Unreadable;
use rustc_hash::FxHashMap;
use spool::{Glance, Look, Module, PythonFrame, Run, Seen};

/// How often the interpreter is asked for its threads though no thread came, ns; and how long at every look after one
/// came: a thread exists before it says that it is Python's, on a busy machine by far more than a look.
const THREADS: i64 = 1_000_000_000;

/// How often the map of a process is read again, ns: where an address lies in no known module, and anyway.
const MAP_IF_UNKNOWN: i64 = 1_000_000_000;

const MAP: i64 = 5_000_000_000;

/// The most threads of a process that the kernel writes down: each has a ring of its own.
const MOST_SAMPLERS: usize = 128;

/// How many different stacks are remembered.
const MOST_STACKS: usize = 20_000;

impl Process {
    pub(super) fn begin_samples(&mut self, budget: &Budget) {
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
            // Those that were there may be as young.
            thread_came: clock::now(),
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
    pub(super) fn sample(&mut self, now: i64, budget: &Budget) {
        self.prepare(now, budget);
        let mut glances = Vec::new();
        let tids: Vec<u32> = self.entries.keys().copied().collect();
        for tid in tids {
            if let Some(glance) = self.glance(tid, now, budget) {
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
        let Some(stacks) = &mut self.stacks else { return };
        let is_young = now.saturating_sub(stacks.thread_came) < THREADS;
        if let Some(python) = stacks.python.as_mut()
            && (is_young || now.saturating_sub(stacks.threads_read) >= THREADS)
        {
            stacks.threads_read = now;
            for tid in python.refresh(|tid| self.entries.contains_key(&tid)) {
                // It may sleep on, where it was seen without its Python frames.
                if let Some(entry) = self.entries.get_mut(&tid) {
                    entry.moved = true;
                }
            }
        }
    }

    /// State of a thread, if that may have changed since the look that began at `now`.
    fn glance(&mut self, tid: u32, now: i64, budget: &Budget) -> Option<Glance> {
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
        let seen = entry.task.seen;
        let after = clock::now().saturating_sub(now).clamp(0, u32::MAX.into()) as u32;
        let (native, python) = self.frames(tid, seen.stack, seen.counter, budget);
        let stack = self.stack_id(native, python, budget);
        let entry = self.entries.get_mut(&tid)?;
        // The frames of a thread that woke up meanwhile are not those in which it slept.
        let woke_up = !is_ready && entry.task.has_moved();
        entry.moved = woke_up;
        let state = if woke_up { Run::Running } else { state };
        let glance = Glance { tid, state: state as u32, stack, after };
        entry.glance = Some(glance);
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
