//! Rows for the processes, threads, devices, contexts and streams that records name by number.

use rustc_hash::FxHashMap;
use trace::{
    Context, ContextId, Device, DeviceId, Process, ProcessId, Stream, StreamId, Thread, ThreadId, Trace,
};

/// Finds the row of an identity in a trace, and adds it at its first use.
///
/// Every number is scoped by what it is unique within: a thread id by its process, a context by
/// process and device, a stream by its context. One `Identities` belongs to one trace.
#[derive(Default)]
pub(crate) struct Identities {
    processes: FxHashMap<i64, ProcessId>,
    threads: FxHashMap<(ProcessId, i64), ThreadId>,
    devices: FxHashMap<i64, DeviceId>,
    contexts: FxHashMap<(ProcessId, DeviceId, i64), ContextId>,
    streams: FxHashMap<(ContextId, i64), StreamId>,
}

impl Identities {
    /// The process with this id.
    pub(crate) fn process(&mut self, trace: &mut Trace, pid: i64) -> ProcessId {
        let rows = &mut trace.processes;
        *self.processes.entry(pid).or_insert_with(|| rows.push(Process { pid, ..Process::default() }))
    }

    /// The thread `tid` of process `pid`.
    pub(crate) fn thread(&mut self, trace: &mut Trace, pid: i64, tid: i64) -> ThreadId {
        let process = self.process(trace, pid);
        let rows = &mut trace.threads;
        let add = || rows.push(Thread { process, tid, ..Thread::default() });
        *self.threads.entry((process, tid)).or_insert_with(add)
    }

    /// The process with this id, if a record named it.
    pub(crate) fn known_process(&self, pid: i64) -> Option<ProcessId> {
        self.processes.get(&pid).copied()
    }

    /// The thread `tid` of process `pid`, if a record named it.
    pub(crate) fn known_thread(&self, pid: i64, tid: i64) -> Option<ThreadId> {
        self.threads.get(&(self.known_process(pid)?, tid)).copied()
    }

    /// The GPU with this index.
    pub(crate) fn device(&mut self, trace: &mut Trace, ordinal: i64) -> DeviceId {
        let rows = &mut trace.devices;
        *self.devices.entry(ordinal).or_insert_with(|| rows.push(Device { ordinal, ..Device::default() }))
    }

    /// Context `number` of process `pid` on the GPU `device`.
    pub(crate) fn context(&mut self, trace: &mut Trace, pid: i64, device: i64, number: i64) -> ContextId {
        let process = self.process(trace, pid);
        let device = self.device(trace, device);
        self.context_of(trace, process, device, number)
    }

    fn context_of(
        &mut self,
        trace: &mut Trace,
        process: ProcessId,
        device: DeviceId,
        number: i64,
    ) -> ContextId {
        let rows = &mut trace.contexts;
        let add = || rows.push(Context { process, device, number });
        *self.contexts.entry((process, device, number)).or_insert_with(add)
    }

    /// Stream `number` of that context.
    pub(crate) fn stream(
        &mut self,
        trace: &mut Trace,
        pid: i64,
        device: i64,
        context: i64,
        number: i64,
    ) -> StreamId {
        let context = self.context(trace, pid, device, context);
        self.stream_in(trace, context, number)
    }

    /// Stream `number` of that context of a process; `NONE` if the process is unknown.
    pub(crate) fn stream_of(
        &mut self,
        trace: &mut Trace,
        process: ProcessId,
        (device, context, number): (i64, i64, i64),
    ) -> StreamId {
        let device = self.device(trace, device);
        let context = self.context_of(trace, process, device, context);
        self.stream_in(trace, context, number)
    }

    /// Stream `number` of that context of process `pid` on the GPU in that row.
    pub(crate) fn stream_on(
        &mut self,
        trace: &mut Trace,
        pid: i64,
        (device, context, number): (DeviceId, i64, i64),
    ) -> StreamId {
        let process = self.process(trace, pid);
        let context = self.context_of(trace, process, device, context);
        self.stream_in(trace, context, number)
    }

    /// Stream `number` of process `pid` in an unknown context.
    pub(crate) fn stream_anywhere(&mut self, trace: &mut Trace, pid: i64, number: i64) -> StreamId {
        let process = self.process(trace, pid);
        let key = (process, DeviceId::NONE, 0);
        let rows = &mut trace.contexts;
        let add = || rows.push(Context { process, ..Context::default() });
        let context = *self.contexts.entry(key).or_insert_with(add);
        self.stream_in(trace, context, number)
    }

    fn stream_in(&mut self, trace: &mut Trace, context: ContextId, number: i64) -> StreamId {
        let rows = &mut trace.streams;
        *self.streams.entry((context, number)).or_insert_with(|| rows.push(Stream { context, number }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_one_row_within_its_scope_and_another_outside() {
        let (mut trace, mut ids) = (Trace::default(), Identities::default());
        let thread = ids.thread(&mut trace, 10, 7);
        assert_eq!(ids.thread(&mut trace, 10, 7), thread);
        assert_ne!(ids.thread(&mut trace, 11, 7), thread);

        let stream = ids.stream(&mut trace, 10, 0, 1, 7);
        assert_eq!(ids.stream(&mut trace, 10, 0, 1, 7), stream);
        assert_ne!(ids.stream(&mut trace, 10, 0, 2, 7), stream);
        assert_ne!(ids.stream(&mut trace, 10, 1, 1, 7), stream);
        assert_ne!(ids.stream(&mut trace, 11, 0, 1, 7), stream);

        assert_eq!(trace.processes.pid, [10, 11]);
        assert_eq!((trace.devices.len(), trace.contexts.len(), trace.streams.len()), (2, 4, 4));
        let process = trace.process_of_stream(stream);
        assert_eq!(trace.processes.row(process).pid, 10);
    }
}
