//! A recorded program starts and ends as if it had been started directly.
#![cfg(target_os = "linux")]

mod support;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use support::{Try, harmless, text};

#[test]
fn ends_with_the_programs_exit_status() {
    for status in [0, 7, 255] {
        let mut try_ = Try::shell(&format!("exit {status}"));
        assert_eq!(try_.run().status.code(), Some(status));
        assert_eq!(try_.outcome().0, format!("Exited({status})"));
        assert_eq!(try_.left_behind(), 0);
    }
}

#[test]
fn ends_by_the_programs_signal() {
    for (name, number) in [("TERM", libc::SIGTERM), ("KILL", libc::SIGKILL), ("INT", libc::SIGINT)] {
        let mut try_ = Try::shell(&format!("kill -{name} $$"));
        let status = try_.run().status;
        assert_eq!((status.signal(), status.core_dumped()), (Some(number), false));
        assert_eq!(try_.outcome().0, format!("Signaled({number})"));
    }
}

#[test]
fn a_crash_leaves_no_core_of_the_recorder() {
    let mut try_ = Try::shell("ulimit -c 0; kill -SEGV $$");
    let status = try_.run().status;
    assert_eq!((status.signal(), status.core_dumped()), (Some(libc::SIGSEGV), false));
}

#[test]
fn standard_streams_pass_through() {
    let mut try_ = Try::shell("cat; echo to-error >&2");
    let mut child = try_.command.stdin(Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"one\ntwo").expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("one\ntwo".into(), "to-error\n".into()));
}

#[test]
fn the_environment_asks_for_a_recording() {
    let mut try_ = Try::shell("env; stat -c %a $HOLDUP_SPOOL; ls $HOLDUP_SPOOL");
    let said = text(&try_.run().stdout);
    let library = harmless().display().to_string();
    let spools = try_.directory.path().join("spools").display().to_string();
    for line in [
        format!("LD_PRELOAD={library}"),
        format!("CUDA_INJECTION64_PATH={library}"),
        format!("NVTX_INJECTION64_PATH={library}"),
        "HOLDUP_LEVEL=full".into(),
        "HOLDUP_MAX_SIZE=1073741824".into(),
        "HOLDUP_STACKS=100000".into(),
        "HOLDUP_LOCKS=libone:libtwo".into(),
        "700".into(),
    ] {
        assert!(said.lines().any(|said| said == line), "{line} is not in\n{said}");
    }
    assert!(said.contains(&format!("HOLDUP_SPOOL={spools}/holdup-")), "{said}");
    assert_eq!(try_.outcome().2, "");
}

#[test]
fn other_preloaded_libraries_stay() {
    let mut try_ = Try::shell("echo $LD_PRELOAD").env("LD_PRELOAD", harmless());
    let library = harmless().display().to_string();
    assert_eq!(text(&try_.run().stdout), format!("{library}:{library}\n"));
}

#[test]
fn another_tool_keeps_its_injection() {
    let try_ = Try::shell("echo $CUDA_INJECTION64_PATH $NVTX_INJECTION64_PATH");
    let mut try_ = try_.env("CUDA_INJECTION64_PATH", "/other.so").env("NVTX_INJECTION64_PATH", harmless());
    assert_eq!(text(&try_.run().stdout), format!("/other.so {}\n", harmless().display()));
    let notes = try_.outcome().2;
    assert!(notes.starts_with("CUDA_INJECTION64_PATH keeps its value /other.so: "), "{notes}");
    assert_eq!(notes.lines().count(), 1);
}

#[test]
fn signals_are_handled_as_they_were() {
    let mut direct = std::process::Command::new("grep");
    support::interruptible::interruptible(&mut direct);
    let direct = direct.args(["-E", "Sig(Blk|Ign|Cgt)", "/proc/self/status"]).output().expect("grep");
    let mut try_ = Try::new(&["grep", "-E", "Sig(Blk|Ign|Cgt)", "/proc/self/status"]);
    assert_eq!(text(&try_.run().stdout), text(&direct.stdout));
}

#[test]
fn a_program_that_does_not_exist() {
    for (program, said) in [
        ("no-such-program", "no-such-program: command not found: check the name and PATH\n"),
        ("./no/such", "./no/such: command not found: check the name\n"),
        ("", ": command not found: check the name and PATH\n"),
    ] {
        let mut try_ = Try::new(&[program]);
        let output = try_.run();
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(127), said));
        assert_eq!(try_.left_behind(), 0);
    }
}

