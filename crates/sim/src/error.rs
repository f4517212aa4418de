//! Errors of a run.

/// Why a workload did not run.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// A text that is not a model.
    #[error("{file}: {problem}")]
    Model {
        /// Its name or path.
        file: String,
        /// The problem, with its line if known.
        problem: String,
    },
    /// A workload that no runner can run.
    #[error(transparent)]
    Workload(#[from] workload::Error),
    /// A context on a device that the model does not have.
    #[error(
        "process {process} uses device {device}, but the model {model} has {count}: choose another model"
    )]
    NoDevice {
        /// The process.
        process: String,
        /// The ordinal it uses.
        device: u32,
        /// The model.
        model: String,
        /// How many devices it has, in words.
        count: String,
    },
    /// MPS on a model without it.
    #[error("the model {model} has no MPS: choose another model, or run without MPS")]
    NoMps {
        /// The model.
        model: String,
    },
    /// More client contexts on a device than an MPS server accepts.
    #[error(
        "an MPS server of the model {model} accepts {most} client contexts on a device, not {clients}: run several threads in each process"
    )]
    MpsClients {
        /// The model.
        model: String,
        /// Contexts that it accepts.
        most: u32,
        /// Contexts of the workload on the device that has the most.
        clients: u32,
    },
    /// A call of cuBLAS.
    #[error("the model {model} has no cuBLAS: use holdup's own kernels, or a GPU")]
    NoBlas {
        /// The model.
        model: String,
    },
    /// Not enough memory on a device.
    #[error(
        "thread {thread} of process {process} is out of memory: {bytes} bytes for buffer {buffer}, {free} free on device {device}"
    )]
    OutOfMemory {
        /// The process.
        process: String,
        /// The thread.
        thread: String,
        /// The buffer.
        buffer: String,
        /// Its size.
        bytes: u64,
        /// Bytes that are free.
        free: u64,
        /// The device's ordinal.
        device: u32,
    },
    /// Threads wait for each other, or for something that never happens.
    #[error("deadlock after {at_ms} ms: {waiting}")]
    Deadlock {
        /// The virtual time, ms.
        at_ms: i64,
        /// Each thread that waits, and for what.
        waiting: String,
    },
    /// More steps than allowed.
    #[error("more than {most} steps: make the workload smaller")]
    TooLong {
        /// The limit.
        most: u64,
    },
    /// More operations in flight than the simulator has room for.
    #[error("more than {most} operations are in flight: synchronize, or make the workload smaller")]
    TooMuch {
        /// The limit.
        most: usize,
    },
    /// A virtual time that overflows.
    #[error("the run takes more than 73 years of virtual time: make the workload smaller")]
    TooLate,
    /// A step that cannot run.
    #[error("thread {thread} of process {process}: {problem}")]
    Step {
        /// The process.
        process: String,
        /// The thread.
        thread: String,
        /// The step, and its problem.
        problem: String,
    },
}
