//! State of reading a spool: of all processes, and of the one whose file is read.

pub(super) mod devices;
pub(super) mod endings;
pub(super) mod functions;
pub(super) mod later;
pub(super) mod streams;
pub(super) mod tallies;
pub(super) mod texts;
pub(super) mod thread_waits;
pub(super) mod times;
pub(super) mod unread;
pub(super) mod watched;

use super::places::Places;
use super::symbolizer::Symbolizer;
use crate::identities::Identities;
use devices::Devices;
use endings::Endings;
use later::Later;
use rustc_hash::{FxHashMap, FxHashSet};
use spool::{Clock, Clocks, Home};
use texts::Texts;
use times::{Time, Times};
use trace::{DeviceId, Ns, ProcessId, Source, Sym, ThreadId, Trace};
use watched::WatchState;

/// The reader's state that all processes share.
pub(super) struct Gather<'a> {
    pub trace: Trace,
    pub ids: Identities,
    pub devices: Devices,
    pub places: Places<'a>,
    /// Whether every wait for a driver lock is in the files.
    pub complete: bool,
    /// When recording was switched on, as its user asked for; `None` where only the processes say so.
    pub requested: Option<Vec<Time>>,
    /// The same, from when the first process had noticed.
    pub times: Vec<Time>,
    /// All that ended later is recorded, ns; `None` where nothing was overwritten.
    pub complete_from: Option<Ns>,
    /// The ids of the processes that started these.
    pub parents: Vec<(ProcessId, u32)>,
}

/// The state of reading one process's file.
pub(super) struct Process<'g, 'a> {
    pub all: &'g mut Gather<'a>,
    /// Number of the file, which identifies its process: the system reuses process ids.
    pub number: i64,
    pub pid: u32,
    pub row: ProcessId,
    pub texts: Texts,
    /// The clock readings so far.
    pub readings: Vec<Clock>,
    pub clocks: Clocks,
    pub threads: FxHashMap<u32, ThreadId>,
    /// The GPUs that it knows, by its own numbers.
    pub gpus: FxHashMap<u32, DeviceId>,
    /// The GPUs of contexts, by the same numbers.
    pub device_of: FxHashMap<u32, u32>,
    /// Threads that wrote CUPTI's records: mostly CUPTI's own.
    pub cupti: FxHashSet<u32>,
    /// First row of this process in the table of calls.
    pub first_call: usize,
    /// First row of this process in the table of operations.
    pub first_op: usize,
    /// Earliest time in the file.
    pub first: Ns,
    /// Latest time in each of its chunks; the last element is for records that are read later.
    pub last: Vec<Ns>,
    /// Index in `last` of the chunk that is being read.
    pub chunk: usize,
    pub later: Later,
    pub watched: WatchState,
    pub endings: Endings,
    /// Which of the two files is read: the process's own, or the one beside it.
    pub file: Home,
    /// Remarks of the file: when, ns, and the number of the text.
    pub remarks: Vec<(Ns, u32)>,
    /// Variables of the environment that the process had set: name and value.
    pub settings: Vec<(&'static str, Sym)>,
    /// Threads that the program itself named.
    pub named: FxHashSet<u32>,
    /// When the process noticed that recording was switched, and whether on.
    pub switches: Vec<(Ns, bool)>,
    pub recorded: Vec<Time>,
    /// All that ended later is recorded, ns; `None` where nothing was overwritten.
    pub complete_from: Option<Ns>,
    /// When its file was made, ns.
    pub began: Ns,
}

impl<'a> Gather<'a> {
    pub fn new(symbolizer: &'a mut dyn Symbolizer) -> Gather<'a> {
        let mut trace = Trace::default();
        trace.meta.set_source(Source::HOLDUP);
        Gather {
            trace,
            ids: Identities::default(),
            devices: Devices::default(),
            places: Places::new(symbolizer),
            complete: true,
            requested: None,
            times: Vec::new(),
            complete_from: None,
            parents: Vec::new(),
        }
    }

    /// Adds a note unless the trace already has it.
    pub fn note(&mut self, note: String) {
        let notes = &mut self.trace.meta.notes;
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
}

impl Process<'_, '_> {
    /// The row of a thread of this process.
    pub fn thread(&mut self, tid: u32) -> ThreadId {
        let (all, number) = (&mut *self.all, self.number);
        *self.threads.entry(tid).or_insert_with(|| all.ids.thread(&mut all.trace, number, tid.into()))
    }

    /// A record's times in ticks, converted to ns; `None` if they are invalid.
    pub fn ticks(&mut self, start: i64, end: i64) -> Option<(Ns, Ns)> {
        self.times(self.clocks.ns(start), self.clocks.ns(end))
    }

    /// A record's times, ns; `None` if they are invalid.
    pub fn times(&mut self, start: Ns, end: Ns) -> Option<(Ns, Ns)> {
        let mut times = Times::default();
        let sane = times.check(start, end);
        self.add_times(times);
        sane
    }

    /// Adds the times of records in the current chunk.
    pub fn add_times(&mut self, times: Times) {
        self.all.trace.meta.lost.records("invalid times", times.invalid);
        self.first = self.first.min(times.first);
        let last = &mut self.last[self.chunk];
        *last = times.last.max(*last);
    }
}
