//! What a chunk holds: records of whole words, the first of which is the [`Head`].

/// The first word of a record, or all of a [`BriefCall`](crate::BriefCall) or [`OuterCall`](crate::OuterCall).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Head {
    /// Which struct follows: its `KIND`.
    pub kind: u16,
    /// Words of eight bytes, this one included.
    pub words: u16,
    /// Meaning depends on the kind.
    pub tag: u32,
}

impl Head {
    /// The first word of some bytes.
    pub fn read(bytes: &[u8]) -> Option<Head> {
        let word = *bytes.first_chunk::<8>()?;
        Some(Head {
            kind: u16::from_ne_bytes([word[0], word[1]]),
            words: u16::from_ne_bytes([word[2], word[3]]),
            tag: u32::from_ne_bytes([word[4], word[5], word[6], word[7]]),
        })
    }
}

/// Most bytes of a record: its words are counted in 16 bits.
pub const MOST_BYTES: usize = u16::MAX as usize * 8;

/// Longest text kept, bytes.
pub const MOST_TEXT: usize = 8 << 10;

/// A number of eight or four bytes.
pub(crate) trait Field: Sized {
    fn take(bytes: &[u8], at: &mut usize) -> Option<Self>;
}

macro_rules! field {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn take(bytes: &[u8], at: &mut usize) -> Option<Self> {
                let end = *at + size_of::<$type>();
                let value = <$type>::from_ne_bytes(bytes.get(*at..end)?.try_into().ok()?);
                *at = end;
                Some(value)
            }
        }
    )*};
}
field!(u64, i64, u32, i32);

/// Declares the fixed part of a record behind its head. Fields are numbers without gaps.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident = $kind:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        #[repr(C)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        const _: () = assert!(size_of::<$name>() == 0 $(+ size_of::<$type>())*, "fields leave a gap");
        const _: () = assert!(size_of::<$name>() % 8 == 0, "records are whole words");

        impl $name {
            /// Marks this record in [`crate::Head::kind`].
            pub const KIND: u16 = $kind;

            /// Reads the fixed part of a record's body; `None` when it is too short.
            pub fn read(body: &[u8]) -> Option<Self> {
                // With a constant length no field needs a check of its own.
                let body: &[u8] = body.first_chunk::<{ size_of::<Self>() }>()?;
                let mut at = 0;
                Some($name { $($field: $crate::record::Field::take(body, &mut at)?,)* })
            }

            /// The record's bytes.
            pub fn bytes(&self) -> &[u8] {
                // SAFETY: all fields are plain numbers without gaps between them (asserted above),
                // so every byte is initialized; the slice borrows `self`.
                unsafe { std::slice::from_raw_parts((self as *const Self).cast(), size_of::<Self>()) }
            }
        }
    };
}

pub(crate) use record;

record! {
    /// A text: `tag` is its id within the process, never 0; the bytes follow, then zeros up to a
    /// whole word.
    Text = 1 {
        /// Bytes of the text.
        length: u64,
    }
}

record! {
    /// A call of the driver or the runtime, as the wrapped entry point saw it. `tag`: id of the function's name.
    Call = 2 {
        /// Entry, ticks.
        start: i64,
        /// Return, ticks.
        end: i64,
        /// What it returned.
        result: i32,
        /// `call::COPY` and other facts about the call, as far as its arguments show.
        flags: u32,
        /// Bytes copied or filled.
        bytes: u64,
        /// Stream handle; 0 is the default stream.
        stream: u64,
        /// What else its arguments say in 32 bits: of a launch [`grid_fact`](crate::grid_fact), of a call with an event
        /// [`event_fact`](crate::event_fact); 0 for none.
        fact: u32,
        /// CUPTI's correlation id, where it told it; else 0.
        correlation: u32,
    }
}

/// Facts in [`Call::flags`].
pub mod call {
    /// Which way a copy goes: CUPTI's number of the direction.
    pub const DIRECTION: u32 = 0xff;
    /// Shift of CUPTI's number of the memory kind that is read.
    pub const SOURCE_SHIFT: u32 = 8;
    /// Shift of CUPTI's number of the memory kind that is written.
    pub const TARGET_SHIFT: u32 = 16;
    /// [`super::Call::stream`] holds a stream.
    pub const HAS_STREAM: u32 = 1 << 24;
    /// The stream was capturing: the call became a node of a graph and issued nothing.
    pub const CAPTURED: u32 = 1 << 25;
    /// [`super::Call::correlation`] is only there to be compared with the join by order.
    pub const CHECKED: u32 = 1 << 26;
}

record! {
    /// A wait for a lock that was taken. `tag`: id of the name of the library that waited.
    Wait = 3 {
        /// When the lock was found taken, ticks.
        start: i64,
        /// When it was got, or given up, ticks.
        end: i64,
        /// Address of the lock.
        lock: u64,
        /// A [`Lock`].
        kind: u32,
        /// A [`Mode`].
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
}

/// Kinds of locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Lock {
    /// `pthread_mutex_t`
    Mutex = 1,
    /// `pthread_rwlock_t`
    Rwlock = 2,
    /// `pthread_spinlock_t`
    Spin = 3,
}

/// How a lock is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Mode {
    /// Alone.
    Exclusive = 1,
    /// Beside other readers.
    Shared = 2,
}

record! {
    /// Where a slow call was made from. `tag`: native frames that follow, an address (u64) each,
    /// innermost first; then Python frames, a [`PythonFrame`] each, innermost first.
    Stack = 4 {
        /// Entry of the driver call, ticks.
        start: i64,
        /// Its return, ticks.
        end: i64,
        /// What the thread's last stack took, ticks, from that call's return until it was written; 0 for the first one.
        last: i64,
        /// Python frames.
        python: u64,
    }
}

