//! Known work: functions and ranges of libraries, each with the word that people have for the work below it.

use crate::facts::handles::{are_churned, handle};
use crate::facts::places::built_in;
use crate::{Cause, Place};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use trace::{FrameId, StackId, Trace};

/// A known kind of work.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Mark(u8);

/// A row of [`KINDS`]; the first ones count before others.
struct Kind {
    cause: Cause,
    /// Its name.
    title: &'static str,
    /// Parts of a source file's or a module's path; any file, if it is empty.
    file: &'static str,
    /// Starts of the function's name after its last dot or colon, or namespaces; any function, if there are none.
    functions: &'static [&'static str],
}

const fn kind(
    cause: Cause,
    title: &'static str,
    file: &'static str,
    functions: &'static [&'static str],
) -> Kind {
    Kind { cause, title, file, functions }
}

/// The known kinds, by library. Of several in one stack the first counts: a kernel that is built while data are loaded is a kernel
/// that is built. Names are those of PyTorch 2.0 to 2.11, Triton 3, JAX 0.4 to 0.9, CuPy 13, Numba 0.60 and CPython 3.10 to 3.14.
const KINDS: &[Kind] = {
    use Cause::{
        CollectiveWait, DataLoading, Feeding, FileReading, FileWriting, GarbageCollection, HostCode,
        KernelBuild, Lock, NoDemand, ObjectChurn,
    };
    &[
        // No name has these: the calls around a pause show the first, and rounds of making and destroying the second.
        kind(KernelBuild, "", "\0", &[]),
        kind(ObjectChurn, "", "\0", &[]),
        kind(KernelBuild, "Triton", "triton/compiler/", &[]),
        kind(KernelBuild, "Triton", "triton/runtime/jit.py", &["_do_compile", "compile"]),
        kind(KernelBuild, "Triton's autotuner", "triton/runtime/autotuner.py", &["_bench", "benchmark"]),
        kind(KernelBuild, "torch.compile", "torch/_dynamo/convert_frame.py", &["_compile", "compile_"]),
        kind(KernelBuild, "torch.compile", "torch/_inductor/compile_fx.py", &["compile_fx", "_compile_fx"]),
        kind(KernelBuild, "torch.compile", "torch/_inductor/async_compile.py", &[]),
        kind(
            KernelBuild,
            "torch.compile",
            "triton_heuristics.py",
            &["precompile", "_precompile", "benchmark"],
        ),
        kind(KernelBuild, "a C++ extension", "torch/utils/cpp_extension.py", &[]),
        kind(KernelBuild, "NVRTC", "cupy/cuda/compiler.py", &[]),
        kind(KernelBuild, "XLA", "jax/_src/compiler.py", &[]),
        kind(
            KernelBuild,
            "XLA",
            "jax/_src/interpreters/pxla.py",
            &["_cached_compilation", "compile", "lower_"],
        ),
        kind(KernelBuild, "XLA", "", &["CompileToTargetBinary", "CompileToBackendResult", "RunBackend"]),
        kind(
            ObjectChurn,
            "torch.compile's graphs",
            "torch/_inductor/cudagraph_trees.py",
            &["_record", "record_function"],
        ),
        kind(KernelBuild, "cuDNN", "", CUDNN),
        kind(KernelBuild, "Numba", "numba/core/compiler", &[]),
        kind(KernelBuild, "Numba", "numba/cuda/compiler.py", &[]),
        kind(KernelBuild, "NVRTC", "libnvrtc", &[]),
        kind(KernelBuild, "nvJitLink", "libnvJitLink", &[]),
        kind(KernelBuild, "ptxas", "libnvptxcompiler", &[]),
        kind(KernelBuild, "NVVM", "libnvvm", &[]),
        kind(KernelBuild, "LLVM", "libllvmlite", &[]),
        kind(KernelBuild, "LLVM", "libLLVM", &[]),
        kind(KernelBuild, "Julia's compiler", "libjulia-codegen", &[]),
        kind(
            GarbageCollection,
            "Python's collector",
            "",
            &["gc_collect_", "_PyGC_Collect", "PyGC_Collect", "collect>"],
        ),
        kind(GarbageCollection, "Julia's collector", "", &["ijl_gc_collect", "jl_gc_collect"]),
        kind(GarbageCollection, "Java's collector", "libjvm", JAVA_GC),
        kind(Cause::Gil, "", "", &["take_gil", "PyEval_RestoreThread", "PyGILState_Ensure"]),
        kind(DataLoading, "DataLoader", "torch/utils/data/_utils/worker.py", &["_worker_loop"]),
        kind(DataLoading, "DataLoader", "torch/utils/data/dataloader.py", LOADER),
        kind(DataLoading, "DataLoader", "torch/utils/data/_utils/fetch.py", &[]),
        kind(DataLoading, "tf.data", "tensorflow/python/data/", &[]),
        kind(DataLoading, "tf.data", "", &["tensorflow::data::"]),
        kind(DataLoading, "DALI", "nvidia/dali/", &[]),
        kind(DataLoading, "Grain", "grain/_src/", &[]),
        kind(DataLoading, "WebDataset", "webdataset/", &[]),
        kind(DataLoading, "Datasets", "datasets/iterable_dataset.py", &[]),
        // A range of the program's own says that it loads data.
        kind(DataLoading, "", "\0", &[]),
        kind(FileWriting, "torch.save", "torch/serialization.py", &["save", "_save", "_legacy_save"]),
        kind(
            FileWriting,
            "torch.distributed.checkpoint",
            "torch/distributed/checkpoint/",
            &["save", "_save"],
        ),
        kind(FileWriting, "safetensors", "safetensors/", &["save", "serialize"]),
        kind(FileWriting, "numpy.save", "numpy/lib/", &["save", "_save", "savez"]),
        kind(FileWriting, "Orbax", "orbax/checkpoint/", &["save"]),
        kind(FileWriting, "h5py", "h5py/", &["__setitem__", "create_dataset", "write", "flush"]),
        kind(FileWriting, "", "libc.so", WRITERS),
        kind(FileWriting, "logging", "logging/__init__.py", &["emit", "flush"]),
        kind(FileReading, "torch.load", "torch/serialization.py", &["load", "_load", "_legacy_load"]),
        kind(FileReading, "safetensors", "safetensors/", &["load", "safe_open", "get_tensor"]),
        kind(FileReading, "numpy.load", "numpy/lib/", &["load", "read_array", "genfromtxt"]),
        kind(FileReading, "h5py", "h5py/", &["__getitem__", "read_direct"]),
        kind(FileReading, "pandas", "pandas/io/", &["read_", "read", "_read"]),
        kind(FileReading, "", "libc.so", READERS),
        kind(
            Feeding,
            "jax.device_put",
            "jax/_src/interpreters/pxla.py",
            &["shard_args", "batched_device_put"],
        ),
        kind(Feeding, "jax.device_put", "jax/_src/dispatch.py", &["_device_put", "device_put"]),
        kind(Feeding, "jax.device_put", "", &["LinearizeIntoImpl", "Linearize", "BufferFromHostBuffer"]),
        kind(Feeding, "cupy.asarray", "cupy/_creation/from_data.py", &[]),
        kind(CollectiveWait, "MPI", "", MPI),
        kind(CollectiveWait, MESSAGES, "", MPI_MESSAGES),
        kind(CollectiveWait, "gloo", "", &["gloo::"]),
        kind(NoDemand, "Triton's Python backend", "", &["triton::backend::python::"]),
        kind(NoDemand, "vLLM's queue", "shm_broadcast.py", &["acquire_read", "dequeue"]),
        kind(NoDemand, "", "selectors.py", &["select"]),
        kind(Lock, "OpenMP", "libgomp.so", &[]),
        kind(Lock, "OpenMP", "libomp.so", &[]),
        kind(Lock, "OpenMP", "libiomp5.so", &[]),
        kind(Lock, "", "/condition_variable", &["wait"]),
        kind(Lock, "", "libc.so", &["pthread_cond_", "__pthread_cond_", "sem_wait", "__new_sem_wait"]),
        kind(HostCode, "torch.optim, tensor by tensor", "torch/optim/", &["_single_tensor_"]),
    ]
};

