//! The kind of a call, from its name.

use rustc_hash::FxHashMap;
use trace::{Api, CopyKind, OpId, OpKind, Sym, Trace};

/// Kinds of calls that rules tell apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Launches a kernel or a graph.
    Launch,
    /// Copies memory.
    Copy {
        /// Whether the name states that the call returns after the copy.
        blocking: bool,
    },
    /// Fills memory.
    Fill,
    /// Waits because the program asked to wait.
    Sync,
    /// Allocates or pins memory under the context's lock.
    Allocate,
    /// Frees, unpins or unloads: may wait for the device.
    Release,
    /// Loads code.
    Load,
    /// Creates a context, stream or event, or looks up a device: slow when something is set up. Also destroys objects
    /// without a wait for the device: by the manual `cudaStreamDestroy` returns at once.
    Create,
    /// Only reads state: no reason to wait for the GPU or another thread.
    Query,
    /// The operating system.
    Os,
    /// Anything else.
    Other,
}

impl Class {
    /// Whether the call puts work into a stream and is meant to return at once.
    pub fn enqueues(self) -> bool {
        matches!(self, Class::Launch | Class::Fill | Class::Copy { blocking: false })
    }
}

impl Class {
    /// Whether a runtime call of this class creates the device's context if there is none.
    pub fn needs_context(self) -> bool {
        match self {
            Class::Launch | Class::Copy { .. } | Class::Fill | Class::Sync => true,
            Class::Allocate | Class::Release | Class::Load => true,
            Class::Create | Class::Query | Class::Os | Class::Other => false,
        }
    }
}

/// The class of every name in a trace.
pub struct Classes(Vec<Class>);

impl Classes {
    /// The classes of the names of a trace.
    pub fn new(trace: &Trace) -> Classes {
        Classes(trace.strings.iter().map(|(_, name)| classify(name)).collect())
    }

    /// The class of a call of a name and an interface.
    pub fn of(&self, name: Sym, api: Api) -> Class {
        if api == Api::Os { Class::Os } else { self.0[name.index()] }
    }
}

/// Classes by the name after `cuda`, `cu` or `hip`; the first match wins. Sources: the CUDA runtime and driver API manuals
/// ("API synchronization behavior") and the interference measured on an H200.
const PREFIXES: &[(&str, Class)] = &[
    ("LaunchHostFunc", Class::Other),
    ("Launch", Class::Launch),
    ("GraphLaunch", Class::Launch),
    ("ExtLaunch", Class::Launch),
    ("ModuleLaunch", Class::Launch),
    ("MallocAsync", Class::Other),
    ("MallocFromPoolAsync", Class::Other),
    ("MemAllocAsync", Class::Other),
    ("MemAllocFromPoolAsync", Class::Other),
    ("FreeAsync", Class::Other),
    ("MemFreeAsync", Class::Other),
    ("MemPrefetch", Class::Other),
    ("MemAdvise", Class::Other),
    ("Memcpy", Class::Copy { blocking: true }),
    ("Memset", Class::Fill),
    ("MemsetD", Class::Fill),
    ("StreamSynchronize", Class::Sync),
    ("EventSynchronize", Class::Sync),
    ("DeviceSynchronize", Class::Sync),
    ("ThreadSynchronize", Class::Sync),
    ("CtxSynchronize", Class::Sync),
    ("Malloc", Class::Allocate),
    ("MemAlloc", Class::Allocate),
    ("MemHostAlloc", Class::Allocate),
    ("MemHostRegister", Class::Allocate),
    ("HostAlloc", Class::Allocate),
    ("HostMalloc", Class::Allocate),
    ("HostRegister", Class::Allocate),
    ("ArrayCreate", Class::Allocate),
    ("Array3DCreate", Class::Allocate),
    ("MipmappedArrayCreate", Class::Allocate),
    ("MemCreate", Class::Allocate),
    ("MemMap", Class::Allocate),
    ("Free", Class::Release),
    ("MemFree", Class::Release),
    ("HostFree", Class::Release),
    ("HostUnregister", Class::Release),
    ("MemHostUnregister", Class::Release),
    ("ModuleUnload", Class::Release),
    ("LibraryUnload", Class::Release),
    ("ArrayDestroy", Class::Release),
    ("MipmappedArrayDestroy", Class::Release),
    ("MemUnmap", Class::Release),
    ("MemRelease", Class::Release),
    ("DeviceReset", Class::Release),
    ("CtxDestroy", Class::Release),
    ("CtxDetach", Class::Release),
    ("DevicePrimaryCtxRelease", Class::Release),
    ("DevicePrimaryCtxReset", Class::Release),
    ("StreamDestroy", Class::Create),
    ("GraphExecDestroy", Class::Create),
    ("ModuleLoad", Class::Load),
    ("ModuleGetFunction", Class::Load),
    ("ModuleGetGlobal", Class::Load),
    ("LibraryLoad", Class::Load),
    ("LibraryGet", Class::Load),
    ("KernelGetFunction", Class::Load),
    ("LinkAdd", Class::Load),
    ("LinkComplete", Class::Load),
    ("FuncGetAttributes", Class::Load),
    ("FuncSetAttribute", Class::Load),
    ("FuncLoad", Class::Load),
    ("GraphInstantiate", Class::Load),
    ("Init", Class::Create),
    ("CtxCreate", Class::Create),
    ("DevicePrimaryCtxRetain", Class::Create),
    ("SetDevice", Class::Create),
    ("InitDevice", Class::Create),
    ("StreamCreate", Class::Create),
    ("EventCreate", Class::Create),
    ("GetDeviceProperties", Class::Create),
    ("IpcOpenMemHandle", Class::Create),
    ("IpcCloseMemHandle", Class::Create),
    ("ImportExternalMemory", Class::Create),
    ("DestroyExternalMemory", Class::Create),
    ("GraphicsGLRegister", Class::Create),
    ("GraphicsUnregisterResource", Class::Create),
    ("StreamQuery", Class::Query),
    ("EventQuery", Class::Query),
    ("EventElapsedTime", Class::Query),
    ("StreamGet", Class::Query),
    ("StreamIsCapturing", Class::Query),
    ("DeviceGet", Class::Query),
    ("GetDevice", Class::Query),
    ("GetLastError", Class::Query),
    ("PeekAtLastError", Class::Query),
    ("PointerGet", Class::Query),
    ("CtxGet", Class::Query),
    ("OccupancyMax", Class::Query),
    ("FuncGet", Class::Query),
    ("ThreadExchangeStreamCaptureMode", Class::Query),
];

