//! Threads that end other threads' waits.

use super::*;
use std::sync::Barrier;

/// The calling thread; a test of one without a place fails with its name.
fn this_thread() -> Result<&'static Thread, &'static str> {
    Thread::current().ok_or("there is no room for this thread")
}

/// Ends the last wait of a thread, and the thread.
fn end_thread(thread: &'static Thread, wait: u64) -> Option<Option<Ender>> {
    let ended = end(thread, wait, true);
    thread.leave();
    thread.end();
    ended
}

fn ender(tid: u32, at: Ticks) -> Ender {
    Ender { party: Party { tid, call: CallRef { function: 3, since: 4 } }, at, place: 9 }
}

#[test]
fn a_name_is_for_one_wait() -> Result<(), &'static str> {
    let thread = this_thread()?;
    let address = 0x1000;
    assert!(!may_be(address));
    let first = begin(thread, address, 10);
    assert!(may_be(address));
    assert_eq!(oldest(address, 25), Some(15));
    leave_name(address, WakeCount::One, &ender(7, 20));
    leave_name(address, WakeCount::One, &ender(8, 21));
    assert_eq!(oldest(address, 25), None, "it is ended");
    assert_eq!(end(thread, first, true), Some(Some(ender(7, 20))), "the first who came");
    let second = begin(thread, address, 30);
    assert_eq!(end(thread, second, true), Some(None), "that was the wait before");
    let third = begin(thread, address, 40);
    leave_name(address, WakeCount::All, &ender(7, 50));
    assert_eq!(end(thread, third, false), Some(None), "it gave up");
    assert!(!may_be(address));
    Ok(())
}

#[test]
fn a_handler_that_waits_within_a_wait_is_no_part_of_it() -> Result<(), &'static str> {
    let thread = this_thread()?;
    let outer = begin(thread, 0x2000, 10);
    let inner = begin(thread, 0x2100, 11);
    leave_name(0x2100, WakeCount::One, &ender(5, 12));
    assert_eq!(end(thread, inner, true), Some(Some(ender(5, 12))));
    assert_eq!(end(thread, outer, true), None);
    assert!(!may_be(0x2000));
    Ok(())
}

#[test]
fn who_goes_on_takes_the_name_that_was_left_for_another() {
    let address = 0x3000;
    let (first_waits, second_waits, done) = (Barrier::new(2), Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            let waiting = this_thread().map(|thread| (thread, begin(thread, address, 10)));
            first_waits.wait();
            done.wait();
            waiting.map(|(thread, wait)| end_thread(thread, wait))
        });
        first_waits.wait();
        let second = scope.spawn(|| {
            let waiting = this_thread().map(|thread| (thread, begin(thread, address, 20)));
            second_waits.wait();
            waiting.map(|(thread, wait)| end_thread(thread, wait))
        });
        // For the oldest, but the other one goes on.
        leave_name(address, WakeCount::One, &ender(5, 30));
        second_waits.wait();
        assert_eq!(second.join().ok(), Some(Ok(Some(Some(ender(5, 30))))));
        leave_name(address, WakeCount::One, &ender(6, 40));
        done.wait();
        assert_eq!(first.join().ok(), Some(Ok(Some(Some(ender(6, 40))))));
    });
}

/// Names are whole and are taken once, whatever threads read at once.
#[test]
fn names_are_whole() -> Result<(), &'static str> {
    let address = 0x4000;
    let rounds = if cfg!(miri) { 30 } else { 2_000 };
    let taken = std::thread::scope(|scope| -> Result<Vec<Ender>, &'static str> {
        let waiters = [(); 2].map(|()| {
            scope.spawn(move || {
                let thread = this_thread()?;
                let mut taken = Vec::new();
                for _ in 0..rounds {
                    let wait = begin(thread, address, 0);
                    std::thread::yield_now();
                    taken.extend(end(thread, wait, true).ok_or("a handler waited")?);
                }
                thread.leave();
                thread.end();
                Ok(taken)
            })
        });
        for at in 1..=rounds as i64 {
            leave_name(address, WakeCount::One, &ender(at as u32, at));
        }
        let [first, second] = waiters.map(|waiter| waiter.join().unwrap_or(Err("a waiter failed")));
        Ok([first?, second?].concat())
    })?;
    assert!(taken.iter().all(|found| *found == ender(found.at as u32, found.at)));
    let mut times: Vec<_> = taken.iter().map(|found| found.at).collect();
    times.sort_unstable();
    times.dedup();
    assert_eq!(times.len(), taken.len(), "one name, one wait");
    Ok(())
}
