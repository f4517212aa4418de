//! The stand-in for the driver, built with the machine's C compiler, and what it was asked.

use crate::interruptible::interruptible;
use crate::support::gpu_try;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// The stand-in's library; `old` is one without memory pools.
pub fn library(old: bool) -> &'static Path {
    static LIBRARIES: OnceLock<[PathBuf; 2]> = OnceLock::new();
    let libraries = LIBRARIES.get_or_init(|| {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
        [
            build(root, "cuda.c", "libcuda.so", &[]),
            build(root, "cuda.c", "libcuda-old.so", &["-DWITHOUT_POOLS"]),
        ]
    });
    &libraries[usize::from(old)]
}

/// The stand-in for cuBLAS.
pub fn blas() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build(Path::new(env!("CARGO_TARGET_TMPDIR")), "cublas.c", "libcublas.so", &[]))
}

/// Compiles one. Processes that run already keep what they have: the new one replaces the name.
fn build(root: &Path, source: &str, name: &str, how: &[&str]) -> PathBuf {
    let (path, fresh) = (root.join(name), root.join(format!("{name}.{}", std::process::id())));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/standin").join(source);
    let mut command = Command::new("cc");
    command.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread"]);
    let output =
        command.args(how).arg(source).arg("-o").arg(&fresh).arg("-lm").output().unwrap_or_else(|error| {
            panic!(
                "these tests need a C compiler, and `cc` does not start: {error} (Debian: apt install gcc)"
            )
        });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&fresh, &path).expect("the library gets its name");
    path
}

/// A stand-in for one test.
pub struct Standin {
    directory: TempDir,
    environment: Vec<(String, String)>,
}

impl Standin {
    pub fn new() -> Standin {
        Standin::with_library(library(false))
    }

    pub fn with_library(library: &Path) -> Standin {
        let directory = TempDir::new().expect("a temporary directory");
        let log = directory.path().join("log");
        let mut standin = Standin { directory, environment: Vec::new() };
        standin = standin.with(gpu::LIBRARY_VARIABLE, &library.display().to_string());
        standin.with("STANDIN_LOG", &log.display().to_string())
    }

    /// With a variable that selects what it does.
    pub fn with(mut self, name: &str, value: &str) -> Standin {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Options that have processes use it.
    pub fn options(&self) -> gpu::Options {
        gpu::Options {
            environment: self
                .environment
                .iter()
                .map(|(name, value)| (name.clone(), Some(value.into())))
                .collect(),
            executable: Some(gpu_try()),
            ..gpu::Options::default()
        }
    }

    /// A command of `gpu_try` whose processes use it.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(gpu_try());
        interruptible(&mut command);
        command.args(arguments).envs(self.environment.iter().cloned());
        command
    }

    /// Lines of the log: process, thread, and the call.
    pub fn log(&self) -> Vec<(String, String, String)> {
        let text = std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        let line = |line: &str| {
            let mut parts = line.splitn(3, ' ').map(str::to_owned);
            Some((parts.next()?, parts.next()?, parts.next()?))
        };
        text.lines().filter_map(line).collect()
    }

    /// The calls of a thread, a line each.
    pub fn calls(&self, thread: &str) -> String {
        let calls = self.log().into_iter().filter(|(_, name, _)| name == thread);
        calls.map(|(_, _, call)| call + "\n").collect()
    }
}

/// Compares with `tests/data/NAME.txt`; `UPDATE_EXPECT=1` writes it instead.
#[track_caller]
pub fn assert_is(name: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name).with_extension("txt");
    expect_test::expect_file![path].assert_eq(found);
}
