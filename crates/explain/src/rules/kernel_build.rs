//! `kernel-build`: kernels are built while the program runs.

use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};
use crate::rules::fixes::EAGER_LOADING;
use crate::rules::forms::forms;
use crate::{At, Effect, Fix};
use trace::Ns;

pub(super) static ABOUT: About = About {
    meaning: "a compiler or a library builds kernels, then loads them",
    brief: "kernels are built while the program runs",
    bound: Bound::StartUp,
    family: Family::Setup,
    nature: Nature::Lost,
    evidence: &[Evidence::Sample, Evidence::Record],
    fixes: &[FIXED_SHAPES, EAGER_LOADING, NATIVE_CODE],
    state: State::Account {
        because: &[
            "samples of the thread lie in a compiler, or it ran before each of many calls that load code",
            "the profiler recorded that the thread ran before each of many calls that load code",
        ],
        why: "a kernel for each new shape or type is compiled, or read and unpacked, when it is first needed",
    },
};

const FIXED_SHAPES: Fix = Fix {
    id: "fixed-shapes",
    text: "let few shapes and constants occur: pad or bucket them, a static cache, arguments instead of constants, or a library that \
           builds nothing for each",
    safety: "safe if the results do not depend on the padding",
    effect: Effect::Removal,
    at: At::Waiter,
    forms: forms![
        PyTorch: "fixed-shapes.pytorch.py",
        CuPy: "fixed-shapes.cupy.py",
        Jax: "fixed-shapes.jax.py",
    ],
};

/// Offered where the driver itself compiles.
pub(crate) const NATIVE_CODE: Fix = Fix {
    id: "native-code",
    text: "compile for this GPU (nvcc -gencode arch=compute_NN,code=sm_NN), or keep the driver's cache between runs (CUDA_CACHE_PATH)",
    safety: "safe; the program grows by the code of each architecture",
    effect: Effect::Unknown,
    at: At::Waiter,
    forms: &[],
};

/// So many pauses of a site must be of this kind: a first use happens once, and what a program does before it need not be for it. GPT-2 of
/// PyTorch 2.11 attends by a kernel of cuDNN's for each length: 122 pauses of 50 ms at one place (H100, driver 580). A choice.
pub(crate) const OFTEN: usize = 8;

/// The shortest such pause, ns: a choice.
pub(crate) const LEAST: Ns = 1_000_000;

/// Whether a kernel may be built in a pause of this length before a call of this name: one that loads code.
pub fn may_build(pause_ns: Ns, next: &str) -> bool {
    pause_ns >= LEAST && loads_code(next)
}

/// Whether a call of this name loads code, or begins to link it.
pub(crate) fn loads_code(call: &str) -> bool {
    let call =
        call.strip_prefix("cuda").or_else(|| call.strip_prefix("cu")).or_else(|| call.strip_prefix("hip"));
    let loads = ["ModuleLoad", "LibraryLoad", "LinkAdd", "LinkCreate"];
    call.is_some_and(|name| loads.iter().any(|load| name.starts_with(load)))
}

/// Whether calls of this name take the times of kernels, as a library does that tries algorithms.
pub(crate) fn takes_times(call: &str) -> bool {
    ["cudaEvent", "cuEvent"].iter().any(|start| call.starts_with(start))
}
