//! Fixes that several causes offer: each was measured, or is in the CUDA manuals. A fix of only one cause is in that
//! cause's file.

use crate::rules::forms;
use crate::rules::forms::PINNED;
use crate::rules::forms::forms;
use crate::{At, Effect, Fix};

pub(crate) const OWN_STREAM: Fix = Fix {
    id: "own-stream",
    text: "give each thread its own stream",
    safety: "safe if the threads share no GPU data, or order it by events",
    effect: Effect::Change("own-stream"),
    at: At::Waiter,
    forms: forms![
        PyTorch: "own-stream.pytorch.py",
        CuPy: "own-stream.cupy.py",
        Cuda: "own-stream.cuda.cu",
        Julia: "own-stream.julia.jl",
        Fortran: "own-stream.fortran.cuf",
    ],
};
pub(crate) const PINNED_REUSED: Fix = Fix {
    id: "pinned-reused",
    text: "copy through pinned memory that is allocated once (pinning per copy stalls every launch)",
    safety: "safe if the buffer is not reused before its copy is done",
    effect: Effect::Change("pinned-reused"),
    at: At::Copies,
    forms: PINNED,
};
/// Without a release threshold a CUDA memory pool frees its unused memory at each synchronization: then an allocation, its
/// free and a synchronization take 150 µs, with four GPUs at once 422 µs (H200; `docs/lab/h200.md`).
pub(crate) const POOL_ALLOCATOR: Fix = Fix {
    id: "pool-allocator",
    text: "allocate once, or from a pool that keeps its memory: a caching allocator, or cudaMallocAsync with a release \
           threshold",
    safety: "safe if each free is ordered after the last use in its stream",
    effect: Effect::Change("pool-allocator"),
    at: At::Allocations,
    forms: forms![
        PyTorch: "pool-allocator.pytorch.py",
        CuPy: "pool-allocator.cupy.py",
        Cuda: "pool-allocator.cuda.cu",
    ],
};
pub(crate) const PINNED_KEPT: Fix = Fix {
    id: "pinned-kept",
    text: "allocate pinned memory once and keep it: pinning and unpinning take the driver's lock for milliseconds",
    safety: "safe if a buffer is not used again before its copy is done",
    effect: Effect::Removal,
    at: At::Allocations,
    forms: PINNED,
};

pub(crate) const PARALLEL_PINNING: Fix = Fix {
    id: "parallel-pinning",
    text: "touch the pages with several threads, then pin them with cudaHostRegister; or pin less",
    safety: "safe; the threads take processors meanwhile",
    effect: Effect::Unknown,
    at: At::Allocations,
    forms: forms![Cuda: "parallel-pinning.cuda.cu"],
};

/// Whether a call of this name pins or unpins memory of the host.
pub(crate) fn pins(call: &str) -> bool {
    let parts = ["HostAlloc", "MallocHost", "AllocHost", "FreeHost", "HostRegister", "HostUnregister"];
    parts.iter().any(|part| call.contains(part))
}

/// The fixes of a finding whose memory is allocated or freed by calls of this name: what helps device memory does not help pinned memory.
pub(crate) fn of_memory(fixes: &[Fix], call: &str) -> Vec<Fix> {
    let of_pinned = |fix: &Fix| [PINNED_KEPT.id, PARALLEL_PINNING.id].contains(&fix.id);
    let fits = |fix: &&Fix| if pins(call) { **fix != POOL_ALLOCATOR } else { !of_pinned(fix) };
    fixes.iter().filter(fits).copied().collect()
}

// Of eager loading: first uses of SVD, FFT, sort and convolution in a thread cost another thread's launches 246 ms with lazy
// loading and 1,442 ms with eager, on an H200.
pub(crate) const EAGER_LOADING: Fix = Fix {
    id: "eager-loading",
    text: "move first uses before the program's critical phase: warm up every kernel and library call",
    safety: "costs start-up time; CUDA_MODULE_LOADING=EAGER by itself made stalls six times longer in one case",
    effect: Effect::Change("warm-up"),
    at: At::Waiter,
    forms: forms![
        PyTorch: "eager-loading.pytorch.py",
        CuPy: "eager-loading.cupy.py",
        Jax: "eager-loading.jax.py",
        Cuda: "eager-loading.cuda.cu",
    ],
};
pub(crate) const GRAPH: Fix = Fix {
    id: "graph",
    text: "submit fewer, larger pieces: a CUDA graph, fused kernels, or a wait before the queue fills",
    safety: "safe if the work and its addresses repeat from one round to the next",
    effect: Effect::Change("graph"),
    at: At::Launches,
    forms: forms::GRAPH,
};
pub(crate) const KEPT_OBJECT: Fix = Fix {
    id: "kept-object",
    text: "make the object, handle or plan once and keep it; a graph that changes takes new parameters (cudaGraphExecUpdate)",
    safety: "safe if nobody else uses the object at the same time",
    effect: Effect::Removal,
    at: At::Waiter,
    forms: forms![Cuda: "kept-object.cuda.cu"],
};
pub(crate) const BATCHED_COPIES: Fix = Fix {
    id: "batched-copies",
    text: "copy small pieces together: through one buffer, as rows of a matrix (cudaMemcpy2DAsync), or in a batch (cudaMemcpyBatchAsync)",
    safety: "safe if nothing reads a piece before the others are there",
    effect: Effect::Change("batched-copies"),
    at: At::Launches,
    forms: forms![
        PyTorch: "batched-copies.pytorch.py",
        CuPy: "batched-copies.cupy.py",
        Cuda: "batched-copies.cuda.cu",
    ],
};
pub(crate) const FOREACH: Fix = Fix {
    id: "foreach",
    text: "update all tensors together: an optimizer with `fused=True` or `foreach=True`",
    safety: "safe: the updates are the same up to rounding; `foreach` takes memory for one more copy of the parameters",
    effect: Effect::Unknown,
    at: At::Launches,
    forms: forms![PyTorch: "foreach.pytorch.py"],
};
