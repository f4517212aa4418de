//! Checks whether the daemon of NVIDIA's Multi-Process Service runs.

use super::check::{Check, State};
use std::path::{Path, PathBuf};

const NAME: &str = "MPS";

pub fn check() -> Check {
    let directory = std::env::var_os("CUDA_MPS_PIPE_DIRECTORY").filter(|directory| !directory.is_empty());
    let directory = directory.map_or("/tmp/nvidia-mps".into(), PathBuf::from);
    let control = directory.join("control");
    if control.symlink_metadata().is_err() {
        return Check::ok(NAME, "not in use");
    }
    if !has_process(&directory) && !is_listened_to(&control) {
        return Check::ok(
            NAME,
            format!("not in use; {} is left of a daemon that has ended", directory.display()),
        );
    }
    let found = format!(
        "a daemon serves {}: programs share the GPU, and waits between programs are not recorded",
        directory.display()
    );
    Check::bad(
        NAME,
        State::Warn,
        found,
        "to record a program without it: echo quit | nvidia-cuda-mps-control",
    )
}

/// Whether the process id in the daemon's file is that of a daemon.
fn has_process(directory: &Path) -> bool {
    let pid = std::fs::read_to_string(directory.join("nvidia-cuda-mps-control.pid")).unwrap_or_default();
    let name = pid.trim().parse::<u32>().ok().and_then(|pid| std::fs::read(format!("/proc/{pid}/comm")).ok());
    // The kernel keeps 15 bytes of a name.
    name.is_some_and(|name| name.starts_with(b"nvidia-cuda-mps"))
}

/// Whether the kernel lists a socket of that name: the daemon may be in another PID namespace. A connection would be
/// more certain, but the daemon would notice it.
fn is_listened_to(control: &Path) -> bool {
    let sockets = std::fs::read("/proc/net/unix").unwrap_or_default();
    let name = control.as_os_str().as_encoded_bytes();
    sockets
        .split(|byte| *byte == b'\n')
        .any(|line| line.strip_suffix(name).is_some_and(|rest| rest.ends_with(b" ")))
}
