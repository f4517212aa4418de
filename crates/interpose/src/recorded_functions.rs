//! Which of the driver's functions are worth a record: those that can wait, and those that start operations on a GPU.
//! Queries that answer at once are not wrapped: programs make them all the time.

/// Beginnings of names. A function whose name begins so is wrapped.
const BEGINNINGS: &[&str] = &[
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
];

/// Whether a function is worth a record.
pub fn is_interesting(name: &[u8]) -> bool {
    let starts = |beginning: &&str| name.starts_with(beginning.as_bytes());
    BEGINNINGS.iter().any(starts) && !NOT.iter().any(starts)
}

/// Whether a function is wrapped: it is worth a record, or looks others up.
pub fn is_wrapped(name: &[u8]) -> bool {
    is_interesting(name) || name.starts_with(b"cuGetProcAddress")
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
}
