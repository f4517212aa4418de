//! A model: what a run needs to know of a driver, a host and its devices. One TOML file each, in `models/`.

use crate::Error;
use serde::Deserialize;
use std::path::Path;

/// The models that come with the crate, by name.
const BUILT_IN: [(&str, &str); 10] = [
    ("c1060", include_str!("../models/c1060.toml")),
    ("c2050", include_str!("../models/c2050.toml")),
    ("k20c", include_str!("../models/k20c.toml")),
    ("p100", include_str!("../models/p100.toml")),
    ("p100-nvprof", include_str!("../models/p100-nvprof.toml")),
    ("p40", include_str!("../models/p40.toml")),
    ("v100", include_str!("../models/v100.toml")),
    ("a4000x10", include_str!("../models/a4000x10.toml")),
    ("h200", include_str!("../models/h200.toml")),
    ("h200x8", include_str!("../models/h200x8.toml")),
];

/// A driver, a host and its devices.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// A short name, as in `h200`.
    pub name: String,
    /// What it is a model of, and what it is calibrated on, in a sentence or two.
    pub about: String,
    /// The driver's version; empty where nobody said.
    pub driver: String,
    /// What the model does not reproduce and what of it is assumed, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What chance follows from, where the model has some: another seed, another course of events.
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
    /// What host memory costs.
    pub host: Host,
    /// How locks go from thread to thread.
    pub locks: Locks,
    /// What calls cost and lock.
    pub calls: Calls,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Its marketing name.
    pub title: String,
    /// How many there are.
    pub count: u32,
    /// Compute capability, major and minor part.
    pub compute: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Threads that are resident on a multiprocessor at most.
    pub threads_per_multiprocessor: u32,
    /// Blocks that are resident on a multiprocessor at most.
    pub blocks_per_multiprocessor: u32,
    /// Kernels that run at once at most.
    pub concurrent_kernels: u32,
    /// The multiprocessors' clock, MHz.
    pub clock_mhz: u64,
    /// Its memory, bytes.
    pub memory_bytes: u64,
    /// Copy engines: with one, both directions share it.
    pub copy_engines: u32,
    /// In which order engines take work.
    pub order: Order,
    /// Whether kernels of different streams that were issued back to back signal their end only when all of them
    /// have ended.
    pub delayed_signals: bool,
    /// From the end of a kernel to the start of the next one in its queue, ns.
    pub gap_ns: i64,
    /// The same within a graph, ns.
    pub graph_gap_ns: i64,
    /// More of `gap_ns` for each further hardware queue that has kernels, ns.
    pub queue_gap_ns: i64,
    /// Time between the starts of any two kernels at least, ns.
    pub issue_ns: i64,
    /// From the end of an operation to the start of one on another engine that waits for it, ns.
    pub signal_ns: i64,
    /// From the call to the earliest start of what it asked for, ns.
    pub latency_ns: i64,
    /// From the end of an operation to the return of who waits for it, before the call's own `after_ns`, ns.
    pub notice_ns: i64,
}

/// In which order engines take work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// As issued, whatever the stream: what is first keeps the rest waiting until it is ready (before Hyper-Q).
    Issue,
    /// As it gets ready; order is kept within a hardware queue only (Hyper-Q).
    Ready,
}

/// Rates of copies.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copies {
    /// What a copy takes besides its bytes, ns.
    pub latency_ns: i64,
    /// From host to device.
    pub to_device: Rates,
    /// From device to host.
    pub to_host: Rates,
    /// Within a device, MB/s of bytes copied.
    pub within_mb_s: u64,
    /// Between devices, MB/s.
    pub between_mb_s: u64,
    /// Whether pageable copies of one direction and context go one after the other in the order that they were called
    /// in, whatever their streams: one mutex is held from before the copy until it is done.
    pub pageable_in_order: bool,
    /// Whether pageable copies come in pieces, between which others' copies go.
    pub pageable_in_pieces: bool,
}

/// Rates by the kind of host memory, in MB/s (10⁶ bytes).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// Page-locked.
    pub pinned_mb_s: u64,
    /// From the system and in use.
    pub pageable_mb_s: u64,
    /// From the system and never touched.
    pub fresh_mb_s: u64,
    /// Pageable, while another thread's pageable copy in the other direction waits for its turn in the context; as if none did
    /// where nothing is said.
    #[serde(default)]
    pub beside_mb_s: Option<u64>,
    /// What a copy takes besides its bytes, where it is not [`Copies::latency_ns`], ns.
    #[serde(default)]
    pub latency_ns: Option<i64>,
}

