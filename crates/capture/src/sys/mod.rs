//! Questions to the kernel and the C library, and texts and files without an allocation.

pub mod c_library;
pub mod env;
pub mod file;
pub mod fixed_text;
pub mod jumps;
pub mod refusal;
pub mod sanitizers;
pub mod seccomp;
pub mod shielded;
