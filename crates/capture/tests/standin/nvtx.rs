//! Ranges and names that a program marks.

use crate::compile::Binding;
use crate::run::Program;

#[test]
fn names_given_before_the_driver_is_initialized_are_kept() {
    for program in [Program::linked(Binding::Lazy, "nvtx", ""), Program::looking_up("nvtx", "")] {
        let recorded = program.both();
        let process = recorded.process();
        let [early, late] = ["early", "late"].map(|when| (format!("{when} range"), format!("{when} domain")));
        assert_eq!(process.ranges, [early.clone(), late, early]);
        assert_eq!(process.thread_names, [(recorded.fact("thread"), "early name".to_owned())]);
    }
}
