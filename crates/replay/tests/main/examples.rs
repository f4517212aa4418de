//! How well the replay of each recording in `examples/` fits, in `tests/data/examples.txt`: name, difference of the wall time,
//! and the greatest difference of that and of the GPU's busy time, in percent of the wall time. `docs/replay.md` has them, too.

use crate::support::{expect, fit, replayed};
use replay::retime;
use std::path::Path;
use trace::{CallId, Trace};

#[test]
fn recordings_are_reproduced() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let files = std::fs::read_dir(&examples).unwrap();
    let files = files.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut files: Vec<String> =
        files.filter(|file| file.ends_with(".json.gz") || file.ends_with(".holdup")).collect();
    files.sort();
    assert!(files.len() >= 18, "examples are missing");
    let of = |file: String| {
        let trace = import::open(&examples.join(&file), &mut |_| {}).unwrap();
        (file.split('.').next().unwrap_or_default().to_owned(), fit(&trace))
    };
    let fits: Vec<_> = files.into_iter().map(of).collect();
    expect("examples.txt", &fits);
    let page = std::fs::read_to_string(examples.join("../docs/replay.md")).unwrap();
    for (name, fit) in fits {
        let wall = format!("{:+.2}", 100.0 * fit.wall_error).replace('-', "−");
        let fits = if fit.fits { "fits" } else { "does not fit" };
        let row = format!("| `{name}` | {wall} % | {:.2} % | {fits} |\n", 100.0 * fit.error);
        assert!(page.contains(&row), "docs/replay.md lacks {row}");
    }
}

/// Threads race for the lock that a pageable copy holds: in a replay, other launches wait for it than did.
#[test]
fn the_waits_of_a_replay_are_its_own() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/recorded-d2h-stall.holdup");
    let trace = import::open(&example, &mut |_| {}).unwrap();
    let (recovered, replayed) = replayed(&trace);
    let again = retime(&trace, &recovered, &replayed);
    let unexplained = |trace: &Trace| {
        let parts = explain::call_parts(trace, 0);
        let parts = parts.into_iter().filter(|part| part.cause == explain::Cause::Unexplained);
        parts.map(|part| part.end - part.start).sum::<i64>()
    };
    // Each of these waits is of 130 ms.
    assert!(unexplained(&again) < unexplained(&trace) + 10_000_000, "{}", unexplained(&again));
    for wait in again.waits.ids().map(|wait| again.waits.row(wait)) {
        let calls = &again.calls;
        let within =
            |call: CallId| calls.start[call.index()] <= wait.start && wait.end <= calls.end[call.index()];
        assert!(wait.call.some().is_none_or(within), "{wait:?}");
    }
}
