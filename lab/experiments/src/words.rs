//! What experiments vary, by the names that parameters, rows and verdicts use.

use workload::{Affinity, Memory, Schedule};

/// One of a few names.
pub trait Word: Copy + PartialEq + 'static {
    /// All of them, in the order that rows come in.
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
        /// A process for each worker.
        Processes = "processes",
        /// Threads of one process that is a client of an MPS server.
        ThreadsMps = "threads-mps",
        /// A process for each worker, all clients of an MPS server.
        ProcessesMps = "processes-mps",
        /// Processes of several threads each, all clients of an MPS server.
        ProcessesThreadsMps = "processes-threads-mps",
        /// Threads of one process, each with a context of its own.
        Contexts = "contexts",
        /// The same, the process being a client of an MPS server.
        ContextsMps = "contexts-mps",
    }
}

impl Layout {
    /// Whether an MPS server is between the processes and the GPU.
    pub fn mps(self) -> bool {
        use Layout::*;
        matches!(self, ThreadsMps | ProcessesMps | ProcessesThreadsMps | ContextsMps)
    }

    /// Whether each worker has a context of its own in the one process.
    pub fn own_contexts(self) -> bool {
        matches!(self, Layout::Contexts | Layout::ContextsMps)
    }
}

words! {
    /// The host memory that copies use.
    HostMemory {
        /// Page-locked, allocated once.
        Pinned = "pinned",
        /// From the system, touched, used again and again.
        Pageable = "pageable",
        /// From the system, new for each copy and never touched.
        Fresh = "fresh",
        /// Pageable, filled by the thread itself from pinned buffers that the device copies to piece by piece.
        Staged = "staged",
    }
}

impl HostMemory {
    /// The names of memory that is allocated once and then used: pinned and pageable.
    pub fn kept() -> Vec<&'static str> {
        vec![HostMemory::Pinned.name(), HostMemory::Pageable.name()]
    }

    /// Where the buffer that the program uses lies.
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
        /// A call each.
        Launches = "launches",
        /// All of an iteration as one graph.
        Graph = "graph",
    }
}

words! {
    /// How threads wait for a GPU.
    Waiting {
        /// As the driver finds best.
        Auto = "auto",
        /// They look again and again (`cudaDeviceScheduleSpin`).
        Spin = "spin",
        /// They let others run between two looks (`cudaDeviceScheduleYield`).
        Yield = "yield",
        /// They sleep (`cudaDeviceScheduleBlockingSync`).
        Blocking = "blocking",
    }
}

impl Waiting {
    /// The same for a workload.
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
        /// Those of the NUMA node that the GPU is on.
        Node = "node",
    }
}

impl Near {
    /// The same for a workload.
    pub fn affinity(self) -> Affinity {
        match self {
            Near::Any => Affinity::Any,
            Near::Node => Affinity::Node,
        }
    }
}

words! {
    /// What a row says of its rounds.
    Take {
        /// The median of each figure.
        Median = "median",
        /// The round whose first figure is best.
        Best = "best",
    }
}

words! {
    /// Where one thread's work goes, as seen from another's.
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
