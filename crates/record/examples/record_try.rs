//! What the tests start: `record_try run PROGRAM...` records a program and ends like it.
//!
//! `RECORD_TRY_PARENT` is where the spool goes, `RECORD_TRY_OUTCOME` a file for what came of it.

#[cfg(target_os = "linux")]
fn main() {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_deref().and_then(std::ffi::OsStr::to_str) {
        Some("run") => run(arguments.collect()),
        _ => std::process::exit(2),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn run(argv: Vec<std::ffi::OsString>) {
    let variable = |name| std::path::PathBuf::from(std::env::var_os(name).unwrap_or_default());
    let options = record::Options {
        level: spool::Level::Full,
        stacks_ns: Some(100_000),
        locks: vec!["libone".into(), "libtwo".into()],
        max_size: 1 << 30,
        spool_parent: variable("RECORD_TRY_PARENT"),
    };
    match (record::Command { argv, options }).run() {
        Ok(outcome) => {
            let took = outcome.ended.monotonic_ns - outcome.started.monotonic_ns;
            let lines = [
                format!("{:?}", outcome.status),
                format!("{} ms", took / 1_000_000),
                outcome.notes.join("\n"),
            ];
            let _ = std::fs::write(variable("RECORD_TRY_OUTCOME"), lines.join("\n"));
            drop(outcome.spool);
            record::die_like(outcome.status)
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(error.exit_status().into())
        }
    }
}
