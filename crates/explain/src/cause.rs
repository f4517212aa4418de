//! The causes of lost time: the vocabulary of every output.

/// A cause of lost host time. The names are the vocabulary of every output.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// See `rules/driver_lock.rs`.
    DriverLock,
    /// See `rules/application_lock.rs`.
    ApplicationLock,
    /// See `rules/pageable_staging.rs`.
    PageableStaging,
    /// See `rules/pageable_order.rs`.
    PageableOrder,
    /// See `rules/hidden_sync.rs`.
    HiddenSync,
    /// See `rules/explicit_sync.rs`.
    ExplicitSync,
    /// See `rules/implicit_device_sync.rs`.
    ImplicitDeviceSync,
    /// See `rules/queue_full.rs`.
    QueueFull,
    /// See `rules/first_use.rs`.
    FirstUse,
    /// See `rules/allocation.rs`.
    Allocation,
    /// See `rules/page_faults.rs`.
    PageFaults,
    /// See `rules/profiler_overhead.rs`.
    ProfilerOverhead,
    /// See `rules/copy_engine_busy.rs`.
    CopyEngineBusy,
    /// See `rules/gil.rs`.
    Gil,
    /// See `rules/lock.rs`.
    Lock,
    /// See `rules/blocked.rs`.
    Blocked,
    /// See `rules/no_cpu.rs`.
    NoCpu,
    /// See `rules/kernel_build.rs`.
    KernelBuild,
    /// See `rules/data_loading.rs`.
    DataLoading,
    /// See `rules/feeding.rs`.
    Feeding,
    /// See `rules/file_writing.rs`.
    FileWriting,
    /// See `rules/garbage_collection.rs`.
    GarbageCollection,
    /// See `rules/host_code.rs`.
    HostCode,
    /// See `rules/no_demand.rs`.
    NoDemand,
    /// See `rules/own_work.rs`.
    OwnWork,
    /// See `rules/launch_latency.rs`.
    LaunchLatency,
    /// See `rules/dependency.rs`.
    Dependency,
    /// See `rules/connection_aliasing.rs`.
    ConnectionAliasing,
    /// See `rules/issue_order.rs`.
    IssueOrder,
    /// See `rules/time_slicing.rs`.
    TimeSlicing,
    /// See `rules/gpu_full.rs`.
    GpuFull,
    /// See `rules/collective_wait.rs`.
    CollectiveWait,
    /// See `rules/start_up.rs`.
    StartUp,
    /// See `rules/unexplained.rs`.
    Unexplained,
    /// See `rules/not_recorded.rs`.
    NotRecorded,
}

impl Cause {
    /// Every cause, in the order in which they are listed.
    pub const ALL: &'static [Cause] = &[
        Cause::DriverLock,
        Cause::ApplicationLock,
        Cause::PageableStaging,
        Cause::PageableOrder,
        Cause::HiddenSync,
        Cause::ExplicitSync,
        Cause::ImplicitDeviceSync,
        Cause::QueueFull,
        Cause::FirstUse,
        Cause::Allocation,
        Cause::PageFaults,
        Cause::ProfilerOverhead,
        Cause::CopyEngineBusy,
        Cause::Gil,
        Cause::Lock,
        Cause::Blocked,
        Cause::NoCpu,
        Cause::KernelBuild,
        Cause::DataLoading,
        Cause::Feeding,
        Cause::FileWriting,
        Cause::GarbageCollection,
        Cause::HostCode,
        Cause::NoDemand,
        Cause::OwnWork,
        Cause::LaunchLatency,
        Cause::Dependency,
        Cause::ConnectionAliasing,
        Cause::IssueOrder,
        Cause::TimeSlicing,
        Cause::GpuFull,
        Cause::CollectiveWait,
        Cause::StartUp,
        Cause::Unexplained,
        Cause::NotRecorded,
    ];
}
