//! Waits of Python programs: for the GIL, a queue, the end of a thread. With every Python there is: `python3`, and those
//! that HOLDUP_TEST_PYTHONS lists, separated by colons.

use crate::compile::{Binding, built};
use crate::run::{Program, Recorded};
use std::path::{Path, PathBuf};
use std::process::Command;
use trace::{LockKind, LockLayer, StackId, ThreadId, Trace, Wait};

/// Interpreters that start and are of a release that is known, with their minor versions.
fn pythons() -> Vec<(PathBuf, u32)> {
    let listed = std::env::var("HOLDUP_TEST_PYTHONS").unwrap_or_default();
    let listed = listed.split(':').filter(|path| !path.is_empty()).map(str::to_owned);
    let mut found: Vec<(PathBuf, u32)> = Vec::new();
    for python in listed.chain(["python3".to_owned()]) {
        let known = release(&python).filter(|(path, _)| !found.iter().any(|(other, _)| other == path));
        found.extend(known);
    }
    if found.is_empty() {
        println!("skipped: there is no python3 of 3.10 to 3.14");
    }
    found
}

fn release(python: &str) -> Option<(PathBuf, u32)> {
    let ask = "import sys; print(sys.executable); print(*sys.version_info[:2])";
    let output = Command::new(python).args(["-c", ask]).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    let (path, version) = said.trim().split_once('\n')?;
    let minor: u32 = version.strip_prefix("3 ")?.parse().ok()?;
    (10..15).contains(&minor).then(|| (PathBuf::from(path), minor))
}

fn script() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/standin/waiting.py");
    script.to_str().expect("paths are UTF-8").to_owned()
}

fn program(python: &Path, words: &[&str]) -> Program {
    let script = script();
    let words: Vec<&str> = [script.as_str()].into_iter().chain(words.iter().copied()).collect();
    Program::new(python.to_owned(), built().folder(Binding::Lazy), &words).gathered()
}

/// Runs a scenario bare and recorded.
fn both(python: &Path, words: &[&str]) -> Recorded {
    let recorded = program(python, words).both();
    assert_eq!(recorded.outcome.stdout, "done\n", "{} {words:?}: {:?}", python.display(), recorded.outcome);
    recorded
}

fn waits(trace: &Trace, kind: LockKind) -> Vec<Wait> {
    let waits = trace.waits.ids().map(|wait| trace.waits.row(wait));
    waits.filter(|wait| wait.kind == kind).collect()
}

fn tid(trace: &Trace, thread: ThreadId) -> u64 {
    thread.some().map_or(0, |thread| trace.threads.tid[thread.index()] as u64)
}

/// The frames of a stack that lie in the script, innermost first: function and line.
fn lines(trace: &Trace, stack: StackId) -> Vec<(String, u32)> {
    let stacks = std::iter::successors(stack.some(), |stack| trace.stacks.caller[stack.index()].some());
    let frames = stacks.map(|stack| trace.frames.row(trace.stacks.frame[stack.index()]));
    let own = frames.filter(|frame| trace.text(frame.file).ends_with("waiting.py"));
    own.map(|frame| (trace.text(frame.function).to_owned(), frame.line)).collect()
}

/// The waits of the planted program that its main thread made where it gives the GIL up.
fn planted<'a>(trace: &'a Trace, recorded: &'a Recorded) -> impl Iterator<Item = Wait> + 'a {
    let waiter = recorded.fact("waiter");
    let own = waits(trace, LockKind::Gil).into_iter().filter(move |wait| tid(trace, wait.thread) == waiter);
    own.filter(|wait| lines(trace, wait.stack).first().is_some_and(|(function, _)| function == "give_up"))
}

/// Planted waits that took over 1 ms.
fn long_planted(recorded: &Recorded) -> Vec<Wait> {
    let trace = recorded.trace.as_ref().expect("it was gathered");
    planted(trace, recorded).filter(|wait| wait.end - wait.start > 1_000_000).collect()
}

#[test]
fn a_thread_that_computes_is_who_holds_the_gil() {
    for (python, minor) in pythons() {
        let enough = |recorded: &Recorded| long_planted(recorded).len() >= 20;
        let recorded = Some(both(&python, &["holder"])).filter(enough);
        let recorded = recorded.unwrap_or_else(|| program(&python, &["holder"]).recorded_until(enough));
        let trace = recorded.trace.as_ref().expect("it was gathered");
        let holder = recorded.fact("holder");
        let computes = recorded.fact("holder-first") as u32..=recorded.fact("holder-last") as u32;
        let long = long_planted(&recorded);
        assert!(long.len() >= 20, "3.{minor}: {} waits", long.len());
        let mut seen = 0;
        for wait in &long {
            assert_eq!(wait.layer, LockLayer::Interpreter);
            assert_eq!(
                [wait.holder, wait.releaser].map(|thread| tid(trace, thread)),
                [holder; 2],
                "{wait:?}"
            );
            assert!(wait.handoff > 0 && wait.handoff < wait.end - wait.start, "{wait:?}");
            let waited = lines(trace, wait.stack);
            assert_eq!(waited.first().map(|(_, line)| u64::from(*line)), Some(recorded.fact("waiter-line")));
            let released = lines(trace, wait.releaser_stack);
            assert!(
                released.first().is_some_and(|(_, line)| computes.contains(line)),
                "3.{minor}: {released:?}"
            );
            assert!(released.get(1).is_some_and(|(function, _)| function.ends_with("run")), "{released:?}");
            let held = lines(trace, wait.holder_stack);
            assert!(held.first().is_none_or(|(_, line)| computes.contains(line)), "3.{minor}: {held:?}");
            seen += usize::from(!held.is_empty());
        }
        // 3.10 does not say which thread a thread state is of.
        assert!(minor == 10 || seen * 2 > long.len(), "3.{minor}: {seen} of {}", long.len());
    }
}

