//! The rules that prevent copies and kernels from overlapping, with their descriptions.

use crate::Evidence;
use crate::overlap::LostOverlap;
use waits::{Engine, named};

named! {
    /// A rule that prevents copies and kernels from overlapping.
    OverlapRule {
        /// The operation, or what it waited for, is in the legacy default stream.
        DefaultStream = "default-stream",
        /// The device runs operations in the order of issue: on the only copy engine a copy waits behind one that is not
        /// ready, or kernels issued back to back signal together.
        IssueOrder = "issue-order",
        /// More streams have work than there are hardware queues: an operation that is ready waits behind another stream's.
        Connections = "connections",
        /// A copy of pageable memory blocked the thread before it issued more.
        PageableMemory = "pageable-memory",
        /// The thread waited before it issued more.
        Synchronization = "synchronization",
        /// All operations are in one stream.
        OneStream = "one-stream",
    }
}

impl OverlapRule {
    /// The meaning, in one line.
    pub fn meaning(self) -> &'static str {
        match self {
            OverlapRule::DefaultStream => {
                "an operation waited for the legacy default stream, or is in it and waited for others; a library's \
                 operation is named with the library"
            }
            OverlapRule::IssueOrder => {
                "before compute capability 3.5: one copy engine runs copies in the order of issue; kernels issued \
                 back to back signal together"
            }
            OverlapRule::Connections => {
                "more streams have work than there are hardware queues (8, unless `CUDA_DEVICE_MAX_CONNECTIONS` sets more)"
            }
            OverlapRule::PageableMemory => {
                "a copy of pageable memory blocked the thread before it issued more"
            }
            OverlapRule::Synchronization => {
                "the thread waited for the GPU before it issued more; whether it had to is unknown"
            }
            OverlapRule::OneStream => {
                "copies and kernels are in one stream, round after round, and nothing else was issued"
            }
        }
    }

    /// The evidence that its losses rest on. The device's own records show the order within one stream or queue; they do not
    /// show why a thread issued late.
    pub fn evidence(self) -> Evidence {
        match self {
            OverlapRule::IssueOrder | OverlapRule::OneStream | OverlapRule::PageableMemory => {
                Evidence::Record
            }
            OverlapRule::DefaultStream | OverlapRule::Connections | OverlapRule::Synchronization => {
                Evidence::Timing
            }
        }
    }

    /// The mechanism of one loss, in one sentence.
    pub fn mechanism(self, lost: &LostOverlap) -> String {
        let behind = lost.operations.first().and_then(|late| late.behind.as_ref());
        let behind_kernel = behind.and_then(|behind| behind.engine) == Some(Engine::Compute);
        match self {
            OverlapRule::IssueOrder if behind_kernel => {
                "kernels issued back to back signal their end together, and what follows one of them waits for all"
            }
            OverlapRule::IssueOrder => "one copy engine runs copies in the order of issue, ready or not",
            OverlapRule::DefaultStream => {
                "the legacy default stream waits for all blocking streams, and they for it"
            }
            OverlapRule::Connections => "more streams have work than there are hardware queues (8 by default)",
            OverlapRule::PageableMemory => "a copy of pageable memory blocks the thread before it issues more",
            OverlapRule::Synchronization => "the thread waits before it issues more",
            OverlapRule::OneStream => return one_stream(&lost.also),
        }
        .to_owned()
    }
}

/// The mechanism of [`OverlapRule::OneStream`], and the other rules that would still prevent overlap.
fn one_stream(also: &[OverlapRule]) -> String {
    let others = [
        (OverlapRule::DefaultStream, "the stream is the legacy default one"),
        (OverlapRule::PageableMemory, "the memory is pageable"),
        (OverlapRule::Synchronization, "the thread waits between them"),
    ];
    let others: Vec<&str> =
        others.into_iter().filter(|(rule, _)| also.contains(rule)).map(|(_, text)| text).collect();
    let one = String::from("all operations are in one stream, which runs them in order");
    if others.is_empty() { one } else { format!("{one} (and {})", others.join(", ")) }
}
