//! The names of CUDA's error numbers.

use trace::Api;

/// The number with which a call answers that work is not done yet.
pub(crate) const NOT_READY: i32 = 600;

/// The name of an error in the words of the library that returned it; empty if it is not known.
pub(crate) fn name(api: Api, error: i32) -> &'static str {
    let at = ERRORS.binary_search_by_key(&error, |(number, ..)| *number);
    match (at.map(|at| ERRORS[at]), api) {
        (Ok((_, runtime, _)), Api::Runtime) => runtime,
        (Ok((_, _, driver)), Api::Driver) => driver,
        _ => "",
    }
}

/// Number, name in the runtime, name in the driver; sorted. Both have the same numbers since CUDA 10.1. From `cudaError_t` and
/// `CUresult` of CUDA 13.
const ERRORS: &[(i32, &str, &str)] = &[
    (1, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE"),
    (2, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY"),
    (3, "cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED"),
    (4, "cudaErrorCudartUnloading", "CUDA_ERROR_DEINITIALIZED"),
    (5, "cudaErrorProfilerDisabled", "CUDA_ERROR_PROFILER_DISABLED"),
    (6, "cudaErrorProfilerNotInitialized", "CUDA_ERROR_PROFILER_NOT_INITIALIZED"),
    (7, "cudaErrorProfilerAlreadyStarted", "CUDA_ERROR_PROFILER_ALREADY_STARTED"),
    (8, "cudaErrorProfilerAlreadyStopped", "CUDA_ERROR_PROFILER_ALREADY_STOPPED"),
    (9, "cudaErrorInvalidConfiguration", ""),
    (10, "cudaErrorVersionTranslation", ""),
    (12, "cudaErrorInvalidPitchValue", ""),
    (13, "cudaErrorInvalidSymbol", ""),
    (16, "cudaErrorInvalidHostPointer", ""),
    (17, "cudaErrorInvalidDevicePointer", ""),
    (18, "cudaErrorInvalidTexture", ""),
    (19, "cudaErrorInvalidTextureBinding", ""),
    (20, "cudaErrorInvalidChannelDescriptor", ""),
    (21, "cudaErrorInvalidMemcpyDirection", ""),
    (22, "cudaErrorAddressOfConstant", ""),
    (23, "cudaErrorTextureFetchFailed", ""),
    (24, "cudaErrorTextureNotBound", ""),
    (25, "cudaErrorSynchronizationError", ""),
    (26, "cudaErrorInvalidFilterSetting", ""),
    (27, "cudaErrorInvalidNormSetting", ""),
    (28, "cudaErrorMixedDeviceExecution", ""),
    (31, "cudaErrorNotYetImplemented", ""),
    (32, "cudaErrorMemoryValueTooLarge", ""),
    (34, "cudaErrorStubLibrary", "CUDA_ERROR_STUB_LIBRARY"),
    (35, "cudaErrorInsufficientDriver", ""),
    (36, "cudaErrorCallRequiresNewerDriver", ""),
    (37, "cudaErrorInvalidSurface", ""),
    (43, "cudaErrorDuplicateVariableName", ""),
    (44, "cudaErrorDuplicateTextureName", ""),
    (45, "cudaErrorDuplicateSurfaceName", ""),
    (46, "cudaErrorDevicesUnavailable", "CUDA_ERROR_DEVICE_UNAVAILABLE"),
    (49, "cudaErrorIncompatibleDriverContext", ""),
    (52, "cudaErrorMissingConfiguration", ""),
    (53, "cudaErrorPriorLaunchFailure", ""),
    (65, "cudaErrorLaunchMaxDepthExceeded", ""),
    (66, "cudaErrorLaunchFileScopedTex", ""),
    (67, "cudaErrorLaunchFileScopedSurf", ""),
    (68, "cudaErrorSyncDepthExceeded", ""),
    (69, "cudaErrorLaunchPendingCountExceeded", ""),
    (98, "cudaErrorInvalidDeviceFunction", ""),
    (100, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE"),
    (101, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE"),
    (102, "cudaErrorDeviceNotLicensed", "CUDA_ERROR_DEVICE_NOT_LICENSED"),
    (103, "cudaErrorSoftwareValidityNotEstablished", ""),
    (127, "cudaErrorStartupFailure", ""),
    (200, "cudaErrorInvalidKernelImage", "CUDA_ERROR_INVALID_IMAGE"),
    (201, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT"),
    (202, "", "CUDA_ERROR_CONTEXT_ALREADY_CURRENT"),
    (205, "cudaErrorMapBufferObjectFailed", "CUDA_ERROR_MAP_FAILED"),
    (206, "cudaErrorUnmapBufferObjectFailed", "CUDA_ERROR_UNMAP_FAILED"),
    (207, "cudaErrorArrayIsMapped", "CUDA_ERROR_ARRAY_IS_MAPPED"),
    (208, "cudaErrorAlreadyMapped", "CUDA_ERROR_ALREADY_MAPPED"),
    (209, "cudaErrorNoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU"),
    (210, "cudaErrorAlreadyAcquired", "CUDA_ERROR_ALREADY_ACQUIRED"),
    (211, "cudaErrorNotMapped", "CUDA_ERROR_NOT_MAPPED"),
    (212, "cudaErrorNotMappedAsArray", "CUDA_ERROR_NOT_MAPPED_AS_ARRAY"),
    (213, "cudaErrorNotMappedAsPointer", "CUDA_ERROR_NOT_MAPPED_AS_POINTER"),
    (214, "cudaErrorECCUncorrectable", "CUDA_ERROR_ECC_UNCORRECTABLE"),
    (215, "cudaErrorUnsupportedLimit", "CUDA_ERROR_UNSUPPORTED_LIMIT"),
    (216, "cudaErrorDeviceAlreadyInUse", "CUDA_ERROR_CONTEXT_ALREADY_IN_USE"),
    (217, "cudaErrorPeerAccessUnsupported", "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"),
    (218, "cudaErrorInvalidPtx", "CUDA_ERROR_INVALID_PTX"),
    (219, "cudaErrorInvalidGraphicsContext", "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT"),
    (220, "cudaErrorNvlinkUncorrectable", "CUDA_ERROR_NVLINK_UNCORRECTABLE"),
    (221, "cudaErrorJitCompilerNotFound", "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"),
    (222, "cudaErrorUnsupportedPtxVersion", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
    (223, "cudaErrorJitCompilationDisabled", "CUDA_ERROR_JIT_COMPILATION_DISABLED"),
    (224, "cudaErrorUnsupportedExecAffinity", "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY"),
    (225, "cudaErrorUnsupportedDevSideSync", "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC"),
    (226, "cudaErrorContained", "CUDA_ERROR_CONTAINED"),
    (300, "cudaErrorInvalidSource", "CUDA_ERROR_INVALID_SOURCE"),
    (301, "cudaErrorFileNotFound", "CUDA_ERROR_FILE_NOT_FOUND"),
    (302, "cudaErrorSharedObjectSymbolNotFound", "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND"),
    (303, "cudaErrorSharedObjectInitFailed", "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED"),
    (304, "cudaErrorOperatingSystem", "CUDA_ERROR_OPERATING_SYSTEM"),
    (400, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE"),
    (401, "cudaErrorIllegalState", "CUDA_ERROR_ILLEGAL_STATE"),
    (402, "cudaErrorLossyQuery", "CUDA_ERROR_LOSSY_QUERY"),
    (500, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND"),
    (600, "cudaErrorNotReady", "CUDA_ERROR_NOT_READY"),
    (700, "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS"),
    (701, "cudaErrorLaunchOutOfResources", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"),
    (702, "cudaErrorLaunchTimeout", "CUDA_ERROR_LAUNCH_TIMEOUT"),
    (703, "cudaErrorLaunchIncompatibleTexturing", "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING"),
    (704, "cudaErrorPeerAccessAlreadyEnabled", "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"),
    (705, "cudaErrorPeerAccessNotEnabled", "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"),
    (708, "cudaErrorSetOnActiveProcess", "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE"),
    (709, "cudaErrorContextIsDestroyed", "CUDA_ERROR_CONTEXT_IS_DESTROYED"),
    (710, "cudaErrorAssert", "CUDA_ERROR_ASSERT"),
    (711, "cudaErrorTooManyPeers", "CUDA_ERROR_TOO_MANY_PEERS"),
    (712, "cudaErrorHostMemoryAlreadyRegistered", "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"),
    (713, "cudaErrorHostMemoryNotRegistered", "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"),
    (714, "cudaErrorHardwareStackError", "CUDA_ERROR_HARDWARE_STACK_ERROR"),
    (715, "cudaErrorIllegalInstruction", "CUDA_ERROR_ILLEGAL_INSTRUCTION"),
    (716, "cudaErrorMisalignedAddress", "CUDA_ERROR_MISALIGNED_ADDRESS"),
    (717, "cudaErrorInvalidAddressSpace", "CUDA_ERROR_INVALID_ADDRESS_SPACE"),
    (718, "cudaErrorInvalidPc", "CUDA_ERROR_INVALID_PC"),
    (719, "cudaErrorLaunchFailure", "CUDA_ERROR_LAUNCH_FAILED"),
    (720, "cudaErrorCooperativeLaunchTooLarge", "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"),
    (721, "cudaErrorTensorMemoryLeak", "CUDA_ERROR_TENSOR_MEMORY_LEAK"),
    (800, "cudaErrorNotPermitted", "CUDA_ERROR_NOT_PERMITTED"),
    (801, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED"),
    (802, "cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY"),
    (803, "cudaErrorSystemDriverMismatch", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
    (804, "cudaErrorCompatNotSupportedOnDevice", "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"),
    (805, "cudaErrorMpsConnectionFailed", "CUDA_ERROR_MPS_CONNECTION_FAILED"),
    (806, "cudaErrorMpsRpcFailure", "CUDA_ERROR_MPS_RPC_FAILURE"),
    (807, "cudaErrorMpsServerNotReady", "CUDA_ERROR_MPS_SERVER_NOT_READY"),
    (808, "cudaErrorMpsMaxClientsReached", "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED"),
    (809, "cudaErrorMpsMaxConnectionsReached", "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED"),
    (810, "cudaErrorMpsClientTerminated", "CUDA_ERROR_MPS_CLIENT_TERMINATED"),
    (811, "cudaErrorCdpNotSupported", "CUDA_ERROR_CDP_NOT_SUPPORTED"),
    (812, "cudaErrorCdpVersionMismatch", "CUDA_ERROR_CDP_VERSION_MISMATCH"),
    (900, "cudaErrorStreamCaptureUnsupported", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"),
    (901, "cudaErrorStreamCaptureInvalidated", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"),
    (902, "cudaErrorStreamCaptureMerge", "CUDA_ERROR_STREAM_CAPTURE_MERGE"),
    (903, "cudaErrorStreamCaptureUnmatched", "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"),
    (904, "cudaErrorStreamCaptureUnjoined", "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"),
    (905, "cudaErrorStreamCaptureIsolation", "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"),
    (906, "cudaErrorStreamCaptureImplicit", "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"),
    (907, "cudaErrorCapturedEvent", "CUDA_ERROR_CAPTURED_EVENT"),
    (908, "cudaErrorStreamCaptureWrongThread", "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"),
    (909, "cudaErrorTimeout", "CUDA_ERROR_TIMEOUT"),
    (910, "cudaErrorGraphExecUpdateFailure", "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"),
    (911, "cudaErrorExternalDevice", "CUDA_ERROR_EXTERNAL_DEVICE"),
    (912, "cudaErrorInvalidClusterSize", "CUDA_ERROR_INVALID_CLUSTER_SIZE"),
    (913, "cudaErrorFunctionNotLoaded", "CUDA_ERROR_FUNCTION_NOT_LOADED"),
    (914, "cudaErrorInvalidResourceType", "CUDA_ERROR_INVALID_RESOURCE_TYPE"),
    (915, "cudaErrorInvalidResourceConfiguration", "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION"),
    (917, "cudaErrorStreamDetached", "CUDA_ERROR_STREAM_DETACHED"),
    (918, "cudaErrorGraphRecaptureFailure", "CUDA_ERROR_GRAPH_RECAPTURE_FAILURE"),
    (999, "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_a_name_in_each_library() {
        assert!(ERRORS.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(name(Api::Runtime, 400), "cudaErrorInvalidResourceHandle");
        assert_eq!(name(Api::Driver, 400), "CUDA_ERROR_INVALID_HANDLE");
        assert_eq!(
            (name(Api::Runtime, NOT_READY), name(Api::Driver, NOT_READY)),
            ("cudaErrorNotReady", "CUDA_ERROR_NOT_READY")
        );
        assert_eq!((name(Api::Driver, 9), name(Api::Runtime, 202)), ("", ""));
        assert_eq!((name(Api::Runtime, 11), name(Api::Hip, 400), name(Api::Runtime, -1)), ("", "", ""));
    }
}
