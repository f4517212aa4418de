//! The program that the tests start.
//!
//! `record_try run PROGRAM...` records a program and ends like it; `RECORD_TRY_PARENT` names the spool's parent
//! directory, `RECORD_TRY_OUTCOME` a file for the outcome. `record_try doctor [PROBE...]` examines the machine, with
//! another probe if one is named, and prints JSON.

#[cfg(target_os = "linux")]
fn main() {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_deref().and_then(std::ffi::OsStr::to_str) {
        Some("run") => run(arguments.collect()),
        Some("doctor") => doctor(arguments.collect()),
        Some("probe") => record::doctor::probe(),
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
        sample_rate: 100,
        max_size: 1 << 30,
        keep_last: false,
        schedule: record::Schedule::default(),
        graph_nodes: false,
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
            if let Some(obstacle) = &outcome.obstacle {
                eprintln!("{obstacle}");
            }
            drop(outcome.spool);
            record::die_like(outcome.status)
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(error.exit_status().into())
        }
    }
}

#[cfg(target_os = "linux")]
fn doctor(mut probe: Vec<std::ffi::OsString>) {
    let mut patience = record::doctor::PATIENCE;
    if probe.is_empty() {
        probe = vec![std::env::current_exe().unwrap_or_default().into(), "probe".into()];
    } else {
        patience = std::time::Duration::from_secs(2);
    }
    let examination = record::doctor::examine(&record::doctor::Options { probe, patience });
    println!("{}", serde_json::to_string_pretty(&examination).unwrap_or_default());
    std::process::exit(i32::from(!examination.is_fit()))
}
