//! The tables of a trace. Each column's documentation states its unit. A field that the source does not state holds
//! its type's missing value: 0, the empty string, `Unknown` or `NONE`.

use crate::table::{row_id, table};
use crate::{
    Api, CopyKind, LockKind, LockMode, MemoryKind, Meta, Ns, OpKind, RangeKind, Strings, Sym, SyncKind,
    ThreadRole,
};

row_id!(
    /// A row of [`Processes`].
    ProcessId
);
row_id!(
    /// A row of [`Threads`].
    ThreadId
);
row_id!(
    /// A row of [`Devices`].
    DeviceId
);
row_id!(
    /// A row of [`Contexts`].
    ContextId
);
row_id!(
    /// A row of [`Streams`].
    StreamId
);
row_id!(
    /// A row of [`Calls`].
    CallId
);
row_id!(
    /// A row of [`Ops`].
    OpId
);
row_id!(
    /// A row of [`Syncs`].
    SyncId
);
row_id!(
    /// A row of [`Waits`].
    WaitId
);
row_id!(
    /// A row of [`Arguments`].
    ArgumentId
);
row_id!(
    /// A row of [`Ranges`].
    RangeId
);
row_id!(
    /// A row of [`Frames`].
    FrameId
);
row_id!(
    /// A row of [`Stacks`].
    StackId
);

table! {
    /// A process of the traced program.
    "processes" Process Processes ProcessId {
        /// The operating system's process id.
        pid: i64,
        /// Executable or label.
        name: Sym,
    }
}

table! {
    /// A host thread.
    "threads" Thread Threads ThreadId {
        /// Its process.
        process: ProcessId,
        /// The thread id as the source gives it: the kernel's, or low bits of `pthread_self`.
        tid: i64,
        /// The name that the program gave it.
        name: Sym,
        /// Which component it belongs to.
        role: ThreadRole,
    }
}

table! {
    /// A GPU.
    "devices" Device Devices DeviceId {
        /// CUDA device index.
        ordinal: i64,
        /// Marketing name.
        name: Sym,
        /// Compute capability, major part.
        compute_major: u32,
        /// Compute capability, minor part.
        compute_minor: u32,
        /// Streaming multiprocessors.
        multiprocessors: u32,
        /// Asynchronous copy engines.
        copy_engines: u32,
        /// Device memory, bytes.
        memory_bytes: i64,
    }
}

table! {
    /// A CUDA context.
    "contexts" Context Contexts ContextId {
        /// Its process.
        process: ProcessId,
        /// Its device.
        device: DeviceId,
        /// CUPTI's context id.
        number: i64,
    }
}

table! {
    /// A CUDA stream.
    "streams" Stream Streams StreamId {
        /// Its context.
        context: ContextId,
        /// CUPTI's stream id (7 is usually the legacy default stream).
        number: i64,
    }
}

table! {
    /// A call of a host thread into CUDA or, in traces that have them, into the operating system.
    "calls" Call Calls CallId {
        /// Entry, ns.
        start: Ns,
        /// Return, ns.
        end: Ns,
        /// The calling thread.
        thread: ThreadId,
        /// The library called.
        api: Api,
        /// Name without version suffix (`cudaMemcpyAsync`).
        name: Sym,
        /// Correlation id, unique within the process; 0 for none.
        correlation: i64,
        /// The call's result code; 0 is success.
        result: i32,
        /// The place of the call, if the source states it.
        stack: StackId,
        /// The framework operator that made the call, if the source links them.
        range: RangeId,
    }
}

