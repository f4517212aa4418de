//! MPS: the run's own daemon if the workload uses MPS, and none if it does not.

use crate::driver::Standin;
use crate::processes::processes;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use workload::Workload;

/// A stand-in for the daemon's program: a process with the daemon's name, which ends when it is told to quit.
const CONTROL: &str = r#"#!/bin/sh
name=nvidia-cuda-mps-control
if [ "$1" = -d ]; then
    [ -n "$SLOW" ] && touch "$SLOW" && exec sleep 60
    "$(dirname "$0")/nvidia-cuda-mps-daemon" 60 > /dev/null 2>&1 &
    echo $! > "$CUDA_MPS_PIPE_DIRECTORY/$name.pid"
    touch "$CUDA_MPS_PIPE_DIRECTORY/control"
    echo "$CUDA_MPS_PIPE_DIRECTORY $!" >> "$STANDIN_DAEMONS"
else
    read order
    [ -n "$QUITS" ] && touch "$QUITS"
    [ "$order" = quit ] && [ -z "$STUBBORN" ] && kill $(cat "$CUDA_MPS_PIPE_DIRECTORY/$name.pid")
fi
"#;

/// Programs of MPS, in a directory.
struct Programs(TempDir);

impl Programs {
    fn new() -> Programs {
        let directory = TempDir::new().expect("a temporary directory");
        let control = directory.path().join("nvidia-cuda-mps-control");
        fs::write(&control, CONTROL).expect("a program");
        fs::set_permissions(&control, fs::Permissions::from_mode(0o755)).expect("it can be executed");
        let sleep = ["/usr/bin/sleep", "/bin/sleep"].into_iter().find(|path| Path::new(path).exists());
        symlink(sleep.expect("a sleep"), directory.path().join("nvidia-cuda-mps-daemon")).expect("a link");
        Programs(directory)
    }

    /// Where the daemons that were started had their sockets, and their numbers.
    fn daemons(&self) -> Vec<(String, u32)> {
        let text = fs::read_to_string(self.0.path().join("daemons")).unwrap_or_default();
        let line = |line: &str| {
            let (directory, pid) = line.split_once(' ')?;
            Some((directory.to_owned(), pid.parse().ok()?))
        };
        text.lines().filter_map(line).collect()
    }

    /// Runs a workload with these programs in the path.
    fn run(&self, standin: &Standin, workload: &Workload, variables: &[(&str, &Path)]) -> Output {
        run(self.command(standin).envs(variables.iter().copied()), workload)
    }

    fn command(&self, standin: &Standin) -> Command {
        let path = format!("{}:{}", self.0.path().display(), std::env::var("PATH").unwrap_or_default());
        let mut command = standin.command(&["run"]);
        command.env("PATH", path).env("STANDIN_DAEMONS", self.0.path().join("daemons"));
        command
    }

    /// The same, interrupted when the programs make a file for which the variable stands.
    fn interrupted(&self, standin: &Standin, at: &str, variables: &[(&str, &str)]) -> Output {
        let file = self.0.path().join("now");
        let child =
            start(self.command(standin).env(at, &file).envs(variables.iter().copied()), &workload(true));
        let patience = Instant::now() + Duration::from_secs(20);
        while !file.exists() {
            assert!(Instant::now() < patience, "{at} does not happen");
            std::thread::sleep(Duration::from_millis(5));
        }
        // SAFETY: takes no pointer; the child was not waited for.
        unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
        child.wait_with_output().expect("it ends")
    }
}

fn run(command: &mut Command, workload: &Workload) -> Output {
    start(command, workload).wait_with_output().expect("it ends")
}

fn start(command: &mut Command, workload: &Workload) -> Child {
    use std::io::Write;
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("gpu_try starts");
    let text = serde_json::to_vec(workload).expect("it is data");
    child.stdin.take().expect("it is piped").write_all(&text).expect("gpu_try reads");
    child
}

/// Two processes, under MPS or not.
fn workload(mps: bool) -> Workload {
    let mut workload = processes(2, |_, thread, stream| {
        thread.body().synchronize(stream);
    });
    workload.mps = mps;
    workload
}

