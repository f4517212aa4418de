//! How long a trace takes to be recovered, replayed and compared, how long the gain of each change takes, and the memory that all
//! that needs, on one core:
//!
//! ```sh
//! cargo xtask generate kineto --size 600MB -o /tmp/million.json
//! cargo bench -p holdup-replay -- /tmp/million.json
//! ```

use std::path::Path;
use std::time::Instant;

fn main() {
    let traces: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if traces.is_empty() {
        println!("no trace: see the first lines of the file");
    }
    for name in traces {
        rate(&name);
    }
}

/// Prints the best of three.
fn rate(name: &str) {
    let trace = import::open(Path::new(name), &mut |_| {}).expect("a trace");
    // Reading needs more memory than the trace (proc(5): 5 resets the peak).
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = peak_mb();
    let mut best = [f64::MAX; 4];
    let (mut fits, mut changes) = (String::new(), String::new());
    for _ in 0..3 {
        let start = Instant::now();
        let recovered = replay::recover(&trace).expect("it has GPU records");
        let middle = Instant::now();
        let replayed = recovered.replay().expect("it runs");
        let end = Instant::now();
        let brief = replay::Fit::brief(&trace, &recovered, &replayed);
        let compared = Instant::now();
        let fit = replay::Fit::of(&trace, &recovered, &replayed);
        let times = [middle - start, end - middle, compared - end, compared.elapsed()];
        changes = rates_of_changes(&trace, &recovered, &brief);
        best.iter_mut().zip(times).for_each(|(best, time)| *best = best.min(time.as_secs_f64()));
        fits = format!("wall {:+.2} %, error {:.2} %", 100.0 * fit.wall_error, 100.0 * fit.error);
    }
    let [recover, run, brief, fit] = best;
    println!("{name}: {} calls, {} operations: {fits}", trace.calls.len(), trace.ops.len());
    println!(
        "  recover {recover:.2} s, replay {run:.2} s, fit {brief:.2} s, with where it differs {fit:.2} s"
    );
    println!("  gains:{changes}");
    println!("  peak {} MB, {before} MB of it before", peak_mb());
}

/// How long the gain of each change takes.
fn rates_of_changes(trace: &trace::Trace, recovered: &replay::Recovered, fit: &replay::Fit) -> String {
    let predictor = replay::Predictor::new(trace, recovered, fit, &|_| {}).expect("it runs");
    let rate = |fix| {
        let start = Instant::now();
        let gain = predictor.gain(&[replay::Change::Fix(fix)]).expect("it runs");
        let nothing = if gain.is_none() { " (changes nothing)" } else { "" };
        format!(" {} {:.2} s{nothing}", fix.id, start.elapsed().as_secs_f64())
    };
    replay::FIXES.iter().map(rate).collect::<Vec<_>>().join(",")
}

/// The most memory that this process had.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) / 1_000
}
