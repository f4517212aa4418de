//! Names that are no secret of a program: those of CUDA, of its libraries, of the operating system and of well-known frameworks.

/// Starts of the functions of CUDA and of the libraries that come with it.
const FUNCTIONS: [&str; 18] = [
    "libcudart_static_",
    "cuda",
    "hip",
    "nccl",
    "rccl",
    "cublas",
    "cudnn",
    "cusparse",
    "cusolver",
    "cufft",
    "curand",
    "nvrtc",
    "nvJitLink",
    "nvtx",
    "cupti",
    "pthread_",
    "MPI_",
    "PMPI_",
];

/// Functions of the C library that a trace may have waits or calls of.
const OF_C: [&str; 8] =
    ["sem_wait", "sem_timedwait", "sem_post", "sem_clockwait", "malloc", "free", "dlopen", "dlsym"];

/// Starts of the files of CUDA's libraries, of the C and C++ libraries, and of frameworks.
const LIBRARIES: [&str; 46] = [
    "libcuda",
    "libcudart",
    "libcublas",
    "libcudnn",
    "libcufft",
    "libcurand",
    "libcusolver",
    "libcusparse",
    "libcupti",
    "libnccl",
    "libnvrtc",
    "libnvJitLink",
    "libnvidia",
    "libnvptxcompiler",
    "libnvvm",
    "libnvshmem",
    "libnvToolsExt",
    "libToolsInjection",
    "libc.so",
    "libc-",
    "libpthread",
    "libstdc++",
    "libgcc_s",
    "libm.so",
    "libm-",
    "libdl.so",
    "librt.so",
    "ld-linux",
    "linux-vdso",
    "libffi",
    "libgomp",
    "libomp",
    "libiomp5",
    "libmpi",
    "libopen-pal",
    "libopen-rte",
    "libucp",
    "libuct",
    "libucs",
    "libpython",
    "libtorch",
    "libc10",
    "libtensorflow",
    "libllvmlite",
    "libtriton",
    "libholdup_capture",
];

/// Packages of Python whose names say nothing about the program that uses them.
const PACKAGES: [&str; 25] = [
    "torch",
    "torchvision",
    "torchaudio",
    "triton",
    "numpy",
    "scipy",
    "pandas",
    "cupy",
    "cupy_backends",
    "cupyx",
    "jax",
    "jaxlib",
    "jax_plugins",
    "flax",
    "optax",
    "orbax",
    "numba",
    "tensorflow",
    "nvidia",
    "transformers",
    "accelerate",
    "deepspeed",
    "safetensors",
    "h5py",
    "vllm",
];

/// Modules of Python's own library.
const OF_PYTHON: [&str; 44] = [
    "threading",
    "contextlib",
    "queue",
    "selectors",
    "socket",
    "ssl",
    "subprocess",
    "pickle",
    "copy",
    "random",
    "runpy",
    "functools",
    "zipfile",
    "gzip",
    "tarfile",
    "tempfile",
    "shutil",
    "multiprocessing",
    "concurrent",
    "asyncio",
    "logging",
    "json",
    "http",
    "urllib",
    "importlib",
    "email",
    "os",
    "io",
    "re",
    "abc",
    "ast",
    "codecs",
    "collections",
    "ctypes",
    "dataclasses",
    "enum",
    "inspect",
    "pathlib",
    "signal",
    "socketserver",
    "traceback",
    "typing",
    "warnings",
    "weakref",
];

/// Namespaces of the libraries whose kernels may appear under their own names.
const NAMESPACES: [&str; 20] = [
    "at", "c10", "torch", "cub", "thrust", "cuda", "cutlass", "cute", "std", "cublasLt", "cublas", "cudnn",
    "nccl", "flash", "raft", "cufft", "cusparse", "cusolver", "xla", "nvte",
];

/// Words of C++ in the names of kernels.
const WORDS: [&str; 34] = [
    "void",
    "bool",
    "char",
    "short",
    "int",
    "long",
    "float",
    "double",
    "half",
    "unsigned",
    "signed",
    "const",
    "volatile",
    "true",
    "false",
    "anonymous",
    "namespace",
    "lambda",
    "operator",
    "enum",
    "struct",
    "__half",
    "__half2",
    "__nv_bfloat16",
    "__nv_bfloat162",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "size_t",
];

