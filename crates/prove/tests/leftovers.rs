//! Nothing that a program starts outlives its run. A file of its own: its process must have no other children.
#![cfg(target_os = "linux")]

use prove::{Arm, Processes};
use std::path::Path;
use std::sync::atomic::AtomicBool;

#[test]
fn processes_that_left_the_group_end_with_the_run() {
    static NEVER: AtomicBool = AtomicBool::new(false);
    let processes = Processes::new(None, &NEVER);
    // One in the program's group, and one that made itself the leader of a session.
    let script = "sleep 100 & echo $!; pid=$(setsid sh -c 'sleep 100 >/dev/null & echo $!'); echo $pid";
    let arm = Arm::new(["sh", "-c", script].map(Into::into)).expect("a command");
    for _ in 0..5 {
        let run = processes.run(&arm).expect("it runs").expect("to its end");
        for pid in run.output.lines() {
            assert!(!Path::new("/proc").join(pid).exists(), "{pid} goes on");
        }
        assert_eq!(run.output.lines().count(), 2, "{}", run.output);
    }
}
