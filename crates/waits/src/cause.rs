//! The causes of lost time: the one vocabulary of every output.

use crate::named;

named! {
    /// A cause of lost time. The names are the vocabulary of every output; all lists have this order.
    Cause {
        /// See `explain`'s `rules/driver_lock.rs`.
        DriverLock = "driver-lock",
        /// See `explain`'s `rules/application_lock.rs`.
        ApplicationLock = "application-lock",
        /// See `explain`'s `rules/pageable_staging.rs`.
        PageableStaging = "pageable-staging",
        /// See `explain`'s `rules/pageable_order.rs`.
        PageableOrder = "pageable-order",
        /// See `explain`'s `rules/hidden_sync.rs`.
        HiddenSync = "hidden-sync",
        /// See `explain`'s `rules/explicit_sync.rs`.
        ExplicitSync = "explicit-sync",
        /// See `explain`'s `rules/implicit_device_sync.rs`.
        ImplicitDeviceSync = "implicit-device-sync",
        /// See `explain`'s `rules/queue_full.rs`.
        QueueFull = "queue-full",
        /// See `explain`'s `rules/blocking_launch.rs`.
        BlockingLaunch = "blocking-launch",
        /// See `explain`'s `rules/first_use.rs`.
        FirstUse = "first-use",
        /// See `explain`'s `rules/allocation.rs`.
        Allocation = "allocation",
        /// See `explain`'s `rules/pool_trim.rs`.
        PoolTrim = "pool-trim",
        /// See `explain`'s `rules/object_churn.rs`.
        ObjectChurn = "object-churn",
        /// See `explain`'s `rules/page_faults.rs`.
        PageFaults = "page-faults",
        /// See `explain`'s `rules/page_migration.rs`.
        PageMigration = "page-migration",
        /// See `explain`'s `rules/profiler_overhead.rs`.
        ProfilerOverhead = "profiler-overhead",
        /// See `explain`'s `rules/copy_engine_busy.rs`.
        CopyEngineBusy = "copy-engine-busy",
        /// See `explain`'s `rules/gil.rs`.
        Gil = "gil",
        /// See `explain`'s `rules/lock.rs`.
        Lock = "lock",
        /// See `explain`'s `rules/blocked.rs`.
        Blocked = "blocked",
        /// See `explain`'s `rules/no_cpu.rs`.
        NoCpu = "no-cpu",
        /// See `explain`'s `rules/kernel_build.rs`.
        KernelBuild = "kernel-build",
        /// See `explain`'s `rules/data_loading.rs`.
        DataLoading = "data-loading",
        /// See `explain`'s `rules/feeding.rs`.
        Feeding = "feeding",
        /// See `explain`'s `rules/file_writing.rs`.
        FileWriting = "file-writing",
        /// See `explain`'s `rules/file_reading.rs`.
        FileReading = "file-reading",
        /// See `explain`'s `rules/garbage_collection.rs`.
        GarbageCollection = "garbage-collection",
        /// See `explain`'s `rules/host_code.rs`.
        HostCode = "host-code",
        /// See `explain`'s `rules/no_demand.rs`.
        NoDemand = "no-demand",
        /// See `explain`'s `rules/own_work.rs`.
        OwnWork = "own-work",
        /// See `explain`'s `rules/launch_latency.rs`.
        LaunchLatency = "launch-latency",
        /// See `explain`'s `rules/dependency.rs`.
        Dependency = "dependency",
        /// See `explain`'s `rules/default_stream.rs`.
        DefaultStream = "default-stream",
        /// See `explain`'s `rules/connection_aliasing.rs`.
        ConnectionAliasing = "connection-aliasing",
        /// See `explain`'s `rules/issue_order.rs`.
        IssueOrder = "issue-order",
        /// See `explain`'s `rules/time_slicing.rs`.
        TimeSlicing = "time-slicing",
        /// See `explain`'s `rules/gpu_full.rs`.
        GpuFull = "gpu-full",
        /// See `explain`'s `rules/collective_wait.rs`.
        CollectiveWait = "collective-wait",
        /// See `explain`'s `rules/start_up.rs`.
        StartUp = "start-up",
        /// See `explain`'s `rules/unexplained.rs`.
        Unexplained = "unexplained",
        /// See `explain`'s `rules/not_recorded.rs`.
        NotRecorded = "not-recorded",
    }
}

/// Kind of event that ends the wait of a call which loses time to a cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AwaitedByCall {
    /// Another thread's call, which holds a lock.
    Call,
    /// The stream's queue, which has room again.
    Queue,
    /// The device.
    Device,
    /// The copies that it makes itself.
    Copies,
    /// Nothing: its own work, or no call's time.
    Nothing,
}

impl Cause {
    /// The kind of event that ends the wait of a call which loses time to this cause.
    pub fn awaited_by_call(self) -> AwaitedByCall {
        match self {
            Cause::DriverLock | Cause::ApplicationLock | Cause::PageableOrder => AwaitedByCall::Call,
            Cause::QueueFull => AwaitedByCall::Queue,
            Cause::HiddenSync
            | Cause::ExplicitSync
            | Cause::ImplicitDeviceSync
            | Cause::BlockingLaunch
            | Cause::CollectiveWait => AwaitedByCall::Device,
            Cause::PageableStaging | Cause::PageFaults => AwaitedByCall::Copies,
            Cause::FirstUse
            | Cause::Allocation
            | Cause::PoolTrim
            | Cause::ObjectChurn
            | Cause::PageMigration
            | Cause::ProfilerOverhead
            | Cause::CopyEngineBusy
            | Cause::Gil
            | Cause::Lock
            | Cause::Blocked
            | Cause::NoCpu
            | Cause::KernelBuild
            | Cause::DataLoading
            | Cause::Feeding
            | Cause::FileWriting
            | Cause::FileReading
            | Cause::GarbageCollection
            | Cause::HostCode
            | Cause::NoDemand
            | Cause::OwnWork
            | Cause::LaunchLatency
            | Cause::Dependency
            | Cause::DefaultStream
            | Cause::ConnectionAliasing
            | Cause::IssueOrder
            | Cause::TimeSlicing
            | Cause::GpuFull
            | Cause::StartUp
            | Cause::Unexplained
            | Cause::NotRecorded => AwaitedByCall::Nothing,
        }
    }

    /// The cause of this name.
    pub fn named(id: &str) -> Option<Cause> {
        Cause::ALL.iter().copied().find(|cause| cause.id() == id)
    }
}