/// Starts of kernels of NVIDIA's and PyTorch's libraries that are in no namespace.
const KERNELS: [&str; 26] = [
    "nrm2_kernel",
    "dot_kernel",
    "reduce_1Block_kernel",
    "gemvNSP_kernel",
    "ncclDevKernel",
    "ncclKernel",
    "ncclAllReduce",
    "ncclAllGather",
    "ncclBroadcast",
    "ncclReduce",
    "ampere_",
    "volta_",
    "turing_",
    "hopper_",
    "sm50_xmma_",
    "sm70_xmma_",
    "sm75_xmma_",
    "sm80_xmma_",
    "sm86_xmma_",
    "sm89_xmma_",
    "sm90_xmma_",
    "sm100_xmma_",
    "cutlass_",
    "cudnn_",
    "cupy_",
    "nvjet_",
];

/// Starts of types of NVIDIA's libraries that are in no namespace.
const OF_LIBRARIES: [&str; 5] = ["cublas", "cudnn", "cufft", "cusparse", "cusolver"];

/// Starts of the ranges with which libraries mark their own work, after which nothing of the program follows, or a part that does not stay.
pub(super) const RANGES: [&str; 19] = [
    "ProfilerStep#",
    "Optimizer.step#",
    "Optimizer.zero_grad#",
    "enumerate(DataLoader)#",
    "Torch-Compiled Region",
    "## Call CompiledFxGraph",
    "DistributedDataParallel.",
    "FullyShardedDataParallel.",
    "FSDP::",
    "nccl:",
    "NCCL:",
    "gloo:",
    "CCCL:",
    "cuBLAS:",
    "Python GC",
    "IteratorGetNext",
    "Iterator::",
    "TSL:",
    "Xla",
];

/// Domains of NVTX ranges that libraries have.
const DOMAINS: [&str; 9] =
    ["NCCL", "CCCL", "cuBLAS", "cuDNN", "cuSPARSE", "cuFFT", "TSL", "CUDA Python", "nvtx"];

/// Words in the names of ranges by which steps are told from other ranges.
pub(super) const STEPS: [&str; 5] = ["step", "iter", "batch", "request", "token"];

/// Names with which the C library, the loader and the interpreter call places without a file.
const PLACES: [&str; 3] = ["<string>", "<stdin>", "<frozen "];

fn is_identifier(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a function is CUDA's, of a library that comes with it, or of the operating system.
pub(super) fn function(name: &str, is_system: bool) -> bool {
    let is_driver =
        || name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
    let is_cuda = || FUNCTIONS.iter().any(|start| name.starts_with(start)) || is_driver();
    is_identifier(name) && (is_system || OF_C.contains(&name) || is_cuda())
}

/// Whether a text is what holdup itself calls a system call and its use: `read(file)`.
pub(super) fn system_call(text: &str) -> bool {
    text.len() <= 40
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_()".contains(&byte))
}

/// The file's name of a well-known library or of an interpreter; `None` for any other.
pub(super) fn library(path: &str) -> Option<&str> {
    let file = path.rsplit('/').next().unwrap_or(path);
    let of_python = file
        .strip_prefix("python")
        .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
    let is_known =
        LIBRARIES.iter().any(|start| file.starts_with(start)) || of_python || file.starts_with("[v");
    (is_known && file.len() <= 80).then_some(file)
}

/// The end of a path of a well-known package or of Python's own library, by which rules know it; `None` for any other.
pub(super) fn source(path: &str) -> Option<String> {
    if PLACES.iter().any(|start| path.starts_with(start)) || path.starts_with("/usr/include/") {
        return Some(path.to_owned());
    }
    let first = |path: &str| path.split(['/', '.']).next().unwrap_or_default().to_owned();
    let of_package = |path: &str| PACKAGES.contains(&first(path).as_str());
    if let Some((_, within)) = path.rsplit_once("-packages/") {
        return of_package(within).then(|| format!("site-packages/{within}"));
    }
    if let Some((_, within)) = path.rsplit_once("/lib/python")
        && let Some((version, module)) = within.split_once('/')
        && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        return OF_PYTHON.contains(&first(module).as_str()).then(|| format!("/lib/python{version}/{module}"));
    }
    // A profiler writes paths from the folder on, in which Python finds modules.
    let is_short = !path.starts_with(['/', '<']) && path.contains('/');
    let is_module =
        || OF_PYTHON.contains(&first(path).as_str()) && path.ends_with(".py") && !path.starts_with('/');
    (is_short && of_package(path) || is_module()).then(|| path.to_owned())
}

