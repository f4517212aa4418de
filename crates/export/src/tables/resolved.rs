//! The trace's tables, with names for the rows that their columns refer to. A number that the source does not state
//! becomes an empty cell.

use super::column::Table;
use crate::view::Names;
use trace::{CallId, ContextId, OpId, StackId, StreamId, ThreadId, Trace};

/// Finds the names of rows.
#[derive(Clone, Copy)]
struct Words<'a> {
    trace: &'a Trace,
    names: &'a Names<'a>,
}

/// All tables of the trace.
pub(super) fn tables<'a>(trace: &'a Trace, names: &'a Names<'a>) -> Vec<Table<'a>> {
    let words = Words { trace, names };
    let [processes, threads, devices] = words.who();
    let [contexts, streams] = words.places_of_work();
    let [frames, stacks] = words.code();
    let [calls, ranges, arguments] = words.host();
    let [ops, syncs] = words.gpu();
    let waits = words.waits();
    let [states, limits, samples, tallies] = words.besides_calls();
    vec![
        processes, threads, devices, contexts, streams, frames, stacks, ranges, calls, ops, syncs, waits,
        arguments, states, limits, samples, tallies,
    ]
}

impl<'a> Words<'a> {
    fn pid(self, thread: ThreadId) -> Option<i64> {
        let process = self.trace.process_of_thread(thread).some();
        process.map(|process| self.trace.processes.pid[process.index()])
    }

    fn tid(self, thread: ThreadId) -> Option<i64> {
        thread.some().map(|thread| self.trace.threads.tid[thread.index()])
    }

