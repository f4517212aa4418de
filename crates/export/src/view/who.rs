//! The tracks of an export: threads in their processes, streams in their devices. Viewers have only processes and
//! threads, so a device is shown as a process, and every group and track has a unique number.

use explain::Engine;
use std::collections::{HashMap, HashSet};
use trace::{DeviceId, ProcessId, StreamId, ThreadId, ThreadRole, Trace};

/// Numbers from here on are invented, for what has no number: they are above every process id of Linux, which are below
/// 2²².
const MADE_UP: i64 = 1_000_000_000;

/// A process of a viewer: a process or a device.
pub(crate) struct Group {
    /// Its number as shown: the process id if viewers can show it.
    pub pid: i64,
    pub name: String,
    /// Further facts, such as a device's memory size.
    pub labels: Vec<String>,
    pub device: Option<DeviceId>,
}

/// A thread of a viewer, or a row of a device.
pub(crate) struct Track {
    /// Its group, by number.
    pub group: usize,
    /// Its number as shown: the thread id if viewers can show it.
    pub tid: i64,
    /// Its name; empty for a thread without a name in the trace.
    pub name: String,
    pub what: Owner,
}

/// The owner of a track's events; `NONE` for events without a thread or stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Thread(ThreadId),
    /// Activity of the thread before it, as the scheduler saw it.
    States(ThreadId),
    /// The device's operations again, which its streams show too.
    Engine(DeviceId, Engine),
    Stream(StreamId),
}

/// All groups and tracks.
#[derive(Default)]
pub(crate) struct Who {
    pub groups: Vec<Group>,
    /// Threads first, each followed by its states, then the engines of devices that copy and compute, then streams, each
    /// in the trace's order.
    pub tracks: Vec<Track>,
    taken: HashSet<i64>,
    taken_in_group: Vec<HashSet<i64>>,
}

impl Who {
    pub fn new(trace: &Trace) -> Who {
        let mut who = Who::default();
        who.add_threads(trace);
        who.add_streams(trace);
        who
    }

    fn add_threads(&mut self, trace: &Trace) {
        let groups: Vec<usize> =
            trace.processes.ids().map(|process| self.add_process(trace, process)).collect();
        let mut nowhere = None;
        let observed = observed(trace);
        for id in trace.threads.ids() {
            let row = trace.threads.row(id);
            let group = match row.process.some() {
                Some(process) => groups[process.index()],
                None => *nowhere.get_or_insert_with(|| self.add_group("no process", MADE_UP)),
            };
            let tid = self.number_in(group, row.tid);
            let mut name = trace.text(row.name).to_owned();
            if name.is_empty() && tid != row.tid {
                name = format!("thread {}", row.tid);
            }
            if row.role == ThreadRole::Tracer {
                name = format!("{name} (tracer)").trim_start().to_owned();
            }
            self.add_thread(group, tid, name, id, observed[id.index()]);
        }
        let none = ThreadId::NONE;
        let threads = [&trace.calls.thread, &trace.ranges.thread, &trace.waits.thread, &trace.samples.thread];
        let observed = trace.states.thread.contains(&none);
        if observed || threads.iter().any(|of| of.contains(&none)) {
            let group = nowhere.unwrap_or_else(|| self.add_group("no process", MADE_UP));
            let tid = self.number_in(group, MADE_UP);
            self.add_thread(group, tid, "no thread".to_owned(), none, observed);
        }
    }

    /// Adds a thread, and a track of its states if it has any.
    fn add_thread(&mut self, group: usize, tid: i64, name: String, thread: ThreadId, observed: bool) {
        let states = match name.as_str() {
            "" => format!("thread {tid} state"),
            name => format!("{name} state"),
        };
        self.tracks.push(Track { group, tid, name, what: Owner::Thread(thread) });
        if observed {
            let tid = self.number_in(group, MADE_UP);
            self.tracks.push(Track { group, tid, name: states, what: Owner::States(thread) });
        }
    }

    /// The group of a process: those of processes are the first, in the trace's order.
    pub fn group_of_process(&self, process: ProcessId) -> usize {
        process.index()
    }

    fn add_process(&mut self, trace: &Trace, process: ProcessId) -> usize {
        let row = trace.processes.row(process);
        let name = match trace.text(row.name) {
            "" => format!("process {}", row.pid),
            name => name.to_owned(),
        };
        let group = self.add_group(&name, row.pid);
        if self.groups[group].pid != row.pid {
            self.groups[group].labels.push(format!("process {}", row.pid));
        }
        group
    }

    fn add_streams(&mut self, trace: &Trace) {
        let groups: Vec<usize> = trace.devices.ids().map(|device| self.add_device(trace, device)).collect();
        self.add_engines(trace, &groups);
        let beside = Siblings::new(trace);
        let mut nowhere = None;
        let mut unknown = |who: &mut Who| *nowhere.get_or_insert_with(|| who.add_group("GPU", MADE_UP));
        for id in trace.streams.ids() {
            let device = trace.device_of_stream(id).some();
            let group = device.map_or_else(|| unknown(self), |device| groups[device.index()]);
            self.add_stream(group, &beside.stream_name(trace, id), Owner::Stream(id));
        }
        if trace.ops.stream.contains(&StreamId::NONE) {
            let group = unknown(self);
            self.add_stream(group, "no stream", Owner::Stream(StreamId::NONE));
        }
    }

