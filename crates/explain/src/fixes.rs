//! What helps against a cause: measured, or from the CUDA manuals; folklore is left out.

use crate::{Cause, Fix};

const OWN_STREAM: Fix = Fix {
    id: "own-stream",
    text: "give each thread a stream of its own",
    safety: "safe where the threads share no GPU data, or order it by events",
};
const PINNED_REUSED: Fix = Fix {
    id: "pinned-reused",
    text: "copy through pinned memory that is allocated once (pinning per copy stalls every launch)",
    safety: "safe when the buffer is not reused before its copy is done",
};
const REUSED_BUFFER: Fix = Fix {
    id: "pinned-reused",
    text: "copy into one buffer that is kept, pinned at best: memory never touched faults page by page",
    safety: "safe when nobody still reads the buffer's last content",
};
const SYNC_BEFORE_COPY: Fix = Fix {
    id: "sync-before-copy",
    text: "in the thread that is waited for: synchronize its stream before its copy (on an H200 16 threads gained 14 %, 32 \
           lost 22 %)",
    safety: "always safe: the copy waits for the same work anyway; measure it",
};
const DEVICE_SCALAR: Fix = Fix {
    id: "device-scalar",
    text: "keep the result on the device (device pointer mode, no .item()), or read results in batches",
    safety: "safe when no host decision needs the value before the next use on the device",
};
/// A pool of CUDA's gives what is free back at each synchronization unless its release threshold is set: an allocation, its
/// free and a synchronization take 150 µs then, with four GPUs at once 422 (H200; `docs/lab/h200.md`).
const POOL_ALLOCATOR: Fix = Fix {
    id: "pool-allocator",
    text: "allocate once, or from a pool that keeps its memory: a caching allocator, or cudaMallocAsync with a release \
           threshold",
    safety: "safe when each free is ordered after the last use in its stream",
};
const EAGER_LOADING: Fix = Fix {
    id: "eager-loading",
    text: "do first uses before the program's critical phase: warm up every kernel and library call",
    safety: "costs start-up time; CUDA_MODULE_LOADING=EAGER alone made stalls six times longer in one case",
};
/// In seed 000's program 16 threads waited 6.2 s for their first launches; with one before they are released, none (H200).
const WARM_STREAMS: Fix = Fix {
    id: "eager-loading",
    text: "launch once into each stream before the threads go to work: only the first launch wants the lock alone",
    safety: "always safe: an empty kernel will do",
};
const GRAPH: Fix = Fix {
    id: "graph",
    text: "submit fewer, larger pieces: a CUDA graph, fused kernels, or a wait before the queue fills",
    safety: "safe when the work and its addresses repeat from one round to the next",
};
const LAUNCH_GRAPH: Fix = Fix {
    id: "graph",
    text: "submit many launches as one CUDA graph: it takes the lock once for all of them",
    safety: "safe when the work and its addresses repeat from one round to the next",
};
const MPS: Fix = Fix {
    id: "mps",
    text: "spread the threads over processes under MPS: each process has a context, and its lock, of its own",
    safety: "safe where the threads share no GPU memory; each context takes memory of its own",
};
/// Seed 004: ten GPUs in ten threads of a process run each kernel in 0.33 ms instead of 0.09, in ten processes in 0.09.
const PROCESS_PER_GPU: Fix = Fix {
    id: "process-per-gpu",
    text: "drive each GPU from a process of its own: the driver's locks are a process's",
    safety: "safe where the threads share no GPU memory; each process has its own contexts and start-up",
};
const ISSUE_ORDER: Fix = Fix {
    id: "issue-order",
    text: "issue copies of one direction so that none waits behind another stream's larger one",
    safety: "safe across streams that do not depend on each other",
};

/// What the holder of a lock does meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holding {
    /// It copies from or to pageable memory, beside this.
    PageableCopy(Beside),
    /// It allocates or frees.
    Allocation,
    /// It submits work as the waiter does, each for a moment only. On an H200 32 threads of 220
    /// launches an iteration made 2,352 to 2,988 iterations a second, 3,833 as processes under MPS
    /// and 9,223 with one graph launch an iteration.
    Submission,
    /// It shares the lock with others, one call after another, and the waiter wants it alone.
    Sharers(Wanted),
    /// It works on another GPU: no stream, pool or context is shared.
    OtherGpu,
    /// It sets something up: loads code, makes a context, launches a kernel for the first time.
    Setup,
    /// Unknown, or the waiter is in no call of the trace.
    Unseen,
    /// Anything else, beside this.
    Other(Beside),
    /// Nobody holds anything: the call waits for the GPU, and what it gets is this.
    Nobody(Fetched),
}

/// What waits beside a call that has the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Beside {
    /// A call that submits to the same stream.
    SameStream,
    /// One that allocates or frees.
    Allocation,
    /// Anything else.
    Other,
}

/// What a call that waits for the GPU gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fetched {
    /// One number: a norm, a flag, a loss.
    Scalar,
    /// Anything else, or nobody knows what.
    Other,
}

/// What a lock is wanted alone for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    /// To allocate or free.
    Allocation,
    /// For the first launch into a stream.
    FirstLaunch,
    /// For anything else.
    Other,
}