/// Where the processes looked for a daemon.
fn pipes(standin: &Standin) -> Vec<String> {
    let log = standin.log().into_iter().filter(|(_, _, call)| call.starts_with("cuInit"));
    log.filter_map(|(_, _, call)| call.split(' ').nth(2).map(str::to_owned)).collect()
}

fn is_running(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with(b"nvidia-cuda-mps"))
}

#[test]
fn a_workload_has_its_own_daemon_and_ends_it() {
    let (programs, standin) = (Programs::new(), Standin::new());
    let output = programs.run(&standin, &workload(true), &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let daemons = programs.daemons();
    let [(directory, pid)] = &daemons[..] else { panic!("one daemon, not {daemons:?}") };
    assert_eq!(pipes(&standin).into_iter().collect::<BTreeSet<_>>(), BTreeSet::from([directory.clone()]));
    assert!(!Path::new(directory).exists() && !is_running(*pid));
}

#[test]
fn a_run_that_fails_leaves_no_daemon() {
    let (programs, standin) =
        (Programs::new(), Standin::new().with("STANDIN_FAIL", "cuStreamSynchronize 1 -1"));
    let output = programs.run(&standin, &workload(true), &[]);
    assert!(!output.status.success());
    for (directory, pid) in programs.daemons() {
        assert!(!Path::new(&directory).exists() && !is_running(pid));
    }
    assert_eq!(programs.daemons().len(), 1);
}

/// A daemon that someone else has.
struct Other(TempDir, Child);

impl Other {
    fn new(programs: &Programs) -> Other {
        let directory = TempDir::new().expect("a temporary directory");
        let daemon = Command::new(programs.0.path().join("nvidia-cuda-mps-daemon")).arg("60").spawn();
        let daemon = daemon.expect("it starts");
        let written = directory.path().join("nvidia-cuda-mps-control.pid");
        fs::write(written, daemon.id().to_string()).expect("its number is written down");
        Other(directory, daemon)
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.1.kill().and_then(|()| self.1.wait());
    }
}

#[test]
fn another_daemon_is_neither_used_nor_ended() {
    let (programs, standin) = (Programs::new(), Standin::new());
    let other = Other::new(&programs);
    let theirs = other.0.path();
    for mps in [false, true] {
        let output = programs.run(&standin, &workload(mps), &[("CUDA_MPS_PIPE_DIRECTORY", theirs)]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success());
        let note = format!("note: an MPS daemon runs in {}; the workload did not use it", theirs.display());
        assert_eq!(said.contains(&note), !mps, "{said}");
    }
    let theirs = theirs.display().to_string();
    assert!(pipes(&standin).iter().all(|pipes| *pipes != theirs && pipes.contains("holdup-mps-")));
    assert!(is_running(other.1.id()));
}

#[test]
fn missing_parts_of_mps_are_errors() {
    let standin = Standin::new();
    let mut command = standin.command(&["run"]);
    let said = run(command.env("PATH", "/nonexistent"), &workload(true)).stderr;
    let said = String::from_utf8_lossy(&said);
    assert!(
        said.starts_with("MPS: nvidia-cuda-mps-control is not in PATH: it is part of NVIDIA's driver"),
        "{said}"
    );
    assert!(standin.log().is_empty());
    let programs = Programs::new();
    fs::write(
        programs.0.path().join("nvidia-cuda-mps-control"),
        "#!/bin/sh\necho no permission >&2\nexit 1\n",
    )
    .expect("a program");
    let said = programs.run(&standin, &workload(true), &[]).stderr;
    let said = String::from_utf8_lossy(&said);
    assert!(
        said.starts_with("MPS: nvidia-cuda-mps-control does not start a server: no permission: "),
        "{said}"
    );
}

#[test]
fn a_daemon_that_does_not_start_can_be_interrupted() {
    let programs = Programs::new();
    let began = Instant::now();
    let output = programs.interrupted(&Standin::new(), "SLOW", &[]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "interrupted while an MPS daemon was started\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[test]
fn a_signal_after_the_last_measurement_is_not_lost() {
    use std::os::unix::process::ExitStatusExt;
    let programs = Programs::new();
    let output = programs.interrupted(&Standin::new(), "QUITS", &[("STUBBORN", "yes")]);
    assert_eq!(output.status.signal(), Some(libc::SIGINT), "{output:?}");
}