#[test]
fn without_another_thread_nothing_waits_for_the_gil() {
    for (python, minor) in pythons() {
        let recorded = both(&python, &["alone"]);
        let trace = recorded.trace.as_ref().expect("it was gathered");
        assert_eq!(waits(trace, LockKind::Gil).len(), 0, "3.{minor}");
        let names: Vec<_> = trace.tallies.name.iter().map(|name| trace.text(*name)).collect();
        assert!(!names.contains(&"gil"), "3.{minor}: {names:?}");
    }
}

/// The GIL waits of one process that took over 1 ms.
fn long_of(trace: &Trace, pid: u64) -> Vec<Wait> {
    let of = |wait: &Wait| {
        let process = trace.threads.process[wait.thread.index()];
        trace.processes.pid[process.index()] as u64 == pid
    };
    waits(trace, LockKind::Gil)
        .into_iter()
        .filter(|wait| of(wait) && wait.end - wait.start > 1_000_000)
        .collect()
}

/// Waits over 1 ms of the recorded process, and of them those of the waiter, which is the process's first or second that says so.
fn long_of_waiter(recorded: &Recorded, at: usize) -> (Vec<Wait>, Vec<Wait>) {
    let trace = recorded.trace.as_ref().expect("it was gathered");
    let all = long_of(trace, recorded.fact("recorded"));
    let waiter = recorded.facts("waiter")[at];
    let planted = all.iter().filter(|wait| tid(trace, wait.thread) == waiter).copied().collect();
    (all, planted)
}

/// The parent is recorded, or only the child, which calls CUDA first.
#[test]
fn the_child_of_a_fork_has_a_gil_of_its_own() {
    for (python, minor) in pythons() {
        for (at, scenario) in ["fork", "fork-early"].into_iter().enumerate() {
            let recorded = program(&python, &[scenario])
                .recorded_until(|recorded| long_of_waiter(recorded, at).1.len() >= 10);
            let outcome = &recorded.outcome;
            assert_eq!(
                (outcome.stdout.as_str(), outcome.code),
                ("done\n", Some(0)),
                "3.{minor}: {outcome:?}"
            );
            let trace = recorded.trace.as_ref().expect("it was gathered");
            let holder = recorded.facts("holder")[at];
            let (all, planted) = long_of_waiter(&recorded, at);
            let (known, lengths) = (planted.len(), all.iter().map(|wait| wait.end - wait.start));
            assert!(known >= 10, "3.{minor} {scenario}: {known} of {:?}", lengths.collect::<Vec<_>>());
            let right = planted.iter().filter(|wait| tid(trace, wait.releaser) == holder).count();
            assert!(right + 2 >= planted.len(), "3.{minor}: {right} of {}", planted.len());
        }
    }
}

#[test]
fn a_python_that_is_loaded_late_is_watched() {
    for (python, minor) in pythons() {
        let home = python.parent().and_then(Path::parent).expect("it lies in <home>/bin");
        let library = home.join(format!("lib/libpython3.{minor}.so.1.0"));
        if !library.exists() {
            println!("skipped: 3.{minor} has no shared library");
            continue;
        }
        let text = |path: &Path| path.to_str().expect("paths are UTF-8").to_owned();
        for way in [
            Program::linked(Binding::Now, "meets", "late-python"),
            Program::looking_up("meets", "late-python"),
        ] {
            let program = way.with("STANDIN_LIBPYTHON", &text(&library)).with("PYTHONHOME", &text(home));
            let recorded = program.gathered().both();
            assert_eq!(recorded.outcome.stdout, "done\n", "{:?}", recorded.outcome);
            let trace = recorded.trace.as_ref().expect("it was gathered");
            let is_planted = |wait: &&Wait| {
                tid(trace, wait.thread) == recorded.fact("waiter") && wait.end - wait.start > 1_000_000
            };
            let all = waits(trace, LockKind::Gil);
            let planted: Vec<_> = all.iter().filter(is_planted).collect();
            assert!(planted.len() >= 10, "3.{minor}: {} of {}", planted.len(), all.len());
            let ender = recorded.fact("ender");
            let right = planted.iter().filter(|wait| tid(trace, wait.releaser) == ender).count();
            assert!(right + 2 >= planted.len(), "3.{minor}: {right} of {}", planted.len());
        }
    }
}

