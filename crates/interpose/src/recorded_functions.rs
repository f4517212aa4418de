//! Which functions of the driver and the runtime are worth a record: those that can wait, and those that start operations
//! on a GPU. Queries that answer at once are not wrapped: programs make them all the time.

use std::ffi::CStr;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Whether the runtime's functions are wrapped.
static RUNTIME: AtomicBool = AtomicBool::new(false);

/// Has the runtime's functions wrapped, too, from now on.
pub fn wrap_runtime() {
    RUNTIME.store(true, Relaxed);
}

/// Whether the runtime's functions are wrapped.
pub fn wraps_runtime() -> bool {
    RUNTIME.load(Relaxed)
}

/// Beginnings of names of the driver's. A function whose name begins so is wrapped.
const DRIVERS: &[&str] = &[
    "cuInit",
    "cuLaunch",
    "cuGraphLaunch",
    "cuGraphInstantiate",
    "cuGraphUpload",
    "cuGraphExec",
    "cuGraphDestroy",
    "cuMemcpy",
    "cuMemset",
    "cuMemAlloc",
    "cuMemFree",
    "cuMemHost",
    "cuMemPrefetch",
    "cuMemAdvise",
    "cuMemCreate",
    "cuMemMap",
    "cuMemUnmap",
    "cuMemRelease",
    "cuMemSetAccess",
    "cuMemAddress",
    "cuMemPoolCreate",
    "cuMemPoolDestroy",
    "cuMemPoolTrim",
    "cuArrayCreate",
    "cuArray3DCreate",
    "cuArrayDestroy",
    "cuMipmappedArray",
    "cuStreamCreate",
    "cuGreenCtxStreamCreate",
    "cuStreamDestroy",
    "cuStreamSynchronize",
    "cuStreamQuery",
    "cuStreamWait",
    "cuStreamWrite",
    "cuStreamBatch",
    "cuStreamAddCallback",
    "cuStreamBeginCapture",
    "cuStreamEndCapture",
    "cuStreamAttach",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventQuery",
    "cuEventDestroy",
    "cuCtxCreate",
    "cuCtxDestroy",
    "cuCtxSynchronize",
    "cuCtxSetLimit",
    "cuCtxReset",
    "cuDevicePrimaryCtx",
    "cuModuleLoad",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuModuleGetGlobal",
    "cuLibrary",
    "cuKernelGetFunction",
    "cuFuncLoad",
    "cuLink",
    "cuImportExternal",
    "cuSignalExternal",
    "cuWaitExternal",
    "cuIpcGet",
];

/// Those that say where a default stream is: they matter where the runtime's are recorded, too.
const CURRENT: &[&str] = &["cuCtxSetCurrent", "cuCtxPushCurrent", "cuCtxPopCurrent"];

/// Beginnings of names of the runtime's.
const RUNTIMES: &[&str] = &[
    "cudaLaunch",
    "cudaGraphLaunch",
    "cudaGraphInstantiate",
    "cudaGraphUpload",
    "cudaGraphExecUpdate",
    "cudaGraphExecDestroy",
    "cudaGraphDestroy",
    "cudaMemcpy",
    "cudaMemset",
    "cudaMemPrefetch",
    "cudaMemAdvise",
    "cudaMemPoolCreate",
    "cudaMemPoolDestroy",
    "cudaMemPoolTrim",
    "cudaMalloc",
    "cudaFree",
    "cudaHostAlloc",
    "cudaHostRegister",
    "cudaHostUnregister",
    "cudaStreamCreate",
    "cudaStreamDestroy",
    "cudaStreamSynchronize",
    "cudaStreamQuery",
    "cudaStreamWait",
    "cudaStreamAddCallback",
    "cudaStreamBeginCapture",
    "cudaStreamEndCapture",
    "cudaStreamAttach",
    "cudaEventCreate",
    "cudaEventRecord",
    "cudaEventSynchronize",
    "cudaEventQuery",
    "cudaEventDestroy",
    "cudaDeviceSynchronize",
    "cudaDeviceReset",
    "cudaDeviceSetLimit",
    "cudaDeviceEnablePeerAccess",
    "cudaInitDevice",
    "cudaSetDevice",
    "cudaFuncGetAttributes",
    "cudaFuncSetAttribute",
    "cudaLibrary",
    "cudaGetDeviceProperties",
    "cudaImportExternal",
    "cudaSignalExternal",
    "cudaWaitExternal",
    "cudaIpcGet",
];

/// Functions that begin like one of those and are none: they answer at once.
const NOT: &[&str] = &[
    "cuDevicePrimaryCtxGetState",
    "cuDevicePrimaryCtxSetFlags",
    "cuGraphExecGetFlags",
    "cuGraphExecKernelNodeSetParams",
    "cuLibraryGetKernelCount",
    "cuMemHostGetDevicePointer",
    "cuMemHostGetFlags",
    "cuMemAllocHost_v1",
    "cudaSetDeviceFlags",
    "cudaLibraryGetKernelCount",
];

/// The name that a function's calls are recorded by. From CUDA 13.0 on, code of nvcc launches by `__cudaLaunchKernel`, which
/// CUPTI calls `cudaLaunchKernel`, too.
pub fn known_as(name: &CStr) -> &CStr {
    let rest = if name.to_bytes().starts_with(b"__cudaLaunchKernel") { 2 } else { 0 };
    let shorter = name.to_bytes_with_nul().get(rest..).map(CStr::from_bytes_with_nul);
    shorter.and_then(Result::ok).unwrap_or(name)
}

/// Whether a function is worth a record.
pub fn is_interesting(name: &[u8]) -> bool {
    let begins = |beginnings: &[&str]| beginnings.iter().any(|start| name.starts_with(start.as_bytes()));
    let wanted = begins(DRIVERS) || wraps_runtime() && (begins(RUNTIMES) || begins(CURRENT));
    wanted && !begins(NOT)
}

/// Whether a function is wrapped: it is worth a record, or looks others up.
pub fn is_wrapped(name: &[u8]) -> bool {
    let launches = name.starts_with(b"__cudaLaunchKernel") && wraps_runtime();
    launches || is_interesting(name) || name.starts_with(b"cuGetProcAddress")
}

#[cfg(test)]
mod tests {
    use super::is_interesting;

    #[test]
    fn calls_that_wait_are_recorded_and_queries_are_not() {
        for name in ["cuLaunchKernel_ptsz", "cuMemcpyDtoHAsync_v2", "cuMemFree_v2", "cuLibraryLoadData"] {
            assert!(is_interesting(name.as_bytes()), "{name}");
        }
        // The last two take structs by value.
        for name in
            ["cuCtxGetCurrent", "cuPointerGetAttribute", "cuIpcOpenMemHandle_v2", "cuIpcOpenEventHandle"]
        {
            assert!(!is_interesting(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn functions_of_the_runtime_are_recorded_on_demand() {
        assert!(!is_interesting(b"cudaMemcpyAsync"));
        super::wrap_runtime();
        for name in ["cudaLaunchKernel_ptsz", "cudaMemcpyAsync", "cudaFree", "cudaSetDevice"] {
            assert!(is_interesting(name.as_bytes()), "{name}");
        }
        for name in ["cudaGetLastError", "cudaGetDevice", "cudaSetDeviceFlags", "cudaPointerGetAttributes"] {
            assert!(!is_interesting(name.as_bytes()), "{name}");
        }
    }
}
