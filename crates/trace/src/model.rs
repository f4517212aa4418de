//! The tables of a trace. Each column's documentation states its unit. A field that the source does not state holds
//! its type's missing value: 0, the empty string, `Unknown` or `NONE`.

use crate::table::{row_id, table};
use crate::{
    Api, CopyKind, Duration, LockKind, LockLayer, LockMode, MemoryKind, Meta, Moment, OpKind, RangeKind,
    Strings, Sym, SyncKind, TallyKind, ThreadRole, ThreadState,
};

/// Gives a macro all tables of a trace: the field, the columns and the row numbers of each. Tables that others refer to come
/// first; this is their order in a `.holdup` file.
macro_rules! tables {
    ($do:ident) => {
        $do! {
            /// Processes.
            processes Processes ProcessId;
            /// Host threads.
            threads Threads ThreadId;
            /// GPUs.
            devices Devices DeviceId;
            /// Contexts.
            contexts Contexts ContextId;
            /// Streams.
            streams Streams StreamId;
            /// Places in code.
            frames Frames FrameId;
            /// Call stacks.
            stacks Stacks StackId;
            /// Marked host ranges.
            ranges Ranges RangeId;
            /// Host calls.
            calls Calls CallId;
            /// GPU operations.
            ops Ops OpId;
            /// Synchronizations.
            syncs Syncs SyncId;
            /// Waits for locks and for other threads.
            waits Waits WaitId;
            /// Arguments of calls.
            arguments Arguments ArgumentId;
            /// Activity of threads.
            states States StateId;
            /// Processors that processes may use.
            limits Limits LimitId;
            /// Where threads were.
            samples Samples SampleId;
            /// Events that are counted and not listed.
            tallies Tallies TallyId;
        }
    };
}
pub(crate) use tables;

table! {
    /// A process of the traced program.
    "processes" Process Processes ProcessId {
        /// The operating system's process id.
        pid: i64,
        /// Executable or label.
        name: Sym,
        /// The process that started it, if it is in the trace and the source states it.
        parent: ProcessId,
        /// Variables of its environment that change what CUDA does, as `NAME=value` with spaces between, if the source
        /// states them.
        settings: Sym,
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
        /// UUID, without what nvidia-smi prints before it (`GPU-`, `MIG-`); that of the instance under MIG. Empty if unknown.
        uuid: Sym,
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
        start: Moment,
        /// Return, ns.
        end: Moment,
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
        start: Moment,
        /// End, ns.
        end: Moment,
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
        /// Bytes copied or filled; of a collective's kernel those that the rank contributes, if the source states it.
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
        /// Communicator of a collective's kernel: its name and its ranks, as the source states them.
        communicator: Sym,
    }
}

