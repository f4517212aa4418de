//! A spool as a test wants to see it: all times are nanoseconds. Damage is a failure whatever the program did.

use spool::{Call, CallTally, Chunk, Clock, Clocks, File, Full, Level, Stack, ThreadWait, Wait};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Contents of a spool.
pub struct Recording {
    /// Its files, by name: in the order that images of a process were started.
    pub processes: Vec<Process>,
}

/// One file of it.
#[derive(Default)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    pub finished: bool,
    pub level: Option<Level>,
    /// Records dropped, with and without a chunk, and those that their thread could not write.
    pub dropped: u64,
    /// Records that later ones replaced.
    pub overwritten: u64,
    /// Records that are there, without those of clocks.
    pub written: u64,
    /// Why, if the file says so.
    pub full: Option<Full>,
    pub untracked_threads: u64,
    /// Driver calls begun, as the chunks count them.
    pub begun: u64,
    /// The threads that have a chunk, each once.
    pub threads: Vec<u32>,
    /// Calls that threads are still in: thread, function.
    pub within: Vec<(u32, String)>,
    pub calls: Vec<Row<Call>>,
    pub waits: Vec<Row<Wait>>,
    /// Waits outside of the driver and the listed libraries; a row's name is empty, since the tag is a kind.
    #[allow(dead_code, reason = "most tests see them as holdup reads them")]
    pub thread_waits: Vec<(spool::Awaited, Row<ThreadWait>)>,
    /// Queries that were counted.
    #[allow(dead_code, reason = "most tests see them as holdup reads them")]
    pub counted: Vec<Row<CallTally>>,
    pub stacks: Vec<StackRow>,
    pub modules: Vec<Row<spool::Module>>,
    pub notes: Vec<String>,
    /// Marked ranges in order: text and domain.
    pub ranges: Vec<(String, String)>,
    pub thread_names: Vec<(u64, String)>,
    pub programs: Vec<(String, String)>,
    /// Variables of the environment, each with its value.
    pub settings: Vec<(&'static str, String)>,
    pub devices: Vec<Row<spool::Device>>,
    pub drivers: Vec<u32>,
    /// Readings of both clocks, in order.
    pub readings: Vec<Clock>,
    clocks: Clocks,
    texts: HashMap<u32, String>,
}

/// A record, the thread that wrote it, and the text that its tag stands for.
#[derive(Clone, Debug)]
pub struct Row<T> {
    pub tid: u32,
    pub name: String,
    pub record: T,
}

/// A slow call's stack.
pub struct StackRow {
    pub tid: u32,
    pub record: Stack,
    pub native: Vec<u64>,
    /// File, function and line, innermost first.
    pub python: Vec<(String, String, u32)>,
}

impl Recording {
    /// Reads all files of a spool's folder, without those that there was no room for; none if it is not there.
    pub fn read(folder: &Path) -> Recording {
        let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry").path());
        let is_empty = |path: &Path| fs::metadata(path).expect("it is there").len() == 0;
        let is_spool =
            |path: &std::path::PathBuf| path.to_string_lossy().ends_with(spool::SUFFIX) && !is_empty(path);
        let mut paths: Vec<_> = entries.filter(is_spool).collect();
        paths.sort();
        Recording { processes: paths.iter().map(|path| Process::read(path)).collect() }
    }

    /// The file of a process that has one.
    pub fn of(&self, pid: u64) -> &Process {
        let mut found = self.processes.iter().filter(|process| u64::from(process.pid) == pid);
        let (first, second) = (found.next(), found.next());
        assert!(second.is_none(), "{pid} has several files");
        first.unwrap_or_else(|| panic!("{pid} has no file"))
    }
}

impl Process {
    fn read(path: &Path) -> Process {
        let bytes = fs::read(path).expect("a spool file can be read");
        let file = File::new(&bytes).unwrap_or_else(|| panic!("{} is no spool file", path.display()));
        let (chunks, damage) = file.chunks();
        assert_eq!(damage.bytes, 0, "{} is damaged", path.display());
        let mut process = Process {
            pid: file.pid(),
            parent: file.parent(),
            finished: file.finished(),
            level: file.level(),
            dropped: file.dropped() + file.unwritten(),
            full: file.full(),
            untracked_threads: file.untracked_threads(),
            ..Process::default()
        };
        // A text is known by its id in all chunks, whichever thread wrote it.
        chunks.iter().for_each(|chunk| process.references(chunk));
        process.readings.sort_by_key(|clock| clock.ticks);
        process.clocks = process.readings.iter().copied().collect();
        chunks.iter().for_each(|chunk| process.chunk(chunk));
        process.threads.sort_unstable();
        process.threads.dedup();
        process.calls.sort_by_key(|call| call.record.start);
        process.waits.sort_by_key(|wait| wait.record.start);
        process.stacks.sort_by_key(|stack| stack.record.start);
        process
    }