/// Whether every part of a kernel's name is of a well-known library.
pub(super) fn kernel(name: &str) -> bool {
    let bare = name.strip_prefix("void ").unwrap_or(name);
    let is_listed = KERNELS.iter().any(|start| bare.starts_with(start));
    let plain = bare.split(['(', '<']).next().unwrap_or(bare);
    match is_listed {
        true => is_identifier(plain) && parts_are_known(&bare[plain.len()..]),
        false => bare.contains("::") && parts_are_known(bare),
    }
}

/// Whether each identifier of a text is a word of C++, or begins in a well-known namespace.
fn parts_are_known(text: &str) -> bool {
    let parts = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
    parts.map(|part| part.trim_matches(':')).all(|part| {
        let first = part.split("::").next().unwrap_or_default();
        let is_number = first.starts_with(|c: char| c.is_ascii_digit());
        let is_name = part.contains("::") && NAMESPACES.contains(&first);
        let is_listed = || KERNELS.iter().chain(&OF_LIBRARIES).any(|start| part.starts_with(start));
        is_number || first.is_empty() || WORDS.contains(&part) || is_name || is_listed()
    })
}

/// Whether an operator is PyTorch's own.
pub(super) fn operator(name: &str) -> bool {
    ["aten::", "c10d::", "prims::"].iter().any(|start| name.strip_prefix(start).is_some_and(is_identifier))
}

/// Whether a domain of ranges is a library's.
pub(super) fn domain(name: &str) -> bool {
    DOMAINS.contains(&name)
}

/// Whether a library of which a trace knows the version is CUDA's or a framework.
pub(super) fn versioned(name: &str) -> bool {
    let lower = name.to_lowercase();
    [
        "cu",
        "nccl",
        "nvrtc",
        "nvjitlink",
        "cupti",
        "torch",
        "pytorch",
        "triton",
        "python",
        "numpy",
        "jax",
        "tensorflow",
    ]
    .iter()
    .any(|start| lower.starts_with(start))
        && name.len() <= 30
}

/// Whether a text is a version.
pub(super) fn version(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".-_+ ".contains(c);
    text.len() <= 40 && text.chars().all(is_part) && text.contains(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_cuda_stay_and_others_do_not() {
        for name in
            ["cudaLaunchKernel", "cuMemcpyDtoHAsync", "ncclAllReduce", "pthread_mutex_lock", "cublasSnrm2"]
        {
            assert!(function(name, false), "{name}");
        }
        for name in ["cut_customers", "current", "train", "cudaFoo(Secret)", "my::cuda"] {
            assert!(!function(name, false), "{name}");
        }
        assert!(function("read", true) && !function("read", false));
    }

    #[test]
    fn kernels_of_known_libraries_stay_unless_a_part_is_the_programs() {
        for name in [
            "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)",
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "ampere_sgemm_128x64_nn",
            "void nrm2_kernel<float, float, float, 1, 0, 128>(cublasNrm2Params<int, float, float>)",
            "void at::native::vectorized_elementwise_kernel<4, at::native::sin_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, (unsigned long)2> >(int)",
            "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>",
        ] {
            assert!(kernel(name), "{name}");
        }
        for name in [
            "void at::native::vectorized_elementwise_kernel<4, SecretFunctor, 1>",
            "secret_kernel(float*, int)",
            "void acme::pricing<float>(float*)",
            "triton_poi_fused_add_0",
            "void (anonymous namespace)::softmax_warp_forward<float, 9, at::native::Max>(float*)",
            "empty",
        ] {
            assert!(!kernel(name), "{name}");
        }
    }

    #[test]
    fn paths_of_packages_begin_with_the_package() {
        let packages = "/home/ann/venv/lib/python3.12/site-packages";
        let torch = format!("{packages}/torch/serialization.py");
        assert_eq!(source(&torch).as_deref(), Some("site-packages/torch/serialization.py"));
        assert_eq!(source(&format!("{packages}/acme/model.py")), None);
        assert_eq!(
            source("/home/ann/lib/python3.12/threading.py").as_deref(),
            Some("/lib/python3.12/threading.py")
        );
        assert_eq!(source("/home/ann/lib/python3.12/secret.py"), None);
        assert_eq!(source("torch/nn/modules/module.py").as_deref(), Some("torch/nn/modules/module.py"));
        assert_eq!(source("/home/ann/torch/train.py"), None);
        assert_eq!(source("train.py"), None);
        assert_eq!(library("/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05"), Some("libcuda.so.580.95.05"));
        assert_eq!(library("/home/ann/libcuts.so"), None);
        assert_eq!(library("/usr/bin/python3.11"), Some("python3.11"));
    }
}