    /// Adds rows for the engines of each device with something to overlap: copies from or to the host, and kernels.
    fn add_engines(&mut self, trace: &Trace, groups: &[usize]) {
        for (device, (used, group)) in Engine::used(trace).iter().zip(groups).enumerate() {
            for engine in used.iter().copied() {
                let name = match engine {
                    Engine::CopyIn => "engine: copies in",
                    Engine::Compute => "engine: kernels",
                    Engine::CopyOut => "engine: copies out",
                    Engine::Other => "engine: other copies",
                };
                self.add_stream(*group, name, Owner::Engine(DeviceId::new(device), engine));
            }
        }
    }

    fn add_stream(&mut self, group: usize, name: &str, what: Owner) {
        let tid = self.number_in(group, MADE_UP);
        self.tracks.push(Track { group, tid, name: name.to_owned(), what });
    }

    fn add_device(&mut self, trace: &Trace, device: DeviceId) -> usize {
        let row = trace.devices.row(device);
        let name = format!("GPU {} {}", row.ordinal, trace.text(row.name));
        let group = self.add_group(name.trim_end(), MADE_UP);
        let facts = [
            (row.compute_major > 0, format!("compute {}.{}", row.compute_major, row.compute_minor)),
            (row.multiprocessors > 0, format!("{} SMs", row.multiprocessors)),
            (row.copy_engines > 0, format!("{} copy engines", row.copy_engines)),
            (row.memory_bytes > 0, format!("{} MiB", row.memory_bytes >> 20)),
        ];
        self.groups[group].labels =
            facts.into_iter().filter(|(known, _)| *known).map(|(_, fact)| fact).collect();
        self.groups[group].device = Some(device);
        group
    }

    fn add_group(&mut self, name: &str, wanted: i64) -> usize {
        let pid = number(&mut self.taken, wanted);
        self.groups.push(Group { pid, name: name.to_owned(), labels: Vec::new(), device: None });
        self.taken_in_group.push(HashSet::new());
        self.groups.len() - 1
    }

    /// A number for another track of a group.
    pub fn number_in(&mut self, group: usize, wanted: i64) -> i64 {
        number(&mut self.taken_in_group[group], wanted)
    }
}

/// Whether each thread has states.
fn observed(trace: &Trace) -> Vec<bool> {
    let mut observed = vec![false; trace.threads.len()];
    for thread in trace.states.thread.iter().filter_map(|thread| thread.some()) {
        observed[thread.index()] = true;
    }
    observed
}

/// The number `wanted` if it is positive, fits 31 bits (the limit of viewers) and is free; otherwise an invented one.
fn number(taken: &mut HashSet<i64>, wanted: i64) -> i64 {
    if wanted > 0 && wanted < MADE_UP * 2 && taken.insert(wanted) {
        return wanted;
    }
    let mut made_up = MADE_UP + taken.len() as i64;
    while !taken.insert(made_up) {
        made_up += 1;
    }
    made_up
}

/// The properties that distinguish the streams of one device.
#[derive(Default)]
struct Siblings {
    processes: HashMap<DeviceId, HashSet<ProcessId>>,
    contexts: HashMap<(DeviceId, ProcessId), usize>,
}

impl Siblings {
    fn new(trace: &Trace) -> Siblings {
        let mut beside = Siblings::default();
        for context in trace.contexts.ids().map(|context| trace.contexts.row(context)) {
            beside.processes.entry(context.device).or_default().insert(context.process);
            *beside.contexts.entry((context.device, context.process)).or_default() += 1;
        }
        beside
    }

    /// `stream 7`, with its process and context if the device has several.
    fn stream_name(&self, trace: &Trace, stream: StreamId) -> String {
        let row = trace.streams.row(stream);
        let Some(context) = row.context.some() else { return format!("stream {}", row.number) };
        let own = trace.contexts.row(context);
        let mut name = String::new();
        if self.processes[&own.device].len() > 1 {
            match own.process.some() {
                Some(process) => name.push_str(&format!("process {} ", trace.processes.pid[process.index()])),
                None => name.push_str("unknown process "),
            }
        }
        if self.contexts[&(own.device, own.process)] > 1 {
            name.push_str(&format!("context {} ", own.number));
        }
        name.push_str(&format!("stream {}", row.number));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Context, Device, Process, Stream};

    #[test]
    fn streams_of_a_device_have_distinct_names_even_with_an_unknown_process() {
        let mut trace = Trace::default();
        let device = trace.devices.push(Device::default());
        let process = trace.processes.push(Process { pid: 7, ..Process::default() });
        for process in [process, ProcessId::NONE] {
            let context = trace.contexts.push(Context { process, device, number: 1 });
            trace.streams.push(Stream { context, number: 3 });
        }
        let names: Vec<_> = Who::new(&trace).tracks.into_iter().map(|track| track.name).collect();
        assert_eq!(names, ["process 7 stream 3", "unknown process stream 3"]);
    }
}