/// Functions of cuDNN's frontend, which is compiled into its users.
const CUDNN: &[&str] =
    &["create_cudnn_execution_plan", "create_execution_plans", "build_plans", "build_operation_graph"];

/// Functions of HotSpot's that ask for a collection, or do it.
const JAVA_GC: &[&str] =
    &["JVM_GC", "collect", "do_collection", "do_full_collection", "G1FullCollector::", "PSParallelCompact::"];

/// Functions of MPI's in which all ranks wait for the last one.
const MPI: &[&str] = &[
    "MPI_Barrier",
    "PMPI_Barrier",
    "MPI_Allreduce",
    "PMPI_Allreduce",
    "MPI_Allgather",
    "PMPI_Allgather",
    "MPI_Alltoall",
    "PMPI_Alltoall",
    "MPI_Bcast",
    "PMPI_Bcast",
    "MPI_Reduce",
    "PMPI_Reduce",
];

/// The name of the work of a finding whose time is for messages between ranks.
pub const MESSAGES: &str = "MPI's messages";

/// Functions of MPI's that wait for messages, and those in which Open MPI and MPICH do.
const MPI_MESSAGES: &[&str] = &[
    "MPI_Wait",
    "PMPI_Wait",
    "MPI_Recv",
    "PMPI_Recv",
    "MPI_Sendrecv",
    "PMPI_Sendrecv",
    "opal_progress",
    "ucp_worker_progress",
];