table! {
    /// An operation on a GPU: kernel, copy or fill.
    "ops" Op Ops OpId {
        /// Start, ns.
        start: Ns,
        /// End, ns.
        end: Ns,
        /// Kernel, copy or fill.
        kind: OpKind,
        /// Kernel name; empty for copies and fills.
        name: Sym,
        /// The stream it ran in.
        stream: StreamId,
        /// Correlation id of the call that asked for it; 0 for none.
        correlation: i64,
        /// The call that asked for it, once joined.
        call: CallId,
        /// Bytes copied or filled.
        bytes: i64,
        /// Direction of a copy.
        copy: CopyKind,
        /// Memory a copy reads.
        src: MemoryKind,
        /// Memory a copy or fill writes.
        dst: MemoryKind,
        /// Grid width, blocks.
        grid_x: u32,
        /// Grid height, blocks.
        grid_y: u32,
        /// Grid depth, blocks.
        grid_z: u32,
        /// Block width, threads.
        block_x: u32,
        /// Block height, threads.
        block_y: u32,
        /// Block depth, threads.
        block_z: u32,
        /// Registers per thread.
        registers: u32,
        /// Static shared memory per block, bytes.
        static_shared: u32,
        /// Dynamic shared memory per block, bytes.
        dynamic_shared: u32,
        /// Node of the CUDA graph it belongs to; 0 for none.
        graph_node: i64,
    }
}

table! {
    /// A synchronization as the tracer recorded it.
    "syncs" Sync Syncs SyncId {
        /// Start, ns.
        start: Ns,
        /// End, ns.
        end: Ns,
        /// What is waited for.
        kind: SyncKind,
        /// The process.
        process: ProcessId,
        /// The stream waited for or waiting.
        stream: StreamId,
        /// CUPTI's event id; 0 for none.
        event: i64,
        /// Correlation id of the call; 0 for none.
        correlation: i64,
        /// The call, once joined.
        call: CallId,
    }
}

table! {
    /// A wait for a lock that another thread held.
    "waits" Wait Waits WaitId {
        /// When the waiter found the lock held, ns.
        start: Ns,
        /// When it acquired the lock, ns.
        end: Ns,
        /// The waiting thread.
        thread: ThreadId,
        /// The call the waiter was in.
        call: CallId,
        /// Address of the lock.
        lock: i64,
        /// Kind of lock.
        kind: LockKind,
        /// The mode that the waiter asked for.
        mode: LockMode,
        /// Library whose code waited.
        library: Sym,
        /// The thread that held the lock.
        holder: ThreadId,
        /// The call the holder was in.
        holder_call: CallId,
        /// Number of known threads that held it when the wait began.
        holders: u32,
        /// The thread that released it last before the waiter acquired it.
        releaser: ThreadId,
        /// The call the releaser was in.
        releaser_call: CallId,
    }
}

table! {
    /// The arguments of a call, in recordings that lack the GPU's records of the operations it asked for.
    "arguments" Argument Arguments ArgumentId {
        /// The call.
        call: CallId,
        /// Bytes copied or filled.
        bytes: i64,
        /// Direction of a copy.
        copy: CopyKind,
        /// Memory a copy reads.
        src: MemoryKind,
        /// Memory a copy or fill writes.
        dst: MemoryKind,
        /// The stream.
        stream: StreamId,
        /// The kernel of a launch.
        kernel: Sym,
    }
}

table! {
    /// A range of host time marked by a framework, the user, the interpreter or the tracer.
    "ranges" Range Ranges RangeId {
        /// Start, ns.
        start: Ns,
        /// End, ns.
        end: Ns,
        /// The thread, if the source states it.
        thread: ThreadId,
        /// Who marked it.
        kind: RangeKind,
        /// Its name.
        name: Sym,
        /// The place of the mark, if the source states it.
        stack: StackId,
    }
}

table! {
    /// A place in source or machine code.
    "frames" Frame Frames FrameId {
        /// Function.
        function: Sym,
        /// Source file.
        file: Sym,
        /// Line, from 1; 0 when unknown.
        line: u32,
        /// Library or executable.
        module: Sym,
    }
}

table! {
    /// A call stack: its innermost frame, and the stack of its caller.
    "stacks" Stack Stacks StackId {
        /// The innermost frame.
        frame: FrameId,
        /// The stack of the caller; always an earlier row.
        caller: StackId,
    }
}

