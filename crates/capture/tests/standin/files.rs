//! A recording's files are those of the user who records: others cannot read them, and no file is followed through a link
//! that they made.

use crate::compile::{Binding, built};
use crate::recording::Process;
use crate::run::{Program, Recorded};

fn program(scenario: &str) -> Program {
    Program::linked(Binding::Now, "files", scenario).with(spool::VAR_STACKS, "off")
}

/// Whether this user may become another one.
fn is_root() -> bool {
    // SAFETY: only returns a number.
    unsafe { libc::geteuid() == 0 }
}

fn launches(process: &Process) -> u64 {
    process.calls_of("cuLaunchKernel").len() as u64
}

/// Records lost because the file could not be opened again.
fn lost_its_file(recorded: &Recorded) -> u64 {
    let process = recorded.process();
    assert_eq!(process.full, Some(spool::Full::Gone));
    assert_eq!(launches(process) + process.dropped, 10_010);
    process.dropped
}

#[test]
fn files_are_their_owners_alone() {
    let path = built().linked(Binding::Now, "files").display().to_string();
    for (umask, mode) in [("000", 0o600), ("022", 0o600), ("077", 0o600), ("0177", 0o600)] {
        let words = ["-c", "umask $0; exec \"$@\"", umask, &path, "tells-modes"];
        let recorded = Program::new("/bin/sh".into(), built().folder(Binding::Now), &words).both();
        // What all processes share, and the process's own.
        assert_eq!(recorded.facts("mode"), [mode, mode], "umask {umask}");
    }
}

#[test]
fn no_file_is_made_or_opened_through_a_link() {
    let recorded = program("meets-links").both();
    assert_eq!(launches(recorded.process()), 10);
}

#[test]
fn a_file_that_another_one_took_the_place_of_is_gone() {
    for scenario in ["loses-file-to-link", "loses-file-to-other"] {
        assert!(lost_its_file(&program(scenario).both()) > 0, "{scenario}");
    }
}

#[test]
fn a_process_that_changes_its_user_counts_what_it_loses() {
    if is_root() {
        assert!(lost_its_file(&program("becomes-nobody").both()) > 0);
        assert_eq!(program("is-nobody").both().recording.processes.len(), 0);
    }
}