/// Functions of the C library that open files, or read from files alone; `read` may be from a socket or a pipe.
const READERS: &[&str] =
    &["fopen", "open64", "__open", "openat", "fread", "pread", "__libc_pread", "getdelim", "readdir"];

/// Functions of the C library that write to files alone, or make them; `write` may be to a socket or a pipe.
const WRITERS: &[&str] = &[
    "fsync",
    "fdatasync",
    "msync",
    "pwrite",
    "__libc_pwrite",
    "ftruncate",
    "fallocate",
    "posix_fallocate",
    "fwrite",
    "fflush",
    "fclose",
    "fputs",
    "rename",
    "unlink",
];

const LOADER: &[&str] = &["__next__", "_next_data", "_get_data", "_try_get_data", "_try_put_index"];

/// Ranges with which libraries mark known work: how their names start and end, and the cause and the title of a row of [`KINDS`].
/// PyTorch marks its data loader, Python's collector and each phase of a compilation, XLA those of its compiler (in the domain TSL).
const RANGES: [(&str, &str, Cause, &str); 13] = [
    ("Python GC", "", Cause::GarbageCollection, "Python's collector"),
    ("IteratorGetNext", "", Cause::DataLoading, "tf.data"),
    ("Iterator::", "", Cause::DataLoading, "tf.data"),
    ("gloo:", "", Cause::CollectiveWait, "gloo"),
    ("", "CUDAGraphNode.record (dynamo_timed)", Cause::ObjectChurn, "torch.compile's graphs"),
    ("enumerate(DataLoader)#", "", Cause::DataLoading, "DataLoader"),
    ("", " (dynamo_timed)", Cause::KernelBuild, "torch.compile"),
    ("entire_frame_compile", "", Cause::KernelBuild, "torch.compile"),
    ("XlaCompile", "", Cause::KernelBuild, "XLA"),
    ("XlaEmit", "", Cause::KernelBuild, "XLA"),
    ("XlaOptimize", "", Cause::KernelBuild, "XLA"),
    ("XlaPassPipeline", "", Cause::KernelBuild, "XLA"),
    ("XlaAutotun", "", Cause::KernelBuild, "XLA"),
];

/// Starts of the names of ranges with which libraries mark their own work: XLA (in the domain TSL), PyTorch's
/// compiler, optimizers, data loader and distributed wrappers, NCCL, and CUDA's C++ core libraries.
const OF_LIBRARIES: [&str; 15] = [
    "Xla",
    "Thunk:",
    "## Call CompiledFxGraph",
    "Torch-Compiled Region",
    "Optimizer.step#",
    "Optimizer.zero_grad#",
    "enumerate(DataLoader)#",
    "DistributedDataParallel.",
    "FullyShardedDataParallel.",
    "FSDP::",
    "nccl",
    "gloo:",
    "NCCL:",
    "CCCL:",
    "cuBLAS:",
];

