//! Planted waits and loads, compared with what the program or the kernel itself measures.
#![cfg(target_os = "linux")]

mod support;

use support::{Seen, is_close, planted, watched, watched_by_nobody, with};
use trace::{State, ThreadState};

fn blocked(row: &State) -> i64 {
    row.end - row.start - row.running - row.runnable
}

#[test]
fn four_burners_on_one_processor_run_and_wait_for_it() {
    let seen = watched(&planted(), &["burners", "600"], 0);
    let burners = &seen.facts["burner"];
    assert_eq!(burners.len(), 4);
    for burner in burners {
        let [tid, running, runnable] = burner[..] else { panic!("three numbers") };
        let rows = seen.states(tid);
        let sum = |part: fn(&State) -> i64| rows.iter().map(part).sum::<i64>();
        let (found_running, found_runnable) = (sum(|row| row.running), sum(|row| row.runnable));
        assert!(is_close(found_running, running as i64), "{found_running} {running}");
        assert!(is_close(found_runnable, runnable as i64), "{found_runnable} {runnable}");
        assert!(runnable > running, "three of four wait");
    }
}

/// The blocked time of the rows of the planted thread that say this call with the planted argument.
fn of_call(seen: &Seen, call: &str) -> i64 {
    let [tid, _, object] = seen.fact("planted") else { panic!("three numbers") };
    let rows = seen.states(*tid);
    let is_it = |row: &&State| {
        seen.trace.text(row.call) == call
            && row.object == *object as i64
            && row.state == ThreadState::Blocked
            // The program also sleeps before and after what is planted, for a tenth of that.
            && blocked(row) > 200_000_000
    };
    assert!(rows.iter().filter(is_it).count() <= 1, "rows of one wait are one: {rows:?}");
    rows.iter().filter(is_it).map(blocked).sum()
}

/// Within 2 % of what the program measured; looks that come late on a busy machine see less.
fn is_planted(found: i64, seen: &Seen) -> bool {
    let planted = seen.fact("planted")[1] as i64;
    (found - planted).abs() <= (planted / 50).max(2 * seen.report.longest)
}

#[test]
fn a_sleep() {
    let seen = watched(&planted(), &["sleep"], 0);
    let found = of_call(&seen, "clock_nanosleep");
    assert!(is_planted(found, &seen), "{found} {:?}", seen.fact("planted"));
}

#[test]
fn a_blocking_read() {
    let seen = watched(&planted(), &["read"], 0);
    let found = of_call(&seen, "read");
    assert!(is_planted(found, &seen), "{found} {:?}", seen.fact("planted"));
}

#[test]
fn a_futex() {
    let seen = watched(&planted(), &["futex"], 0);
    let found = of_call(&seen, "futex");
    assert!(is_planted(found, &seen), "{found} {:?}", seen.fact("planted"));
}

#[test]
fn threads_that_come_and_go_between_looks_are_counted() {
    let seen = watched(&planted(), &["brief", "150"], 0);
    let planted = seen.fact("brief")[0] as i64;
    let main = seen.fact("pid")[0];
    let main = seen.thread(main);
    let rows = seen.trace.states.ids().map(|id| seen.trace.states.row(id));
    let found: i64 = rows.filter(|row| row.thread != main).map(|row| row.running).sum();
    let note = seen.trace.meta.notes.iter().find(|note| note.contains("that no look saw"));
    let note = note.unwrap_or_else(|| panic!("{:?}", seen.trace.meta.notes));
    let unseen = note.split(' ').find_map(|word| word.parse::<i64>().ok()).expect("a time") * 1_000_000;
    // Starting and ending a thread is counted too, by the kernel alone.
    assert!(found + unseen > planted * 98 / 100 - 5_000_000, "{found} + {unseen}, {planted}");
    assert!(found + unseen < planted * 130 / 100 + 20_000_000, "{found} + {unseen}, {planted}");
}

#[test]
fn names_and_limits() {
    let seen = watched(&planted(), &["sleep"], 0);
    let main = seen.thread(seen.fact("pid")[0]);
    assert_eq!(seen.trace.text(seen.trace.threads.name[main.index()]), "watch_planted");
    let limits: Vec<_> = seen.trace.limits.ids().map(|id| seen.trace.limits.row(id)).collect();
    let processors = std::thread::available_parallelism().expect("some").get() as u32;
    assert!(limits.iter().all(|row| row.processors >= processors), "{limits:?}");
    assert!(limits.is_sorted_by(|a, b| a.end <= b.start) && limits.last().expect("some").end > 300_000_000);
    assert_eq!(seen.report.notes, Vec::<String>::new());
}

/// A cgroup with a quota of 30 % of a processor; `None` where none can be made.
fn quota_group() -> Option<std::path::PathBuf> {
    let name = format!("holdup-test-{}", std::process::id());
    let one = std::path::Path::new("/sys/fs/cgroup/cpu").join(&name);
    let two = std::path::Path::new("/sys/fs/cgroup").join(&name);
    if std::fs::create_dir(&one).is_ok() {
        let set = std::fs::write(one.join("cpu.cfs_period_us"), "20000")
            .and_then(|()| std::fs::write(one.join("cpu.cfs_quota_us"), "6000"));
        return set.is_ok().then_some(one);
    }
    let made = std::fs::create_dir(&two).is_ok() && std::fs::write(two.join("cpu.max"), "6000 20000").is_ok();
    made.then_some(two)
}

#[test]
fn a_quota_and_how_long_it_throttles() {
    let Some(group) = quota_group() else {
        return println!("skipped: no cgroup can be made here");
    };
    let moved = std::cell::Cell::new(true);
    let seen = with(&planted(), &["burn", "600"], 0, |child| {
        moved.set(std::fs::write(group.join("cgroup.procs"), child.id().to_string()).is_ok());
    });
    let stat = std::fs::read(group.join("cpu.stat")).expect("it has one");
    let _ = std::fs::remove_dir(&group);
    if !moved.get() {
        return println!("skipped: no process can be moved into a cgroup here");
    }
    let truth = watch::proc::throttled(&stat).expect("a time");
    let limits: Vec<_> = seen.trace.limits.ids().map(|id| seen.trace.limits.row(id)).collect();
    let found: i64 = limits.iter().map(|row| row.throttled).sum();
    assert!(limits.iter().all(|row| row.quota == 300), "{limits:?}");
    // What was throttled before the watcher found the process, and in its last tenth of a second, is not seen.
    assert!(found <= truth && truth - found < 150_000_000, "{found} {truth}");
    if truth < 350_000_000 {
        println!(
            "throttled for {truth} ns only: other processes leave it too little time to use up its quota"
        );
    }
}

#[test]
fn what_is_not_permitted_is_said() {
    let seen = watched_by_nobody(&planted(), &["sleep", "secret"], 100);
    let notes = &seen.trace.meta.notes;
    for said in ["the system calls that its threads are blocked in are unknown", "stacks are not sampled"] {
        assert!(notes.iter().any(|note| note.contains(said)), "{said}: {notes:?}");
    }
    // Everybody may know how long a thread ran, and that it is blocked.
    let [tid, planted, _] = seen.fact("planted") else { panic!("three numbers") };
    let rows = seen.states(*tid);
    let found: i64 = rows.iter().filter(|row| row.state == ThreadState::Blocked).map(blocked).sum();
    assert!(found >= *planted as i64 * 98 / 100, "{found} {planted}");
    assert!(rows.iter().all(|row| row.call.is_empty()) && seen.trace.samples.is_empty());
}
