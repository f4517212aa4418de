//! `file-reading`: files are opened or read.

use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};
use crate::rules::forms::forms;
use crate::{At, Effect, Fix};

pub(super) static ABOUT: About = About {
    meaning: "a thread opens files or reads them: inputs, weights, a table",
    brief: "files are opened or read",
    bound: Bound::Host,
    family: Family::Host,
    nature: Nature::Lost,
    evidence: &[Evidence::Sample, Evidence::Record],
    fixes: &[READ_AHEAD],
    state: State::Account {
        because: &[
            "samples of the thread lie in functions or system calls that open or read files",
            "the profiler recorded system calls that open or read files",
        ],
        why: "the next step begins when its data are there",
    },
};

const READ_AHEAD: Fix = Fix {
    id: "read-ahead",
    text: "read what comes next in another thread while the GPU works, or keep in memory what is read again",
    safety: "safe if nobody writes the file meanwhile; takes host memory for what is read ahead",
    effect: Effect::Removal,
    at: At::Waiter,
    forms: forms![
        PyTorch: "read-ahead.pytorch.py",
        CuPy: "read-ahead.cupy.py",
        Cuda: "read-ahead.cuda.cu",
    ],
};