/// The name of a range without the domain of the library that XLA is built on, in which programs mark their own as well.
fn without_tsl(name: &str) -> &str {
    name.strip_prefix("TSL:").unwrap_or(name)
}

/// Whether a library marks its own work with a range of this name: its caller need not know of it.
pub(crate) fn is_of_library(name: &str) -> bool {
    let name = without_tsl(name);
    OF_LIBRARIES.iter().any(|start| name.starts_with(start))
        || !loads_data(name) && Mark::of_range(name).is_some()
}

impl Mark {
    /// A kernel that is built by nobody knows whom.
    pub const BUILD: Mark = Mark(0);

    /// A handle of a library, which is made or destroyed.
    pub const HANDLE: Mark = Mark(1);

    fn kind(self) -> &'static Kind {
        &KINDS[usize::from(self.0)]
    }

    /// The cause of time in such work.
    pub fn cause(self) -> Cause {
        self.kind().cause
    }

    /// The name of the work: `torch.save`; empty if unknown.
    pub fn title(self) -> &'static str {
        self.kind().title
    }

    /// The builder of kernels in long pauses within an operator of this name: cuDNN makes its plans, or tries its algorithms.
    pub fn builder_within(operator: &str) -> Option<Mark> {
        let row = || KINDS.iter().position(|kind| kind.cause == Cause::KernelBuild && kind.title == "cuDNN");
        operator.starts_with("aten::cudnn_convolution").then(row).flatten().and_then(Mark::of_row)
    }

    /// Whether a native library does it, by the names of its functions alone.
    pub fn is_native(self) -> bool {
        self.kind().file.is_empty()
    }

    /// Whether a place is in the library that does it.
    pub fn is_in(self, place: &Place) -> bool {
        fn first(path: &str) -> &str {
            path.split('/').next().unwrap_or("")
        }
        // A profiler writes paths from the folder on, in which Python finds modules.
        let within = place.file.rsplit_once("-packages/").map_or(place.file.as_str(), |(_, within)| within);
        let library = first(self.kind().file);
        !library.is_empty() && first(within) == library
    }

    /// Whether a thread sleeps in it: time awake there is of what comes before or after.
    pub fn is_sleep(self) -> bool {
        matches!(self.cause(), Cause::Lock | Cause::NoDemand) && self.title().is_empty()
    }

    /// Whether an optimizer updates one tensor at a time.
    pub fn is_of_one_tensor(self) -> bool {
        self.cause() == Cause::HostCode
    }

    /// Whether it is a runtime that runs threads of the program, and waits or shares work out itself where nothing is above it.
    fn runs_threads(self) -> bool {
        self.title() == "OpenMP"
    }

    fn of_row(row: usize) -> Option<Mark> {
        u8::try_from(row).ok().map(Mark)
    }

    /// The known work of a function in a file or a module.
    fn of(file: &str, function: &str) -> Option<Mark> {
        let own = last_name(function);
        let is_it = |kind: &Kind| {
            let is_named = |start: &str| match start.ends_with("::") {
                true => function.contains(start),
                false => own.starts_with(start),
            };
            let named = kind.functions.iter().any(|start| is_named(start));
            file.contains(kind.file) && (named || kind.functions.is_empty() && !kind.file.is_empty())
        };
        KINDS.iter().position(is_it).and_then(Mark::of_row)
    }

    /// The known work of a marked range.
    pub fn of_range(name: &str) -> Option<Mark> {
        let name = without_tsl(name);
        let is_it = |row: &&(&str, &str, _, _)| name.starts_with(row.0) && name.ends_with(row.1);
        let of_mpi = || {
            let title = [("MPI", MPI), (MESSAGES, MPI_MESSAGES)]
                .into_iter()
                .find(|(_, functions)| functions.iter().any(|start| name.starts_with(start)));
            title.map(|(title, _)| (Cause::CollectiveWait, title))
        };
        // Python's locks, and so its queues.
        let of_lock = || (built_in(name) == Some("acquire")).then_some((Cause::Lock, ""));
        let of_loading = || loads_data(name).then_some((Cause::DataLoading, ""));
        let known = RANGES.iter().find(is_it).map(|row| (row.2, row.3));
        let (cause, title) = known.or_else(of_mpi).or_else(of_lock).or_else(of_loading)?;
        KINDS.iter().position(|kind| kind.cause == cause && kind.title == title).and_then(Mark::of_row)
    }
}

