//! The part of cuda.h that is used.

use std::ffi::{c_int, c_void};

/// `CUresult`.
pub type Code = c_int;
/// `CUdevice`.
pub type Device = c_int;
/// `CUdeviceptr`; with unified addressing also a host's address.
pub type Pointer = u64;
/// `CUcontext`.
pub type Context = *mut c_void;
/// `CUmodule`.
pub type Module = *mut c_void;
/// `CUfunction`.
pub type Kernel = *mut c_void;
/// `CUstream`; null is the legacy default stream.
pub type Stream = *mut c_void;
/// `CUevent`.
pub type Event = *mut c_void;
/// `CUgraph`.
pub type Graph = *mut c_void;
/// `CUgraphExec`.
pub type GraphExec = *mut c_void;

/// `CUDA_SUCCESS`.
pub const SUCCESS: Code = 0;
/// `CUDA_ERROR_NOT_READY`, a query's answer.
pub const NOT_READY: Code = 600;
/// `CU_STREAM_NON_BLOCKING`.
pub const NON_BLOCKING: u32 = 1;
/// `CU_EVENT_DISABLE_TIMING`.
pub const DISABLE_TIMING: u32 = 2;
/// `CU_MEMHOSTALLOC_PORTABLE` and `CU_MEMHOSTREGISTER_PORTABLE`: for every context, as the runtime API allocates.
pub const PORTABLE: u32 = 1;
/// `CU_CTX_SCHED_SPIN`.
pub const SCHEDULE_SPIN: u32 = 1;
/// `CU_CTX_SCHED_YIELD`.
pub const SCHEDULE_YIELD: u32 = 2;
/// `CU_CTX_SCHED_BLOCKING_SYNC`.
pub const SCHEDULE_BLOCKING: u32 = 4;
/// `CU_MEM_ATTACH_GLOBAL`.
pub const ATTACH_GLOBAL: u32 = 1;
/// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`.
pub const THREAD_LOCAL: c_int = 1;

/// `CU_MEMORYTYPE_HOST`.
pub const HOST_MEMORY: u32 = 1;
/// `CU_MEMORYTYPE_DEVICE`.
pub const DEVICE_MEMORY: u32 = 2;

/// One end of a [`Copy2d`].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct End2d {
    pub x: usize,
    pub y: usize,
    pub memory: u32,
    pub host: *mut c_void,
    pub device: Pointer,
    pub array: *mut c_void,
    pub pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
pub struct Copy2d {
    pub from: End2d,
    pub to: End2d,
    pub width: usize,
    pub height: usize,
}

/// One end of a [`Copy3d`].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct End3d {
    pub x: usize,
    pub y: usize,
    pub z: usize,
    pub level: usize,
    pub memory: u32,
    pub host: *mut c_void,
    pub device: Pointer,
    pub array: *mut c_void,
    pub reserved: *mut c_void,
    pub pitch: usize,
    pub height: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
pub struct Copy3d {
    pub from: End3d,
    pub to: End3d,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// `CUdevice_attribute`.
pub mod attribute {
    use std::ffi::c_int;

    /// Clock of the multiprocessors, kHz.
    pub const CLOCK: c_int = 13;
    /// Whether a copy and a kernel can run at once.
    pub const OVERLAP: c_int = 15;
    /// Number of multiprocessors.
    pub const MULTIPROCESSORS: c_int = 16;
    /// Whether it shares the host's memory.
    pub const INTEGRATED: c_int = 18;
    /// 0 default, 2 prohibited, 3 exclusive process.
    pub const COMPUTE_MODE: c_int = 20;
    /// Whether several kernels can run at once.
    pub const CONCURRENT_KERNELS: c_int = 31;
    /// Clock of the memory, kHz.
    pub const MEMORY_CLOCK: c_int = 36;
    /// Width of the memory's bus, bits.
    pub const MEMORY_BUS: c_int = 37;
    /// Number of copy engines.
    pub const COPY_ENGINES: c_int = 40;
    /// Whether host and device share one address space.
    pub const UNIFIED_ADDRESSING: c_int = 41;
    /// Compute capability, before the dot.
    pub const MAJOR: c_int = 75;
    /// Compute capability, behind the dot.
    pub const MINOR: c_int = 76;
    /// Whether it has managed memory.
    pub const MANAGED_MEMORY: c_int = 83;
    /// Whether it can use pageable memory as it is.
    pub const PAGEABLE_ACCESS: c_int = 88;
    /// Whether host and device may use managed memory at once.
    pub const CONCURRENT_MANAGED: c_int = 89;
    /// Whether it has memory pools.
    pub const MEMORY_POOLS: c_int = 115;
}
