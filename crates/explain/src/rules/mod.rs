//! The causes, one file per cause: its description, the rule that finds it, the words for its evidence, and its fixes.
//!
//! To add a cause: write `rules/NAME.rs`, declare it as a module, in `waits::Cause` and in [`About::of`], and add its passes to
//! `passes.rs`. Tests say what else lacks it: the schema of `explain`, the Python package's families, a trace that shows it, cases.

pub(crate) mod about;
pub(crate) mod allocation;
pub(crate) mod application_lock;
pub(crate) mod blocked;
pub(crate) mod blocking_launch;
pub(crate) mod collective_wait;
pub(crate) mod connection_aliasing;
pub(crate) mod copy_engine_busy;
pub(crate) mod data_loading;
pub(crate) mod default_stream;
pub(crate) mod dependency;
pub(crate) mod driver_lock;
pub(crate) mod explicit_sync;
pub(crate) mod feeding;
pub(crate) mod file_reading;
pub(crate) mod file_writing;
pub(crate) mod first_use;
pub(crate) mod fixes;
pub(crate) mod forms;
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
pub(crate) mod object_churn;
pub(crate) mod own_work;
pub(crate) mod page_faults;
pub(crate) mod page_migration;
pub(crate) mod pageable_order;
pub(crate) mod pageable_staging;
pub(crate) mod passes;
pub(crate) mod pool_trim;
pub(crate) mod profiler_overhead;
pub(crate) mod queue_full;
pub(crate) mod start_up;
pub(crate) mod time_slicing;
pub(crate) mod unexplained;

use crate::rules::about::About;
pub(crate) use driver_lock::Holders;
use waits::Cause;

impl About {
    /// The description of a cause.
    pub fn of(cause: Cause) -> &'static About {
        match cause {
            Cause::DriverLock => &driver_lock::ABOUT,
            Cause::ApplicationLock => &application_lock::ABOUT,
            Cause::PageableStaging => &pageable_staging::ABOUT,
            Cause::PageableOrder => &pageable_order::ABOUT,
            Cause::HiddenSync => &hidden_sync::ABOUT,
            Cause::ExplicitSync => &explicit_sync::ABOUT,
            Cause::ImplicitDeviceSync => &implicit_device_sync::ABOUT,
            Cause::QueueFull => &queue_full::ABOUT,
            Cause::BlockingLaunch => &blocking_launch::ABOUT,
            Cause::FirstUse => &first_use::ABOUT,
            Cause::Allocation => &allocation::ABOUT,
            Cause::PoolTrim => &pool_trim::ABOUT,
            Cause::ObjectChurn => &object_churn::ABOUT,
            Cause::PageFaults => &page_faults::ABOUT,
            Cause::PageMigration => &page_migration::ABOUT,
            Cause::ProfilerOverhead => &profiler_overhead::ABOUT,
            Cause::CopyEngineBusy => &copy_engine_busy::ABOUT,
            Cause::Gil => &gil::ABOUT,
            Cause::Lock => &lock::ABOUT,
            Cause::Blocked => &blocked::ABOUT,
            Cause::NoCpu => &no_cpu::ABOUT,
            Cause::KernelBuild => &kernel_build::ABOUT,
            Cause::DataLoading => &data_loading::ABOUT,
            Cause::Feeding => &feeding::ABOUT,
            Cause::FileWriting => &file_writing::ABOUT,
            Cause::FileReading => &file_reading::ABOUT,
            Cause::GarbageCollection => &garbage_collection::ABOUT,
            Cause::HostCode => &host_code::ABOUT,
            Cause::NoDemand => &no_demand::ABOUT,
            Cause::OwnWork => &own_work::ABOUT,
            Cause::LaunchLatency => &launch_latency::ABOUT,
            Cause::Dependency => &dependency::ABOUT,
            Cause::DefaultStream => &default_stream::ABOUT,
            Cause::ConnectionAliasing => &connection_aliasing::ABOUT,
            Cause::IssueOrder => &issue_order::ABOUT,
            Cause::TimeSlicing => &time_slicing::ABOUT,
            Cause::GpuFull => &gpu_full::ABOUT,
            Cause::CollectiveWait => &collective_wait::ABOUT,
            Cause::StartUp => &start_up::ABOUT,
            Cause::Unexplained => &unexplained::ABOUT,
            Cause::NotRecorded => &not_recorded::ABOUT,
        }
    }
}
