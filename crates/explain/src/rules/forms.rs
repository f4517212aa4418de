//! The applied forms of fixes: the few lines to change, for each framework. `forms/` has one file per form, named after the fix and the
//! framework; a framework without a correct form has none.
//!
//! To add one: write the file, and name it at the fix. `tests/forms.rs` checks that they compile, `tests/gpu/forms.py` runs them.

use crate::result::fix::Form;

/// The forms of a fix, each from its file: `forms![PyTorch: "own-stream.pytorch.py", : "mps.sh"]`.
macro_rules! forms {
    ($($($framework:ident)*: $file:literal),* $(,)?) => {
        &[$($crate::result::fix::Form {
            frameworks: &[$($crate::Framework::$framework),*],
            file: $file,
            code: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/forms/", $file)),
        }),*]
    };
}
pub(crate) use forms;

/// Of several fixes: launches become a CUDA graph.
pub(crate) const GRAPH: &[Form] = forms![
    PyTorch: "graph.pytorch.py",
    CuPy: "graph.cupy.py",
    Jax: "graph.jax.py",
    Cuda: "graph.cuda.cu",
    Julia: "graph.julia.jl",
];

/// Of several fixes: pinned memory that is allocated once.
pub(crate) const PINNED: &[Form] = forms![
    PyTorch: "pinned-reused.pytorch.py",
    CuPy: "pinned-reused.cupy.py",
    Cuda: "pinned-reused.cuda.cu",
    Julia: "pinned-reused.julia.jl",
    Fortran: "pinned-reused.fortran.cuf",
];