/// A line of a Python function on a stack: the ids of two texts and the line, 0 for unknown; a zero
/// word's worth of filling makes it two words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(C)]
pub struct PythonFrame {
    /// Source file: id of its text.
    pub file: u32,
    /// Function: id of its text.
    pub function: u32,
    /// Line, from 1; 0 for unknown.
    pub line: u32,
    /// Zero.
    pub zero: u32,
}

record! {
    /// A loaded library or program. `tag`: id of its path.
    Module = 5 {
        /// Address that its file's virtual address 0 is loaded at.
        base: u64,
        /// First address of it.
        start: u64,
        /// Behind its last address.
        end: u64,
        /// When it was seen, ns.
        seen: i64,
    }
}

record! {
    /// A name the program gave a thread. `tag`: id of the text.
    ThreadName = 6 {
        /// Kernel's id of the thread.
        tid: u64,
    }
}

record! {
    /// A range the program marked (NVTX). `tag`: id of its text.
    Range = 7 {
        /// Where it begins, ticks.
        start: i64,
        /// Where it ends, ticks.
        end: i64,
        /// Id of the text of its domain, 0 for none.
        domain: u64,
    }
}

record! {
    /// A runtime or driver call as CUPTI saw it. `tag`: id of its name.
    ApiCall = 8 {
        /// Entry, ns.
        start: i64,
        /// Return, ns.
        end: i64,
        /// Correlation id.
        correlation: u32,
        /// Kernel's id of the calling thread.
        tid: u32,
        /// What it returned.
        result: i32,
        /// 1 for the runtime, 0 for the driver.
        runtime: u32,
    }
}

record! {
    /// A kernel on the GPU. `tag`: id of its name.
    Kernel = 9 {
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
}

record! {
    /// A copy on the GPU.
    Copy = 10 {
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
}

record! {
    /// A fill on the GPU.
    Fill = 11 {
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
}

record! {
    /// A synchronization. `tag`: CUPTI's number of what is waited for.
    Sync = 12 {
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
}

record! {
    /// The tracer's own work. `tag`: CUPTI's number of what it is.
    Overhead = 13 {
        /// Start, ns.
        start: i64,
        /// End, ns.
        end: i64,
        /// Kernel's id of the thread, 0 for unknown.
        tid: u64,
    }
}

record! {
    /// A GPU. `tag`: id of its name.
    Device = 14 {
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
}

record! {
    /// Which GPU a process knows by a number: another process may know another one by it. `tag`: CUDA device index.
    DeviceIdentity = 27 {
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

record! {
    /// Records that CUPTI dropped.
    Dropped = 16 {
        /// How many.
        count: u64,
    }
}

record! {
    /// Something a reader must know, a sentence. `tag`: id of the text.
    Note = 17 {
        /// When, ns.
        at: i64,
    }
}

record! {
    /// The driver. `tag`: its version as CUDA numbers it (13000 is 13.0).
    Driver = 18 {
        /// CUPTI's version, 0 when it is not used.
        cupti: u64,
    }
}

record! {
    /// The program. `tag`: id of the text of its executable's path.
    Program = 19 {
        /// Id of the text of its command line.
        command: u64,
    }
}

record! {
    /// The number by which CUPTI knows a stream, for a handle from then on. The default streams' handles (0, 1, 2) are
    /// meant for calls of one thread. `tag`: CUPTI's number of the stream.
    StreamNumber = 23 {
        /// The handle.
        stream: u64,
        /// When, ticks.
        at: i64,
        /// CUPTI's number of the context.
        context: u32,
        /// Kernel's id of the thread; 0 for the one whose chunk this is in.
        tid: u32,
    }
}

record! {
    /// A graph on the GPU, launched whole.
    Graph = 24 {
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

record! {
    /// Both clocks at one moment.
    Clock = 20 {
        /// What the records' clock showed.
        ticks: i64,
        /// `CLOCK_MONOTONIC`, ns.
        ns: i64,
    }
}

record! {
    /// Calls of a thread that are counted and have no record. What several of them say adds up. `tag`: the function's name,
    /// id of its text.
    CallTally = 26 {
        /// Kernel's id of the thread.
        tid: u64,
        /// How many.
        count: u64,
        /// How many of them were timed.
        timed: u64,
        /// How long those took together, ticks.
        time: i64,
    }
}

record! {
    /// A piece of an ELF object that describes code which the program made while it ran, as the program
    /// announced it to debuggers. The piece's bytes follow, at most [`MOST_PIECE`].
    Made = 21 {
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
}

record! {
    /// Recording was switched on or off by request. `tag`: 1 for on, 0 for off. What began before it was switched on or
    /// after it was switched off is not recorded.
    Switched = 50 {
        /// When, ns.
        at: i64,
    }
}

record! {
    /// A thread ended that had written records, with what the kernel counted of its whole life.
    ThreadEnd = 28 {
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

/// Whether records of a kind are written once and others refer to them, or to what they state, from then on: they are not
/// overwritten where the last records are kept.
pub fn lasts(kind: u16) -> bool {
    matches!(
        kind,
        Text::KIND
            | Module::KIND
            | ThreadName::KIND
            | Device::KIND
            | DeviceIdentity::KIND
            | Dropped::KIND
            | Note::KIND
            | Driver::KIND
            | Program::KIND
            | Made::KIND
            | StreamNumber::KIND
            | Switched::KIND
            | crate::Unplaced::KIND
    )
}

/// Most bytes of an object in one [`Made`].
pub const MOST_PIECE: usize = 4096;

/// Most bytes of an object of [`Made`].
pub const MOST_OBJECT: u64 = 4 << 20;
