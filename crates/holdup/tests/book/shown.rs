//! Which trace shows which cause, and which fix gains something: an example, a run of `holdup lab` in virtual time, or a program to record.

/// Commands that make a trace, and one that shows something of it.
pub struct Shown {
    /// The name of the cause, the overlap rule or the fix.
    pub id: &'static str,
    /// Command line that makes the trace; empty for an example.
    pub make: &'static str,
    /// The command line that shows it.
    pub look: &'static str,
    /// The part of its output that a page has.
    pub part: Part,
}

/// A part of an output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The first finding of the cause.
    Finding,
    /// The rows of the cause in the tables of an account.
    Rows,
    /// As `Rows`, of a program that is recorded anew each time: a test looks for them, the page does not have them.
    Recorded,
    /// The lines of an overlap rule.
    Overlap,
    /// The table of predictions.
    Predictions,
}

const CONNECTIONS: &str = "holdup lab run architectures --on sim:k20c --set variant=threads --set workers=16 --set memory=pinned \
                           --set iterations=3 --set launches=100 --trace queues.holdup";
const C1060: &str = "holdup lab run overlap --on sim:c1060 --set memory=pinned --set variant=depth-first --trace c1060.holdup";
const C2050: &str = "holdup lab run overlap --on sim:c2050 --set memory=pinned --set variant=breadth-first --trace c2050.holdup";
const PROCESSES: &str = "holdup lab run architectures --on sim:h200 --set variant=processes --set threads=4 --set memory=pinned --set \
                         iterations=3 --trace processes.holdup";
const LAUNCHES: &str = "holdup lab run architectures --on sim:h200 --set variant=threads --set workers=8 --set memory=pinned --set \
                        iterations=5 --set launches=100 --trace launches.holdup";

const DEFAULT_STREAM: &str =
    "holdup lab run examples/default-stream.toml --on sim:h200 --trace default.holdup";

/// Causes.
pub const CAUSES: &[Shown] = &[
    finding("driver-lock", "holdup explain --all examples/recorded-d2h-stall.holdup"),
    finding("application-lock", "holdup explain --all examples/recorded-library-first-use.holdup"),
    finding("pageable-staging", "holdup explain --all examples/pytorch-d2h-stall-reused-buffer.json.gz"),
    finding("pageable-order", "holdup explain --all examples/recorded-staggered-copies.holdup"),
    finding("hidden-sync", "holdup explain --all examples/recorded-norm-hidden-sync.holdup"),
    finding("explicit-sync", "holdup explain --all examples/recorded-d2h-pinned.holdup"),
    finding("implicit-device-sync", "holdup explain --all examples/pytorch-free-waits.json.gz"),
    finding("queue-full", "holdup explain --all examples/pytorch-queue-full.json.gz"),
    finding("blocking-launch", "holdup explain --all examples/recorded-blocking-launches.holdup"),
    finding("first-use", "holdup explain --all examples/recorded-library-first-use.holdup"),
    finding("allocation", "holdup explain --all examples/pytorch-pinning-stall.json.gz"),
    finding("pool-trim", "holdup explain --all examples/recorded-pool-trim.holdup"),
    finding("object-churn", "holdup explain --all examples/recorded-graph-churn.holdup"),
    finding("page-faults", "holdup explain --all examples/recorded-d2h-own-streams.holdup"),
    finding("page-migration", "holdup explain --all examples/listed-unified-memory.csv"),
    finding("profiler-overhead", "holdup explain --all examples/recorded-staggered-copies.holdup"),
    rows("copy-engine-busy", C1060, "holdup stats c1060.holdup"),
    recorded("gil", "holdup record -o gil.holdup python examples/threads.py gil", "holdup stats gil.holdup"),
    recorded(
        "lock",
        "holdup record -o lock.holdup python examples/threads.py lock",
        "holdup stats lock.holdup",
    ),
    rows("blocked", "", "holdup stats examples/pytorch-d2h-stall-operators.json.gz"),
    recorded(
        "no-cpu",
        "holdup record -o no-cpu.holdup python examples/threads.py no-cpu",
        "holdup stats no-cpu.holdup",
    ),
    recorded(
        "kernel-build",
        "holdup record -o kernel-build.holdup python examples/threads.py kernel-build",
        "holdup stats kernel-build.holdup",
    ),
    recorded(
        "data-loading",
        "holdup record -o data-loading.holdup python examples/threads.py data-loading",
        "holdup stats data-loading.holdup",
    ),
    recorded(
        "feeding",
        "holdup record -o feeding.holdup python examples/threads.py feeding",
        "holdup stats feeding.holdup",
    ),
    recorded(
        "file-writing",
        "holdup record -o file-writing.holdup python examples/threads.py file-writing",
        "holdup stats file-writing.holdup",
    ),
    recorded(
        "file-reading",
        "holdup record -o file-reading.holdup python examples/threads.py file-reading",
        "holdup stats file-reading.holdup",
    ),
    recorded(
        "garbage-collection",
        "holdup record -o garbage-collection.holdup python examples/threads.py garbage-collection",
        "holdup stats garbage-collection.holdup",
    ),
    finding("host-code", "holdup explain --all examples/pytorch-d2h-stall-operators.json.gz"),
    recorded(
        "no-demand",
        "holdup record -o no-demand.holdup python examples/threads.py no-demand",
        "holdup stats no-demand.holdup",
    ),
    finding("own-work", "holdup explain --all examples/pytorch-item-hidden-sync.json.gz"),
    finding("launch-latency", "holdup explain --all examples/recorded-d2h-pinned.holdup"),
    rows("dependency", C1060, "holdup stats c1060.holdup"),
    made("default-stream", DEFAULT_STREAM, "holdup explain --all default.holdup"),
    made("connection-aliasing", CONNECTIONS, "holdup explain --all queues.holdup"),
    made("issue-order", C1060, "holdup explain --all c1060.holdup"),
    made("time-slicing", PROCESSES, "holdup explain --all processes.holdup"),
    rows("gpu-full", C2050, "holdup stats c2050.holdup"),
    rows("start-up", "", "holdup stats examples/recorded-d2h-stall.holdup"),
    finding("unexplained", "holdup explain --all examples/recorded-d2h-stall.holdup"),
    rows("not-recorded", "", "holdup stats examples/recorded-d2h-stall.holdup"),
];

