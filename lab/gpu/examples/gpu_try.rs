//! Program that the tests start: as a process of a workload, and to run one from outside.
//!
//! `gpu_try run [timed] [trace]` runs the workload that comes as JSON on standard input, and prints what came of it;
//! `gpu_try devices` prints the devices.

#[cfg(target_os = "linux")]
fn main() {
    gpu::child_main();
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("run") => run(&arguments[1..]),
        Some("devices") => gpu::devices(None).map(|machine| println!("{machine:#?}")),
        _ => std::process::exit(2),
    };
    if let Err(error) = done {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

#[cfg(target_os = "linux")]
fn run(how: &[String]) -> Result<(), gpu::Error> {
    let workload = serde_json::from_reader(std::io::stdin()).expect("a workload in JSON");
    let is = |word| how.iter().any(|other| other == word);
    let options = gpu::Options { timed: is("timed"), trace: is("trace"), ..gpu::Options::default() };
    let run = gpu::run(&workload, &options)?;
    match run.partial {
        Some(partial) => println!("partial: {partial}"),
        None => println!("whole"),
    }
    for thread in &run.outcome.threads {
        println!("{thread:?}");
    }
    run.notes.iter().for_each(|note| println!("note: {note}"));
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
