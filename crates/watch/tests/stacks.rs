//! Sampled stacks of every Python of the machine, and of a program without Python.
#![cfg(target_os = "linux")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Seen, planted, watched, watched_until};

/// Pythons that start: those on PATH, pyenv's, and those that HOLDUP_TEST_PYTHONS lists.
fn pythons() -> Vec<PathBuf> {
    let listed = std::env::var("HOLDUP_TEST_PYTHONS").unwrap_or_default();
    let listed = listed.split(':').filter(|path| !path.is_empty()).map(PathBuf::from);
    let path = ["", ".10", ".11", ".12", ".13", ".14"].map(|minor| PathBuf::from(format!("python3{minor}")));
    let fixed = PathBuf::from("/usr/bin/python3");
    let home = std::env::var("HOME").unwrap_or_default();
    let versions =
        std::fs::read_dir(Path::new(&home).join(".pyenv/versions")).into_iter().flatten().flatten();
    let versions = versions.map(|version| version.path().join("bin/python3"));
    let mut found = Vec::new();
    for python in listed.chain(path).chain([fixed]).chain(versions).filter_map(|python| executable(&python)) {
        if !found.contains(&python) {
            found.push(python);
        }
    }
    found
}

/// The file of a Python that starts, of a release that can be read, with a lock.
fn executable(python: &Path) -> Option<PathBuf> {
    let ask = "import sys, sysconfig; print(sys.executable); \
               sys.exit(not (3, 10) <= sys.version_info < (3, 15) or bool(sysconfig.get_config_var('Py_GIL_DISABLED')))";
    let output =
        Command::new(python).args(["-c", ask]).output().ok().filter(|output| output.status.success())?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    Some(path.canonicalize().unwrap_or(path))
}

/// Runs a case of the script, with at least so many samples of the thread that a fact names.
fn run(python: &Path, case: &[&str], least: usize, thread: &str) -> Seen {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python.py");
    let arguments = [&[script.to_str().expect("a plain path")], case].concat();
    watched_until(python, &arguments, 100, |seen| seen.samples(seen.fact(thread)[0]).len() >= least)
}

/// The line at which the frame of a function is, in the innermost frame of that name.
fn line_of(frames: &[(String, u32)], function: &str) -> Option<u32> {
    frames.iter().find(|(name, _)| name == function).map(|(_, line)| *line)
}

#[test]
fn samples_have_the_lines_in_proportion_to_their_time() {
    for python in pythons() {
        let seen = run(&python, &["shares"], 80, "main");
        let samples = seen.samples(seen.fact("main")[0]);
        let count = |function: &str| {
            let line = u32::try_from(seen.fact(function)[0]).expect("a line");
            samples.iter().filter(|frames| line_of(frames, function) == Some(line)).count()
        };
        let (often, seldom) = (count("often"), count("seldom"));
        let share = 100 * often / (often + seldom).max(1);
        println!("{}: {often} and {seldom} of {}: {share} %", python.display(), samples.len());
        // 1.2 s at 100 a second; a busy machine samples later, not less of one line.
        assert!(often + seldom >= 60, "{}: {often} and {seldom}", python.display());
        assert!((70..=90).contains(&share), "{}: {share} %", python.display());
        let lines: usize = samples
            .iter()
            .filter(|frames| {
                let (often, seldom) = (line_of(frames, "often"), line_of(frames, "seldom"));
                often.is_some_and(|line| u64::from(line) != seen.fact("often")[0])
                    || seldom.is_some_and(|line| u64::from(line) != seen.fact("seldom")[0])
            })
            .count();
        // A frame that is just being entered is at its first line.
        assert!(lines <= 2, "{}: {lines} samples at other lines", python.display());
    }
}