    /// Keeps the texts and clock readings that other records need to be understood.
    fn references(&mut self, chunk: &Chunk<'_>) {
        for record in chunk.records() {
            let record = record.expect("no damage");
            if record.head.kind == spool::Text::KIND {
                let text = String::from_utf8(record.text().expect("a whole text").to_vec());
                let before = self.texts.insert(record.head.tag, text.expect("texts here are UTF-8"));
                assert_eq!(before, None, "two texts have id {}", record.head.tag);
            }
            if record.head.kind == Clock::KIND {
                self.readings.push(Clock::read(record.body).expect("a whole record"));
            }
        }
    }

    fn chunk(&mut self, chunk: &Chunk<'_>) {
        let tid = chunk.tid();
        self.dropped += chunk.dropped();
        self.overwritten += chunk.overwritten();
        self.written += chunk.written();
        self.begun += chunk.calls();
        self.threads.push(tid);
        self.within.extend(chunk.within().map(|(function, _)| (tid, self.text(function))));
        for (name, call) in chunk.calls_made() {
            self.calls.extend(self.row(tid, name, Some(self.call_in_ns(call))));
        }
        for record in chunk.records() {
            let record = record.expect("no damage");
            let (name, body) = (record.head.tag, record.body);
            match record.head.kind {
                Wait::KIND => {
                    let wait = Wait::read(body).map(|wait| self.wait_in_ns(wait));
                    self.waits.extend(self.row(tid, name, wait));
                }
                ThreadWait::KIND => self.thread_waits.push(self.thread_wait(tid, &record)),
                CallTally::KIND => self.counted.extend(self.row(tid, name, CallTally::read(body))),
                spool::Module::KIND => self.modules.extend(self.row(tid, name, spool::Module::read(body))),
                spool::Device::KIND => self.devices.extend(self.row(tid, name, spool::Device::read(body))),
                spool::Driver::KIND => self.drivers.push(name),
                spool::Note::KIND => self.notes.push(self.text(name)),
                spool::Range::KIND => {
                    let range = spool::Range::read(body).expect("a whole record");
                    self.ranges.push((self.text(name), self.text(range.domain as u32)));
                }
                spool::ThreadName::KIND => {
                    let thread = spool::ThreadName::read(body).expect("a whole record").tid;
                    self.thread_names.push((thread, self.text(name)));
                }
                spool::Program::KIND => {
                    let command = spool::Program::read(body).expect("a whole record").command;
                    self.programs.push((self.text(name), self.text(command as u32)));
                }
                spool::Setting::KIND => {
                    let variable = spool::Setting::read(body).expect("a whole record").name;
                    self.settings.push((spool::SETTINGS[variable as usize], self.text(name)));
                }
                Stack::KIND => self.stacks.push(self.stack(tid, &record)),
                _ => {}
            }
        }
    }

    fn call_in_ns(&self, call: Call) -> Call {
        Call { start: self.clocks.ns(call.start), end: self.clocks.ns(call.end), ..call }
    }

    fn wait_in_ns(&self, wait: Wait) -> Wait {
        let ns = |ticks| self.clocks.ns(ticks);
        Wait {
            start: ns(wait.start),
            end: ns(wait.end),
            since: ns(wait.since),
            holder_since: ns(wait.holder_since),
            releaser_since: ns(wait.releaser_since),
            ..wait
        }
    }

    fn thread_wait(&self, tid: u32, record: &spool::Record<'_>) -> (spool::Awaited, Row<ThreadWait>) {
        let kind = spool::Awaited::from_number(record.head.tag).expect("a known kind of wait");
        let wait = ThreadWait::read(record.body).expect("a whole record");
        let [start, end] = [wait.start, wait.end].map(|ticks| self.clocks.ns(ticks));
        (kind, Row { tid, name: String::new(), record: ThreadWait { start, end, ..wait } })
    }

    fn row<T>(&self, tid: u32, name: u32, record: Option<T>) -> Option<Row<T>> {
        Some(Row { tid, name: self.text(name), record: record.expect("a whole record") })
    }

    fn stack(&self, tid: u32, record: &spool::Record<'_>) -> StackRow {
        let (native, python) = record.frames().expect("a whole stack");
        let frame =
            |frame: &spool::PythonFrame| (self.text(frame.file), self.text(frame.function), frame.line);
        let python = python.iter().map(frame).collect();
        let record = Stack::read(record.body).expect("a whole stack");
        let record = Stack { start: self.clocks.ns(record.start), end: self.clocks.ns(record.end), ..record };
        StackRow { tid, record, native, python }
    }

    /// A text by its id; empty for 0 and for one that there was no room for.
    pub fn text(&self, id: u32) -> String {
        self.texts.get(&id).cloned().unwrap_or_default()
    }

    /// The calls of a function, in order.
    pub fn calls_of(&self, function: &str) -> Vec<&Row<Call>> {
        self.calls.iter().filter(|call| call.name == function).collect()
    }

    /// How many calls a thread made of each function that it called, by name.
    pub fn counts(&self, tid: u32) -> Vec<(&str, usize)> {
        let mut counts = std::collections::BTreeMap::new();
        for call in self.calls.iter().filter(|call| call.tid == tid) {
            *counts.entry(call.name.as_str()).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }
}