    fn thread(self, thread: ThreadId) -> &'a str {
        thread.some().map_or("", |thread| self.trace.text(self.trace.threads.name[thread.index()]))
    }

    fn call(self, call: CallId) -> &'a str {
        call.some().map_or("", |call| self.trace.text(self.trace.calls.name[call.index()]))
    }

    fn caller(self, call: CallId) -> ThreadId {
        call.some().map_or(ThreadId::NONE, |call| self.trace.calls.thread[call.index()])
    }

    fn stream(self, stream: StreamId) -> Option<i64> {
        stream.some().map(|stream| self.trace.streams.number[stream.index()])
    }

    fn context(self, context: ContextId) -> Option<i64> {
        context.some().map(|context| self.trace.contexts.number[context.index()])
    }

    fn device(self, stream: StreamId) -> Option<i64> {
        self.trace.device_of_stream(stream).some().map(|device| self.trace.devices.ordinal[device.index()])
    }

    fn process(self, stream: StreamId) -> Option<i64> {
        let process = self.trace.process_of_stream(stream).some();
        process.map(|process| self.trace.processes.pid[process.index()])
    }

    fn place(self, stack: StackId) -> &'a str {
        self.names.of_place(stack).map_or("", |place| self.names.text(place))
    }

    /// The innermost frame of a stack.
    fn innermost(self, stack: StackId) -> &'a str {
        let frame = stack.some().and_then(|stack| self.trace.stacks.frame[stack.index()].some());
        frame.map_or("", |frame| self.names.text(self.names.of_frame(frame)))
    }

    fn who(self) -> [Table<'a>; 3] {
        let Words { trace, .. } = self;
        let Trace { processes, threads, devices, .. } = trace;
        let processes_table = Table::new("processes", processes.len())
            .int("pid", |row| Some(processes.pid[row]))
            .text("name", |row| trace.text(processes.name[row]))
            .int("parent_pid", |row| processes.parent[row].some().map(|parent| processes.pid[parent.index()]))
            .text("settings", |row| trace.text(processes.settings[row]));
        let threads_table = Table::new("threads", threads.len())
            .int("pid", move |row| self.pid(ThreadId::new(row)))
            .int("tid", |row| Some(threads.tid[row]))
            .text("name", |row| trace.text(threads.name[row]))
            .text("role", |row| threads.role[row].name());
        let devices_table = Table::new("devices", devices.len())
            .int("ordinal", |row| Some(devices.ordinal[row]))
            .text("name", |row| trace.text(devices.name[row]))
            .int("compute_major", |row| Some(devices.compute_major[row].into()))
            .int("compute_minor", |row| Some(devices.compute_minor[row].into()))
            .int("multiprocessors", |row| stated(devices.multiprocessors[row]))
            .int("copy_engines", |row| stated(devices.copy_engines[row]))
            .int("memory_bytes", |row| stated(devices.memory_bytes[row]))
            .text("uuid", |row| trace.text(devices.uuid[row]));
        [processes_table, threads_table, devices_table]
    }

    fn places_of_work(self) -> [Table<'a>; 2] {
        let Trace { processes, devices, contexts, streams, .. } = self.trace;
        let contexts_table = Table::new("contexts", contexts.len())
            .int("pid", |row| contexts.process[row].some().map(|process| processes.pid[process.index()]))
            .int("device", |row| contexts.device[row].some().map(|device| devices.ordinal[device.index()]))
            .int("number", |row| Some(contexts.number[row]));
        let streams_table = Table::new("streams", streams.len())
            .int("pid", move |row| self.process(StreamId::new(row)))
            .int("device", move |row| self.device(StreamId::new(row)))
            .int("context", move |row| self.context(streams.context[row]))
            .int("number", |row| Some(streams.number[row]));
        [contexts_table, streams_table]
    }

    fn code(self) -> [Table<'a>; 2] {
        let Words { trace, .. } = self;
        let Trace { frames, stacks, .. } = trace;
        let frames_table = Table::new("frames", frames.len())
            .text("function", |row| trace.text(frames.function[row]))
            .text("file", |row| trace.text(frames.file[row]))
            .int("line", |row| stated(frames.line[row]))
            .text("module", |row| trace.text(frames.module[row]));
        let stacks_table = Table::new("stacks", stacks.len())
            .text("frame", move |row| self.innermost(StackId::new(row)))
            .text("called_from", move |row| self.innermost(stacks.caller[row]));
        [frames_table, stacks_table]
    }

    fn host(self) -> [Table<'a>; 3] {
        let Words { trace, .. } = self;
        let Trace { calls, ranges, arguments, .. } = trace;
        let operator =
            |row: usize| calls.range[row].some().map_or("", |at| trace.text(ranges.name[at.index()]));
        let calls_table = self
            .times(Table::new("calls", calls.len()), &calls.start, &calls.end)
            .int("pid", move |row| self.pid(calls.thread[row]))
            .int("tid", move |row| self.tid(calls.thread[row]))
            .text("thread", move |row| self.thread(calls.thread[row]))
            .text("api", |row| calls.api[row].name())
            .text("name", |row| trace.text(calls.name[row]))
            .int("correlation", |row| stated(calls.correlation[row]))
            .int("result", |row| Some(calls.result[row].into()))
            .text("operator", operator)
            .text("place", move |row| self.place(calls.stack[row]));
        let ranges_table = self
            .times(Table::new("ranges", ranges.len()), &ranges.start, &ranges.end)
            .int("pid", move |row| self.pid(ranges.thread[row]))
            .int("tid", move |row| self.tid(ranges.thread[row]))
            .text("thread", move |row| self.thread(ranges.thread[row]))
            .text("kind", |row| ranges.kind[row].name())
            .text("name", |row| trace.text(ranges.name[row]))
            .text("domain", |row| trace.text(ranges.domain[row]))
            .text("place", move |row| self.place(ranges.stack[row]));
        let arguments_table = Table::new("arguments", arguments.len())
            .int("call_start_ns", |row| arguments.call[row].some().map(|call| calls.start[call.index()]))
            .int("pid", move |row| self.pid(self.caller(arguments.call[row])))
            .int("tid", move |row| self.tid(self.caller(arguments.call[row])))
            .text("call", move |row| self.call(arguments.call[row]))
            .int("bytes", |row| stated(arguments.bytes[row]))
            .text("copy", |row| known(arguments.copy[row].name()))
            .text("src", |row| known(arguments.src[row].name()))
            .text("dst", |row| known(arguments.dst[row].name()))
            .int("stream", move |row| self.stream(arguments.stream[row]))
            .text("kernel", move |row| trace.text(arguments.kernel[row]));
        [calls_table, ranges_table, arguments_table]
    }

    fn gpu(self) -> [Table<'a>; 2] {
        let Words { trace, names } = self;
        let Trace { ops, syncs, processes, .. } = trace;
        let ops_table = self
            .times(Table::new("ops", ops.len()), &ops.start, &ops.end)
            .text("kind", |row| ops.kind[row].name())
            .text("name", move |row| names.text(names.of_op(OpId::new(row))))
            .int("pid", move |row| self.process(ops.stream[row]))
            .int("device", move |row| self.device(ops.stream[row]))
            .int("context", move |row| self.context(trace.context_of_stream(ops.stream[row])))
            .int("stream", move |row| self.stream(ops.stream[row]))
            .int("correlation", |row| stated(ops.correlation[row]))
            .text("call", move |row| self.call(ops.call[row]))
            .int("call_tid", move |row| self.tid(self.caller(ops.call[row])))
            .text("call_thread", move |row| self.thread(self.caller(ops.call[row])));
        let ops_table = launch_columns(transfer_columns(ops_table, trace), trace);
        let syncs_table = self
            .times(Table::new("syncs", syncs.len()), &syncs.start, &syncs.end)
            .text("kind", |row| syncs.kind[row].name())
            .int("pid", |row| syncs.process[row].some().map(|process| processes.pid[process.index()]))
            .int("stream", move |row| self.stream(syncs.stream[row]))
            .int("event", |row| stated(syncs.event[row]))
            .int("correlation", |row| stated(syncs.correlation[row]))
            .text("call", move |row| self.call(syncs.call[row]))
            .int("call_tid", move |row| self.tid(self.caller(syncs.call[row])));
        [ops_table, syncs_table]
    }

    fn waits(self) -> Table<'a> {
        let waits = &self.trace.waits;
        self.times(Table::new("waits", waits.len()), &waits.start, &waits.end)
            .int("pid", move |row| self.pid(waits.thread[row]))
            .int("tid", move |row| self.tid(waits.thread[row]))
            .text("thread", move |row| self.thread(waits.thread[row]))
            .text("call", move |row| self.call(waits.call[row]))
            .made("lock", |row| format!("{:#x}", waits.lock[row]))
            .text("kind", |row| waits.kind[row].name())
            .text("mode", |row| waits.mode[row].name())
            .text("library", |row| self.trace.text(waits.library[row]))
            .int("holder_tid", move |row| self.tid(waits.holder[row]))
            .text("holder_thread", move |row| self.thread(waits.holder[row]))
            .text("holder_call", move |row| self.call(waits.holder_call[row]))
            .int("holders", |row| stated(waits.holders[row]))
            .int("releaser_tid", move |row| self.tid(waits.releaser[row]))
            .text("releaser_thread", move |row| self.thread(waits.releaser[row]))
            .text("releaser_call", move |row| self.call(waits.releaser_call[row]))
            .text("layer", |row| known(waits.layer[row].name()))
            .int("handoff_ns", |row| stated(waits.handoff[row]))
            .text("place", move |row| self.place(waits.stack[row]))
            .text("holder_place", move |row| self.place(waits.holder_stack[row]))
            .text("releaser_place", move |row| self.place(waits.releaser_stack[row]))
    }

    /// Tables of records of threads and processes, whether they called anything or not.
    fn besides_calls(self) -> [Table<'a>; 4] {
        let Trace { states, limits, samples, tallies, processes, .. } = self.trace;
        let states_table = self
            .times(Table::new("states", states.len()), &states.start, &states.end)
            .int("pid", move |row| self.pid(states.thread[row]))
            .int("tid", move |row| self.tid(states.thread[row]))
            .text("thread", move |row| self.thread(states.thread[row]))
            .int("running_ns", |row| Some(states.running[row]))
            .int("runnable_ns", |row| Some(states.runnable[row]))
            .text("state", |row| known(states.state[row].name()))
            .text("call", |row| self.trace.text(states.call[row]))
            .int("object", |row| stated(states.object[row]));
        let limits_table = self
            .times(Table::new("limits", limits.len()), &limits.start, &limits.end)
            .int("pid", |row| limits.process[row].some().map(|process| processes.pid[process.index()]))
            .int("processors", |row| stated(limits.processors[row]))
            .int("quota", |row| stated(limits.quota[row]))
            .int("throttled_ns", |row| Some(limits.throttled[row]));
        let samples_table = Table::new("samples", samples.len())
            .int("at_ns", |row| Some(samples.at[row]))
            .int("pid", move |row| self.pid(samples.thread[row]))
            .int("tid", move |row| self.tid(samples.thread[row]))
            .text("thread", move |row| self.thread(samples.thread[row]))
            .text("state", |row| known(samples.state[row].name()))
            .text("frame", move |row| self.innermost(samples.stack[row]))
            .text("place", move |row| self.place(samples.stack[row]));
        let tallies_table = Table::new("tallies", tallies.len())
            .int("pid", move |row| self.pid(tallies.thread[row]))
            .int("tid", move |row| self.tid(tallies.thread[row]))
            .text("thread", move |row| self.thread(tallies.thread[row]))
            .text("kind", |row| known(tallies.kind[row].name()))
            .text("name", |row| self.trace.text(tallies.name[row]))
            .int("count", |row| Some(tallies.count[row]))
            .int("time_ns", |row| stated(tallies.time[row]));
        [states_table, limits_table, samples_table, tallies_table]
    }

    fn times(self, table: Table<'a>, start: &'a [i64], end: &'a [i64]) -> Table<'a> {
        table
            .int("start_ns", |row| Some(start[row]))
            .int("end_ns", |row| Some(end[row]))
            .int("duration_ns", |row| Some(end[row] - start[row]))
    }
}

