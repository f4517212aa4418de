//! Appends a trace to another one, as further processes on further GPUs.

use crate::{
    Argument, Call, Clock, Context, Device, DeviceId, Frame, Limit, Ns, Op, Process, Range, Sample, Stack,
    State, Stream, Strings, Sym, Sync, Tally, Thread, Trace, Wait,
};

/// What the rows of a trace become.
struct Moved {
    /// By symbol.
    names: Vec<Sym>,
    /// Its time 0 in the other's time, ns.
    shift: Ns,
}

impl Moved {
    fn name(&self, name: Sym) -> Sym {
        self.names[name.index()]
    }
}

/// Adds the rows of a table, each as a closure makes it.
macro_rules! rows {
    ($to:expr, $of:expr, $table:ident, |$row:ident| $made:expr) => {
        for id in $of.$table.ids() {
            let $row = $of.$table.row(id);
            $to.$table.push($made);
        }
    };
}

impl Trace {
    /// Appends the rows of another trace, `shift` ns later. Its processes and devices are others than this one's, even if they
    /// have the same numbers; only devices with one UUID are the same.
    pub fn append(&mut self, other: &Trace, shift: Ns) {
        let moved = Moved { names: intern(&mut self.strings, &other.strings), shift };
        self.append_meta(other);
        self.append_places(other, &moved);
        // Rows refer to those of other tables by the lengths that these had before.
        self.append_events(other, &moved);
        self.append_hosts(other, &moved);
    }

    fn append_meta(&mut self, other: &Trace) {
        let (meta, of) = (&mut self.meta, &other.meta);
        if of.clock == Clock::Separate {
            meta.clock = Clock::Separate;
        }
        meta.threads_inferred |= of.threads_inferred;
        meta.locks_watched &= of.locks_watched;
        meta.lost.records = meta.lost.records.saturating_add(of.lost.records);
        meta.lost.truncated |= of.lost.truncated;
        meta.lost.unmatched_calls = meta.lost.unmatched_calls.saturating_add(of.lost.unmatched_calls);
        meta.lost.unmatched_ops = meta.lost.unmatched_ops.saturating_add(of.lost.unmatched_ops);
    }

    fn append_places(&mut self, other: &Trace, moved: &Moved) {
        let (frames, stacks) = (self.frames.len(), self.stacks.len());
        rows!(self, other, frames, |row| Frame {
            function: moved.name(row.function),
            file: moved.name(row.file),
            module: moved.name(row.module),
            ..row
        });
        rows!(self, other, stacks, |row| Stack {
            frame: row.frame.after(frames),
            caller: row.caller.after(stacks)
        });
    }

    /// Events refer to hosts, places, ranges and calls. Places are appended before, the others after.
    fn append_events(&mut self, other: &Trace, moved: &Moved) {
        let (threads, streams, processes) = (self.threads.len(), self.streams.len(), self.processes.len());
        let stacks = self.stacks.len() - other.stacks.len();
        let (calls, ranges, shift) = (self.calls.len(), self.ranges.len(), moved.shift);
        rows!(self, other, calls, |row| Call {
            start: row.start + shift,
            end: row.end + shift,
            thread: row.thread.after(threads),
            name: moved.name(row.name),
            stack: row.stack.after(stacks),
            range: row.range.after(ranges),
            ..row
        });
        rows!(self, other, ops, |row| Op {
            start: row.start + shift,
            end: row.end + shift,
            name: moved.name(row.name),
            communicator: moved.name(row.communicator),
            stream: row.stream.after(streams),
            call: row.call.after(calls),
            ..row
        });
        rows!(self, other, syncs, |row| Sync {
            start: row.start + shift,
            end: row.end + shift,
            process: row.process.after(processes),
            stream: row.stream.after(streams),
            call: row.call.after(calls),
            ..row
        });
        rows!(self, other, waits, |row| Wait {
            start: row.start + shift,
            end: row.end + shift,
            thread: row.thread.after(threads),
            call: row.call.after(calls),
            library: moved.name(row.library),
            holder: row.holder.after(threads),
            holder_call: row.holder_call.after(calls),
            releaser: row.releaser.after(threads),
            releaser_call: row.releaser_call.after(calls),
            stack: row.stack.after(stacks),
            holder_stack: row.holder_stack.after(stacks),
            releaser_stack: row.releaser_stack.after(stacks),
            ..row
        });
        rows!(self, other, arguments, |row| Argument {
            call: row.call.after(calls),
            stream: row.stream.after(streams),
            kernel: moved.name(row.kernel),
            ..row
        });
        rows!(self, other, ranges, |row| Range {
            start: row.start + shift,
            end: row.end + shift,
            thread: row.thread.after(threads),
            name: moved.name(row.name),
            domain: moved.name(row.domain),
            stack: row.stack.after(stacks),
            ..row
        });
        rows!(self, other, states, |row| State {
            start: row.start + shift,
            end: row.end + shift,
            thread: row.thread.after(threads),
            call: moved.name(row.call),
            ..row
        });
        rows!(self, other, limits, |row| Limit {
            start: row.start + shift,
            end: row.end + shift,
            process: row.process.after(processes),
            ..row
        });
        rows!(self, other, samples, |row| Sample {
            at: row.at + shift,
            thread: row.thread.after(threads),
            stack: row.stack.after(stacks),
            ..row
        });
        rows!(self, other, tallies, |row| Tally {
            thread: row.thread.after(threads),
            name: moved.name(row.name),
            ..row
        });
    }

