//! Code of the program, of libraries, and of what runs both.

use trace::{Frame, Trace};

/// Whether a source file or a module is the user's, not a library's.
pub(super) fn is_own_code(file: &str) -> bool {
    let library =
        ["site-packages/", "dist-packages/", "/lib/python", "<frozen", "<string>", "/torchinductor_"];
    // A profiler writes paths from the folder on, in which Python finds modules.
    let package = [
        "torch/",
        "numpy/",
        "scipy/",
        "pandas/",
        "PIL/",
        "cv2/",
        "sklearn/",
        "requests/",
        "urllib3/",
        "tqdm/",
        "triton/",
        "threading.py",
        "contextlib.py",
        "queue.py",
        "selectors.py",
        "socket.py",
        "ssl.py",
        "subprocess.py",
        "pickle.py",
        "copy.py",
        "random.py",
        "runpy.py",
        "functools.py",
        "zipfile.py",
        "gzip.py",
        "tarfile.py",
        "tempfile.py",
        "shutil.py",
        "multiprocessing/",
        "concurrent/",
        "asyncio/",
        "logging/",
        "json/",
        "http/",
        "urllib/",
        "importlib/",
        "email/",
        "/usr/include/",
    ];
    // Headers of the compiler's and CUDA's, inlined, and what nvcc writes around a kernel.
    let headers =
        ["/include/c++/", "-linux/include/", "-linux-gnu/include/", "/cuda/include/", ".cudafe1.stub.c"];
    !library.iter().chain(&headers).any(|part| file.contains(part))
        && !package.iter().any(|start| file.starts_with(start))
}

/// How functions of libraries begin that do what their callers ask for, whatever module they are in: of C and C++, of interpreters, and of
/// Java's standard packages, as HotSpot writes them for profilers.
const OF_LIBRARIES: [&str; 27] = [
    "uv_",
    "pthread_",
    "std::",
    "absl::",
    "nsync::",
    "boost::asio::",
    "MPI_",
    "PMPI_",
    "_Py",
    "PyEval_",
    "PyObject_",
    "take_gil",
    "os::PlatformEvent::",
    "ObjectMonitor::",
    "Monitor::",
    "VMThread::",
    "G1CollectedHeap::",
    "CollectedHeap::",
    "JVM_",
    "Unsafe_",
    "Ljava/",
    "Lsun/",
    // What runs Julia's code, and what CUDA.jl calls the driver with, as Julia names compiled methods.
    "jl_",
    "ijl_",
    "julia_cudacall",
    "julia_launch",
    "julia_macro_expansion",
];

/// Whether a native frame has a name and is outside CUDA's, the tracer's and the C libraries.
pub(super) fn is_own_module(trace: &Trace, frame: &Frame) -> bool {
    let function = trace.text(frame.function);
    // The runtime may be linked into the program, and wrappers in its headers always are.
    let theirs_inlined = function.starts_with("libcudart_static") || is_runtime_function(function);
    // Whatever library these are in, their caller is of the program.
    let theirs_inlined = theirs_inlined || OF_LIBRARIES.iter().any(|start| function.starts_with(start));
    let named = !function.is_empty() && !function.starts_with("0x") && !function.starts_with('[');
    let file = file_name(trace.text(frame.module));
    let compiles = ["libLLVM", "libnvrtc", "libnvJitLink", "libnvvm"];
    let compiles = compiles.iter().any(|start| file.starts_with(start));
    // The `main` of a program that runs others says nothing of these.
    let interprets = ["julia", "java", "node"].contains(&file) || file.starts_with("python");
    named && !theirs_inlined && !compiles && !interprets && is_beyond_cuda(trace, frame)
}

/// Whether a native frame is in a library or a program, but not in CUDA's, the tracer's or the C libraries.
fn is_beyond_cuda(trace: &Trace, frame: &Frame) -> bool {
    let theirs = [
        "libcuda",
        "libcupti",
        "libc.so",
        "libc-",
        "libpthread",
        "libToolsInjection",
        "libnvidia",
        "libstdc++",
        "libm.so",
        "libm-",
        "libgfortran",
        "libmpi",
        "libopen-",
        "libucp",
        "libuct",
        "libucs",
        "libjulia",
        "sys.so",
    ];
    let file = file_name(trace.text(frame.module));
    !file.is_empty() && !theirs.iter().any(|start| file.starts_with(start))
}

/// Whether a native frame says what a thread does: it is in no library of CUDA's, C's or C++'s, and does not only interpret.
pub(crate) fn is_telling(trace: &Trace, frame: &Frame) -> bool {
    let file = file_name(trace.text(frame.module));
    let theirs = ["libstdc++", "libgcc_s", "libm.so", "ld-linux", "libpython", "python3", "[", "libffi"];
    let passes_on = [
        "_Py",
        "Py",
        "pybind11::",
        "cfunction_",
        "std::",
        "THP",
        "[",
        "c10::impl::wrap_",
        "at::_ops::",
        "at::(anon",
    ];
    let function = trace.text(frame.function);
    is_beyond_cuda(trace, frame)
        && !is_runtime_function(function)
        && !theirs.iter().any(|start| file.starts_with(start))
        && !passes_on.iter().any(|start| function.starts_with(start))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `cudaMemcpyAsync`, `cudaError cudaMalloc<float>(float**, unsigned long)`, or a function of the runtime that is linked statically.
fn is_runtime_function(name: &str) -> bool {
    if name.starts_with("libcudart_static_") {
        return true;
    }
    let name = name.rsplit(' ').find(|word| word.starts_with("cuda")).unwrap_or(name);
    name.strip_prefix("cuda").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}