table! {
    /// A synchronization as the tracer recorded it.
    "syncs" Sync Syncs SyncId {
        /// Start, ns.
        start: Moment,
        /// End, ns.
        end: Moment,
        /// Object that is waited for.
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
    /// A wait for a lock that another thread held, or for something that another thread provides.
    "waits" Wait Waits WaitId {
        /// When the waiter found the lock held, ns.
        start: Moment,
        /// When it acquired the lock and went on, ns.
        end: Moment,
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
        /// Layer of the lock.
        layer: LockLayer,
        /// The last part of the wait: from the release that let the waiter go on to the acquisition, ns; 0 if unknown.
        /// Nobody holds the lock in that time.
        handoff: Duration,
        /// Where the waiter was.
        stack: StackId,
        /// Where the holder was when the wait began.
        holder_stack: StackId,
        /// Where the releaser was when it released the lock.
        releaser_stack: StackId,
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
        start: Moment,
        /// End, ns.
        end: Moment,
        /// The thread, if the source states it.
        thread: ThreadId,
        /// Origin of the mark.
        kind: RangeKind,
        /// Its name.
        name: Sym,
        /// The domain of an NVTX range, which tells those of one library from others; empty for none.
        domain: Sym,
        /// The place of the mark, if the source states it.
        stack: StackId,
    }
}

table! {
    /// Activity of a thread in an interval, as the scheduler counted it. The rows of a thread are in order and do not
    /// overlap; between them nothing is known of it.
    "states" State States StateId {
        /// Start, ns.
        start: Moment,
        /// End, ns.
        end: Moment,
        /// The thread.
        thread: ThreadId,
        /// Time on a processor within the interval, ns. With `runnable`, at most the interval's length.
        running: Duration,
        /// Time ready without a processor within the interval, ns. The rest of the interval it was blocked.
        runnable: Duration,
        /// Its state at the end of the interval.
        state: ThreadState,
        /// The system call it is blocked in (`futex`, `read`), with its use where that is known (`read(file)`, `openat(writing)`); empty if none
        /// or unknown.
        call: Sym,
        /// First argument of that call: an address or a descriptor; 0 if unknown.
        object: i64,
    }
}

table! {
    /// The processors that a process may use in an interval.
    "limits" Limit Limits LimitId {
        /// Start, ns.
        start: Moment,
        /// End, ns.
        end: Moment,
        /// The process.
        process: ProcessId,
        /// Processors allowed to it; 0 if unknown.
        processors: u32,
        /// The control group's quota, thousandths of a processor; 0 for none.
        quota: i64,
        /// Time for which the control group was throttled within the interval, ns, summed over its processors as the
        /// kernel does: it can exceed the interval.
        throttled: Duration,
    }
}

table! {
    /// Where a thread was at a moment.
    "samples" Sample Samples SampleId {
        /// The moment, ns.
        at: Moment,
        /// The thread.
        thread: ThreadId,
        /// Where it was.
        stack: StackId,
        /// State of the thread.
        state: ThreadState,
    }
}

table! {
    /// Events of a thread that are counted over the whole recording and not listed.
    "tallies" Tally Tallies TallyId {
        /// The thread.
        thread: ThreadId,
        /// Kind of the counted events.
        kind: TallyKind,
        /// The function, the kind of lock, or the recorder's work.
        name: Sym,
        /// How many.
        count: i64,
        /// The sum of their times, ns; 0 if they were not timed. Of calls that holdup counted, one in 64 was timed.
        time: Duration,
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

macro_rules! trace {
    ($($(#[$doc:meta])* $field:ident $columns:ident $id:ident;)*) => {
        $(row_id! {
            #[doc = concat!("A row of [`", stringify!($columns), "`].")]
            $id
        })*

        /// Events in a program: tables on one clock.
        #[derive(Clone, Default)]
        pub struct Trace {
            /// Where the trace comes from and what it lost.
            pub meta: Meta,
            /// All text.
            pub strings: Strings,
            $($(#[$doc])* pub $field: $columns,)*
        }
    };
}
tables!(trace);

macro_rules! names {
    ($($(#[$doc:meta])* $field:ident $columns:ident $id:ident;)*) => {
        /// The names of all tables, in their order in a `.holdup` file.
        pub const TABLES: &[&str] = &[$($columns::NAME,)*];
    };
}
tables!(names);

impl Trace {
    /// The text of a symbol.
    pub fn text(&self, sym: Sym) -> &str {
        self.strings.text(sym)
    }

    /// The process a thread belongs to.
    pub fn process_of_thread(&self, thread: ThreadId) -> ProcessId {
        thread.some().map_or(ProcessId::NONE, |thread| self.threads.process[thread])
    }

    /// The context a stream belongs to.
    pub fn context_of_stream(&self, stream: StreamId) -> ContextId {
        stream.some().map_or(ContextId::NONE, |stream| self.streams.context[stream])
    }

    /// The process a stream belongs to.
    pub fn process_of_stream(&self, stream: StreamId) -> ProcessId {
        let context = self.context_of_stream(stream);
        context.some().map_or(ProcessId::NONE, |context| self.contexts.process[context])
    }

    /// The device a stream belongs to.
    pub fn device_of_stream(&self, stream: StreamId) -> DeviceId {
        let context = self.context_of_stream(stream);
        context.some().map_or(DeviceId::NONE, |context| self.contexts.device[context])
    }
}