#[test]
fn a_sleeping_thread_has_its_native_and_its_python_frames() {
    for python in pythons() {
        let seen = run(&python, &["threads"], 30, "thread");
        let samples = seen.samples(seen.fact("thread")[0]);
        let line = u32::try_from(seen.fact("sleeps")[0]).expect("a line");
        let asleep: Vec<_> = samples.iter().filter(|frames| line_of(frames, "inner") == Some(line)).collect();
        println!("{}: {} of {}: {:?}", python.display(), asleep.len(), samples.len(), asleep.first());
        assert!(asleep.len() >= 20, "{}: {samples:?}", python.display());
        // 3.10 sleeps by `select`; later versions of the C library make system calls in functions without names.
        let is_sleep = |name: &str| name.contains("nanosleep") || name.contains("select");
        let is_whole = |frames: &[(String, u32)]| {
            frames.iter().filter(|(name, _)| name == "inner").count() == 6
                && frames.iter().take(3).any(|(name, _)| is_sleep(name))
                && frames.iter().any(|(name, _)| name.contains("Thread._bootstrap") || name == "_bootstrap")
        };
        // As it falls asleep it is running, and a running thread's native frames are not read.
        let whole = asleep.iter().filter(|frames| is_whole(frames)).count();
        assert!(whole + 2 >= asleep.len(), "{}: {whole} of {asleep:?}", python.display());
    }
}

/// A thread that sleeps outside Python before it calls a function of it, which sleeps too.
const LATER: &str = r#"
#include <pthread.h>
#include <unistd.h>
static void *later(void *call) {
    usleep(150000);
    ((void (*)(void))call)();
    return 0;
}
void start(void (*call)(void)) {
    pthread_t thread;
    pthread_create(&thread, 0, later, call);
    pthread_join(thread, 0);
}
"#;

#[test]
fn a_thread_that_becomes_pythons_late_has_its_python_frames() {
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    let [source, library] = ["later.c", "later.so"].map(|name| folder.path().join(name));
    std::fs::write(&source, LATER).expect("a file");
    let cc = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(cc.expect("a C compiler").success());
    for python in pythons() {
        let seen = run(&python, &["late", library.to_str().expect("a plain path")], 30, "thread");
        let samples = seen.samples(seen.fact("thread")[0]);
        let line = u32::try_from(seen.fact("sleeps")[0]).expect("a line");
        let asleep = samples.iter().filter(|frames| line_of(frames, "inner") == Some(line)).count();
        println!("{}: {asleep} of {}", python.display(), samples.len());
        // It sleeps for 150 ms, then for 600 ms in Python.
        assert!(2 * asleep > samples.len(), "{}: {samples:?}", python.display());
    }
}

#[test]
fn the_child_of_a_fork_is_read_as_its_own_process() {
    for python in pythons() {
        let seen = run(&python, &["fork"], 20, "child");
        let samples = seen.samples(seen.fact("child")[0]);
        let spins = samples.iter().filter(|frames| line_of(frames, "spin").is_some()).count();
        println!("{}: {spins} of {}", python.display(), samples.len());
        assert!(spins >= 10, "{}: {samples:?}", python.display());
    }
}

/// `naps` makes its system call itself, in a frame that the tables give by the frame pointer, below the remains of frames of
/// `stirs`, which have pushed frame pointers and return addresses too. `dozes` does so as functions of Ubuntu's C library do: behind
/// another way through it, with an instruction in the middle of what sets its frame up.
#[cfg(target_arch = "x86_64")]
const NAPS: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define APART __attribute__((noinline, optimize("no-omit-frame-pointer")))
APART int stirs(int depth) {
    volatile char room[40];
    room[0] = depth;
    return depth ? stirs(depth - 1) + room[0] : room[0];
}
APART long naps(const long *time) {
    volatile char room[200];
    long code;
    __asm__ volatile("syscall" : "=a"(code) : "a"(35), "D"(time), "S"(0) : "rcx", "r11", "memory");
    room[0] = code;
    return room[0];
}
APART long caller(const long *time) { return naps(time) + stirs(3); }
char is_alone;
long dozes(const long *time);
__asm__(".text\n.type dozes, @function\ndozes:\n.cfi_startproc\nendbr64\n"
        "cmpb $0, is_alone(%rip)\nje 1f\nmov $35, %eax\nxor %esi, %esi\nsyscall\nret\n.p2align 4\n"
        "1: push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6, -16\nxor %esi, %esi\n"
        "mov %rsp, %rbp\n.cfi_def_cfa_register 6\npush %rbx\n.cfi_offset 3, -24\nsub $0x68, %rsp\n"
        "mov $35, %eax\nsyscall\nmov -8(%rbp), %rbx\nleave\n.cfi_def_cfa 7, 8\nret\n"
        ".cfi_endproc\n.size dozes, . - dozes\n");
