//! Any bytes as the kernel's files about threads, and any counters as a thread's account.
#![no_main]

use libfuzzer_sys::fuzz_target;
use watch::account::{Account, Change, Look};
use watch::proc;

fuzz_target!(|input: (Vec<u8>, Vec<(u32, u32, u32, bool)>)| {
    let (text, looks) = input;
    proc::counters(&text);
    let blocked = proc::syscall(&text).unwrap_or_default().place;
    proc::state(&text);
    proc::began(&text);
    proc::code_start(&text);
    proc::code(&text);
    proc::cgroups(&text);
    proc::throttled(&text);
    proc::quota(&text);
    proc::quota_of(&text, &text);

    let mut account = Account::from(&Look::default());
    let (mut at, mut rows) = (0, Vec::new());
    for (step, running, runnable, ready) in looks {
        at += i64::from(step);
        let place = if ready { watch::account::Place { state: spool::Run::Ready, ..blocked } } else { blocked };
        let look = Look { at, running: running.into(), runnable: runnable.into(), place };
        account.look(&look, &mut |change| match change {
            Change::Next(row) => rows.push(row),
            Change::Last(row) => *rows.last_mut().expect("there is one") = row,
        });
    }
    for row in &rows {
        assert!(row.start < row.end && row.end <= at && row.running >= 0 && row.runnable >= 0);
        assert!(row.running + row.runnable <= row.end - row.start);
    }
    assert!(rows.is_sorted_by(|a, b| a.end <= b.start));
});
