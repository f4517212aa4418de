//! A model: the properties of a driver, a host and its devices that a run needs. One TOML file each, in `models/`.

use serde::{Deserialize, Serialize};

/// A driver, a host and its devices.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// A short name, as in `h200`.
    pub name: String,
    /// Hardware that it models and measurements that it is calibrated on, in a sentence or two.
    pub about: String,
    /// The driver's version; empty if unknown.
    pub driver: String,
    /// Effects that it does not reproduce, and which of its values are assumed, one sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The seed of its pseudo-random numbers, if it uses any. Another seed is another sequence of events.
    #[serde(default)]
    pub seed: u64,
    /// The devices, all alike.
    pub device: Device,
    /// Rates of copies.
    pub copies: Copies,
    /// How long the built-in kernels run.
    pub kernels: Kernels,
    /// Hardware queues.
    pub connections: Connections,
    /// Several contexts on one device.
    pub sharing: Sharing,
    /// The costs of host memory.
    pub host: Host,
    /// How locks pass from thread to thread.
    pub locks: Locks,
    /// The costs and the locks of calls.
    pub calls: Calls,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Its marketing name.
    pub title: String,
    /// The number of devices.
    pub count: u32,
    /// Compute capability, major and minor part.
    pub compute: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// The most threads resident on a multiprocessor.
    pub threads_per_multiprocessor: u32,
    /// The most blocks resident on a multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// The most kernels that run at the same time.
    pub concurrent_kernels: u32,
    /// The multiprocessors' clock, MHz.
    pub clock_mhz: u64,
    /// Its memory, bytes.
    pub memory_bytes: u64,
    /// Copy engines: with one, both directions share it.
    pub copy_engines: u32,
    /// The order in which engines start operations.
    pub order: Order,
    /// Whether kernels of different streams that were issued back to back signal their end only when all of them
    /// have ended.
    pub delayed_signals: bool,
    /// From the end of a kernel to the start of the next one in its queue, ns.
    pub gap_ns: i64,
    /// The same within a graph, ns.
    pub graph_gap_ns: i64,
    /// Added to `gap_ns` for each further hardware queue with kernels, ns.
    pub queue_gap_ns: i64,
    /// The least time between the starts of any two kernels, ns.
    pub issue_ns: i64,
    /// Added to `issue_ns` for each further hardware queue with kernels, ns.
    pub queue_issue_ns: i64,
    /// From the end of an operation to the start of one on another engine that waits for it, ns.
    pub signal_ns: i64,
    /// From the call to the earliest start of the operation that it issues, ns.
    pub latency_ns: i64,
    /// From the end of an operation to the return of a call that waits for it, before the call's own `after_ns`, ns.
    pub notice_ns: i64,
}

/// The order in which engines start operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The order of issue, across streams: an operation that is not ready delays those after it (before Hyper-Q).
    Issue,
    /// The order in which operations become ready; only those of one hardware queue stay in order (Hyper-Q).
    Ready,
}

/// Rates of copies.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Copies {
    /// The time of a copy besides that of its bytes, ns.
    pub latency_ns: i64,
    /// From host to device.
    pub to_device: Rates,
    /// From device to host.
    pub to_host: Rates,
    /// Within a device, MB/s of bytes copied.
    pub within_mb_s: u64,
    /// Between devices, MB/s.
    pub between_mb_s: u64,
    /// Whether pageable copies of one direction and context run one after the other in the order of their calls, across
    /// streams: one mutex is held from before the copy until it completes.
    pub pageable_in_order: bool,
    /// Whether pageable copies run in pieces, between which other copies run.
    pub pageable_in_pieces: bool,
}

/// Rates by the kind of host memory, in MB/s (10⁶ bytes).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// Page-locked.
    pub pinned_mb_s: u64,
    /// Pageable, in use.
    pub pageable_mb_s: u64,
    /// Pageable, never touched.
    pub fresh_mb_s: u64,
    /// Pageable, while another thread's pageable copy in the other direction waits in the same context. Default: no difference.
    #[serde(default)]
    pub beside_mb_s: Option<u64>,
    /// The time of a copy besides that of its bytes, ns. Default: [`Copies::latency_ns`].
    #[serde(default)]
    pub latency_ns: Option<i64>,
}

