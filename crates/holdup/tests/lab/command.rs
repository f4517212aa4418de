//! The program as a test runs it: without a GPU.

use std::path::Path;
use std::process::{Command, Output, Stdio};

pub fn holdup(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    // No driver, whether or not the machine has one.
    command.env("HOLDUP_LIBCUDA", "/nowhere/libcuda.so.1");
    command
        .args(arguments.split_ascii_whitespace())
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

/// Output of the program when it succeeds and has nothing to complain about.
pub fn printed(arguments: &str) -> String {
    let output = holdup(arguments);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {complaint}");
    assert!(complaint.is_empty(), "{arguments}: {complaint}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Checks that the program prints what `tests/data/lab/NAME` holds, twice the same, in lines of at most 100 columns.
/// `UPDATE_EXPECT=1` rewrites the file.
pub fn check(name: &str, arguments: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/lab").join(name);
    let text = printed(arguments);
    assert_eq!(text, printed(arguments), "{arguments}: not the same twice");
    // Listings are as wide as they need.
    let too_wide = text.lines().find(|line| !name.contains("stagger") && line.chars().count() > 100);
    assert!(name.ends_with(".json") || too_wide.is_none(), "{too_wide:?}");
    expect_test::expect_file![path].assert_eq(&text);
}