/// How long the built-in kernels run when they have the device to themselves.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernels {
    /// The shortest, ns; others take this much more.
    pub base_ns: i64,
    /// `AddConstant`: cycles of a round.
    pub add_round_cycles: f64,
    /// `AddConstant`: cycles for every four elements of a thread.
    pub add_quad_cycles: f64,
    /// `Increment`: picoseconds for each element and round, the device being full.
    pub increment_round_ps: f64,
    /// `MatrixProduct`: floating-point operations a nanosecond (2 × rows × inner × columns of them).
    pub product_flops_per_ns: f64,
    /// `NormPartial`, `NormFinal`: what a reduction takes besides `base_ns` and its memory, ns.
    #[serde(default)]
    pub reduction_ns: i64,
    /// `NormPartial`, `NormFinal`, `Scale`, fills: MB/s of device memory read or written.
    pub memory_mb_s: u64,
}

/// Hardware queues that streams are put in by turns.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connections {
    /// Without `CUDA_DEVICE_MAX_CONNECTIONS`.
    pub default: u32,
    /// At most.
    pub most: u32,
    /// Of a client of an MPS server, without `CUDA_DEVICE_MAX_CONNECTIONS`.
    pub mps: u32,
    /// Launches that are pending in a stream at most; the next one waits.
    pub depth: u32,
}

/// Several contexts on one device: without MPS they take turns.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sharing {
    /// Whether there can be an MPS server.
    pub mps: bool,
    /// How long a context runs kernels while another one has some, ns.
    pub slice_ns: i64,
    /// From one context to another, ns.
    pub switch_ns: i64,
}

/// What host memory costs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Allocating or freeing, before any page, ns.
    pub map_ns: i64,
    /// Touching a page of 4 KiB for the first time, ns.
    pub touch_page_ns: i64,
    /// Giving back a page of 4 KiB, ns.
    pub unmap_page_ns: i64,
    /// A thread's copy, fill or comparison of memory, MB/s.
    pub mb_s: u64,
    /// Processors. Threads that wait for a device look for it all the time; where more threads than this do so or are in calls,
    /// they take turns. 0: as many as there are threads.
    #[serde(default)]
    pub processors: u32,
    /// How long a turn on a processor is, ns.
    #[serde(default)]
    pub slice_ns: i64,
}

/// How locks go from thread to thread.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locks {
    /// The reader-writer lock that each context has.
    pub context: Lock,
    /// The mutex that launches take.
    pub mutex: Lock,
    /// Whose mutex it is.
    pub mutex_of: Scope,
    /// The mutexes of pageable copies ([`Copies::pageable_in_order`]); like the context's lock where nothing is said.
    #[serde(default)]
    pub copies: Option<Lock>,
    /// What an allocation or a free has alone, whatever its process and device, while a device gives or takes blocks of
    /// memory; none where nothing is known of it.
    #[serde(default)]
    pub memory: Option<Lock>,
}

/// How one lock goes from thread to thread.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// 0: who lets go hands the lock to who waits longest. More: it wakes who waits longest, which takes this long;
    /// should another thread have taken the lock by then, the woken one waits anew, behind all others; ns.
    pub wake_ns: i64,
    /// Waking takes up to this much longer, by chance, ns.
    #[serde(default)]
    pub wake_spread_ns: i64,
    /// Who was woken too late so many times is handed the lock; only where `wake_ns` is not 0, or it could wait for ever.
    #[serde(default)]
    pub patience: u32,
    /// Who had the lock less than this ago goes before who had it longer ago, whose thread has gone to sleep; who was passed over
    /// `patience` times is not again. 0: all in the order that they came in; ns.
    #[serde(default)]
    pub recent_ns: i64,
    /// Handing over, ns.
    pub handover_ns: i64,
    /// Handing over takes this much longer for each thread that waits, ns.
    pub waiter_ns: i64,
    /// Up to so many of them.
    pub most_waiters: u32,
}

/// Whose the launch mutex is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Each context has one.
    Context,
    /// Each process has one, whatever the device.
    Process,
}

