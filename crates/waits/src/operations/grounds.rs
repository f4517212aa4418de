//! How sure the parts of waits are.

use super::connections::Connections;
use crate::cause::Cause;
use crate::evidence::{Confidence, Evidence};
use trace::ContextId;

/// Grounds of the causes of a device's waits.
pub struct Grounds {
    pub(super) connections: Connections,
    /// Whether contexts changed often enough to make their turns likely.
    pub(super) turns_are_likely: bool,
}

impl Grounds {
    /// Evidence and confidence of the time of a cause, for streams of a context.
    pub fn of(&self, cause: Cause, context: ContextId) -> (Evidence, Confidence) {
        let likely_if = |likely: bool| if likely { Confidence::Likely } else { Confidence::Possible };
        match cause {
            Cause::LaunchLatency | Cause::CopyEngineBusy => (Evidence::Record, Confidence::Certain),
            Cause::IssueOrder | Cause::GpuFull => (Evidence::Record, Confidence::Likely),
            Cause::Dependency | Cause::DefaultStream => (Evidence::Timing, Confidence::Likely),
            Cause::TimeSlicing => (Evidence::Timing, likely_if(self.turns_are_likely)),
            // With fewer streams, `CUDA_DEVICE_MAX_CONNECTIONS` must be set to fewer queues, which few traces state.
            Cause::ConnectionAliasing => {
                (Evidence::Timing, likely_if(self.connections.are_exceeded(context)))
            }
            Cause::Unexplained => (Evidence::Timing, Confidence::Possible),
            // No wait of an operation has these.
            Cause::DriverLock
            | Cause::ApplicationLock
            | Cause::PageableStaging
            | Cause::PageableOrder
            | Cause::HiddenSync
            | Cause::ExplicitSync
            | Cause::ImplicitDeviceSync
            | Cause::QueueFull
            | Cause::BlockingLaunch
            | Cause::FirstUse
            | Cause::Allocation
            | Cause::PoolTrim
            | Cause::ObjectChurn
            | Cause::PageFaults
            | Cause::PageMigration
            | Cause::ProfilerOverhead
            | Cause::Gil
            | Cause::Lock
            | Cause::Blocked
            | Cause::NoCpu
            | Cause::KernelBuild
            | Cause::HostCode
            | Cause::DataLoading
            | Cause::Feeding
            | Cause::FileWriting
            | Cause::FileReading
            | Cause::GarbageCollection
            | Cause::NoDemand
            | Cause::OwnWork
            | Cause::CollectiveWait
            | Cause::StartUp
            | Cause::NotRecorded => (Evidence::Timing, Confidence::Possible),
        }
    }
}