/// What happened in a program: tables on one clock.
#[derive(Clone, Default)]
pub struct Trace {
    /// Where the trace comes from and what it lost.
    pub meta: Meta,
    /// All text.
    pub strings: Strings,
    /// Processes.
    pub processes: Processes,
    /// Host threads.
    pub threads: Threads,
    /// GPUs.
    pub devices: Devices,
    /// Contexts.
    pub contexts: Contexts,
    /// Streams.
    pub streams: Streams,
    /// Host calls.
    pub calls: Calls,
    /// GPU operations.
    pub ops: Ops,
    /// Synchronizations.
    pub syncs: Syncs,
    /// Lock waits.
    pub waits: Waits,
    /// Arguments of calls.
    pub arguments: Arguments,
    /// Marked host ranges.
    pub ranges: Ranges,
    /// Places in code.
    pub frames: Frames,
    /// Call stacks.
    pub stacks: Stacks,
}

impl Trace {
    /// The text of a symbol.
    pub fn text(&self, sym: Sym) -> &str {
        self.strings.text(sym)
    }

    /// The process a thread belongs to.
    pub fn process_of_thread(&self, thread: ThreadId) -> ProcessId {
        thread.some().map_or(ProcessId::NONE, |thread| self.threads.process[thread.index()])
    }

    /// The context a stream belongs to.
    pub fn context_of_stream(&self, stream: StreamId) -> ContextId {
        stream.some().map_or(ContextId::NONE, |stream| self.streams.context[stream.index()])
    }

    /// The process a stream belongs to.
    pub fn process_of_stream(&self, stream: StreamId) -> ProcessId {
        let context = self.context_of_stream(stream);
        context.some().map_or(ProcessId::NONE, |context| self.contexts.process[context.index()])
    }

    /// The device a stream belongs to.
    pub fn device_of_stream(&self, stream: StreamId) -> DeviceId {
        let context = self.context_of_stream(stream);
        context.some().map_or(DeviceId::NONE, |context| self.contexts.device[context.index()])
    }

    /// Moves the trace's time 0 to its first event, keeping [`Meta::epoch_unix_ns`] true.
    pub fn rebase(&mut self) {
        let Some((first, _)) = self.span() else { return };
        let starts = [&mut self.calls.start, &mut self.ops.start, &mut self.ranges.start];
        let ends = [&mut self.calls.end, &mut self.ops.end, &mut self.ranges.end];
        let rest = [&mut self.syncs.start, &mut self.syncs.end, &mut self.waits.start, &mut self.waits.end];
        for column in starts.into_iter().chain(ends).chain(rest) {
            column.iter_mut().for_each(|time| *time -= first);
        }
        self.meta.epoch_unix_ns = self.meta.epoch_unix_ns.map(|epoch| epoch + first);
    }

    /// First start and last end over calls, GPU operations, synchronizations, waits and ranges, ns; `None` when
    /// there are none of them.
    pub fn span(&self) -> Option<(Ns, Ns)> {
        let (calls, ops, ranges) = (&self.calls, &self.ops, &self.ranges);
        let (syncs, waits) = (&self.syncs, &self.waits);
        let start = [&calls.start, &ops.start, &syncs.start, &waits.start, &ranges.start];
        let end = [&calls.end, &ops.end, &syncs.end, &waits.end, &ranges.end];
        let first = start.into_iter().flatten().min()?;
        let last = end.into_iter().flatten().max()?;
        Some((*first, *last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_begins_with_the_first_event_of_any_table() {
        let mut trace = Trace::default();
        assert_eq!(trace.span(), None);
        trace.meta.epoch_unix_ns = Some(5);
        trace.waits.push(Wait { start: 100, end: 200, ..Wait::default() });
        assert_eq!(trace.span(), Some((100, 200)));
        trace.calls.push(Call { start: 150, end: 300, ..Call::default() });
        trace.syncs.push(Sync { start: 90, end: 400, ..Sync::default() });
        trace.rebase();
        assert_eq!(trace.span(), Some((0, 310)));
        assert_eq!((trace.syncs.start[0], trace.waits.start[0], trace.calls.start[0]), (0, 10, 60));
        assert_eq!(trace.meta.epoch_unix_ns, Some(95));
    }
}
