//! Programs of another C library that the program executes: they run as bare, and are counted. Theirs is glibc's loader under
//! the name of musl's.

use crate::compile::{Binding, built, cc};
use crate::run::{Outcome, Program, Recorded};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const LOADERS: [&str; 2] = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];

/// The folder of the program `foreign`.
fn foreign() -> &'static Path {
    static FOREIGN: OnceLock<PathBuf> = OnceLock::new();
    FOREIGN.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign");
        fs::create_dir_all(&folder).expect("a folder");
        let loader = folder.join(format!("ld-musl-{}.so.1", std::env::consts::ARCH));
        let of_glibc = LOADERS.into_iter().find(|path| Path::new(path).exists()).expect("glibc has a loader");
        if !loader.exists() {
            std::os::unix::fs::symlink(of_glibc, &loader).expect("a link");
        }
        let named = format!("-Wl,--dynamic-linker={}", loader.display());
        cc(&folder, Binding::Now, "foreign.c", "foreign", &[&named]);
        folder
    })
}

fn program(path: PathBuf, words: &[&str]) -> Program {
    let folder = foreign().display().to_string();
    let searched = format!("/nowhere::{folder}:/usr/bin:/bin");
    Program::new(path, built().folder(Binding::Now), words).with("FOREIGN", &folder).with("PATH", &searched)
}

fn executes(scenario: &str) -> Recorded {
    program(built().linked(Binding::Now, "executes"), &[scenario]).gathered().both()
}

const FOREIGN: &str = "programs of another C library (musl) or processor that were not recorded";
const FILTERED: &str = "programs executed under a seccomp filter that were not recorded";

/// How often the recording says that such a program was executed.
fn counted(recorded: &Recorded) -> u64 {
    lost(recorded, FOREIGN)
}

fn lost(recorded: &Recorded, reason: &str) -> u64 {
    let trace = recorded.trace.as_ref().expect("it was gathered");
    trace.meta.lost.reasons.get(reason).copied().unwrap_or(0)
}

#[test]
fn programs_of_another_c_library_run_as_bare() {
    let recorded = executes("executes");
    assert_eq!(counted(&recorded), 16);
    assert_eq!(recorded.outcome.stdout.lines().count(), 16);
    assert_eq!(recorded.process().calls_of("cuLaunchKernel").len(), 2, "the program itself is recorded");
    assert_eq!(counted(&executes("executes-with-much")), 2);
}

#[test]
fn one_that_does_not_begin_is_not_counted() {
    assert_eq!(counted(&executes("is-refused")), 0);
}

#[test]
fn programs_under_a_seccomp_filter_run_as_bare() {
    let recorded = executes("executes-filtered");
    assert_eq!((counted(&recorded), lost(&recorded, FILTERED)), (0, 1));
    assert_eq!(recorded.outcome.stdout, ", , theirs\n");
    assert_eq!(recorded.process().calls_of("cuLaunchKernel").len(), 2, "the program itself is recorded");
}

#[test]
fn other_libraries_stay_preloaded() {
    let other = built().folder(Binding::Now).join("libmeasure.so").display().to_string();
    let recorded = program("/bin/sh".into(), &["-c", "foreign last"]).preloading(&other).recorded();
    let stdout = format!("2 words to last, bare, preloaded: {other}, kept: \n");
    assert_eq!(recorded.outcome, Outcome { stdout, stderr: String::new(), code: Some(5), signal: None });
}

#[test]
fn scripts_have_the_loader_of_their_interpreter() {
    let script = foreign().join("script");
    let fresh = foreign().join(format!("script.{}", std::process::id()));
    fs::write(&fresh, format!("#! {} one\n", foreign().join("foreign").display())).expect("a script");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&fresh, executable).expect("it is ours");
    fs::rename(&fresh, &script).expect("it gets its name");
    let recorded = program("/bin/sh".into(), &["-c", "script last"]).both();
    assert_eq!(recorded.outcome.code, Some(5), "{:?}", recorded.outcome);
}

#[test]
fn pythons_subprocesses_run_as_bare() {
    let script = "import subprocess, sys; sys.exit(subprocess.run(['foreign', 'last']).returncode)";
    let python =
        ["/usr/bin/python3", "/usr/local/bin/python3"].into_iter().find(|path| Path::new(path).exists());
    if let Some(python) = python {
        assert_eq!(program(python.into(), &["-c", script]).both().outcome.code, Some(5));
    }
}