/// Remedies for a cause, the best first.
pub(crate) fn fixes(cause: Cause, holding: Holding) -> Vec<Fix> {
    match cause {
        Cause::DriverLock => match holding {
            Holding::PageableCopy(Beside::SameStream) => vec![OWN_STREAM, PINNED_REUSED],
            Holding::PageableCopy(Beside::Allocation) => vec![POOL_ALLOCATOR, PINNED_REUSED],
            Holding::PageableCopy(Beside::Other) => vec![PINNED_REUSED],
            Holding::OtherGpu => vec![PROCESS_PER_GPU],
            Holding::Setup => vec![EAGER_LOADING],
            Holding::Allocation => vec![POOL_ALLOCATOR],
            Holding::Submission => vec![LAUNCH_GRAPH, MPS],
            Holding::Sharers(Wanted::Allocation) => vec![POOL_ALLOCATOR, GRAPH, MPS],
            Holding::Sharers(Wanted::FirstLaunch) => vec![WARM_STREAMS, MPS],
            Holding::Sharers(Wanted::Other) => vec![GRAPH, MPS],
            Holding::Other(Beside::SameStream) => vec![OWN_STREAM],
            Holding::Other(Beside::Allocation) => vec![POOL_ALLOCATOR],
            Holding::Unseen | Holding::Other(Beside::Other) | Holding::Nobody(_) => Vec::new(),
        },
        // Whatever lock it is, it is not held for long where nothing is allocated or freed.
        Cause::ApplicationLock if holding == Holding::Allocation => vec![POOL_ALLOCATOR],
        Cause::PageableStaging => vec![PINNED_REUSED],
        Cause::PageFaults => vec![REUSED_BUFFER],
        Cause::PageableOrder => vec![PINNED_REUSED, SYNC_BEFORE_COPY],
        Cause::HiddenSync if holding == Holding::Nobody(Fetched::Scalar) => {
            vec![DEVICE_SCALAR, PINNED_REUSED]
        }
        Cause::HiddenSync => vec![PINNED_REUSED],
        Cause::ImplicitDeviceSync | Cause::Allocation => vec![POOL_ALLOCATOR],
        Cause::QueueFull => vec![GRAPH],
        Cause::FirstUse => vec![EAGER_LOADING],
        Cause::CopyEngineBusy | Cause::IssueOrder => vec![ISSUE_ORDER],
        _ => Vec::new(),
    }
}

/// The mechanism behind a cause, in one sentence.
pub(crate) fn why(cause: Cause, holding: Holding) -> &'static str {
    match cause {
        Cause::DriverLock if holding == Holding::PageableCopy(Beside::SameStream) => {
            "a pageable copy keeps the context locked for its stream until it is done"
        }
        Cause::DriverLock if matches!(holding, Holding::PageableCopy(_)) => {
            "a pageable copy keeps a lock of the context until it is done"
        }
        Cause::DriverLock if holding == Holding::OtherGpu => {
            "one lock of the driver serves all GPUs of the process; while one thread holds it the others wait"
        }
        Cause::DriverLock if holding == Holding::Submission => {
            "whoever submits work takes a lock of the context for a moment, and the threads queue up for it"
        }
        Cause::DriverLock if holding == Holding::Sharers(Wanted::FirstLaunch) => {
            "the first launch into a stream wants the lock alone, and waits until nobody shares it"
        }
        Cause::DriverLock if matches!(holding, Holding::Sharers(_)) => {
            "whoever wants the lock alone waits until nobody shares it: long, where several threads submit all the time"
        }
        Cause::DriverLock if holding == Holding::Unseen => {
            "a lock of the driver; while one thread holds it others wait"
        }
        Cause::DriverLock => "one lock of the context serves both calls; while one holds it the other waits",
        Cause::ApplicationLock => "the lock is the library's own, not the driver's",
        Cause::PageableStaging => {
            "a copy of pageable memory goes piece by piece through the driver's own pinned buffers"
        }
        Cause::PageableOrder => "pageable copies complete one after another, across streams",
        Cause::HiddenSync => {
            "the call returns when its copy is done, and the copy starts when the work before it is done"
        }
        Cause::ExplicitSync => "the program asked to wait for the GPU",
        Cause::ImplicitDeviceSync => "freeing memory waits until the device has finished what uses it",
        Cause::QueueFull => "a stream takes about 1,022 pending launches; the next one waits for a place",
        Cause::FirstUse => "contexts, modules and functions are set up when they are first needed",
        Cause::Allocation => "mapping, pinning and unmapping memory take time in proportion to its size",
        Cause::PageFaults => "memory never touched before is mapped page by page while the copy runs",
        Cause::ProfilerOverhead => "the tracer requests or flushes its own buffers",
        Cause::Descheduled => "the thread was not on a CPU",
        Cause::ConnectionAliasing => "more streams than hardware queues: unrelated work waits in line",
        Cause::CopyEngineBusy => "one copy engine serves a direction; a copy waits for the one before it",
        Cause::IssueOrder => "work was issued in an order that keeps engines idle",
        Cause::TimeSlicing => "processes without MPS take turns on the GPU",
        Cause::Unexplained => "no rule fits what the trace shows",
    }
}
