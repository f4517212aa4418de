//! Builds the library under test, and with the machine's C compiler the stand-in driver and the
//! programs, once a test run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{fs, thread};

/// The crate of the library under test; the tests of other crates use this file too.
const HOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../capture");

/// How the stand-in driver and the programs that are linked with it are built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binding {
    /// Functions of other libraries are looked up when they are first called.
    Lazy,
    /// All are looked up at the start, and their slots are read-only from then on.
    Now,
}

impl Binding {
    fn folder(self) -> &'static str {
        match self {
            Binding::Lazy => "lazy",
            Binding::Now => "now",
        }
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Binding::Lazy => &["-Wl,-z,lazy", "-Wl,-z,norelro"],
            // As many distributions build: slots that calls go through directly.
            Binding::Now => &["-Wl,-z,now", "-Wl,-z,relro", "-fno-plt"],
        }
    }
}

/// Where everything was put.
pub struct Built {
    root: PathBuf,
}

impl Built {
    /// The folder of one way of building: the libraries, and the programs linked with them.
    pub fn folder(&self, binding: Binding) -> PathBuf {
        self.root.join(binding.folder())
    }

    /// A program that is linked with the driver.
    pub fn linked(&self, binding: Binding, program: &str) -> PathBuf {
        self.folder(binding).join(program)
    }

    /// A program that looks the driver's functions up.
    pub fn looking_up(&self, program: &str) -> PathBuf {
        self.root.join("lazy").join(format!("{program}-look-up"))
    }
}

/// The libraries: source, name, and what they need to be linked.
const LIBRARIES: [(&str, &str, &[&str]); 21] = [
    ("cuda.c", "libcuda.so.1", &["-Wl,--default-symver"]),
    ("cudart.c", "libcudart.so.13", &[]),
    ("other.c", "libother.so", &[]),
    ("checks.c", "libchecks.so", &[]),
    ("user.c", "libuser.so", &["-l:libcuda.so.1"]),
    ("taker.c", "libtaker.so", &["-l:libcuda.so.1"]),
    ("shim.c", "libshim.so", &[]),
    ("counterless.c", "libcounterless.so", &[]),
    ("scoped.c", "libscoped.so", &[]),
    ("finder.c", "libfinder.so", &["-Wl,--no-as-needed", "-l:libscoped.so", "-Wl,-rpath,$ORIGIN/inner"]),
    ("inner.c", "inner/libinner.so", &[]),
    ("inner.c", "libpython-like.so", &[]),
    ("disk.c", "libdisk.so", &[]),
    ("answers.c", "libanswers.so", &[]),
    ("halfway.c", "libhalfway.so", &[]),
    ("nameless.c", "libnameless.so", &[]),
    ("stuck.c", "libstuck.so", &[]),
    ("measure.c", "libmeasure.so", &[]),
    ("constructed.c", "libconstructed.so", &[]),
    ("cupti.c", "inner/libcupti.so.12", &["-DCUDA=12"]),
    ("cupti.c", "inner/libcupti.so.13", &["-DCUDA=13"]),
];
const PROGRAMS: [&str; 16] = [
    "waits", "locks", "calls", "endings", "threads", "loader", "nvtx", "taken", "jit", "issue", "meets",
    "like", "runtime", "long", "files", "executes",
];

/// The capture library: another build of it where `HOLDUP_TEST_LIBRARY` names one, as by a sanitizer. Cargo builds a
/// `cdylib` for no test, so it is asked to here; mostly there is nothing left to do.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        if let Some(given) = std::env::var_os("HOLDUP_TEST_LIBRARY") {
            return given.into();
        }
        let test = std::env::current_exe().expect("the test has a path");
        let folder = test.ancestors().nth(2).and_then(Path::file_name).expect("tests lie in <profile>/deps");
        // The profile `dev` is the only one whose folder is called otherwise.
        let profile = folder.to_str().map_or("dev", |name| if name == "debug" { "dev" } else { name });
        let mut command = Command::new(env!("CARGO"));
        command.args(["build", "--lib", "--message-format=json-render-diagnostics", "--profile", profile]);
        let output = command.current_dir(HOME).output().expect("cargo starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo cannot build the library:\n{said}");
        let messages = String::from_utf8_lossy(&output.stdout);
        let path = messages.split('"').find(|text| text.ends_with("/libholdup_capture.so"));
        PathBuf::from(path.expect("cargo says where it put the library"))
    })
}