/// The durations of the built-in kernels alone on the device.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Kernels {
    /// The duration of an empty kernel, ns, which is part of every other.
    pub base_ns: i64,
    /// `AddConstant`: cycles per round.
    pub add_round_cycles: f64,
    /// `AddConstant`: cycles per four elements of a thread.
    pub add_quad_cycles: f64,
    /// `Increment`: picoseconds per element and round on a full device.
    pub increment_round_ps: f64,
    /// `MatrixProduct`: floating-point operations per nanosecond (it has 2 × rows × inner × columns).
    pub product_flops_per_ns: f64,
    /// `NormPartial`, `NormFinal`: the time of a reduction besides `base_ns` and its memory, ns.
    #[serde(default)]
    pub reduction_ns: i64,
    /// `NormPartial`, `NormFinal`, `Scale`: MB/s of device memory read or written.
    pub memory_mb_s: u64,
    /// Fills: MB/s of device memory written. Default: [`Kernels::memory_mb_s`].
    #[serde(default)]
    pub fill_mb_s: Option<u64>,
}

/// Hardware queues, which streams are assigned to in turn.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Connections {
    /// Without `CUDA_DEVICE_MAX_CONNECTIONS`.
    pub default: u32,
    /// The most that can be set.
    pub most: u32,
    /// Of a client of an MPS server, without `CUDA_DEVICE_MAX_CONNECTIONS`.
    pub mps: u32,
    /// The most pending launches of a stream; the next launch waits.
    pub depth: u32,
    /// Time that each of them takes when a process starts and creates its context, ns; recorded programs alone. Default: 0.
    #[serde(default)]
    pub start_ns: i64,
    /// Time that each of them takes when a process ends, ns; recorded programs alone. Default: 0.
    #[serde(default)]
    pub end_ns: i64,
}

/// Several contexts on one device: without MPS they take turns.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sharing {
    /// Client contexts that an MPS server accepts on one device; 0 without MPS. NVIDIA, "Multi-Process Service", limits of
    /// connections: 16 before Volta, 48 since, 60 from CUDA 13.1 on.
    pub mps_clients: u32,
    /// The time slice of a context while another one has kernels, ns.
    pub slice_ns: i64,
    /// The time to switch contexts, ns.
    pub switch_ns: i64,
}

/// The costs of host memory.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Allocating or freeing, before any page, ns.
    pub map_ns: i64,
    /// Touching a page of 4 KiB for the first time, ns.
    pub touch_page_ns: i64,
    /// Freeing a page of 4 KiB, ns.
    pub unmap_page_ns: i64,
    /// A thread's copy, fill or comparison of memory, MB/s.
    pub mb_s: u64,
    /// From the release of a process's lock, as Python's GIL, until a thread that sleeps for it goes on, ns.
    #[serde(default)]
    pub handoff_ns: i64,
    /// Number of processors. Threads that wait for a device poll it; if more threads than this poll or are in calls, they take
    /// turns. 0: one per thread.
    #[serde(default)]
    pub processors: u32,
    /// The time slice of a thread, ns.
    #[serde(default)]
    pub slice_ns: i64,
}

/// How locks pass from thread to thread.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Locks {
    /// The reader-writer lock that each context has.
    pub context: Lock,
    /// The mutex that launches acquire.
    pub mutex: Lock,
    /// Scope of one such mutex.
    pub mutex_of: Scope,
    /// The mutexes of pageable copies ([`Copies::pageable_in_order`]). Default: like the context's lock.
    #[serde(default)]
    pub copies: Option<Lock>,
    /// The lock that an allocation or a free of any process and device holds exclusively while a device allocates or frees
    /// blocks of memory. Default: none, because none is known.
    #[serde(default)]
    pub memory: Option<Lock>,
}

