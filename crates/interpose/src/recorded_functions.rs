//! Which functions of the driver and the runtime are worth a record: those that can wait, and those that start operations
//! on a GPU. Queries mostly answer at once, and programs make them all the time: short ones are counted.

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

/// Functions that say where a default stream is: they matter where the runtime's are recorded, too.
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

/// Beginnings of names of queries, as far as they are none of those above.
const QUERIES: &[&str] = &[
    "cuCtxGet",
    "cuDeviceGet",
    "cuDeviceCanAccessPeer",
    "cuDevicePrimaryCtxGetState",
    "cuDriverGetVersion",
    "cuEventElapsedTime",
    "cuFuncGet",
    "cuGetError",
    "cuGraphExecGetFlags",
    "cuKernelGetAttribute",
    "cuLibraryGetKernelCount",
    "cuMemGet",
    "cuMemHostGet",
    "cuMemPoolGetAttribute",
    "cuModuleGetLoadingMode",
    "cuOccupancy",
    "cuPointerGetAttribute",
    "cuStreamGet",
    "cuStreamIsCapturing",
    "cuThreadExchangeStreamCaptureMode",
    "cudaDeviceCanAccessPeer",
    "cudaDeviceGet",
    "cudaDriverGetVersion",
    "cudaEventElapsedTime",
    "cudaGetDevice",
    "cudaHostGet",
    "cudaLibraryGetKernelCount",
    "cudaMemGetInfo",
    "cudaMemPoolGetAttribute",
    "cudaOccupancy",
    "cudaPointerGetAttributes",
    "cudaRuntimeGetVersion",
    "cudaStreamGet",
    "cudaStreamIsCapturing",
    "cudaThreadExchangeStreamCaptureMode",
];

/// Beginnings of names of queries that do not return whether they themselves succeeded.
const ANSWERS: &[&str] =
    &["cudaGetErrorName", "cudaGetErrorString", "cudaGetLastError", "cudaPeekAtLastError"];

/// Whether a function is a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Query {
    /// It is not.
    No,
    /// It is, and returns whether it succeeded.
    Checked,
    /// It is, and what it returns is the answer.
    Answer,
}

/// Whether the function of that name is a query; only where the runtime's functions are wrapped: without them, most of a
/// program's queries are not seen.
pub fn query(name: &[u8]) -> Query {
    match name {
        _ if !wraps_runtime() || is_recorded(name) => Query::No,
        _ if begins(name, ANSWERS) => Query::Answer,
        _ if begins(name, QUERIES) => Query::Checked,
        _ => Query::No,
    }
}

/// The name that a function's calls are recorded by. From CUDA 13.0 on, code of nvcc launches by `__cudaLaunchKernel`, which
/// CUPTI calls `cudaLaunchKernel`, too.
pub fn known_as(name: &CStr) -> &CStr {
    let rest = if name.to_bytes().starts_with(b"__cudaLaunchKernel") { 2 } else { 0 };
    let shorter = name.to_bytes_with_nul().get(rest..).map(CStr::from_bytes_with_nul);
    shorter.and_then(Result::ok).unwrap_or(name)
}

fn begins(name: &[u8], beginnings: &[&str]) -> bool {
    beginnings.iter().any(|start| name.starts_with(start.as_bytes()))
}

/// Whether each call of a function is worth a record.
fn is_recorded(name: &[u8]) -> bool {
    let wanted =
        begins(name, DRIVERS) || wraps_runtime() && (begins(name, RUNTIMES) || begins(name, CURRENT));
    wanted && !begins(name, NOT)
}

/// Whether calls of a function are recorded or counted.
pub fn is_interesting(name: &[u8]) -> bool {
    is_recorded(name) || query(name) != Query::No
}

/// Whether a function is wrapped: it is worth a record, or looks others up.
pub fn is_wrapped(name: &[u8]) -> bool {
    let launches = name.starts_with(b"__cudaLaunchKernel") && wraps_runtime();
    launches || is_interesting(name) || name.starts_with(b"cuGetProcAddress")
}

#[cfg(test)]
mod tests {
    use super::{Query, is_interesting, is_recorded, query};

    #[test]
    fn calls_that_wait_are_recorded_and_queries_are_not() {
        for name in ["cuLaunchKernel_ptsz", "cuMemcpyDtoHAsync_v2", "cuMemFree_v2", "cuLibraryLoadData"] {
            assert!(is_recorded(name.as_bytes()), "{name}");
        }
        // The last two take structs by value.
        for name in
            ["cuCtxGetCurrent", "cuPointerGetAttribute", "cuIpcOpenMemHandle_v2", "cuIpcOpenEventHandle"]
        {
            assert!(!is_recorded(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn functions_of_the_runtime_are_recorded_and_queries_counted_on_demand() {
        for name in ["cudaMemcpyAsync", "cuCtxGetCurrent", "cudaGetLastError"] {
            assert!(!is_interesting(name.as_bytes()), "{name}");
        }
        super::wrap_runtime();
        for name in
            ["cudaLaunchKernel_ptsz", "cudaMemcpyAsync", "cudaFree", "cudaSetDevice", "cuKernelGetFunction"]
        {
            assert!(is_recorded(name.as_bytes()) && query(name.as_bytes()) == Query::No, "{name}");
        }
        for (name, kind) in [
            ("cudaGetLastError", Query::Answer),
            ("cudaGetErrorString", Query::Answer),
            ("cudaGetDevice", Query::Checked),
            ("cuDevicePrimaryCtxGetState", Query::Checked),
            ("cuMemHostGetDevicePointer_v2", Query::Checked),
            ("cudaGetDeviceProperties_v2", Query::No),
            ("cudaSetDeviceFlags", Query::No),
            ("cudaGetDriverEntryPoint", Query::No),
        ] {
            assert_eq!(query(name.as_bytes()), kind, "{name}");
        }
    }
}
