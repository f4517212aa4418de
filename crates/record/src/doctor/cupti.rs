//! Checks which copies of CUPTI exist, and which one the capture library uses.

use super::bounded;
use super::check::{Check, State};
use super::driver::Answer;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const NAME: &str = "CUPTI";

/// Names of the library, newest first, as in the capture library (`cupti/library.rs`).
const NAMES: [&str; 2] = ["libcupti.so.13", "libcupti.so.12"];

/// Where toolkits install it, as in the capture library.
const TOOLKITS: [&str; 4] = [
    "/usr/local/cuda/extras/CUPTI/lib64",
    "/usr/local/cuda/lib64",
    "/usr/local/cuda/targets/x86_64-linux/lib",
    "/usr/local/cuda/targets/sbsa-linux/lib",
];

/// A copy of CUPTI.
struct Copy {
    path: PathBuf,
    origin: Origin,
    version: Option<String>,
}

/// How a program finds a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The loader finds it by name.
    Loader,
    /// It is next to the CUDA runtime in Python's packages or environment.
    Python,
    /// It is in a toolkit.
    Toolkit,
    /// The loader knows it, but uses another copy or none.
    Other,
}

/// Checks which copies exist, and whether the driver is new enough for the one that is used.
pub fn check(answer: &Answer, patience: Duration) -> Check {
    let copies = copies(answer, patience);
    let from = |origin: Origin| copies.iter().position(|copy| copy.origin == origin);
    let first = from(Origin::Loader).or_else(|| from(Origin::Toolkit));
    // As in the capture library: if one does not start, the next is used.
    let fits = |at: &usize| copies[*at].origin != Origin::Python && unfit(&copies[*at], answer).is_none();
    let taken = first.map(|first| (first..copies.len()).find(fits).unwrap_or(first));
    let found: Vec<String> =
        copies.iter().enumerate().map(|(at, copy)| described(copy, Some(at) == taken)).collect();
    if taken.is_none() && !copies.iter().any(|copy| copy.origin == Origin::Python) {
        let lost = "no copy that loads: driver calls and lock waits are recorded, GPU operations are not";
        let remedy =
            "install the CUDA toolkit, or the wheel nvidia-cuda-cupti-cu12 (CUDA 13: nvidia-cuda-cupti)";
        let found = std::iter::once(lost.to_owned()).chain(found).collect();
        return Check { name: NAME, state: State::Warn, found, remedy: Some(remedy.to_owned()) };
    }
    let unfit = taken.and_then(|at| unfit(&copies[at], answer));
    let state = if unfit.is_some() { State::Warn } else { State::Ok };
    Check { name: NAME, state, found, remedy: unfit }
}

fn described(copy: &Copy, taken: bool) -> String {
    let version = copy.version.as_ref().map_or(String::new(), |version| format!(" ({version})"));
    let who = match copy.origin {
        _ if taken => "for programs without their own copy",
        Origin::Python => "for Python programs that load CUDA from packages",
        _ => "not used",
    };
    format!("{}{version}: {who}", copy.path.display())
}

/// Remedy when a copy does not fit the driver.
fn unfit(copy: &Copy, answer: &Answer) -> Option<String> {
    if copy.origin == Origin::Loader && answer.cupti().is_some_and(|(_, version)| version.is_none()) {
        return Some("this library is not CUPTI: remove its directory from LD_LIBRARY_PATH".to_owned());
    }
    let major = number(&copy.path)?;
    let driver = answer.cuda()? / 1000;
    (major > driver).then(|| {
        format!("CUPTI {major} is newer than the driver's CUDA {driver}: update the driver, or install CUPTI {driver}")
    })
}

/// The CUDA version in a file's name: 12 for `libcupti.so.12`.
fn number(path: &Path) -> Option<i32> {
    path.file_name()?.to_str()?.strip_prefix("libcupti.so.")?.split('.').next()?.parse().ok()
}

