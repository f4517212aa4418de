//! The examination of machines that lack something. The driver's answers are invented; the loader and Python are real,
//! with an environment that points into temporary directories.
#![cfg(target_os = "linux")]

mod support;

use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{harmless, record_try, text};
use tempfile::TempDir;

/// The output of a healthy machine's probe.
const HEALTHY: &str = r#"
{"library":{"path":"/usr/lib/libcuda.so.1"}}
{"version":{"cuda":12040}}
"initialized"
{"device":{"name":"NVIDIA H200","major":9,"minor":0,"memory":150754820096}}
{"device":{"name":"NVIDIA L4","major":8,"minor":9,"memory":23609475072}}"#;

/// A machine that does not depend on the machine that runs the test.
struct Machine {
    command: Command,
    directory: TempDir,
}

impl Machine {
    /// A machine with the real probe and without a driver.
    fn bare() -> Machine {
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = Command::new(record_try());
        let path = std::env::var("PATH").unwrap_or_default();
        command.arg("doctor").env("PATH", format!("{}/bin:{path}", directory.path().display()));
        command.env("LD_LIBRARY_PATH", directory.path().join("libraries"));
        command.env("CUDA_MPS_PIPE_DIRECTORY", directory.path().join("mps"));
        command.env("HOLDUP_CAPTURE_LIB", harmless());
        for name in ["LD_PRELOAD", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "CUDA_VISIBLE_DEVICES"] {
            command.env_remove(name);
        }
        let machine = Machine { command, directory };
        machine.file("libraries/libcuda.so.1", "");
        machine.python("exit 1");
        machine
    }

    /// A machine whose probe is a shell script.
    fn probed(script: &str) -> Machine {
        let mut machine = Machine::bare();
        machine.command.args(["sh", "-c", script]);
        machine
    }

    /// A machine whose probe prints these facts.
    fn saying(facts: &str) -> Machine {
        Machine::probed(&format!("echo '{facts}'"))
    }

    fn env(mut self, name: &str, value: impl AsRef<Path>) -> Machine {
        self.command.env(name, value.as_ref());
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// Puts a script in place of Python.
    fn python(&self, script: &str) {
        for name in ["bin/python3", "bin/python"] {
            let path = self.file(name, &format!("#!/bin/sh\n{script}\n"));
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("own file");
        }
    }

    fn examine(&mut self) -> Report {
        let output = self.command.output().expect("record_try starts");
        let checks = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(text(&output.stderr), "");
        Report { checks, fit: output.status.code() == Some(0) }
    }
}

struct Report {
    checks: Value,
    fit: bool,
}

impl Report {
    fn check(&self, name: &str) -> &Value {
        let checks = self.checks["checks"].as_array().expect("checks");
        checks.iter().find(|check| check["name"] == name).expect(name)
    }

    fn state(&self, name: &str) -> &str {
        self.check(name)["state"].as_str().expect("a state")
    }

    fn found(&self, name: &str) -> Vec<&str> {
        let lines = self.check(name)["found"].as_array().expect("lines");
        lines.iter().map(|line| line.as_str().expect("text")).collect()
    }

