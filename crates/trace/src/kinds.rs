//! The closed vocabularies of the tables. A `.holdup` file stores each value as its name; a name that this version
//! does not know reads as `Unknown`.

/// Declares an enum whose values have a stable name in files and listings.
macro_rules! kinds {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
        pub enum $name {
            /// Not stated by the source, or a value this version does not know.
            #[default]
            Unknown,
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// Every value, `Unknown` first.
            pub const ALL: &'static [$name] = &[$name::Unknown, $($name::$variant,)+];

            /// The value's name in files and listings.
            pub fn name(self) -> &'static str {
                match self {
                    $name::Unknown => "unknown",
                    $($name::$variant => $text,)+
                }
            }

            /// The value of that name, `Unknown` for any other text.
            pub fn from_name(name: &str) -> $name {
                match name {
                    $($text => $name::$variant,)+
                    _ => $name::Unknown,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

kinds! {
    /// Which library a host call belongs to.
    Api {
        /// The CUDA runtime (`cuda…`).
        Runtime = "runtime",
        /// The CUDA driver (`cu…`).
        Driver = "driver",
        /// AMD's HIP runtime (`hip…`).
        Hip = "hip",
        /// The operating system's runtime library (`pthread_…`, `futex` …), as Nsight Systems traces it.
        Os = "os",
        /// A library above CUDA (cuBLAS, cuDNN …).
        Library = "library",
    }
}

kinds! {
    /// Kind of a GPU operation.
    OpKind {
        /// A kernel.
        Kernel = "kernel",
        /// A memory copy.
        Copy = "memcpy",
        /// A memory fill.
        Memset = "memset",
        /// A CUDA graph that was launched whole: from the start of its first node to the end of its last.
        Graph = "graph",
    }
}

kinds! {
    /// Direction of a copy, in CUPTI's words.
    CopyKind {
        /// Host to device.
        HtoD = "HtoD",
        /// Device to host.
        DtoH = "DtoH",
        /// Host to array.
        HtoA = "HtoA",
        /// Array to host.
        AtoH = "AtoH",
        /// Array to array.
        AtoA = "AtoA",
        /// Array to device.
        AtoD = "AtoD",
        /// Device to array.
        DtoA = "DtoA",
        /// Within a device.
        DtoD = "DtoD",
        /// Host to host.
        HtoH = "HtoH",
        /// Between devices.
        PtoP = "PtoP",
        /// Unified memory migrated to the device.
        UnifiedHtoD = "unified HtoD",
        /// Unified memory migrated to the host.
        UnifiedDtoH = "unified DtoH",
        /// Unified memory migrated between devices.
        UnifiedDtoD = "unified DtoD",
    }
}

impl CopyKind {
    /// Whether the copy ends in host memory.
    pub fn to_host(self) -> bool {
        matches!(self, CopyKind::DtoH | CopyKind::AtoH)
    }

    /// Whether the copy starts in host memory and ends on a device.
    pub fn to_device(self) -> bool {
        matches!(self, CopyKind::HtoD | CopyKind::HtoA)
    }
}

kinds! {
    /// Kind of memory at one end of a copy, in CUPTI's words.
    MemoryKind {
        /// Ordinary host memory: the driver stages copies through pinned buffers of its own.
        Pageable = "pageable",
        /// Page-locked host memory.
        Pinned = "pinned",
        /// Device memory.
        Device = "device",
        /// A CUDA array.
        Array = "array",
        /// Unified memory.
        Managed = "managed",
        /// A `__device__` variable.
        DeviceStatic = "device static",
        /// A `__managed__` variable.
        ManagedStatic = "managed static",
    }
}

kinds! {
    /// Object that a synchronization waits for.
    SyncKind {
        /// The host waits for an event.
        Event = "event",
        /// A stream waits for an event; the host does not.
        StreamWaitEvent = "stream wait event",
        /// The host waits for a stream.
        Stream = "stream",
        /// The host waits for a whole context.
        Context = "context",
    }
}

kinds! {
    /// Origin of a marked range of host time.
    RangeKind {
        /// An operator of a framework (`aten::copy_`).
        Operator = "operator",
        /// A range the user named (`record_function`, NVTX).
        User = "user",
        /// A Python function.
        Python = "python",
        /// The tracer's own work: buffer requests and flushes.
        Overhead = "overhead",
    }
}

kinds! {
    /// Which component a thread belongs to; `Unknown` for the program's own threads.
    ThreadRole {
        /// The tracer's own thread. The tracer causes the waits for it.
        Tracer = "tracer",
    }
}

kinds! {
    /// Kind of a lock, or of another thing that one thread waits for and another one provides.
    LockKind {
        /// `pthread_mutex_t`.
        Mutex = "mutex",
        /// `pthread_rwlock_t`.
        RwLock = "rwlock",
        /// `pthread_spinlock_t`.
        Spin = "spin",
        /// `pthread_cond_t`. It has no holder; its releaser is the thread that signalled.
        Condition = "condition",
        /// `sem_t`. It has no holder; its releaser is the thread that posted.
        Semaphore = "semaphore",
        /// Python's global interpreter lock.
        Gil = "gil",
        /// A barrier. It has no holder; its releaser is the thread that arrived last.
        Barrier = "barrier",
        /// The end of another thread, which is the releaser.
        Join = "join",
    }
}

kinds! {
    /// Layer of the lock that a thread waits for.
    LockLayer {
        /// The CUDA driver's.
        Driver = "driver",
        /// Lock of a CUDA or framework library whose locks are watched, such as PyTorch's allocator.
        Library = "library",
        /// Lock of the program, or of any other library.
        Program = "program",
        /// Lock of an interpreter: Python's GIL.
        Interpreter = "interpreter",
    }
}

impl LockLayer {
    /// Whether the lock is CUDA's or a library's above it. A source that states no layer records no other locks.
    pub fn is_cuda(self) -> bool {
        matches!(self, LockLayer::Unknown | LockLayer::Driver | LockLayer::Library)
    }
}

kinds! {
    /// State of a thread, as the scheduler sees it.
    ThreadState {
        /// It runs on a processor.
        Running = "running",
        /// It is ready and waits for a processor.
        Runnable = "runnable",
        /// It sleeps until something happens, and a signal can wake it (`S`).
        Blocked = "blocked",
        /// It sleeps and no signal wakes it (`D`): it waits for a disk or for the driver.
        Uninterruptible = "uninterruptible",
        /// A signal or a debugger stopped it.
        Stopped = "stopped",
    }
}

kinds! {
    /// Kind of events that a tally counts.
    TallyKind {
        /// Calls of a function that are too short to list.
        Call = "call",
        /// Waits for a kind of lock that are too short to list.
        Wait = "wait",
        /// The recorder's own work on the thread ([`STACKS`]).
        Recorder = "recorder",
    }
}

/// Work counted as [`TallyKind::Recorder`]: the stacks of calls, with the time from the call's return until each was written,
/// without those that took longer than a stack does, because the thread had no processor or libraries were listed.
pub const STACKS: &str = "stacks of calls";

kinds! {
    /// The mode in which a thread acquires a lock.
    LockMode {
        /// No other thread may hold it.
        Exclusive = "exclusive",
        /// Other readers may hold it too.
        Shared = "shared",
    }
}
