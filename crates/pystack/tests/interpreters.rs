//! Runs `stacks.py` under every Python that is there: `python3`, `python3.10` … `python3.14` on PATH and those that
//! the environment variable HOLDUP_TEST_PYTHONS lists, separated by colons.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The library of the example `pystack_dump`, which cargo builds before it runs tests.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let target = test.ancestors().nth(2).expect("tests lie in <profile>/deps");
    let library = target.join("examples/libpystack_dump.so");
    assert!(library.exists(), "{} is missing: cargo build -p holdup-pystack --examples", library.display());
    library
}

/// Interpreters that start, each once.
fn interpreters() -> Vec<PathBuf> {
    let listed = std::env::var("HOLDUP_TEST_PYTHONS").unwrap_or_default();
    let mut found: Vec<PathBuf> = Vec::new();
    for python in listed.split(':').filter(|path| !path.is_empty()).map(PathBuf::from) {
        assert!(executable(&python).is_some(), "{} of HOLDUP_TEST_PYTHONS does not start", python.display());
        // As listed: it may be a script that sets an environment up.
        found.push(python);
    }
    let on_path =
        ["", ".10", ".11", ".12", ".13", ".14"].map(|minor| PathBuf::from(format!("python3{minor}")));
    for path in on_path.iter().filter_map(|python| executable(python)) {
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

/// Path in `sys.executable` of a Python that starts and is of a release that the crate knows.
fn executable(python: &Path) -> Option<PathBuf> {
    let ask = "import sys; print(sys.executable); sys.exit(not (3, 10) <= sys.version_info < (3, 15))";
    let output =
        Command::new(python).args(["-c", ask]).output().ok().filter(|output| output.status.success())?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    Some(path.canonicalize().unwrap_or(path))
}

/// Without the GIL, with it, and with line tables that have no columns.
const WAYS: [(&str, &[&str]); 3] = [("cdll", &[]), ("pydll", &[]), ("cdll", &["-X", "no_debug_ranges"])];

/// Runs `stacks.py` under an interpreter; what failed.
fn failure(python: &Path, way: &str, options: &[&str]) -> Option<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stacks.py");
    let mut command = Command::new(python);
    let output = command.args(options).arg(script).arg(library()).arg(way).output();
    let output = output.expect("it started before");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{} {way} {options:?}: {}", python.display(), said.trim().replace('\n', ", "));
    let is_well = output.status.success() && said.ends_with("finalizing: 0\n");
    let error = String::from_utf8_lossy(&output.stderr);
    (!is_well).then(|| format!("{} {way} {options:?}: {}\n{error}", python.display(), output.status))
}

#[test]
fn agrees_with_every_interpreter() {
    let pythons = interpreters();
    let failures: Vec<String> = std::thread::scope(|scope| {
        let run = |way, options| pythons.iter().filter_map(|python| failure(python, way, options)).collect();
        let runs = WAYS.map(|(way, options)| scope.spawn(move || -> Vec<String> { run(way, options) }));
        runs.into_iter().flat_map(|run| run.join().expect("its thread's message says why not")).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
