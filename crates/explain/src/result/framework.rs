//! The framework that a program uses, by the names in its stacks and operations.

use rustc_hash::FxHashSet;
use trace::{FrameId, RangeKind, StackId, Sym, Trace};
use waits::named;

named! {
    /// Framework with which a program calls the GPU.
    Framework {
        /// PyTorch.
        PyTorch = "pytorch",
        /// CuPy.
        CuPy = "cupy",
        /// JAX.
        Jax = "jax",
        /// Another program in Python.
        Python = "python",
        /// CUDA.jl.
        Julia = "julia",
        /// CUDA Fortran, or Fortran that calls CUDA's functions.
        Fortran = "fortran",
        /// CUDA's own functions, from C++ or any language like it.
        Cuda = "cuda",
    }
}

/// The frameworks that a trace names.
pub(crate) struct Frameworks<'a> {
    trace: &'a Trace,
    /// Frameworks with a library in some stack, or with an operation's name.
    known: Vec<Framework>,
    is_python: bool,
    /// The language of a program that is not Python's.
    language: Framework,
}

impl<'a> Frameworks<'a> {
    pub fn new(trace: &'a Trace) -> Frameworks<'a> {
        let frames = &trace.frames;
        let files: FxHashSet<Sym> = frames.file.iter().chain(&frames.module).copied().collect();
        let names: FxHashSet<Sym> = trace.ops.name.iter().chain(&trace.ranges.name).copied().collect();
        let of_files = files.iter().filter_map(|file| of_file(trace.text(*file)));
        let of_names = names.iter().filter_map(|name| of_name(trace.text(*name)));
        let of_source = (trace.meta.source == PROFILE_OF_PYTORCH).then_some(Framework::PyTorch);
        let mut known: Vec<Framework> = of_files.chain(of_names).chain(of_source).collect();
        known.sort_unstable();
        known.dedup();
        // Libraries of frameworks may be used from C++, which only stacks can show.
        let is_python =
            of_source.is_some() || trace.frames.is_empty() && !known.is_empty() || runs_python(trace);
        let language = files.iter().find_map(|file| language(trace.text(*file))).unwrap_or(Framework::Cuda);
        Frameworks { trace, known, is_python, language }
    }

    /// The framework of the program, or of the calls with these stacks if the program uses several; `None` if they do not show it.
    pub fn of(&self, stacks: impl Iterator<Item = StackId>) -> Option<Framework> {
        match (self.is_python, self.known.as_slice()) {
            (false, _) => Some(self.language),
            (true, []) => Some(Framework::Python),
            (true, [only]) => Some(*only),
            (true, _) => self.innermost(stacks),
        }
    }

    /// The framework of the innermost frame that has one, in the first stack with such a frame.
    fn innermost(&self, mut of: impl Iterator<Item = StackId>) -> Option<Framework> {
        let stacks = &self.trace.stacks;
        of.find_map(|stack| {
            let callers = std::iter::successors(stack.some(), |stack| stacks.caller[stack.index()].some());
            let mut frames = callers.filter_map(|stack| stacks.frame[stack.index()].some());
            frames.find_map(|frame| self.of_frame(frame))
        })
    }

    fn of_frame(&self, frame: FrameId) -> Option<Framework> {
        let frames = &self.trace.frames;
        let texts = [frames.file[frame.index()], frames.module[frame.index()]];
        texts.into_iter().find_map(|text| of_file(self.trace.text(text)))
    }
}

/// The source of the traces that PyTorch's profiler writes.
pub(crate) const PROFILE_OF_PYTORCH: &str = "kineto";

/// The packages of frameworks.
const PACKAGES: [(&str, Framework); 6] = [
    ("torch/", Framework::PyTorch),
    ("cupy/", Framework::CuPy),
    ("cupy_backends/", Framework::CuPy),
    ("jax/", Framework::Jax),
    ("jaxlib/", Framework::Jax),
    ("jax_plugins/", Framework::Jax),
];

/// The framework of a source file or a library, by its package: PyTorch's profiler shortens its own paths.
fn of_file(path: &str) -> Option<Framework> {
    let is_of = |package: &str| {
        let mut within = path.match_indices(package);
        path.starts_with(package) || within.any(|(at, _)| path[..at].ends_with("-packages/"))
    };
    let package = PACKAGES.iter().find(|(package, _)| is_of(package)).map(|(_, framework)| *framework);
    let file = path.rsplit('/').next().unwrap_or(path);
    package.or_else(|| {
        (file.starts_with("libtorch") || file.starts_with("libc10")).then_some(Framework::PyTorch)
    })
}

/// The framework of a kernel or a range, by its name.
fn of_name(name: &str) -> Option<Framework> {
    match () {
        () if name.starts_with("aten::") || name.contains("at::native::") => Some(Framework::PyTorch),
        () if name.starts_with("cupy_") => Some(Framework::CuPy),
        () => None,
    }
}

/// The language of a source file or of the run-time library of a language, if that is none like C++.
fn language(path: &str) -> Option<Framework> {
    const JULIA: [&str; 2] = ["libjulia.so", "libjulia-internal.so"];
    const FORTRAN: [&str; 4] = ["libcudafor", "libgfortran.so", "libnvf.so", "libifcore"];
    let file = path.rsplit('/').next().unwrap_or(path);
    let ending = file.rsplit_once('.').map_or(String::new(), |(_, ending)| ending.to_ascii_lowercase());
    let is_of = |libraries: &[&str]| libraries.iter().any(|library| file.starts_with(library));
    match ending.as_str() {
        "jl" => Some(Framework::Julia),
        "f90" | "f95" | "f03" | "f08" | "cuf" | "f" => Some(Framework::Fortran),
        _ if is_of(&JULIA) => Some(Framework::Julia),
        _ if is_of(&FORTRAN) => Some(Framework::Fortran),
        _ => None,
    }
}

/// Whether stacks or ranges show that a program is Python's.
pub(crate) fn runs_python(trace: &Trace) -> bool {
    let frames = &trace.frames;
    let files: FxHashSet<Sym> = frames.file.iter().chain(&frames.module).copied().collect();
    trace.ranges.kind.contains(&RangeKind::Python) || files.iter().any(|file| is_python(trace.text(*file)))
}

/// Whether a source file or a library is Python's.
fn is_python(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.ends_with(".py") || file.starts_with("python") || file.starts_with("libpython")
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Frame, Op, Stack};

