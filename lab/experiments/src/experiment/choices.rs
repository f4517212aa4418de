//! The choices that several experiments offer, by the names that parameters, rows and verdicts use.

use workload::{Affinity, Memory, Schedule};

/// One of a few names.
pub trait Word: Copy + PartialEq + 'static {
    /// All of them, in the order of rows.
    const ALL: &'static [Self];

    /// The name on the command line and in rows.
    fn name(self) -> &'static str;

    /// The one of that name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|word| word.name() == name)
    }

    /// The names of all.
    fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|word| word.name()).collect()
    }
}

/// Declares an enumeration whose values have names.
macro_rules! words {
    ($(#[$doc:meta])* $type:ident { $($(#[$about:meta])* $word:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type { $($(#[$about])* $word,)* }

        impl $crate::Word for $type {
            const ALL: &'static [$type] = &[$($type::$word,)*];

            fn name(self) -> &'static str {
                match self { $($type::$word => $name,)* }
            }
        }
    };
}
pub(crate) use words;

words! {
    /// How workers are spread over threads and processes.
    Layout {
        /// Threads of one process, on its primary context.
        Threads = "threads",
        /// One process per worker.
        Processes = "processes",
        /// Threads of one process that is a client of an MPS server.
        ThreadsMps = "threads-mps",
        /// One process per worker, all clients of an MPS server.
        ProcessesMps = "processes-mps",
        /// Processes of several threads each, all clients of an MPS server.
        ProcessesThreadsMps = "processes-threads-mps",
        /// Threads of one process, each with its own context.
        Contexts = "contexts",
        /// The same, the process being a client of an MPS server.
        ContextsMps = "contexts-mps",
    }
}

impl Layout {
    /// Whether the processes are clients of an MPS server.
    pub fn mps(self) -> bool {
        use Layout::*;
        matches!(self, ThreadsMps | ProcessesMps | ProcessesThreadsMps | ContextsMps)
    }

    /// Whether each worker has its own context in the one process.
    pub fn own_contexts(self) -> bool {
        matches!(self, Layout::Contexts | Layout::ContextsMps)
    }
}

words! {
    /// The host memory that copies use.
    HostMemory {
        /// Page-locked, allocated once.
        Pinned = "pinned",
        /// Pageable, allocated once and reused.
        Pageable = "pageable",
        /// Pageable, allocated for each copy and never touched.
        Fresh = "fresh",
        /// Pageable, which the thread fills from pinned buffers that the device copies to piece by piece.
        Staged = "staged",
    }
}

impl HostMemory {
    /// The names of the memory that is allocated once: pinned and pageable.
    pub fn kept() -> Vec<&'static str> {
        vec![HostMemory::Pinned.name(), HostMemory::Pageable.name()]
    }

    /// The memory of the program's buffer.
    pub fn memory(self) -> Memory {
        match self {
            HostMemory::Pinned => Memory::Pinned,
            HostMemory::Pageable | HostMemory::Staged => Memory::Pageable,
            HostMemory::Fresh => Memory::Fresh,
        }
    }
}

words! {
    /// How kernels are handed to the GPU.
    Submit {
        /// One call per kernel.
        Launches = "launches",
        /// One graph per iteration.
        Graph = "graph",
    }
}

words! {
    /// How threads wait for a GPU.
    Waiting {
        /// The driver chooses.
        Auto = "auto",
        /// They poll (`cudaDeviceScheduleSpin`).
        Spin = "spin",
        /// They yield the processor between two polls (`cudaDeviceScheduleYield`).
        Yield = "yield",
        /// They sleep (`cudaDeviceScheduleBlockingSync`).
        Blocking = "blocking",
    }
}

impl Waiting {
    /// The workload's value.
    pub fn schedule(self) -> Schedule {
        match self {
            Waiting::Auto => Schedule::Auto,
            Waiting::Spin => Schedule::Spin,
            Waiting::Yield => Schedule::Yield,
            Waiting::Blocking => Schedule::Blocking,
        }
    }
}

words! {
    /// The processors that threads run on.
    Near {
        /// Any that the program may use.
        Any = "any",
        /// Processors of the GPU's NUMA node.
        Node = "node",
    }
}

impl Near {
    /// The workload's value.
    pub fn affinity(self) -> Affinity {
        match self {
            Near::Any => Affinity::Any,
            Near::Node => Affinity::Node,
        }
    }
}

words! {
    /// Figures that a row reports of its rounds.
    Take {
        /// The median of each figure.
        Median = "median",
        /// The round whose first figure is best.
        Best = "best",
    }
}

words! {
    /// Where one thread issues its operations, relative to another thread.
    Place {
        /// Into the other's stream.
        SameStream = "same-stream",
        /// Into another stream of the same context.
        OwnStream = "own-stream",
        /// Into another context of the same process and GPU.
        OwnContext = "own-context",
        /// To another GPU, in the same process.
        OtherGpu = "other-gpu",
    }
}
