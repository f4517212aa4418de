//! All kinds of records: [`kinds`] says what a declaration means.

use crate::declare::kinds;

kinds! {
    /// Records to which others refer, or by which their times are known. A first look at each chunk collects them;
    /// `texts.rs` reads them before all others.
    Reference {
        /// A text: `tag` is its id within the process, never 0; the bytes follow, then zeros up to a
        /// whole word.
        Text = 1 (Lasts, Either, "strings") {
            /// Bytes of the text.
            length: u64,
        }

        /// Both clocks at one moment.
        Clock = 20 (Passes, Own, "meta") {
            /// Time of the records' clock.
            ticks: i64,
            /// `CLOCK_MONOTONIC`, ns.
            ns: i64,
        }

        /// Recording was switched on or off by request. `tag`: 1 for on, 0 for off. What began before it was switched on or
        /// after it was switched off is not recorded.
        Switched = 50 (Lasts, Own, "meta") {
            /// When, ns.
            at: i64,
        }

        /// Which GPU a process knows by a number: another process may know another one by it. `tag`: CUDA device index.
        DeviceIdentity = 27 (Lasts, Own, "devices") {
            /// First half of the UUID, that of the instance under MIG; its bytes are in the order of memory.
            uuid_front: u64,
            /// Second half of the UUID.
            uuid_back: u64,
            /// PCI domain.
            pci_domain: u32,
            /// PCI bus, and the device on it in the lower 8 bits.
            pci_place: u32,
        }
    }

    /// Calls that wrappers saw. [`Chunk::calls_made`](crate::Chunk::calls_made) brings them to one form, which `wrapped.rs`
    /// reads.
    CallMade {
        /// A call of the driver or the runtime, as the wrapped entry point saw it. `tag`: id of the function's name.
        Call = 2 (Passes, Own, "calls") {
            /// Entry, ticks.
            start: i64,
            /// Return, ticks.
            end: i64,
            /// Its result.
            result: i32,
            /// `call::COPY` and other facts about the call, as far as its arguments show.
            flags: u32,
            /// Bytes copied or filled.
            bytes: u64,
            /// Stream handle; 0 is the default stream.
            stream: u64,
            /// Another fact of its arguments in 32 bits: of a launch [`grid_fact`](crate::grid_fact), of a call with an event
            /// [`event_fact`](crate::event_fact); 0 for none.
            fact: u32,
            /// CUPTI's correlation id, where it told it; else 0.
            correlation: u32,
        }

        /// A [`crate::BriefCall`] with [`Call::fact`].
        FactCall = 22 (Passes, Own, "calls");

        /// A [`crate::BriefCall`] with [`Call::correlation`].
        NumberedCall = 25 (Passes, Own, "calls");

        /// A short call around others: one word, without a [`Head`](crate::Head). All numbers with this bit and not the next.
        OuterCall = 0x4000 (Passes, Own, "calls");

        /// A short call: one word, without a head. All numbers with this bit.
        BriefCall = 0x8000 (Passes, Own, "calls");
    }

    /// Operations of GPUs, which `decode.rs` reads on all processors.
    Operation {
        /// A kernel on the GPU. `tag`: id of its name.
        Kernel = 9 (Passes, Own, "ops") {
            /// Start, ns.
            start: i64,
            /// End, ns.
            end: i64,
            /// Correlation id.
            correlation: u32,
            /// Device.
            device: u32,
            /// Context.
            context: u32,
            /// Stream.
            stream: u32,
            /// Grid, blocks.
            grid_x: u32,
            /// Grid, blocks.
            grid_y: u32,
            /// Grid, blocks.
            grid_z: u32,
            /// Block, threads.
            block_x: u32,
            /// Block, threads.
            block_y: u32,
            /// Block, threads.
            block_z: u32,
            /// Registers a thread.
            registers: u32,
            /// Static shared memory, bytes.
            static_shared: u32,
            /// Dynamic shared memory, bytes.
            dynamic_shared: u32,
            /// Zero.
            zero: u32,
            /// Graph node, 0 for none.
            graph_node: u64,
        }

        /// A copy on the GPU.
        Copy = 10 (Passes, Own, "ops") {
            /// Start, ns.
            start: i64,
            /// End, ns.
            end: i64,
            /// Bytes.
            bytes: u64,
            /// Correlation id.
            correlation: u32,
            /// Device.
            device: u32,
            /// Context.
            context: u32,
            /// Stream.
            stream: u32,
            /// CUPTI's number of the direction.
            direction: u32,
            /// CUPTI's number of the memory kind read, and that written in the upper 16 bits.
            kinds: u32,
            /// Graph node, 0 for none.
            graph_node: u64,
        }

        /// A fill on the GPU.
        Fill = 11 (Passes, Own, "ops") {
            /// Start, ns.
            start: i64,
            /// End, ns.
            end: i64,
            /// Bytes.
            bytes: u64,
            /// Correlation id.
            correlation: u32,
            /// Device.
            device: u32,
            /// Context.
            context: u32,
            /// Stream.
            stream: u32,
            /// CUPTI's number of the memory kind.
            memory: u32,
            /// Zero.
            zero: u32,
            /// Graph node, 0 for none.
            graph_node: u64,
        }

        /// A graph on the GPU, launched whole.
        Graph = 24 (Passes, Own, "ops") {
            /// Start of its first node, ns.
            start: i64,
            /// End of its last node, ns.
            end: i64,
            /// Correlation id.
            correlation: u32,
            /// Device.
            device: u32,
            /// Context.
            context: u32,
            /// The stream it was launched into.
            stream: u32,
            /// CUPTI's number of the graph.
            graph: u32,
            /// Zero.
            zero: u32,
        }
    }

    /// Records that need no others but references. `records.rs` reads them in the order of the chunks.
    Plain {
        /// A runtime or driver call as CUPTI saw it. `tag`: id of its name.
        ApiCall = 8 (Passes, Own, "calls") {
            /// Entry, ns.
            start: i64,
            /// Return, ns.
            end: i64,
            /// Correlation id.
            correlation: u32,
            /// Kernel's id of the calling thread.
            tid: u32,
            /// Its result.
            result: i32,
            /// 1 for the runtime, 0 for the driver.
            runtime: u32,
        }

        /// The tracer's own work. `tag`: CUPTI's number of what it is.
        Overhead = 13 (Passes, Own, "ranges") {
            /// Start, ns.
            start: i64,
            /// End, ns.
            end: i64,
            /// Kernel's id of the thread, 0 for unknown.
            tid: u64,
        }

        /// A range the program marked (NVTX). `tag`: id of its text.
        Range = 7 (Passes, Own, "ranges") {
            /// Where it begins, ticks.
            start: i64,
            /// Where it ends, ticks.
            end: i64,
            /// Id of the text of its domain, 0 for none.
            domain: u64,
        }

        /// A name the program gave a thread. `tag`: id of the text.
        ThreadName = 6 (Lasts, Either, "threads") {
            /// Kernel's id of the thread.
            tid: u64,
        }

        /// A GPU. `tag`: id of its name.
        Device = 14 (Lasts, Own, "devices") {
            /// CUDA device index.
            ordinal: u32,
            /// Compute capability, major part.
            compute_major: u32,
            /// Compute capability, minor part.
            compute_minor: u32,
            /// Streaming multiprocessors.
            multiprocessors: u32,
            /// Asynchronous copy engines.
            copy_engines: u32,
            /// Zero.
            zero: u32,
            /// Memory, bytes.
            memory: u64,
        }

        /// Records that CUPTI dropped.
        Dropped = 16 (Lasts, Own, "meta") {
            /// How many.
            count: u64,
        }

        /// Something a reader must know, a sentence. `tag`: id of the text.
        Note = 17 (Lasts, Either, "meta") {
            /// When, ns.
            at: i64,
        }

        /// The driver. `tag`: its version as CUDA numbers it (13000 is 13.0).
        Driver = 18 (Lasts, Own, "meta") {
            /// CUPTI's version, 0 when it is not used.
            cupti: u64,
        }

        /// The program. `tag`: id of the text of its executable's path.
        Program = 19 (Lasts, Own, "processes") {
            /// Id of the text of its command line.
            command: u64,
        }

        /// A variable of the environment that changes what CUDA does ([`crate::SETTINGS`]). `tag`: id of the text of its value.
        Setting = 51 (Lasts, Own, "processes") {
            /// Position of its name in [`crate::SETTINGS`].
            name: u64,
        }
    }

    /// Records that need other records to be understood. `later.rs` keeps them until all of their process are read.
    Deferred {
        /// A wait for a lock that another thread held. `tag`: id of the name of the library that waited.
        Wait = 3 (Passes, Own, "waits") {
            /// When the lock was found held, ticks.
            start: i64,
            /// When the thread acquired it or gave up, ticks.
            end: i64,
            /// Address of the lock.
            lock: u64,
            /// A [`crate::Lock`].
            kind: u32,
            /// A [`crate::Mode`].
            mode: u32,
            /// Threads that held it at the start.
            holders: u32,
            /// Kernel's id of one of them, the one that wrote if there is one; 0 for unknown.
            holder: u32,
            /// Function the holder was in (id of its name), 0 for none.
            holder_function: u32,
            /// Kernel's id of the thread that released it last before the waiter acquired it; 0 for unknown.
            releaser: u32,
            /// When the holder's call began, ticks.
            holder_since: i64,
            /// Function the releaser was in (id of its name), 0 for none.
            releaser_function: u32,
            /// Function the waiter was in (id of its name), 0 for none.
            function: u32,
            /// When the releaser's call began, ticks.
            releaser_since: i64,
            /// When the waiter's call began, ticks.
            since: i64,
        }

        /// A wait of a thread: for Python's GIL, for a lock of the program, or for what another thread does. `tag`: a
        /// [`crate::Awaited`].
        ThreadWait = 30 (Passes, Own, "waits") {
            /// When it began, ticks.
            start: i64,
            /// When the thread went on, ticks.
            end: i64,
            /// When the releaser released the lock or ended the wait, ticks; 0 for unknown.
            released: i64,
            /// Address of the lock or of what is waited for; of a thread that ends, its `pthread_t`.
            lock: u64,
            /// Number of the waiter's [`Place`]; 0 for unknown, as of the following.
            place: u64,
            /// Number of the holder's place.
            holder_place: u64,
            /// Number of the releaser's place.
            releaser_place: u64,
            /// When the waiter's call began, ticks.
            since: i64,
            /// When the holder's call began, ticks.
            holder_since: i64,
            /// When the releaser's call began, ticks.
            releaser_since: i64,
            /// Function the waiter was in (id of its name), 0 for none.
            function: u32,
            /// Function the holder was in (id of its name), 0 for none.
            holder_function: u32,
            /// Function the releaser was in (id of its name), 0 for none.
            releaser_function: u32,
            /// Kernel's id of a thread that held the lock at the start; 0 for unknown.
            holder: u32,
            /// Kernel's id of the thread that released the lock last, or ended the wait; 0 for unknown.
            releaser: u32,
            /// Threads that held the lock at the start.
            holders: u32,
            /// A [`crate::Mode`].
            mode: u32,
            /// Zero.
            zero: u32,
        }

        /// Where a thread was in a wait, or when it ended one. `tag`: native frames that follow, an address (u64) each,
        /// innermost first; then Python frames, a [`crate::PythonFrame`] each, innermost first.
        Place = 31 (Passes, Own, "stacks") {
            /// Its number, never 0.
            number: u64,
            /// Python frames.
            python: u64,
        }

        /// How often a place was not looked for because more of them would have slowed the program. What several of them say
        /// adds up.
        Unplaced = 33 (Lasts, Own, "meta") {
            /// How many.
            count: u64,
        }

        /// Where a slow call was made from. `tag`: native frames that follow, an address (u64) each,
        /// innermost first; then Python frames, a [`crate::PythonFrame`] each, innermost first.
        Stack = 4 (Passes, Own, "stacks") {
            /// Entry of the driver call, ticks.
            start: i64,
            /// Its return, ticks.
            end: i64,
            /// Duration of the thread's last stack, ticks, from that call's return until it was written; 0 for the first one.
            last: i64,
            /// Python frames.
            python: u64,
        }

        /// A synchronization. `tag`: CUPTI's number of what is waited for.
        Sync = 12 (Passes, Own, "syncs") {
            /// Start, ns.
            start: i64,
            /// End, ns.
            end: i64,
            /// Correlation id.
            correlation: u32,
            /// Context.
            context: u32,
            /// Stream; all ones for none.
            stream: u32,
            /// Event; all ones for none.
            event: u32,
        }

        /// The number by which CUPTI knows a stream, for a handle from then on. The default streams' handles (0, 1, 2) are
        /// meant for calls of one thread. `tag`: CUPTI's number of the stream.
        StreamNumber = 23 (Lasts, Own, "streams") {
            /// The handle.
            stream: u64,
            /// When, ticks.
            at: i64,
            /// CUPTI's number of the context.
            context: u32,
            /// Kernel's id of the thread; 0 for the one whose chunk this is in.
            tid: u32,
        }

        /// A loaded library or program. `tag`: id of its path.
        Module = 5 (Lasts, Either, "frames") {
            /// Address that its file's virtual address 0 is loaded at.
            base: u64,
            /// First address of it.
            start: u64,
            /// Behind its last address.
            end: u64,
            /// When it was seen, ns.
            seen: i64,
        }

        /// A piece of an ELF object that describes code which the program made while it ran, as the program
        /// announced it to debuggers. The piece's bytes follow, at most [`crate::MOST_PIECE`].
        Made = 21 (Lasts, Own, "frames") {
            /// Number of the object in its process: later ones have higher numbers.
            object: u64,
            /// Bytes of the whole object.
            size: u64,
            /// Where in it the piece begins, bytes.
            offset: u64,
            /// First address of the code.
            start: u64,
            /// Behind its last address.
            end: u64,
        }

        /// Waits of a thread that are counted and have no record. What several of them say adds up. `tag`: an [`crate::Awaited`].
        Tally = 32 (Passes, Own, "tallies") {
            /// Kernel's id of the thread.
            tid: u64,
            /// How many.
            count: u64,
            /// How long they took together, ticks.
            time: i64,
        }

        /// Calls of a thread that are counted and have no record. What several of them say adds up. `tag`: the function's name,
        /// id of its text.
        CallTally = 26 (Passes, Own, "tallies") {
            /// Kernel's id of the thread.
            tid: u64,
            /// How many.
            count: u64,
            /// How many of them were timed.
            timed: u64,
            /// How long those took together, ticks.
            time: i64,
        }

        /// A thread ended that had written records, with what the kernel counted of its whole life.
        ThreadEnd = 28 (Passes, Own, "states") {
            /// When, ns of `CLOCK_MONOTONIC`.
            at: i64,
            /// Time on a processor, ns; -1 for unknown.
            running: i64,
            /// Time ready without a processor, ns; -1 for unknown.
            runnable: i64,
            /// Kernel's id of it.
            tid: u64,
        }
    }

    /// Looks of `record` at a process from outside. `watched.rs` reads them.
    Watched {
        /// A part of a thread's life: how long it ran, was ready to, and was blocked (the rest). Rows of a thread do not
        /// overlap. The writer may lengthen a thread's last row in place. `tag`: id of the name of the system call that the
        /// thread is blocked in at the end, 0 for none or unknown.
        State = 40 (Passes, Beside, "states") {
            /// Start, ns.
            start: i64,
            /// End, ns.
            end: i64,
            /// On a processor within it, ns.
            running: i64,
            /// Ready without a processor within it, ns.
            runnable: i64,
            /// First argument of the call: an address or a descriptor, and the flags of one that opens a file; 0 for none or unknown.
            object: u64,
            /// Kernel's id of the thread.
            tid: u32,
            /// A [`crate::Run`]: at the end.
            state: u32,
        }

        /// The processors that the process may use. The writer may lengthen the last one in place.
        Limits = 41 (Passes, Beside, "limits") {
            /// Start, ns.
            start: i64,
            /// End, ns.
            end: i64,
            /// How long its cgroups, or one above them, were throttled within it, ns.
            throttled: i64,
            /// The least quota of its cgroups, thousandths of a processor; 0 for none.
            quota: i64,
            /// Processors that its main thread may run on; 0 for unknown.
            processors: u64,
        }

        /// A stack that [`Look`]s name. `tag`: its number in the file, never 0. Native frames follow, an address (u64)
        /// each, innermost first: each is a return address; then Python frames, a [`crate::PythonFrame`] each, innermost first.
        Seen = 42 (Passes, Beside, "stacks") {
            /// Native frames.
            native: u32,
            /// Python frames.
            python: u32,
        }

        /// The places and states of the process's threads at a moment. `tag`: number of [`crate::Glance`]s that follow. A thread without one
        /// has the same stack and state as at the [`Look`] before: it has not run since. One with glances of threads that
        /// ended only says so, and is no sample of the others.
        Look = 43 (Passes, Beside, "samples") {
            /// When, ns.
            at: i64,
        }

        /// A thread that was there at a look and not at the next: up to where its rows reach, and what the kernel had counted
        /// of its whole life there. With the thread's own [`crate::ThreadEnd`] it says what the thread did after that.
        Left = 45 (Passes, Beside, "states") {
            /// End of its last [`State`], ns.
            at: i64,
            /// Time on a processor until then, ns.
            running: i64,
            /// Time ready without a processor until then, ns.
            runnable: i64,
            /// The look that did not find it, ns.
            gone: i64,
            /// Kernel's id of it.
            tid: u64,
        }

        /// Gaps in the looks at the process until then; the latest one of a file counts.
        Unseen = 44 (Passes, Beside, "meta") {
            /// When, ns.
            at: i64,
            /// Processor time of threads between the last look at them and their end, ns; all of it for threads that no
            /// look found.
            running: i64,
            /// Stacks of Python that were not consistent, because the thread ran while it was read.
            torn: u64,
            /// Native stacks that could not be followed to their outermost frame.
            cut: u64,
            /// Looks that came so late that the next one was due.
            late: u64,
        }
    }
}

const _: () = {
    let mut at = 0;
    while at < Kind::ALL.len() {
        let number = Kind::ALL[at] as u16;
        assert!(number != 0, "0 marks the end of a chunk");
        let is_word = number == Kind::OuterCall as u16 || number == Kind::BriefCall as u16;
        assert!(is_word || number < Kind::OuterCall as u16, "the number is that of a word of its own");
        let mut other = 0;
        while other < at {
            assert!(number != Kind::ALL[other] as u16, "two kinds have one number");
            other += 1;
        }
        at += 1;
    }
};
