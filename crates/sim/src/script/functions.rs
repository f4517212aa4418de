//! The driver's names of calls, without version suffixes, as traces and outcomes have them.

macro_rules! functions {
    ($($function:ident = $text:literal,)*) => {
        /// A call's name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Function { $($function,)* }

        impl Function {
            /// All of them.
            pub(crate) const ALL: &'static [Function] = &[$(Function::$function,)*];

            /// The driver's word.
            pub(crate) fn text(self) -> &'static str {
                match self { $(Function::$function => $text,)* }
            }
        }
    };
}

functions! {
    PrimaryRetain = "cuDevicePrimaryCtxRetain",
    ContextCreate = "cuCtxCreate",
    Launch = "cuLaunchKernel",
    GraphLaunch = "cuGraphLaunch",
    CopyIn = "cuMemcpyHtoD",
    CopyInAsync = "cuMemcpyHtoDAsync",
    CopyOut = "cuMemcpyDtoH",
    CopyOutAsync = "cuMemcpyDtoHAsync",
    CopyWithin = "cuMemcpyDtoD",
    CopyWithinAsync = "cuMemcpyDtoDAsync",
    CopyBetween = "cuMemcpyPeer",
    CopyBetweenAsync = "cuMemcpyPeerAsync",
    Copy2d = "cuMemcpy2DAsync",
    Copy3d = "cuMemcpy3DAsync",
    Fill = "cuMemsetD32",
    FillAsync = "cuMemsetD32Async",
    Allocate = "cuMemAlloc",
    AllocateManaged = "cuMemAllocManaged",
    AllocatePool = "cuMemAllocAsync",
    Free = "cuMemFree",
    FreePool = "cuMemFreeAsync",
    HostAllocate = "cuMemHostAlloc",
    HostFree = "cuMemFreeHost",
    Register = "cuMemHostRegister",
    Unregister = "cuMemHostUnregister",
    StreamCreate = "cuStreamCreate",
    StreamDestroy = "cuStreamDestroy",
    EventCreate = "cuEventCreate",
    EventDestroy = "cuEventDestroy",
    EventRecord = "cuEventRecord",
    StreamWait = "cuStreamWaitEvent",
    EventElapsed = "cuEventElapsedTime",
    EventQuery = "cuEventQuery",
    StreamQuery = "cuStreamQuery",
    EventSynchronize = "cuEventSynchronize",
    StreamSynchronize = "cuStreamSynchronize",
    ContextSynchronize = "cuCtxSynchronize",
    ModuleLoad = "cuModuleLoadData",
    ModuleUnload = "cuModuleUnload",
    Capture = "cuGraphInstantiate",
}
