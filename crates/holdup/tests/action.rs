//! The steps of `action.yml`, as GitHub runs them.

use std::process::Command;

#[test]
fn the_actions_steps_judge_comment_and_end_as_the_gate() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let python = Command::new("python3").arg("--version").output();
    if python.is_err() {
        eprintln!("no python3: the action's steps are not tested");
        return;
    }
    let test = Command::new("python3")
        .args(["-B", "action/test.py", env!("CARGO_BIN_EXE_holdup")])
        .current_dir(root)
        .output()
        .expect("python3 starts");
    assert!(test.status.success(), "{}", String::from_utf8_lossy(&test.stderr));
}