#[test]
fn a_program_that_cannot_be_executed() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").expect("a file");
    let name = script.to_str().expect("a plain path");
    let refusal = |program| {
        let output = Try::new(&[program]).run();
        assert_eq!(output.status.code(), Some(126), "{program}");
        text(&output.stderr)
    };
    assert!(refusal(name).ends_with("cannot be executed: Permission denied: check its permissions\n"));
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("own file");
    assert!(refusal(name).ends_with("the interpreter or loader that it names is missing\n"));
    assert_eq!(refusal("/etc"), "/etc: cannot be executed: it is a directory\n");
}

/// A C program that says what is preloaded, linked with some flags; `None` where they cannot be linked.
fn says_preloaded(directory: &Path, flags: &[&str]) -> Option<String> {
    const SOURCE: &str = "#include <stdio.h>\n#include <stdlib.h>\n\
        int main(void) { const char *it = getenv(\"LD_PRELOAD\"); puts(it ? it : \"nothing\"); return 5; }\n";
    let (source, path) = (directory.join("says.c"), directory.join("says"));
    std::fs::write(&source, SOURCE).expect("a file");
    let mut compiler = std::process::Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()));
    compiler.arg(&source).args(flags).arg("-o").arg(&path).stderr(Stdio::null());
    compiler.status().is_ok_and(|status| status.success()).then(|| path.display().to_string())
}

#[test]
fn a_program_of_another_c_library_runs_without_the_capture_library() {
    let directory = tempfile::tempdir().expect("a directory");
    let loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"].map(Path::new);
    let of_glibc = loaders.into_iter().find(|path| path.exists()).expect("glibc has a loader");
    let loader = directory.path().join("ld-musl-test.so.1");
    std::os::unix::fs::symlink(of_glibc, &loader).expect("a link");
    let flag = format!("-Wl,--dynamic-linker={}", loader.display());
    let program = says_preloaded(directory.path(), &[&flag]).expect("a C compiler");
    let mut try_ = Try::new(&[&program]);
    let output = try_.run();
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(5), "nothing\n"));
    let obstacle = format!(
        "{program}: cannot be recorded: a program of another C library (its loader is ld-musl-test.so.1): \
         link it dynamically with glibc\n"
    );
    assert_eq!(text(&output.stderr), obstacle);
}

#[test]
fn a_static_program_cannot_be_recorded_itself() {
    let directory = tempfile::tempdir().expect("a directory");
    // Not every machine has the C library for it.
    let Some(program) = says_preloaded(directory.path(), &["-static"]) else { return };
    let mut try_ = Try::new(&[&program]);
    let output = try_.run();
    // What it starts is recorded.
    let library = format!("{}\n", harmless().display());
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(5), library));
    let said = text(&output.stderr);
    assert!(
        said.starts_with(&format!("{program}: cannot be recorded itself: a static executable")),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn problems_of_the_recording() {
    let refusal = |variable, value| {
        let output = Try::shell("echo started").env(variable, value).run();
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()));
        text(&output.stderr)
    };
    let said = refusal("HOLDUP_CAPTURE_LIB", "/no/such.so");
    assert!(said.starts_with("holdup's capture library is missing (looked for /no/such.so): "), "{said}");
    let said = refusal("RECORD_TRY_PARENT", "/no/such/directory");
    assert!(said.starts_with("/no/such/directory: nothing can be recorded there: No such file"), "{said}");
    let directory = tempfile::Builder::new().prefix("with space").tempdir().expect("a directory");
    let library = directory.path().join("library.so");
    std::fs::write(&library, "").expect("a file");
    let said = refusal("HOLDUP_CAPTURE_LIB", library.to_str().expect("a plain path"));
    assert!(said.contains("LD_PRELOAD cannot hold a path with a space"), "{said}");
}

#[test]
fn a_missing_capture_library_is_reported_with_the_searched_places() {
    let output = Try::shell("true").env("HOLDUP_CAPTURE_LIB", "").run();
    let said = text(&output.stderr);
    assert!(
        said.contains("/examples/libholdup_capture.so, ") && said.contains("/libexec/libholdup_capture.so)")
    );
}