APART long other(const long *time) { return dozes(time) + stirs(3); }
long dozes_checked(const long *time, long size);
__asm__(".text\n.type dozes_checked, @function\ndozes_checked:\n.cfi_startproc\nendbr64\n"
        "cmp $8, %rsi\njb 1f\n.byte 0xe9\n.long dozes - . - 4\n1: push %rbp\n.cfi_def_cfa_offset 16\nmov %rsp, %rbp\nud2\n"
        ".cfi_endproc\n.size dozes_checked, . - dozes_checked\n");
APART long checked(const long *time) { return dozes_checked(time, 16) + stirs(3); }
/* A spool file, as the recorder makes it: that is how the watcher finds a process. */
static void enroll(const char *folder) {
    char header[1 << 16], path[256], fresh[300];
    int pid = getpid();
    snprintf(path, sizeof path, "%s/header", folder);
    int file = open(path, O_RDONLY);
    long size = read(file, header, sizeof header);
    close(file);
    memcpy(header + 8, &pid, sizeof pid);
    snprintf(path, sizeof path, "%s/%d-0.spool", folder, pid);
    snprintf(fresh, sizeof fresh, "%s.fresh", path);
    file = open(fresh, O_RDWR | O_CREAT, 0600);
    if (write(file, header, size) == size)
        mmap(0, size, PROT_READ, MAP_SHARED, file, 0);
    rename(fresh, path);
    strcpy(path + strlen(path) - 5, "watch");
    while (access(path, F_OK))
        usleep(1000);
}
int main(int count, char **arguments) {
    const long time[] = {0, 20000000};
    enroll(arguments[count - 1]);
    printf("thread %d\n", (int)syscall(SYS_gettid));
    fflush(stdout);
    long all = 0;
    for (int at = 0; at < 60; at++)
        all += stirs(5) + (at % 3 == 2 ? caller(time) : stirs(5) + (at % 3 ? checked(time) : other(time)));
    return all == 1;
}
"#;

#[cfg(target_arch = "x86_64")]
#[test]
fn a_frame_pointer_that_is_not_known_is_found() {
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    let [source, program] = ["naps.c", "naps"].map(|name| folder.path().join(name));
    std::fs::write(&source, NAPS).expect("a file");
    let cc = Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(&source).status();
    assert!(cc.expect("a C compiler").success());
    let seen = watched_until(&program, &[], 100, |seen| seen.samples(seen.fact("thread")[0]).len() >= 60);
    let samples = seen.samples(seen.fact("thread")[0]);
    let named = |frames: &Vec<(String, u32)>| {
        let mine = ["naps", "caller", "dozes", "other", "checked", "main", "stirs"];
        let names = frames.iter().map(|(name, _)| name.clone());
        names.filter(|name| mine.contains(&name.as_str())).collect::<Vec<_>>()
    };
    for way in [["naps", "caller", "main"], ["dozes", "other", "main"], ["dozes", "checked", "main"]] {
        let is_asleep = |frames: &Vec<String>| frames.iter().any(|name| name == way[1]);
        let asleep: Vec<_> = samples.iter().map(named).filter(is_asleep).collect();
        let right = asleep.iter().filter(|frames| **frames == way).count();
        println!("{}: {right} of {}", way[1], asleep.len());
        // One may have woken while it was read.
        assert!(right >= 15 && right + 1 >= asleep.len(), "{samples:?}");
    }
}

#[test]
fn a_blocked_thread_of_a_native_program() {
    let enough = |seen: &Seen| seen.samples(seen.fact("planted")[0]).len() >= 25;
    let seen = watched_until(&planted(), &["futex"], 100, enough);
    let samples = seen.samples(seen.fact("planted")[0]);
    let waits = samples
        .iter()
        .filter(|frames| frames.iter().any(|(name, _)| name.contains("planted::futex")))
        .count();
    assert!(waits >= 20, "{samples:?}");
}

#[test]
fn a_running_thread_of_a_native_program_where_the_kernel_permits_it() {
    let seen = watched(&planted(), &["burners", "600"], 100);
    if seen.trace.meta.notes.iter().any(|note| note.contains("perf_event_open is not permitted")) {
        return println!("skipped: perf_event_open is not permitted");
    }
    let samples: Vec<_> = seen.facts["burner"].iter().flat_map(|burner| seen.samples(burner[0])).collect();
    let burns =
        samples.iter().filter(|frames| frames.iter().any(|(name, _)| name.contains("planted::burn"))).count();
    // Four threads have 600 ms of one processor together.
    assert!(burns >= 15, "{burns}: {:?}", samples.iter().take(9).collect::<Vec<_>>());
}
