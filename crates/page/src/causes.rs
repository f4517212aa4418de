//! The families of causes: each has one color and one pattern, in the bars and in the timeline.

use explain::Cause;

/// What causes have in common, for the eye. Their names are those of styles (`web/src/page.css`) and of looks
/// (`web/src/timeline/palette.ts`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Family {
    /// Locks of the driver, of the program and of an interpreter.
    Lock,
    /// Copies and memory that delay others.
    Memory,
    /// Waits for the GPU, on the host or of operations.
    Sync,
    /// What happens once: start, loading, allocation.
    Setup,
    /// The program's own code.
    Host,
    /// CUDA calls that nothing delays.
    Calls,
    /// Threads without work or without a processor.
    Asleep,
    /// Nothing that the trace recorded.
    Unknown,
}

impl Family {
    /// Every family.
    #[cfg(test)]
    pub const ALL: [Family; 8] = [
        Family::Lock,
        Family::Memory,
        Family::Sync,
        Family::Setup,
        Family::Host,
        Family::Calls,
        Family::Asleep,
        Family::Unknown,
    ];

    /// The family of a cause.
    pub fn of(cause: Cause) -> Family {
        match cause {
            Cause::DriverLock | Cause::ApplicationLock | Cause::Gil | Cause::Lock => Family::Lock,
            Cause::PageableStaging | Cause::PageableOrder | Cause::CopyEngineBusy | Cause::PageFaults => {
                Family::Memory
            }
            Cause::HiddenSync
            | Cause::ExplicitSync
            | Cause::ImplicitDeviceSync
            | Cause::QueueFull
            | Cause::Dependency
            | Cause::ConnectionAliasing
            | Cause::IssueOrder
            | Cause::TimeSlicing
            | Cause::GpuFull
            | Cause::CollectiveWait => Family::Sync,
            Cause::FirstUse | Cause::Allocation | Cause::StartUp | Cause::ProfilerOverhead => Family::Setup,
            Cause::HostCode => Family::Host,
            Cause::OwnWork | Cause::LaunchLatency => Family::Calls,
            Cause::Blocked | Cause::NoDemand | Cause::NoCpu => Family::Asleep,
            Cause::Unexplained | Cause::NotRecorded => Family::Unknown,
        }
    }

    /// The name of its style.
    pub fn style(self) -> &'static str {
        match self {
            Family::Lock => "lock",
            Family::Memory => "memory",
            Family::Sync => "sync",
            Family::Setup => "setup",
            Family::Host => "host",
            Family::Calls => "calls",
            Family::Asleep => "asleep",
            Family::Unknown => "unknown",
        }
    }
}
