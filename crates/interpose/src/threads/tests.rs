//! The places of threads, and the locks that each holds.

use super::*;
use crate::thread::MOST_HELD;
use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;
use std::thread;

/// Runs `work` with this thread's place, which there must be.
fn in_place(work: impl FnOnce(&'static Thread)) {
    let thread = Thread::current();
    assert!(thread.is_some(), "there is room");
    if let Some(thread) = thread {
        work(thread);
    }
}

#[test]
fn threads_at_once_have_places_of_their_own() {
    const COUNT: usize = 8;
    let (all_here, all_seen) = (Barrier::new(COUNT), Barrier::new(COUNT));
    let places = [const { AtomicUsize::new(0) }; COUNT];
    thread::scope(|scope| {
        for seen in &places {
            let (all_here, all_seen) = (&all_here, &all_seen);
            scope.spawn(move || {
                in_place(|known| {
                    all_here.wait();
                    assert!(Thread::current().is_some_and(|again| std::ptr::eq(known, again)));
                    assert_eq!(party(known.tid()).tid, known.tid());
                    all_seen.wait();
                    known.leave();
                    known.end();
                    seen.store(known.place(), Relaxed);
                });
            });
        }
    });
    let mut different = places.map(AtomicUsize::into_inner).to_vec();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), COUNT, "{different:?}");
}

#[test]
fn the_holder_of_a_lock_is_found_while_it_takes_and_releases_others() {
    let (lock, other) = (0x1_0000, 0x2_0000);
    let (holds, seen) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            in_place(|holder| {
                holder.hold(lock, LockMode::Shared);
                holds.wait();
                for _ in 0..50 {
                    holder.hold(other, LockMode::Exclusive);
                    holder.release(other);
                    assert_eq!(holder.holds(other), None);
                }
                seen.wait();
                holder.hold(other, LockMode::Exclusive);
                // Not the last one acquired; the second time it is not held.
                for _ in 0..2 {
                    holder.release(lock);
                    assert_eq!((holder.holds(lock), holder.holds(other)), (None, Some(LockMode::Exclusive)));
                }
                holder.leave();
                holder.end();
            });
        });
        in_place(|waiter| {
            holds.wait();
            for _ in 0..50 {
                let (party, count) = holders(lock, waiter);
                assert_eq!((count, party.tid != 0), (1, true));
            }
            seen.wait();
        });
    });
}

#[test]
fn more_locks_than_are_known_are_held_unseen() {
    in_place(|thread| {
        (1..=MOST_HELD + 2).for_each(|lock| thread.hold(lock * 64, LockMode::Exclusive));
        let held = || (1..=MOST_HELD + 2).filter(|lock| thread.holds(lock * 64).is_some()).count();
        assert_eq!(held(), MOST_HELD);
        (1..=MOST_HELD + 2).for_each(|lock| thread.release(lock * 64));
        assert_eq!(held(), 0);
    });
}
