//! Differences of small traces written as text: `tests/diffs/NAME/{before,after}.txt` in, further ones of a side in `before-2.txt`
//! and `after-2.txt`, `expected.txt` out, as in `cases.rs`. Then what holds for any traces: those of all other cases, and made up
//! ones.

mod random;
mod timeline;

use explain::diff::{AccountChange, Change, Diff, Limits, Run, diff, record_kinds};
use explain::{Options, explain};
use libtest_mimic::{Arguments, Trial};
use proptest::test_runner::{Config, TestRunner};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use trace::{Selection, Trace};

fn main() {
    let mut tests: Vec<_> = folders("diffs").into_iter().map(case).collect();
    tests.push(Trial::test("a_trace_does_not_differ_from_itself", || {
        traces().iter().for_each(|(name, trace)| no_change(name, trace));
        Ok(())
    }));
    tests.push(Trial::test("changes_add_up", || {
        let traces = traces();
        for pair in traces.windows(2) {
            adds_up(&diff(&[run(&pair[0].1)], &[run(&pair[1].1)], Limits::default()));
        }
        Ok(())
    }));
    tests.push(Trial::test("both_hold_for_made_up_traces", || {
        let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
        let any = (random::program(), random::program());
        let outcome = TestRunner::new(config).run(&any, |(before, after)| {
            let (before, after) = (random::trace(&before), random::trace(&after));
            no_change("made up", &before);
            adds_up(&diff(&[run(&before)], &[run(&after)], Limits::default()));
            Ok(())
        });
        outcome.map_err(|problem| problem.to_string().into())
    }));
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

/// The folders of a kind of cases, in order.
fn folders(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(kind);
    let mut cases: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases
}

/// The traces of all other cases.
fn traces() -> Vec<(String, Trace)> {
    let cases = ["steps", "accounts", "data"].into_iter().flat_map(folders);
    let read = |folder: PathBuf| {
        let text = std::fs::read_to_string(folder.join("trace.txt")).unwrap();
        (folder.display().to_string(), timeline::parse(&text).0)
    };
    cases.map(read).collect()
}

fn run(trace: &Trace) -> Run {
    let explanation = explain(trace, &Options { selection: Selection::default(), ..Options::default() });
    Run { kept: record_kinds(trace), explanation, figures: None }
}

/// Checks that nothing changed between a trace and itself.
fn no_change(name: &str, trace: &Trace) {
    let run = run(trace);
    let diff = diff(std::slice::from_ref(&run), std::slice::from_ref(&run), Limits::default());
    assert!(!diff.has_changes() && diff.lacks.is_empty(), "{name}");
    assert_eq!((diff.wall.change_ns, diff.steps.is_some()), (0, run.explanation.steps.is_some()), "{name}");
    for account in accounts(&diff) {
        assert!(account.rows.iter().all(|row| row.noise && row.change.change_ns == 0), "{name}");
    }
    assert!(diff.findings.iter().all(|finding| finding.noise && finding.change.change_ns == 0), "{name}");
}

/// Checks that the rows of each account add up to its span, on each side and in what changed.
fn adds_up(diff: &Diff) {
    for account in accounts(diff) {
        let sum = |of: fn(&Change) -> i64| account.rows.iter().map(|row| of(&row.change)).sum::<i64>();
        assert_eq!(sum(|change| change.before.ns), account.span.before.ns);
        assert_eq!(sum(|change| change.after.ns), account.span.after.ns);
        assert_eq!(sum(|change| change.change_ns), account.span.change_ns);
    }
}

fn accounts(diff: &Diff) -> impl Iterator<Item = &AccountChange> {
    let gpus = diff.gpus.iter().map(|gpu| &gpu.account);
    gpus.chain(diff.threads.iter().map(|of| &of.account)).chain(diff.steps.iter().map(|of| &of.account))
}

fn case(folder: PathBuf) -> Trial {
    let name = folder.file_name().unwrap().to_str().unwrap().replace('-', "_");
    Trial::test(name, move || {
        let side = |side: &str| -> Vec<Run> {
            let files = [format!("{side}.txt"), format!("{side}-2.txt")].map(|file| folder.join(file));
            let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
            texts.map(|text| run(&timeline::parse(&text).0)).collect()
        };
        let (before, after) = (side("before"), side("after"));
        let diff = diff(&before, &after, Limits::default());
        if (before.len(), after.len()) == (1, 1) {
            adds_up(&diff);
        }
        expect_test::expect_file![folder.join("expected.txt")].assert_eq(&listing(&diff));
        Ok(())
    })
}

/// One line per figure, times in µs; `~` before what is noise.
fn listing(diff: &Diff) -> String {
    let mut out = String::new();
    for lack in &diff.lacks {
        writeln!(out, "{} lacks {}", lack.side.id(), lack.what.id()).unwrap();
    }
    writeln!(out, "wall {}", figures(&diff.wall)).unwrap();
    if let Some(steps) = &diff.steps {
        let (before, after) = (steps.before_count, steps.after_count);
        writeln!(out, "{before} and {after} steps {}, median {}", steps.name, figures(&steps.median))
            .unwrap();
        account(&mut out, &steps.account);
    }
    for gpu in &diff.gpus {
        writeln!(out, "GPU {}", gpu.device).unwrap();
        account(&mut out, &gpu.account);
    }
    for of in &diff.threads {
        let (before, after) = (of.before_count, of.after_count);
        writeln!(out, "threads {}{}: {before} and {after}", of.name, of.call).unwrap();
        account(&mut out, &of.account);
    }
    for finding in &diff.findings {
        let noise = if finding.noise { "~" } else { "" };
        let (cause, state) = (finding.cause.id(), finding.state.id());
        writeln!(out, "{noise}{state}: {cause} {} {}", finding.call, figures(&finding.change)).unwrap();
    }
    out
}

fn account(out: &mut String, account: &AccountChange) {
    writeln!(out, "  span {}", figures(&account.span)).unwrap();
    for row in &account.rows {
        let noise = if row.noise { "~" } else { "" };
        let place = row.place.as_ref().map_or(String::new(), |place| format!(" @ {}", place.function));
        let call = if row.call.is_empty() { String::new() } else { format!(" {}", row.call) };
        writeln!(out, "  {noise}{}{place}{call} {}", row.what.id(), figures(&row.change)).unwrap();
    }
}

fn figures(change: &Change) -> String {
    let us = |ns: i64| ns as f64 / 1000.0;
    let (before, after) = (us(change.before.ns), us(change.after.ns));
    format!("{before} -> {after}: {}", us(change.change_ns))
}