fn transfer_columns<'a>(table: Table<'a>, trace: &'a Trace) -> Table<'a> {
    let ops = &trace.ops;
    table
        .int("bytes", |row| stated(ops.bytes[row]))
        .text("copy", |row| known(ops.copy[row].name()))
        .text("src", |row| known(ops.src[row].name()))
        .text("dst", |row| known(ops.dst[row].name()))
}

fn launch_columns<'a>(table: Table<'a>, trace: &'a Trace) -> Table<'a> {
    let ops = &trace.ops;
    table
        .int("grid_x", |row| stated(ops.grid_x[row]))
        .int("grid_y", |row| stated(ops.grid_y[row]))
        .int("grid_z", |row| stated(ops.grid_z[row]))
        .int("block_x", |row| stated(ops.block_x[row]))
        .int("block_y", |row| stated(ops.block_y[row]))
        .int("block_z", |row| stated(ops.block_z[row]))
        .int("registers", |row| stated(ops.registers[row]))
        .int("static_shared", |row| stated(ops.static_shared[row]))
        .int("dynamic_shared", |row| stated(ops.dynamic_shared[row]))
        .int("graph_node", |row| stated(ops.graph_node[row]))
        .text("communicator", |row| trace.text(ops.communicator[row]))
}

/// The number, unless it is 0, which in a trace means "not stated".
fn stated(number: impl Into<i64>) -> Option<i64> {
    Some(number.into()).filter(|number| *number != 0)
}

/// The word, or an empty text for `unknown`.
fn known(word: &'static str) -> &'static str {
    if word == "unknown" { "" } else { word }
}