/// Whether the name of a range says that data is loaded in it: `load batch`, `data_loading`, `get-next-samples`.
fn loads_data(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut words = name.split(|one: char| !one.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    let is_of = |words: &[&str], word: &str| words.contains(&word);
    let verbs = ["load", "loading", "loader", "fetch", "fetching", "next", "read", "reading"];
    let nouns = ["batch", "batches", "data", "sample", "samples", "dataset", "minibatch"];
    let [mut verb, mut noun, mut others] = [0; 3];
    for word in words.by_ref() {
        match () {
            () if is_of(&["dataloader", "dataloading"], word) => return true,
            () if is_of(&verbs, word) => verb += 1,
            () if is_of(&nouns, word) => noun += 1,
            () if is_of(&["the", "a", "get", "input", "training", "train", "of"], word) => {}
            () => others += 1,
        }
    }
    verb > 0 && noun > 0 && others == 0
}

/// `save` of `Saver.save` and `Linearize` of `xla::Client::Linearize(int)`, without template arguments.
fn last_name(function: &str) -> &str {
    let end = function.find(['(', '<']).filter(|end| *end > 0).unwrap_or(function.len());
    let name = &function[..end];
    name.rsplit(['.', ':', ' ']).next().unwrap_or(name)
}

/// The marks of frames, each found once.
#[derive(Default)]
pub(crate) struct Marks {
    known: FxHashMap<FrameId, Option<Mark>>,
    /// Whether handles of libraries are made and destroyed again and again.
    handles: OnceCell<bool>,
}

impl Marks {
    /// The known work of a stack; `None` if no frame shows one.
    pub fn of_stack(&mut self, trace: &Trace, stack: StackId) -> Option<Mark> {
        let stacks = std::iter::successors(stack.some(), |stack| trace.stacks.caller[stack.index()].some());
        let mut frames = stacks.filter_map(|stack| trace.stacks.frame[stack.index()].some());
        let first = frames.next().and_then(|frame| self.of_frame(trace, frame));
        // A runtime that runs the program's threads is below all that they do.
        let others =
            frames.filter_map(|frame| self.of_frame(trace, frame)).filter(|mark| !mark.runs_threads());
        first.into_iter().chain(others).min()
    }

    fn of_frame(&mut self, trace: &Trace, frame: FrameId) -> Option<Mark> {
        *self.known.entry(frame).or_insert_with(|| {
            let row = trace.frames.row(frame);
            let file = if row.file.is_empty() { row.module } else { row.file };
            let function = trace.text(row.function);
            let is_churned = || *self.handles.get_or_init(|| are_churned(trace));
            match handle(function).filter(|_| is_churned()) {
                Some(_) => Some(Mark::HANDLE),
                None => Mark::of(trace.text(file), function),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(file: &str, function: &str) -> Option<Cause> {
        Mark::of(file, function).map(Mark::cause)
    }

    #[test]
    fn a_function_of_a_known_library_says_what_it_does() {
        let packages = "/opt/venv/lib/python3.12/site-packages/";
        let of = |file: &str, function: &str| cause(&format!("{packages}{file}"), function);
        assert_eq!(of("torch/serialization.py", "_save"), Some(Cause::FileWriting));
        assert_eq!(of("torch/serialization.py", "_load"), Some(Cause::FileReading));
        assert_eq!(cause("/usr/lib/libc.so.6", "fread"), Some(Cause::FileReading));
        assert_eq!(cause("/usr/lib/libc.so.6", "read"), None, "it may be from a socket");
        let next = "_MultiProcessingDataLoaderIter._get_data";
        assert_eq!(of("torch/utils/data/dataloader.py", next), Some(Cause::DataLoading));
        assert_eq!(of("triton/runtime/jit.py", "JITFunction.run"), None, "a launch");
        assert_eq!(of("triton/runtime/jit.py", "JITFunction._do_compile"), Some(Cause::KernelBuild));
        let linearize = "xla::CommonPjRtClient::Linearize(xla::Literal const&)";
        assert_eq!(cause("/opt/xla_cuda_plugin.so", linearize), Some(Cause::Feeding));
        assert_eq!(cause("/home/me/train.py", "save"), None, "the program's own");
        let next = "tensorflow::data::IteratorGetNextOp::DoCompute";
        assert_eq!(cause("libtensorflow_cc.so.2", next), Some(Cause::DataLoading));
        assert_eq!(cause("", "mine::tensorflow_data::next"), None, "near miss");
        assert_eq!(cause("", "<built-in function collect>"), Some(Cause::GarbageCollection));
        assert_eq!(cause("", "<built-in method collect of PyLazyFrame object>"), None, "another library's");
        let java = "G1CollectedHeap::collect(GCCause::Cause)";
        assert_eq!(cause("/usr/lib/jvm/libjvm.so", java), Some(Cause::GarbageCollection));
        assert_eq!(cause("/usr/lib/jvm/libjvm.so", "ObjectMonitor::enter"), None, "a lock of the program's");
        assert_eq!(cause("/usr/lib/jvm/libjvm.so", "G1CollectedHeap::mem_allocate(unsigned long)"), None);
        assert_eq!(cause("/home/me/libmine.so", "collect(int)"), None, "the program's own");
        assert_eq!(cause("/usr/bin/python3.8", "take_gil"), Some(Cause::Gil));
        assert_eq!(cause("libLLVM-13jl.so", "LLVMRunPassManager"), Some(Cause::KernelBuild));
        let record = "CUDAGraphNode._record";
        assert_eq!(of("torch/_inductor/cudagraph_trees.py", record), Some(Cause::ObjectChurn));
    }

    #[test]
    fn a_range_of_a_known_library_says_what_it_does() {
        let title = |range: &str| Mark::of_range(range).map(Mark::title);
        let loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
        assert_eq!(title(loader), Some("DataLoader"));
        assert_eq!(title("DataLoader"), Some(""), "a range of the program's own");
        assert_eq!(title("compile_fx_inner (dynamo_timed)"), Some("torch.compile"));
        let recorded = "CompiledFunction in CUDAGraphNode.record (dynamo_timed)";
        assert_eq!(title(recorded), Some("torch.compile's graphs"));
        assert_eq!(title("Torch-Compiled Region: 0/0"), None, "it runs what was compiled");
        assert_eq!(title("TSL:XlaCompile:#module=jit_step#"), Some("XLA"));
        let of_mpi = ["MPI_Allreduce", "MPI_Waitall", "MPI_Init"].map(title);
        assert_eq!(of_mpi, [Some("MPI"), Some(MESSAGES), None]);
        let lock = "<built-in method acquire of _thread.lock object at 0x7f80>";
        assert!(Mark::of_range(lock).is_some_and(Mark::is_sleep));
        assert_eq!(Mark::of_range("acquire"), None, "the program's own");
        assert_eq!(title("TSL:XlaModule:#hlo_module=jit_step,program_id=3#"), None, "it runs");
    }

    #[test]
    fn a_range_says_that_it_loads_data() {
        for name in
            ["load batch", "data_loading", "Data Loading", "get_next_batch", "DataLoader", "fetch-samples"]
        {
            assert!(loads_data(name), "{name}");
        }
        for name in
            ["batch 7", "load model", "upload", "read loss of batch", "train", "next", "data parallel"]
        {
            assert!(!loads_data(name), "{name}");
        }
    }

    #[test]
    fn a_library_marks_its_own_work() {
        let own = ["step 7", "TSL:train#step_num=3#", "Optimizer step", "NCCL", "forward"];
        assert!(!own.into_iter().any(is_of_library));
        assert!(OF_LIBRARIES.into_iter().chain(["TSL:XlaModule:#hlo_module=jit_step#"]).all(is_of_library));
        assert!(is_of_library("entire_frame_compile (dynamo_timed)"));
    }

    #[test]
    fn every_range_is_of_a_kind() {
        assert!(Mark::builder_within("aten::cudnn_convolution_transpose").is_some());
        assert!(Mark::builder_within("aten::convolution").is_none());
        for (start, end, ..) in RANGES {
            assert!(Mark::of_range(&format!("{start}{end}")).is_some(), "{start}{end}");
        }
    }
}