/// How one lock passes from thread to thread.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// 0: a release hands the lock to the longest waiter. More: a release wakes the longest waiter, which takes this time, ns; if
    /// another thread has acquired the lock by then, the woken thread waits again, after all others.
    pub wake_ns: i64,
    /// Waking takes up to this much longer, at random, ns.
    #[serde(default)]
    pub wake_spread_ns: i64,
    /// A thread that was woken too late so many times is handed the lock, or it could wait for ever. Only if `wake_ns` is not 0.
    #[serde(default)]
    pub patience: u32,
    /// A thread that held the lock less than this ago, ns, passes threads that held it earlier and sleep, but none that was passed
    /// `patience` times. 0: first come, first served.
    #[serde(default)]
    pub recent_ns: i64,
    /// The time to hand over, ns.
    pub handover_ns: i64,
    /// Added to it for each thread that waits, ns.
    pub waiter_ns: i64,
    /// The most threads that add to it.
    pub most_waiters: u32,
}

/// Scope of one launch mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Each context has one.
    Context,
    /// Each process has one, whatever the device.
    Process,
}

/// The costs and the locks of calls, by kind.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Calls {
    /// `cuDevicePrimaryCtxRetain`, `cuCtxCreate`.
    pub context_create: Rule,
    /// `cuLaunchKernel`.
    pub launch: Rule,
    /// The first launch of each kernel in a context takes this much longer, ns.
    pub first_launch_ns: i64,
    /// `cuGraphLaunch`; `unit_ns` per node.
    pub graph_launch: Rule,
    /// Copies without pageable memory.
    pub copy: Rule,
    /// Copies from or to pageable memory.
    pub pageable_copy: Rule,
    /// Copies of pageable memory up to this size to the device do not wait for it, bytes.
    pub staged_at_once_bytes: u64,
    /// `cuMemsetD32Async`.
    pub fill: Rule,
    /// `cuMemAlloc`, `cuMemAllocManaged`; `unit_ns` per block of 2 MiB that the context does not have yet.
    pub allocate: Rule,
    /// `cuMemFree`, which waits for the context's operations while it holds its lock; `unit_ns` per block that it frees.
    pub free: Rule,
    /// Added to an allocation or a free that allocates or frees blocks of the device, ns. Buffers smaller than a block share
    /// one.
    pub blocks_ns: i64,
    /// `cuMemAllocAsync`, `cuMemFreeAsync`.
    pub pool: Rule,
    /// `cuMemHostAlloc`; `unit_ns` per page of 4 KiB, as for the next three.
    pub host_allocate: Rule,
    /// `cuMemFreeHost`.
    pub host_free: Rule,
    /// `cuMemHostRegister`.
    pub register: Rule,
    /// `cuMemHostUnregister`.
    pub unregister: Rule,
    /// `cuStreamCreate`, `cuStreamDestroy`.
    pub stream: Rule,
    /// `cuStreamDestroy`. Default: like `stream`.
    #[serde(default)]
    pub stream_destroy: Option<Rule>,
    /// `cuEventCreate`, `cuEventDestroy`.
    pub event: Rule,
    /// `cuEventRecord`, `cuStreamWaitEvent`.
    pub order: Rule,
    /// `cuEventQuery`, `cuStreamQuery`.
    pub query: Rule,
    /// `cuEventSynchronize`, `cuStreamSynchronize`, `cuCtxSynchronize`.
    pub synchronize: Rule,
    /// `cuModuleLoadData`.
    pub module_load: Rule,
    /// `cuModuleUnload`, which waits like `free`.
    pub module_unload: Rule,
    /// Capturing and instantiating a graph; `unit_ns` per node.
    pub capture: Rule,
}

/// The costs and the locks of a call: its time before the locks, its locks, its time with them, its wait, and after the release
/// its time without them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// Before the locks, ns.
    pub before_ns: i64,
    /// With the locks, ns.
    pub held_ns: i64,
    /// With the locks, added per unit (page or node), ns.
    pub unit_ns: f64,
    /// After the locks, ns.
    pub after_ns: i64,
    /// How it acquires its context's lock.
    pub lock: Use,
    /// How it acquires it if another thread's pageable copy waits in its stream. Default: no difference.
    pub staged_stream_lock: Option<Use>,
    /// Whether it also holds the launch mutex, while it holds the lock and does not wait.
    pub mutex: bool,
    /// Whether it holds the lock while it waits for the device.
    pub keeps: bool,
    /// The number of pieces of its time, each of which acquires the locks again; 0 means one.
    pub pieces: u32,
}

/// How a call acquires a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    /// Not at all.
    #[default]
    None,
    /// In shared mode.
    Shared,
    /// In exclusive mode.
    Exclusive,
}
