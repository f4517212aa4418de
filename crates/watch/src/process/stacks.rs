//! State that sampling needs of a process.

use crate::modules::Modules;
use crate::native::Native;
use crate::python::Python;
use rustc_hash::FxHashMap;
use spool::PythonFrame;

/// Known stacks of a process, and what finds their frames.
pub(super) struct Stacks {
    pub(super) modules: Modules,
    pub(super) native: Native,
    pub(super) python: Option<Python>,
    /// Why there is no Python though there is an interpreter: said once.
    pub(super) refused: bool,
    pub(super) known: FxHashMap<(Vec<u64>, Vec<PythonFrame>), u32>,
    pub(super) threads_read: i64,
    /// When the last thread came.
    pub(super) thread_came: i64,
    pub(super) map_read: i64,
    /// How many threads the kernel may write down besides, 0 where it does not permit it.
    pub(super) samplers: usize,
}