    /// A trace with one stack of these files, innermost first, and a kernel.
    fn framework(files: &[&str], kernel: &str, source: &str) -> Option<Framework> {
        let mut trace = Trace::default();
        trace.meta.source = source.to_owned();
        let mut caller = StackId::NONE;
        for path in files.iter().rev() {
            let file = trace.strings.intern(path);
            let frame = trace.frames.push(Frame { file, line: 1, ..Frame::default() });
            caller = trace.stacks.push(Stack { frame, caller });
        }
        let name = trace.strings.intern(kernel);
        trace.ops.push(Op { name, ..Op::default() });
        Frameworks::new(&trace).of(std::iter::once(caller))
    }

    #[test]
    fn frames_and_names_show_the_framework() {
        use Framework::*;
        let torch = "/opt/x/lib/python3.12/site-packages/torch/nn/functional.py";
        let cupy = "/usr/lib/python3/dist-packages/cupy/_core/core.py";
        let cases: [(&[&str], &str, &str, Option<Framework>); 15] = [
            (&[torch, "/srv/train.py"], "", "", Some(PyTorch)),
            (&[cupy, "/srv/train.py"], "", "", Some(CuPy)),
            (&["/v/lib/python3.12/site-packages/jaxlib/xla.py", "train.py"], "", "", Some(Jax)),
            // The innermost one of two.
            (&[cupy, torch, "/srv/train.py"], "", "", Some(CuPy)),
            (&["/srv/train.py"], "", "", Some(Python)),
            // A folder that is called so is no package.
            (&["/opt/torch/.venv/bin/train.py"], "", "", Some(Python)),
            (&["/srv/server.cc"], "", "", Some(Cuda)),
            (&["/home/a/.julia/packages/CUDA/x/src/memory.jl", "/srv/norm.jl"], "", "", Some(Julia)),
            (&["/usr/lib/libgfortran.so.5", "/srv/overlap"], "", "", Some(Fortran)),
            (&["/srv/solver.CUF"], "", "", Some(Fortran)),
            // Python that calls Fortran, as NumPy does, and a name that only looks like it.
            (&["/usr/lib/libgfortran.so.5", "/srv/train.py"], "", "", Some(Python)),
            // From C++.
            (&["/opt/libtorch/lib/libtorch_cuda.so", "/srv/server.cc"], "", "", Some(Cuda)),
            (&[], "void at::native::fill<float>", "nsys", Some(PyTorch)),
            (&[], "step", "kineto", Some(PyTorch)),
            (&[], "step", "nsys", Some(Cuda)),
        ];
        for (files, kernel, source, expected) in cases {
            assert_eq!(framework(files, kernel, source), expected, "{files:?} {kernel} {source}");
        }
    }

    #[test]
    fn of_several_frameworks_none_is_guessed() {
        let torch = "/v/lib/python3.12/site-packages/torch/cuda/streams.py";
        assert_eq!(framework(&[torch], "cupy_add", ""), Some(Framework::PyTorch));
        assert_eq!(framework(&["/srv/train.py"], "cupy_add", "kineto"), None);
    }
}
