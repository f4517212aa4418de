//! A trace whose replay does not fit: on a simulated Fermi kernels signal their ends together.

use std::path::Path;
use std::process::Command;

/// Writes one into a directory. Returns its path.
pub fn trace(directory: &Path) -> String {
    let path = directory.join("unfit.holdup").to_str().expect("UTF-8").to_owned();
    let run = ["lab", "run", "overlap", "--on", "sim:c2050"];
    let variant = ["--set", "memory=pinned", "--set", "variant=breadth-first", "--trace", &path];
    let output = Command::new(env!("CARGO_BIN_EXE_holdup")).args(run).args(variant).output();
    let output = output.expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path
}