/// What calls cost and lock, by kind.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calls {
    /// `cuDevicePrimaryCtxRetain`, `cuCtxCreate`.
    pub context_create: Rule,
    /// `cuLaunchKernel`.
    pub launch: Rule,
    /// The first launch of each kernel in a context takes this much longer, ns.
    pub first_launch_ns: i64,
    /// `cuGraphLaunch`; `unit_ns` for each node.
    pub graph_launch: Rule,
    /// Copies that no pageable memory takes part in.
    pub copy: Rule,
    /// Copies from or to pageable memory.
    pub pageable_copy: Rule,
    /// Copies of pageable memory up to this size to the device do not wait for it, bytes.
    pub staged_at_once_bytes: u64,
    /// `cuMemsetD32Async`.
    pub fill: Rule,
    /// `cuMemAlloc`, `cuMemAllocManaged`; `unit_ns` for each block of 2 MiB that the context does not have yet.
    pub allocate: Rule,
    /// `cuMemFree`, which waits for the context's work while it holds its lock; `unit_ns` for each block that it gives back.
    pub free: Rule,
    /// What an allocation or a free takes more that has the device give or take blocks at all, ns. What is smaller than a
    /// block shares one with others.
    pub blocks_ns: i64,
    /// `cuMemAllocAsync`, `cuMemFreeAsync`.
    pub pool: Rule,
    /// `cuMemHostAlloc`; `unit_ns` for each page of 4 KiB, as for the next three.
    pub host_allocate: Rule,
    /// `cuMemFreeHost`.
    pub host_free: Rule,
    /// `cuMemHostRegister`.
    pub register: Rule,
    /// `cuMemHostUnregister`.
    pub unregister: Rule,
    /// `cuStreamCreate`, `cuStreamDestroy`.
    pub stream: Rule,
    /// `cuStreamDestroy`, where it is not like `stream`.
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
    /// Recording and instantiating a graph; `unit_ns` for each node.
    pub capture: Rule,
}

/// What a call costs and locks. A call takes its own time before the locks, then the locks, then time with them, then
/// waits for what it must, then lets go and takes its own time again.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// Before the locks, ns.
    pub before_ns: i64,
    /// With the locks, ns.
    pub held_ns: i64,
    /// With the locks, more for each unit (page or node), ns.
    pub unit_ns: f64,
    /// After the locks, ns.
    pub after_ns: i64,
    /// How it takes its context's lock.
    pub lock: Use,
    /// How it takes it for a stream in which another thread's pageable copy waits, where that differs.
    pub staged_stream_lock: Option<Use>,
    /// Whether it takes the launch mutex too, while it has the lock and waits for nothing.
    pub mutex: bool,
    /// Whether it keeps the lock while it waits for the device.
    pub keeps: bool,
    /// In how many pieces it does its work, taking the locks anew for each; 0 is one.
    pub pieces: u32,
}

/// How a call takes a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    /// Not at all.
    #[default]
    None,
    /// With other readers.
    Shared,
    /// Alone.
    Exclusive,
}

impl Model {
    /// The names of the models that come with the crate.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// A model that comes with the crate, or else the one in the file of that path.
    ///
    /// # Errors
    /// When there is no such model or file, or the file is no model: which file, where, what.
    pub fn load(name: &str) -> Result<Model, Error> {
        if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Model::parse(text, name);
        }
        let path = Path::new(name);
        if !path.is_file() {
            let known = Model::names().collect::<Vec<_>>().join(", ");
            let problem = format!("no such model or file; there are {known}");
            return Err(Error::Model { file: name.to_owned(), problem });
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::Model { file: name.to_owned(), problem: error.to_string() })?;
        Model::parse(&text, name)
    }

    /// The model of a text. With `base = "NAME"` it is that model with the text's fields in place of its own.
    ///
    /// # Errors
    /// When it is no model.
    pub fn parse(text: &str, file: &str) -> Result<Model, Error> {
        let problem = |problem: String| Error::Model { file: file.to_owned(), problem };
        let table: toml::Table = toml::from_str(text).map_err(|error| problem(located(&error, text)))?;
        let is_based = table.contains_key("base");
        let table = based(table, file)?;
        amounts("", &table).map_err(problem)?;
        let parsed: Result<Model, toml::de::Error> = match is_based {
            true => table.try_into(),
            // Not from the table, which has forgotten the lines.
            false => toml::from_str(text),
        };
        let model = parsed.map_err(|error| problem(located(&error, text)))?;
        model.check().map_err(problem)?;
        Ok(model)
    }

    /// Refuses what a run would divide by, or never end with.
    fn check(&self) -> Result<(), String> {
        let positive = [
            ("device.count", u64::from(self.device.count)),
            ("device.multiprocessors", u64::from(self.device.multiprocessors)),
            ("device.threads_per_multiprocessor", u64::from(self.device.threads_per_multiprocessor)),
            ("device.blocks_per_multiprocessor", u64::from(self.device.blocks_per_multiprocessor)),
            ("device.concurrent_kernels", u64::from(self.device.concurrent_kernels)),
            ("device.clock_mhz", self.device.clock_mhz),
            ("device.copy_engines", u64::from(self.device.copy_engines)),
            ("copies.to_device.pinned_mb_s", self.copies.to_device.pinned_mb_s),
            ("copies.to_device.pageable_mb_s", self.copies.to_device.pageable_mb_s),
            ("copies.to_device.fresh_mb_s", self.copies.to_device.fresh_mb_s),
            ("copies.to_device.beside_mb_s", self.copies.to_device.beside_mb_s.unwrap_or(1)),
            ("copies.to_host.beside_mb_s", self.copies.to_host.beside_mb_s.unwrap_or(1)),
            ("copies.to_host.pinned_mb_s", self.copies.to_host.pinned_mb_s),
            ("copies.to_host.pageable_mb_s", self.copies.to_host.pageable_mb_s),
            ("copies.to_host.fresh_mb_s", self.copies.to_host.fresh_mb_s),
            ("copies.within_mb_s", self.copies.within_mb_s),
            ("copies.between_mb_s", self.copies.between_mb_s),
            ("kernels.memory_mb_s", self.kernels.memory_mb_s),
            ("kernels.base_ns", self.kernels.base_ns.max(0) as u64),
            ("connections.default", u64::from(self.connections.default)),
            ("connections.most", u64::from(self.connections.most)),
            ("connections.mps", u64::from(self.connections.mps)),
            ("connections.depth", u64::from(self.connections.depth)),
            ("sharing.slice_ns", self.sharing.slice_ns.max(0) as u64),
            ("host.mb_s", self.host.mb_s),
        ];
        match positive.iter().find(|(_, value)| *value == 0) {
            Some((field, _)) => Err(format!("{field} must be more than 0")),
            None if self.kernels.product_flops_per_ns.is_nan()
                || self.kernels.product_flops_per_ns <= 0.0 =>
            {
                Err("kernels.product_flops_per_ns must be more than 0".to_owned())
            }
            None => self.counts(),
        }
    }

    /// Refuses more of anything than a run has room for.
    fn counts(&self) -> Result<(), String> {
        let counts = [
            ("device.count", self.device.count, 1024),
            ("device.multiprocessors", self.device.multiprocessors, 10_000),
            ("device.threads_per_multiprocessor", self.device.threads_per_multiprocessor, 10_000),
            ("connections.default", self.connections.default, 1024),
            ("connections.most", self.connections.most, 1024),
            ("connections.mps", self.connections.mps, 1024),
        ];
        match counts.iter().find(|(_, value, most)| value > most) {
            Some((field, _, most)) => Err(format!("{field} must be at most {most}")),
            None => Ok(()),
        }
    }
}

