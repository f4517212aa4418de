//! Cost of watching: processor time of the watcher, with the threads of a program half of which wait for ever and
//! half of which wake up 200 times a second. `cargo bench -p holdup-watch --bench cost`.

#[cfg(target_os = "linux")]
fn main() {
    println!("{:>8} {:>8} {:>12} {:>14} {:>10}", "threads", "samples", "looks", "of a processor", "a look");
    for threads in ["16", "64", "256"] {
        for rate in [0, 100] {
            cost::of(threads, rate);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod cost {
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::time::Instant;
    use watch::{Options, Watcher};

    /// The example, built as this benchmark is.
    fn program() -> PathBuf {
        let this = std::env::current_exe().expect("it has a path");
        let target = this.ancestors().nth(2).expect("benchmarks lie in <profile>/deps");
        let program = target.join("examples/watch_planted");
        assert!(program.exists(), "cargo build --release -p holdup-watch --example watch_planted");
        program
    }

    pub fn of(threads: &str, sample_rate: u32) {
        let folder = tempfile::tempdir().expect("a folder");
        let directory: &Path = folder.path();
        let mut command = Command::new(program());
        let mut child =
            command.arg(directory).args(["idle", threads]).stdout(Stdio::null()).spawn().expect("starts");
        let began = Instant::now();
        let options = Options { directory: directory.to_owned(), sample_rate, max_size: 1 << 30 };
        let watcher = Watcher::start(options).expect("a thread");
        child.wait().expect("our child");
        let (report, wall) = (watcher.finish(), began.elapsed().as_nanos() as f64);
        let (share, look) = (report.cost as f64 / wall, report.cost as f64 / report.looks as f64 / 1000.0);
        println!(
            "{threads:>8} {sample_rate:>8} {:>12} {:>12.2} % {look:>7.0} µs",
            report.looks,
            100.0 * share
        );
    }
}