/// The folder of the stand-ins for the driver and for CUPTI, without any program.
#[allow(dead_code, reason = "most tests need programs, too")]
pub fn driver() -> &'static Path {
    static DRIVER: OnceLock<PathBuf> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("driver");
        fs::create_dir_all(folder.join("inner")).expect("a folder for the driver");
        let is_driver = |name: &str| {
            name.starts_with("libcuda.so") || name.trim_start_matches("inner/").starts_with("libcupti")
        };
        let libraries = LIBRARIES.iter().filter(|(_, name, _)| is_driver(name));
        libraries.for_each(|library| build_library(&folder, Binding::Lazy, library));
        folder
    })
}

/// Everything in C, built.
pub fn built() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("standin");
        let build = |binding: Binding| {
            let folder = root.join(binding.folder());
            fs::create_dir_all(folder.join("inner")).expect("a folder for C programs");
            LIBRARIES.iter().for_each(|library| build_library(&folder, binding, library));
            let object = ["-c", "-fPIC", "-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables"];
            cc(&folder, binding, "jitted.c", "jitted.o", &object);
            PROGRAMS.iter().for_each(|program| build_programs(&folder, binding, program));
        };
        thread::scope(|scope| {
            scope.spawn(|| build(Binding::Lazy));
            scope.spawn(|| build(Binding::Now));
        });
        Built { root }
    })
}

/// Builds a library of [`LIBRARIES`]' form.
pub fn build_library(folder: &Path, binding: Binding, (source, name, needs): &(&str, &str, &[&str])) {
    let soname = format!("-Wl,-soname,{}", name.trim_start_matches("inner/"));
    let search = format!("-L{}", folder.display());
    cc(folder, binding, source, name, &[&["-shared", "-fPIC", &soname, &search], *needs].concat());
}

/// A program in both forms; the one that looks functions up is the same for every driver.
fn build_programs(folder: &Path, binding: Binding, program: &str) {
    let source = format!("{program}.c");
    let paths = [format!("-L{}", folder.display()), format!("-Wl,-rpath,{}", folder.display())];
    let [search, rpath] = paths.each_ref().map(String::as_str);
    let others = [
        "-rdynamic",
        "-Wl,--as-needed",
        "-l:libother.so",
        "-l:libchecks.so",
        "-l:libtaker.so",
        "-l:libcudart.so.13",
    ];
    cc(folder, binding, &source, program, &[&[search, rpath, "-l:libcuda.so.1"], &others[..]].concat());
    if binding == Binding::Lazy {
        let name = format!("{program}-look-up");
        cc(folder, binding, &source, &name, &[&["-DLOOK_UP", search, rpath], &others[..]].concat());
    }
}

/// The program of C++, linked with the driver; `None` where there is no compiler.
#[allow(dead_code, reason = "benchmarks need none")]
pub fn standard() -> Option<PathBuf> {
    static STANDARD: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let (folder, source) =
            (built().folder(Binding::Now), Path::new(HOME).join("tests/standin/standard.cpp"));
        let path = folder.join("standard");
        let mut command = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned()));
        command.args(["-std=c++17", "-O1", "-g", "-pthread"]).arg(source).arg("-o").arg(&path);
        command.args(["-L", "-Wl,-rpath,"].map(|option| format!("{option}{}", folder.display())));
        // Libraries after what needs them.
        command.arg("-l:libcuda.so.1");
        let output = command.output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(path)
    };
    STANDARD.get_or_init(build).clone()
}

/// Compiles one file of this folder. Programs that run already keep what they have: the new one replaces the name.
pub fn cc(folder: &Path, binding: Binding, source: &str, name: &str, how: &[&str]) {
    let sources = Path::new(HOME).join("tests/standin");
    let fresh = folder.join(format!("{name}.{}", std::process::id()));
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(&compiler);
    command.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]);
    command.arg(sources.join(source)).args(how).args(binding.flags()).arg("-o").arg(&fresh);
    let output = command.output().unwrap_or_else(|error| {
        panic!("these tests need a C compiler, and `{compiler}` does not start: {error} (Debian: apt install gcc)")
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{compiler}` cannot build {source}:\n{said}");
    fs::rename(&fresh, folder.join(name)).expect("the program gets its name");
}