/// All copies, each once, in the order in which they are tried.
fn copies(answer: &Answer, patience: Duration) -> Vec<Copy> {
    let python = ask_python(patience);
    let loader = answer.cupti().map(|(path, _)| PathBuf::from(path)).into_iter();
    let beside = python.iter().flat_map(|directory| wheels(directory));
    let toolkits = TOOLKITS.iter().flat_map(|directory| within(Path::new(directory)));
    let library_path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let listed: Vec<PathBuf> = std::env::split_paths(&library_path).flat_map(|at| within(&at)).collect();
    let others = listed.into_iter().chain(cached(patience));
    let all = loader.map(|path| (path, Origin::Loader));
    let all = all.chain(beside.map(|path| (path, Origin::Python)));
    let all = all.chain(toolkits.map(|path| (path, Origin::Toolkit)));
    let mut seen = Vec::new();
    let mut copies = Vec::new();
    for (path, origin) in all.chain(others.map(|path| (path, Origin::Other))) {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if !seen.contains(&real) {
            let version = version(&real, &python);
            seen.push(real);
            copies.push(Copy { path, origin, version });
        }
    }
    copies
}

fn within(directory: &Path) -> Vec<PathBuf> {
    // For the loader, an empty entry means the working directory; CUPTI is not expected there.
    let absolute = |path: &PathBuf| path.is_absolute() && path.is_file();
    NAMES.iter().map(|name| directory.join(name)).filter(absolute).collect()
}

/// The directory of Python's environment, then those of its packages; empty without Python.
fn ask_python(patience: Duration) -> Vec<PathBuf> {
    const ASK: &str = "import sys; print(sys.prefix, *sys.path, sep='\\n')";
    let answers = ["python3", "python"].into_iter().filter_map(|python| {
        let answer = bounded::run(Command::new(python).args(["-c", ASK]), patience).ok()?;
        answer.status.is_some_and(|status| status.success()).then_some(answer.output)
    });
    let answer = answers.into_iter().next().unwrap_or_default();
    answer.lines().map(PathBuf::from).filter(|path| path.is_absolute()).collect()
}

/// The copies in a directory of packages (`nvidia/cuda_cupti/lib`, `nvidia/cu13/lib`) or, with conda, in an
/// environment's `lib`.
fn wheels(directory: &Path) -> Vec<PathBuf> {
    let packages = directory.join("nvidia").read_dir().into_iter().flatten().flatten();
    let mut places: Vec<PathBuf> = packages.map(|package| package.path().join("lib")).collect();
    places.sort();
    places.push(directory.join("lib"));
    places.iter().flat_map(|place| within(place)).collect()
}

/// The copies that the loader's cache lists.
fn cached(patience: Duration) -> Vec<PathBuf> {
    let programs = ["ldconfig", "/sbin/ldconfig"];
    let answer = programs.into_iter().find_map(|at| bounded::run(Command::new(at).arg("-p"), patience).ok());
    let list = answer.map_or(String::new(), |answer| answer.output);
    let entries = list.lines().filter_map(|line| line.trim().split_once(" => "));
    let known = entries.filter(|(name, _)| NAMES.iter().any(|known| name.split(' ').next() == Some(known)));
    known.map(|(_, path)| PathBuf::from(path)).collect()
}

/// A copy's version: the end of the file's name in a toolkit, of the package's name in a wheel.
fn version(real: &Path, python: &[PathBuf]) -> Option<String> {
    let name = real.file_name()?.to_str()?;
    let numbers = name.strip_prefix("libcupti.so.")?;
    if numbers.contains('.') {
        return Some(numbers.to_owned());
    }
    let packages = python.iter().filter(|directory| real.starts_with(directory.join("nvidia")));
    let entries = packages.flat_map(|directory| directory.read_dir().into_iter().flatten().flatten());
    let mut versions = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let rest = name.strip_prefix("nvidia_cuda_cupti")?.strip_suffix(".dist-info")?;
        let version = rest.split_once('-')?.1;
        (version.split('.').next() == Some(numbers)).then(|| version.to_owned())
    });
    versions.next()
}
