//! The causes, one file per cause: its description, the rule that finds it, the words for its evidence, and its fixes.
//!
//! To add a cause: write `rules/NAME.rs`, declare it as a module and in `causes!`, and add its passes to [`PASSES`]. Tests say what else
//! lacks it: the schema of `explain`, the Python package's families, a trace that shows it, cases.

pub(crate) mod allocation;
pub(crate) mod application_lock;
pub(crate) mod blocked;
pub(crate) mod collective_wait;
pub(crate) mod connection_aliasing;
pub(crate) mod copy_engine_busy;
pub(crate) mod data_loading;
pub(crate) mod dependency;
pub(crate) mod driver_lock;
pub(crate) mod explicit_sync;
pub(crate) mod feeding;
pub(crate) mod file_writing;
pub(crate) mod first_use;
pub(crate) mod garbage_collection;
pub(crate) mod gil;
pub(crate) mod gpu_full;
pub(crate) mod hidden_sync;
pub(crate) mod host_code;
pub(crate) mod implicit_device_sync;
pub(crate) mod issue_order;
pub(crate) mod kernel_build;
pub(crate) mod launch_latency;
pub(crate) mod lock;
pub(crate) mod no_cpu;
pub(crate) mod no_demand;
pub(crate) mod not_recorded;
pub(crate) mod own_work;
pub(crate) mod page_faults;
pub(crate) mod pageable_order;
pub(crate) mod pageable_staging;
pub(crate) mod profiler_overhead;
pub(crate) mod queue_full;
pub(crate) mod start_up;
pub(crate) mod time_slicing;
pub(crate) mod unexplained;

use crate::analysis::{blocking_copy, recorded_waits};
use crate::cause::About;
use crate::facts::Facts;
use crate::parts::Parts;
pub(crate) use driver_lock::Holders;
use trace::CallId;

/// Declares the [`Cause`]s, each with its module.
macro_rules! causes {
    ($($file:ident: $cause:ident,)*) => {
        /// A cause of lost host time. The names are the vocabulary of every output.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Cause {
            $(#[doc = concat!("See `rules/", stringify!($file), ".rs`.")] $cause,)*
        }

        impl Cause {
            /// Every cause, in the order in which they are listed.
            pub const ALL: &'static [Cause] = &[$(Cause::$cause,)*];

            /// The description of the cause.
            pub fn about(self) -> &'static About {
                match self {
                    $(Cause::$cause => &$file::ABOUT,)*
                }
            }
        }
    };
}

causes! {
    driver_lock: DriverLock,
    application_lock: ApplicationLock,
    pageable_staging: PageableStaging,
    pageable_order: PageableOrder,
    hidden_sync: HiddenSync,
    explicit_sync: ExplicitSync,
    implicit_device_sync: ImplicitDeviceSync,
    queue_full: QueueFull,
    first_use: FirstUse,
    allocation: Allocation,
    page_faults: PageFaults,
    profiler_overhead: ProfilerOverhead,
    copy_engine_busy: CopyEngineBusy,
    gil: Gil,
    lock: Lock,
    blocked: Blocked,
    no_cpu: NoCpu,
    kernel_build: KernelBuild,
    data_loading: DataLoading,
    feeding: Feeding,
    file_writing: FileWriting,
    garbage_collection: GarbageCollection,
    host_code: HostCode,
    no_demand: NoDemand,
    own_work: OwnWork,
    launch_latency: LaunchLatency,
    dependency: Dependency,
    connection_aliasing: ConnectionAliasing,
    issue_order: IssueOrder,
    time_slicing: TimeSlicing,
    gpu_full: GpuFull,
    collective_wait: CollectiveWait,
    start_up: StartUp,
    unexplained: Unexplained,
    not_recorded: NotRecorded,
}

/// A pass: examines one slow call and claims the part of its time that it explains.
type Pass = fn(&Facts<'_>, &Holders, CallId, &mut Parts);

/// The passes in the order in which they run; no pass claims time that an earlier one claimed. Recorded waits for locks are
/// first, then what the GPU's and the tracer's records prove, and last what is inferred from timing.
const PASSES: &[Pass] = &[
    recorded_waits::split,
    first_use::loading,
    profiler_overhead::of_this_thread,
    explicit_sync::asked,
    blocking_copy::split,
    implicit_device_sync::of_free,
    queue_full::full,
    profiler_overhead::of_any_thread,
    implicit_device_sync::beside_a_wait,
    driver_lock::held,
    first_use::inferred,
    driver_lock::contended,
    driver_lock::in_line,
    allocation::own,
    profiler_overhead::unrecorded,
];

/// Splits a slow call's time among causes.
pub(crate) fn split(facts: &Facts<'_>, holders: &Holders, call: CallId) -> Parts {
    let mut parts = Parts::new(facts.start(call), facts.end(call));
    for pass in PASSES {
        pass(facts, holders, call, &mut parts);
    }
    parts
}