/// Rules that prevent overlap.
pub const OVERLAP: &[Shown] = &[
    overlap("default-stream", DEFAULT_STREAM, "holdup stats default.holdup"),
    overlap("issue-order", C2050, "holdup stats c2050.holdup"),
    overlap("connections", CONNECTIONS, "holdup stats queues.holdup"),
    overlap("pageable-memory", "", "holdup stats examples/pytorch-d2h-own-streams.json.gz"),
    overlap("synchronization", C1060, "holdup stats c1060.holdup"),
    overlap("one-stream", "", "holdup stats examples/pytorch-d2h-stall.json.gz"),
];

/// Fixes, with what they are predicted to gain.
pub const FIXES: &[Shown] = &[
    predicted("own-stream", "", "holdup whatif examples/recorded-d2h-stall.holdup --fix own-stream"),
    predicted("pinned-reused", "", "holdup whatif examples/recorded-d2h-stall.holdup --fix pinned-reused"),
    predicted("pool-allocator", "", "holdup whatif examples/pytorch-free-waits.json.gz --fix pool-allocator"),
    predicted("eager-loading", "", "holdup whatif examples/recorded-library-first-use.holdup --fix warm-up"),
    predicted("graph", LAUNCHES, "holdup whatif launches.holdup --fix graph"),
    predicted("mps", CONNECTIONS, "holdup whatif queues.holdup --fix process-per-thread,mps"),
    predicted("more-connections", CONNECTIONS, "holdup whatif queues.holdup --fix more-connections"),
    predicted(
        "device-scalar",
        "",
        "holdup whatif examples/recorded-norm-hidden-sync.holdup --fix device-scalar",
    ),
    predicted("kept-object", "", "holdup whatif examples/recorded-graph-churn.holdup --fix kept-object"),
    predicted(
        "release-threshold",
        "",
        "holdup whatif examples/recorded-pool-trim.holdup --fix release-threshold",
    ),
    predicted(
        "async-launches",
        "",
        "holdup whatif examples/recorded-blocking-launches.holdup --fix async-launches",
    ),
];

const fn shown(id: &'static str, make: &'static str, look: &'static str, part: Part) -> Shown {
    Shown { id, make, look, part }
}

const fn finding(id: &'static str, look: &'static str) -> Shown {
    shown(id, "", look, Part::Finding)
}

const fn made(id: &'static str, make: &'static str, look: &'static str) -> Shown {
    shown(id, make, look, Part::Finding)
}

const fn rows(id: &'static str, make: &'static str, look: &'static str) -> Shown {
    shown(id, make, look, Part::Rows)
}

const fn recorded(id: &'static str, make: &'static str, look: &'static str) -> Shown {
    shown(id, make, look, Part::Recorded)
}

const fn overlap(id: &'static str, make: &'static str, look: &'static str) -> Shown {
    shown(id, make, look, Part::Overlap)
}

const fn predicted(id: &'static str, make: &'static str, look: &'static str) -> Shown {
    shown(id, make, look, Part::Predictions)
}

/// The part of an output that is about a cause, a rule or a fix, with `…` for what is before and after; empty if there is none.
pub fn part(shown: &Shown, output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let kept: Vec<&str> = match shown.part {
        Part::Finding => finding_of(shown.id, &lines),
        Part::Rows | Part::Recorded => rows_of(shown.id, &lines),
        Part::Overlap => overlap_of(shown.id, &lines),
        Part::Predictions => lines.into_iter().skip_while(|line| !line.starts_with('┌')).collect(),
    };
    let text = kept.join("\n");
    let text = text.trim_end();
    let after = if shown.part == Part::Predictions { "" } else { "…\n" };
    if text.is_empty() { String::new() } else { format!("…\n{text}\n{after}") }
}

/// A finding without its fixes, which have pages of their own.
fn finding_of<'a>(cause: &str, lines: &[&'a str]) -> Vec<&'a str> {
    let is_title = |line: &str| {
        let title = line.rsplit("  ").next().unwrap_or_default();
        line.starts_with('H') && title.split(" · ").next() == Some(cause)
    };
    let from = lines.iter().position(|line| is_title(line)).unwrap_or(lines.len());
    let block = lines[from..].iter().take_while(|line| !line.is_empty() && !line.starts_with("    fix "));
    block.copied().collect()
}

fn rows_of<'a>(cause: &str, lines: &[&'a str]) -> Vec<&'a str> {
    let has = |line: &&&str| line.split('│').any(|cell| cell.trim() == cause);
    lines.iter().filter(has).copied().collect()
}

fn overlap_of<'a>(rule: &str, lines: &[&'a str]) -> Vec<&'a str> {
    let begins =
        |line: &str| line.trim_start().starts_with("lost ") && line.contains(&format!("  {rule} · "));
    let Some(from) = lines.iter().position(|line| begins(line)) else { return Vec::new() };
    let deeper = |line: &&&str| line.starts_with("                   ");
    [&lines[from]].into_iter().chain(lines[from + 1..].iter().take_while(deeper)).copied().collect()
}