#[test]
fn interpreters_have_a_gil_each() {
    for (python, minor) in pythons().into_iter().filter(|(_, minor)| *minor >= 12) {
        let recorded = both(&python, &["sub"]);
        let trace = recorded.trace.as_ref().expect("it was gathered");
        let (waiters, holders) = (recorded.facts("waiter"), recorded.facts("holder"));
        assert_eq!((waiters.len(), holders.len()), (2, 2), "3.{minor}");
        let all = waits(trace, LockKind::Gil);
        let mut locks = Vec::new();
        for waiter in waiters {
            let is_planted =
                |wait: &&Wait| tid(trace, wait.thread) == *waiter && wait.end - wait.start > 1_000_000;
            let planted: Vec<_> = all.iter().filter(is_planted).collect();
            assert!(planted.len() >= 10, "3.{minor}: {} of {}", planted.len(), all.len());
            // One of the two that compute, and always the same.
            let who = |wait: &&&Wait| holders.contains(&tid(trace, wait.releaser));
            let [first, ..] = planted.iter().filter(who).collect::<Vec<_>>()[..] else { panic!("3.{minor}") };
            assert!(
                planted
                    .iter()
                    .filter(who)
                    .all(|wait| (wait.lock, wait.releaser) == (first.lock, first.releaser))
            );
            locks.push((first.lock, first.releaser));
        }
        assert!(locks[0].0 != locks[1].0 && locks[0].1 != locks[1].1, "3.{minor}: {locks:?}");
    }
}

/// A library that is not optimized takes longer to find the place of a wait, which is part of it; `gpu/planted.py` compares
/// one as it is shipped.
const ENOUGH: f64 = if cfg!(debug_assertions) { 0.05 } else { 0.02 };

/// The waits together take as long as the interpreter's own calls that wait, which a library measures that stands between
/// holdup and the C library.
#[test]
fn waits_for_the_gil_take_as_long_as_they_do() {
    let measure = built().folder(Binding::Lazy).join("libmeasure.so");
    for (python, minor) in pythons() {
        let attempt = || {
            let program = program(&python, &["holder", "60"]);
            let recorded = program.preloading(measure.to_str().expect("paths are UTF-8")).recorded();
            assert_eq!(recorded.outcome.stdout, "done\n", "{:?}", recorded.outcome);
            let trace = recorded.trace.as_ref().expect("it was gathered");
            let long: i64 = waits(trace, LockKind::Gil).iter().map(|wait| wait.end - wait.start).sum();
            let short: i64 = trace
                .tallies
                .ids()
                .map(|tally| trace.tallies.row(tally))
                .filter(|tally| trace.text(tally.name) == "gil")
                .map(|tally| tally.time)
                .sum();
            let measured = recorded.fact("timedwait-ns") as f64;
            let off = ((long + short) as f64 - measured) / measured;
            println!("3.{minor}: {} ms measured, {:.2} % off", measured / 1e6, off * 100.0);
            off.abs() < ENOUGH
        };
        // A thread may lose its processor between the two.
        assert!((0..4).any(|_| attempt()), "3.{minor}");
    }
}

/// The only long wait of a kind of the thread `waiter`, which waited at a line.
fn waited_at(trace: &Trace, kinds: &[LockKind], waiter: u64, line: u64) -> Wait {
    let all = kinds.iter().flat_map(|kind| waits(trace, *kind));
    let is_it = |wait: &Wait| {
        let at = lines(trace, wait.stack);
        tid(trace, wait.thread) == waiter
            && wait.end - wait.start > 10_000_000
            && at.iter().any(|(_, at)| u64::from(*at) == line)
    };
    let found: Vec<_> = all.filter(is_it).collect();
    match found.as_slice() {
        [only] => *only,
        several => panic!("{} waits at line {line}: {several:?}; {:?}", several.len(), trace.waits.len()),
    }
}

#[test]
fn who_waits_for_a_queue_learns_who_put_into_it() {
    for (python, minor) in pythons() {
        let recorded = both(&python, &["get"]);
        let trace = recorded.trace.as_ref().expect("it was gathered");
        let [waiter, ender, get, put] =
            ["waiter", "ender", "get-line", "put-line"].map(|name| recorded.fact(name));
        let wait = waited_at(trace, &[LockKind::Semaphore], waiter, get);
        assert_eq!((tid(trace, wait.releaser), wait.layer), (ender, LockLayer::Program), "3.{minor}");
        let put_at = lines(trace, wait.releaser_stack);
        assert!(put_at.iter().any(|(_, line)| u64::from(*line) == put), "3.{minor}: {put_at:?}");
        assert!(wait.handoff > 0 && wait.handoff < wait.end - wait.start);
    }
}

#[test]
fn who_joins_a_thread_learns_that_it_ended() {
    for (python, minor) in pythons() {
        let recorded = both(&python, &["join"]);
        let trace = recorded.trace.as_ref().expect("it was gathered");
        let [waiter, ender, join] = ["waiter", "ender", "join-line"].map(|name| recorded.fact(name));
        let wait = waited_at(trace, &[LockKind::Semaphore, LockKind::Join], waiter, join);
        assert_eq!(tid(trace, wait.releaser), ender, "3.{minor}");
    }
}