/// The longest time of a model, a minute: sums of a few million of them are still times.
const LONGEST_NS: i64 = 60_000_000_000;

/// Refuses numbers that are less than nothing, by which time would run backwards, and times too long to be added up.
fn amounts(table_of: &str, table: &toml::Table) -> Result<(), String> {
    for (key, value) in table {
        let field = if table_of.is_empty() { key.clone() } else { format!("{table_of}.{key}") };
        let is_time = key.ends_with("_ns");
        match value {
            toml::Value::Table(inner) => amounts(&field, inner)?,
            toml::Value::Integer(..0) => return Err(format!("{field} must not be negative")),
            toml::Value::Array(values) => {
                let of = |value: &toml::Value| toml::Table::from_iter([(key.clone(), value.clone())]);
                values.iter().try_for_each(|value| amounts(table_of, &of(value)))?;
            }
            toml::Value::Float(number) if !(0.0..).contains(number) => {
                return Err(format!("{field} must not be negative"));
            }
            toml::Value::Integer(LONGEST_NS..) if is_time => {
                return Err(format!("{field} must be less than a minute, {LONGEST_NS}"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// A table over that of the model it names as its base.
fn based(mut table: toml::Table, file: &str) -> Result<toml::Table, Error> {
    let problem = |problem: String| Error::Model { file: file.to_owned(), problem };
    let Some(base) = table.remove("base") else { return Ok(table) };
    let known = BUILT_IN.iter().find(|(name, _)| base.as_str() == Some(name));
    let Some((name, text)) = known else {
        let names = Model::names().collect::<Vec<_>>().join(", ");
        return Err(problem(format!("base must be one of {names}")));
    };
    let under = toml::from_str(text).map_err(|error| problem(located(&error, text)))?;
    let mut under = based(under, name)?;
    lay_over(&mut under, table);
    Ok(under)
}

fn lay_over(under: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(toml::Value::Table(under)), toml::Value::Table(over)) => lay_over(under, over),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

/// An error in one line: the line it is in, where that is known, and what it is.
fn located(error: &toml::de::Error, text: &str) -> String {
    let message = error.message().replace('\n', " ");
    match error.span() {
        Some(span) => {
            let line = text[..span.start.min(text.len())].matches('\n').count() + 1;
            format!("line {line}: {message}")
        }
        None => message,
    }
}
