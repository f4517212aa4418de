//! The plain launches that are wrapped, and the type of their wrappers.

use crate::wrapped_function::WrappedFunction;
use libc::c_int;
use std::sync::atomic::AtomicUsize;

/// Most plain launches: the driver has two, and those of an older and a newer version.
pub const MOST: usize = 6;

/// `cuLaunchKernel`
pub type LaunchKernel = unsafe extern "C-unwind" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> c_int;

/// The wrappers of plain launches.
pub struct LaunchThunks(pub(crate) [LaunchKernel; MOST]);

/// The launches that are wrapped: two of them in one cache line.
#[repr(C, align(64))]
pub struct LaunchTable {
    pub wrapped: [WrappedFunction; MOST],
    pub count: AtomicUsize,
}

impl LaunchTable {
    pub const fn new() -> LaunchTable {
        LaunchTable { wrapped: [const { WrappedFunction::new() }; MOST], count: AtomicUsize::new(0) }
    }
}