    fn remedy(&self, name: &str) -> &str {
        self.check(name)["remedy"].as_str().expect("a remedy")
    }
}

#[test]
fn without_a_driver() {
    let report = Machine::bare().examine();
    assert!(!report.fit);
    assert_eq!(report.state("capture library"), "ok");
    assert_eq!((report.state("driver"), report.state("devices")), ("missing", "missing"));
    assert!(
        report.found("driver")[0].contains("libcuda.so.1: file too short"),
        "{:?}",
        report.found("driver")
    );
    assert!(report.remedy("driver").starts_with("install NVIDIA's driver"));
    assert_eq!(report.found("devices"), ["unknown without a working driver"]);
    assert_eq!((report.state("MPS"), report.state("injection variables")), ("ok", "ok"));
    assert_eq!(report.state("GPU counters"), "ok");
}

#[test]
fn a_healthy_machine() {
    let report = Machine::saying(HEALTHY).examine();
    assert!(report.fit);
    assert_eq!(report.state("driver"), "ok");
    assert!(report.found("driver")[0].ends_with("for CUDA 12.4, /usr/lib/libcuda.so.1"));
    let devices = [
        "0: NVIDIA H200, compute capability 9.0, 140.4 GiB",
        "1: NVIDIA L4, compute capability 8.9, 22.0 GiB",
    ];
    assert_eq!(report.found("devices"), devices);
}

#[test]
fn a_driver_that_hangs() {
    let library = r#"echo '{"library":{"path":"/lib/libcuda.so.1"}}'; exec sleep 60"#;
    let report = Machine::probed(library).examine();
    assert!(!report.fit);
    assert_eq!(report.found("driver"), ["/lib/libcuda.so.1: no answer within 2 s"]);
}

#[test]
fn a_driver_that_crashes() {
    let report = Machine::probed("ulimit -c 0; kill -SEGV $$").examine();
    assert_eq!(report.state("driver"), "missing");
    assert!(report.found("driver")[0].contains("the probe ended with signal: 11"));
}

#[test]
fn a_driver_that_fails() {
    let facts = r#"{"library":{"path":"/lib/libcuda.so.1"}}
{"version":{"cuda":12040}}
{"failed":{"function":"cuInit","code":803,"name":"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}}"#;
    let report = Machine::saying(facts).examine();
    let found = "/lib/libcuda.so.1: cuInit fails with 803 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
    assert_eq!(report.found("driver"), [found]);
    assert!(report.remedy("driver").contains("restart after a driver update"));
}

#[test]
fn a_driver_without_devices() {
    let facts = r#"{"library":{"path":"/lib/libcuda.so.1"}}
{"version":{"cuda":11080}}
{"failed":{"function":"cuInit","code":100,"name":"CUDA_ERROR_NO_DEVICE"}}"#;
    let report = Machine::saying(facts).examine();
    assert_eq!((report.state("driver"), report.state("devices")), ("warn", "missing"));
    assert_eq!(report.found("devices"), ["no GPU is visible"]);
    let report = Machine::saying(facts).env("CUDA_VISIBLE_DEVICES", "7").examine();
    assert_eq!(report.found("devices"), ["no GPU is visible with CUDA_VISIBLE_DEVICES=\"7\""]);
}

#[test]
fn cupti_in_python_packages() {
    let mut machine = Machine::saying(HEALTHY);
    let (twelve, thirteen) =
        ("site/nvidia/cuda_cupti/lib/libcupti.so.12", "site/nvidia/cu13/lib/libcupti.so.13");
    machine.file(twelve, "");
    machine.file(thirteen, "");
    machine.file("site/nvidia_cuda_cupti_cu12-12.4.127.dist-info/METADATA", "");
    machine.file("site/nvidia_cuda_cupti-13.0.85.dist-info/METADATA", "");
    machine.python(&format!("echo /usr; echo; echo {}", machine.path("site").display()));
    let report = machine.examine();
    assert_eq!(report.state("CUPTI"), "ok");
    for (file, version) in [(twelve, "12.4.127"), (thirteen, "13.0.85")] {
        let path = machine.path(file).display().to_string();
        let line = format!("{path} ({version}): for Python programs that load CUDA from packages");
        assert!(report.found("CUPTI").contains(&line.as_str()), "{:?}", report.found("CUPTI"));
    }
}

#[test]
fn a_cupti_that_does_not_load_is_not_used() {
    let mut machine = Machine::saying(HEALTHY);
    let path = machine.file("libraries/libcupti.so.12", "");
    let report = machine.examine();
    let line = format!("{}: not used", path.display());
    assert!(report.found("CUPTI").contains(&line.as_str()), "{:?}", report.found("CUPTI"));
}

#[test]
fn a_library_that_is_not_cupti() {
    let mut machine = Machine::bare();
    let path = machine.path("libraries/libcupti.so.13");
    std::fs::copy(harmless(), &path).expect("a copy");
    let report = machine.examine();
    assert_eq!(report.state("CUPTI"), "warn");
    assert_eq!(report.found("CUPTI")[0], format!("{}: for programs without their own copy", path.display()));
    assert!(report.remedy("CUPTI").starts_with("this library is not CUPTI"));
}

#[test]
fn a_cupti_newer_than_the_driver() {
    let facts = format!(r#"{{"cupti":{{"path":"/opt/libcupti.so.13","version":130000}}}}{HEALTHY}"#);
    let report = Machine::saying(&facts).examine();
    assert!(report.fit);
    assert_eq!(report.state("CUPTI"), "warn");
    assert!(report.remedy("CUPTI").starts_with("CUPTI 13 is newer than the driver's CUDA 12"));
}

#[test]
fn an_older_cupti_beside_one_newer_than_the_driver() {
    let facts = format!(r#"{{"cupti":{{"path":"/opt/libcupti.so.13","version":130000}}}}{HEALTHY}"#);
    let mut machine = Machine::saying(&facts);
    let path = machine.file("libraries/libcupti.so.12", "");
    let report = machine.examine();
    assert_eq!(report.state("CUPTI"), "ok");
    assert_eq!(report.found("CUPTI")[0], "/opt/libcupti.so.13: not used");
    let line = format!("{}: for programs without their own copy", path.display());
    assert!(report.found("CUPTI").contains(&line.as_str()), "{:?}", report.found("CUPTI"));
}

#[test]
fn an_mps_daemon() {
    let mut machine = Machine::saying(HEALTHY);
    let control = machine.file("mps/control", "");
    let report = machine.examine();
    assert_eq!(report.state("MPS"), "ok");
    assert!(report.found("MPS")[0].ends_with("is left of a daemon that has ended"));
    std::fs::remove_file(&control).expect("own file");
    let _daemon = UnixListener::bind(&control).expect("a socket");
    let report = machine.examine();
    assert!(report.fit);
    assert_eq!(report.state("MPS"), "warn");
}

#[test]
fn an_injection_variable_of_another_tool() {
    let machine = Machine::saying(HEALTHY).env("CUDA_INJECTION64_PATH", "/opt/other.so");
    let report = machine.env("NVTX_INJECTION64_PATH", harmless()).examine();
    assert!(report.fit);
    assert_eq!(report.state("injection variables"), "warn");
    assert_eq!(
        report.found("injection variables"),
        ["CUDA_INJECTION64_PATH is another tool's: /opt/other.so"]
    );
    assert_eq!(
        report.remedy("injection variables"),
        "unset CUDA_INJECTION64_PATH, unless that tool must run too"
    );
}

#[test]
fn a_capture_library_that_does_not_load() {
    let machine = Machine::saying(HEALTHY);
    let broken = machine.file("broken.so", "not a library");
    let report = machine.env("HOLDUP_CAPTURE_LIB", broken).examine();
    assert!(!report.fit);
    assert_eq!(report.state("capture library"), "missing");
    assert!(report.found("capture library")[0].contains("cannot be preloaded"));
    let report = Machine::saying(HEALTHY).env("HOLDUP_CAPTURE_LIB", "/no/such.so").examine();
    assert_eq!(report.state("capture library"), "missing");
    assert!(report.found("capture library")[0].ends_with("(looked for /no/such.so)"));
}