    fn append_hosts(&mut self, other: &Trace, moved: &Moved) {
        let (processes, contexts) = (self.processes.len(), self.contexts.len());
        let devices = self.append_devices(other, moved);
        rows!(self, other, processes, |row| Process { name: moved.name(row.name), ..row });
        rows!(self, other, threads, |row| Thread {
            process: row.process.after(processes),
            name: moved.name(row.name),
            ..row
        });
        rows!(self, other, contexts, |row| Context {
            process: row.process.after(processes),
            device: row.device.some().map_or(DeviceId::NONE, |device| devices[device.index()]),
            ..row
        });
        rows!(self, other, streams, |row| Stream { context: row.context.after(contexts), ..row });
    }

    /// Appends the devices that are not there yet; returns the row of each.
    fn append_devices(&mut self, other: &Trace, moved: &Moved) -> Vec<DeviceId> {
        let mut rows = Vec::with_capacity(other.devices.len());
        for row in other.devices.ids().map(|id| other.devices.row(id)) {
            let (name, uuid) = (moved.name(row.name), moved.name(row.uuid));
            let known = match self.text(uuid) {
                "" => None,
                _ => self.devices.ids().find(|known| self.devices.uuid[known.index()] == uuid),
            };
            rows.push(known.unwrap_or_else(|| self.devices.push(Device { name, uuid, ..row })));
        }
        rows
    }
}

/// The symbol of each text in another interner.
fn intern(strings: &mut Strings, other: &Strings) -> Vec<Sym> {
    other.iter().map(|(_, text)| strings.intern(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process whose only call asked for the only operation of its device.
    fn one(pid: i64, name: &str) -> Trace {
        let mut trace = Trace::default();
        let [call, kernel] = [name, "k"].map(|name| trace.strings.intern(name));
        let process = trace.processes.push(Process { pid, ..Process::default() });
        let thread = trace.threads.push(Thread { process, tid: pid, ..Thread::default() });
        let device = trace.devices.push(Device::default());
        let context = trace.contexts.push(Context { process, device, number: 1 });
        let stream = trace.streams.push(Stream { context, number: 7 });
        let frame = trace.frames.push(Frame { function: call, ..Frame::default() });
        let stack = trace.stacks.push(Stack { frame, ..Stack::default() });
        let row = Call { start: 10, end: 20, thread, name: call, correlation: 1, stack, ..Call::default() };
        trace.calls.push(row);
        trace.ops.push(Op { start: 30, end: 40, name: kernel, stream, correlation: 1, ..Op::default() });
        trace.join();
        trace
    }

    #[test]
    fn rows_keep_what_they_refer_to() {
        let mut all = one(1, "a");
        all.append(&one(2, "b"), 100);
        all.append(&one(3, "a"), -5);
        let calls: Vec<_> = all.calls.ids().map(|call| all.calls.row(call)).collect();
        let seen = calls.iter().map(|call| {
            let function = all.frames.function[all.stacks.frame[call.stack.index()].index()];
            (call.start, all.text(call.name), all.text(function), all.threads.tid[call.thread.index()])
        });
        assert_eq!(seen.collect::<Vec<_>>(), [(10, "a", "a", 1), (110, "b", "b", 2), (5, "a", "a", 3)]);
        for (at, op) in all.ops.ids().map(|op| all.ops.row(op)).enumerate() {
            assert_eq!(op.call.index(), at);
            assert_eq!(all.device_of_stream(op.stream).index(), at);
            assert_eq!(all.process_of_stream(op.stream).index(), at);
        }
    }

    #[test]
    fn devices_with_one_uuid_are_one() {
        let with = |pid, uuid| {
            let mut trace = one(pid, "a");
            trace.devices.uuid[0] = trace.strings.intern(uuid);
            trace
        };
        let mut all = with(1, "x");
        [with(2, "y"), with(3, "x"), with(4, ""), with(5, "")].iter().for_each(|trace| all.append(trace, 0));
        let devices = all.ops.stream.iter().map(|stream| all.device_of_stream(*stream).index());
        assert_eq!(devices.collect::<Vec<_>>(), [0, 1, 0, 2, 3]);
    }
}