/// The class of a call of that name; never [`Class::Os`], which depends on [`trace::Call::api`].
pub fn classify(name: &str) -> Class {
    let prefixes = ["cuda", "hip", "cu"];
    let Some(bare) = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)) else {
        return Class::Other;
    };
    let found = PREFIXES.iter().find(|(prefix, _)| bare.starts_with(prefix));
    match found.map_or(Class::Other, |(_, class)| *class) {
        Class::Copy { .. } => Class::Copy { blocking: !bare.contains("Async") },
        class => class,
    }
}

/// Whether a call of that name creates a context if there is none: one that takes long did.
pub fn makes_context(name: &str) -> bool {
    ["cuDevicePrimaryCtxRetain", "cuCtxCreate", "hipCtxCreate"].iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a kernel's name is that of a collective or another exchange between GPUs: NCCL's (`ncclDevKernel_AllReduce_…`,
/// RCCL's are the same), NVSHMEM's, and the all-reduce kernels of vLLM and TensorRT-LLM.
pub fn communicates(kernel: &str) -> bool {
    const NAMES: [&str; 6] =
        ["nccl", "nvshmem", "allreduce", "all_reduce", "cross_device_reduce", "reduce_scatter"];
    let bytes = kernel.as_bytes();
    let has = |name: &str| bytes.windows(name.len()).any(|part| part.eq_ignore_ascii_case(name.as_bytes()));
    NAMES.iter().any(|name| has(name))
}

/// The operations of a trace that exchange data between GPUs.
pub struct Communicating<'a> {
    trace: &'a Trace,
    /// By the kernel's name.
    known: FxHashMap<Sym, bool>,
}

impl<'a> Communicating<'a> {
    /// The operations of a trace.
    pub fn new(trace: &'a Trace) -> Communicating<'a> {
        Communicating { trace, known: FxHashMap::default() }
    }

    /// Whether an operation is a kernel that communicates, or a copy to another GPU.
    pub fn has(&mut self, op: OpId) -> bool {
        let (ops, at) = (&self.trace.ops, op.index());
        match ops.kind[at] {
            OpKind::Kernel => {
                let name = ops.name[at];
                *self.known.entry(name).or_insert_with(|| communicates(self.trace.text(name)))
            }
            OpKind::Copy => ops.copy[at] == CopyKind::PtoP,
            OpKind::Unknown | OpKind::Memset | OpKind::Graph => false,
        }
    }
}

/// The kind of collective, or of another exchange in which every rank takes part, of which this is a rank's kernel:
/// `AllReduce` for `ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)`, `ncclKernel_AllReduce_…` and `ncclAllReduceRingLLKernel_…`.
/// `None` for other kernels, and for those of NCCL and RCCL whose name does not state it.
pub fn collective(kernel: &str) -> Option<&'static str> {
    // `Reduce` is a part of other names: it is last.
    const KINDS: [&str; 6] = ["AllReduce", "ReduceScatter", "AllGather", "Broadcast", "SendRecv", "Reduce"];
    let kernel = kernel.strip_prefix("nccl")?;
    KINDS.into_iter().find(|kind| kernel.contains(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_collective_is_told_by_name() {
        for (kernel, kind) in [
            ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Some("AllReduce")),
            ("ncclKernel_ReduceScatter_RING_LL_Sum_float", Some("ReduceScatter")),
            ("ncclAllGatherRingLLKernel_sum_i8(ncclColl)", Some("AllGather")),
            ("ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*)", Some("Broadcast")),
            ("ncclDevKernel_Reduce_Sum_f32_RING_LL", Some("Reduce")),
            ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", Some("SendRecv")),
            ("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", None),
            ("void at::native::reduce_kernel<512, 1>", None),
            ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>", None),
        ] {
            assert_eq!(collective(kernel), kind, "{kernel}");
        }
    }

    #[test]
    fn kernels_that_exchange_data_between_gpus_are_told_by_name() {
        for kernel in [
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "ncclKernel_ReduceScatter_RING_LL_Sum_float",
            "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>",
            "void tensorrt_llm::kernels::oneShotAllReduceKernel<half>",
        ] {
            assert!(communicates(kernel), "{kernel}");
        }
        for kernel in ["", "gemm", "void at::native::reduce_kernel<512, 1>", "cncl"] {
            assert!(!communicates(kernel), "{kernel}");
        }
    }

    #[test]
    fn names_of_all_three_interfaces_fall_into_their_classes() {
        let blocking = true;
        for (name, class) in [
            ("cudaLaunchKernelExC", Class::Launch),
            ("cuGraphLaunch", Class::Launch),
            ("hipExtLaunchKernel", Class::Launch),
            ("cudaLaunch", Class::Launch),
            ("cudaMemcpy", Class::Copy { blocking }),
            ("cuMemcpyDtoHAsync_v2", Class::Copy { blocking: false }),
            ("cudaMemset", Class::Fill),
            ("cudaFreeAsync", Class::Other),
            ("cudaFreeHost", Class::Release),
            ("cuMemFree_v2", Class::Release),
            ("cuMemcpyDtoHAsync", Class::Copy { blocking: false }),
            ("cuMemcpyDtoH", Class::Copy { blocking }),
            ("cuMemcpy2DAsync", Class::Copy { blocking: false }),
            ("cuMemsetD32Async", Class::Fill),
            ("cuLaunchKernelEx", Class::Launch),
            ("cuLaunchCooperativeKernel", Class::Launch),
            ("cuLaunchHostFunc", Class::Other),
            ("cuMemAlloc", Class::Allocate),
            ("cuMemAllocAsync", Class::Other),
            ("cuMemHostAlloc", Class::Allocate),
            ("cuArray3DCreate", Class::Allocate),
            ("cuMemFreeHost", Class::Release),
            ("cuMemFreeAsync", Class::Other),
            ("cuMemUnmap", Class::Release),
            ("cuDevicePrimaryCtxRetain", Class::Create),
            ("cuDevicePrimaryCtxRelease", Class::Release),
            ("cuStreamDestroy_v2", Class::Create),
            ("cuModuleGetFunction", Class::Load),
            ("cuStreamSynchronize", Class::Sync),
            ("cuCtxSynchronize", Class::Sync),
            ("cuCtxGetCurrent", Class::Query),
            ("cuPointerGetAttributes", Class::Query),
            ("cuMemHostRegister_v2", Class::Allocate),
            ("cuLibraryLoadData", Class::Load),
            ("cudaStreamGetPriority", Class::Query),
            ("cudaEventSynchronize", Class::Sync),
            ("aten::copy_", Class::Other),
            ("cudnnConvolutionForward", Class::Other),
        ] {
            assert_eq!(classify(name), class, "{name}");
        }
    }
}
