//! Places of locks, and what a release leaves there.

use super::*;
use std::thread;

#[test]
fn threads_that_wait_for_a_lock_agree_on_its_place() {
    let address = |place: &ContendedLock| std::ptr::from_ref(place).addr();
    for lock in (1..20).map(|number| 0x7f00_0000_0000 + number * 64) {
        let places = thread::scope(|scope| {
            let threads = [(); 3].map(|()| scope.spawn(move || find_or_add(lock).map(address)));
            threads.map(|thread| thread.join().ok().flatten())
        });
        assert!(may_know(lock));
        let known = find(lock).map(address);
        assert!(known.is_some(), "it was added");
        assert_eq!(places, [known; 3]);
    }
}

// The search for such locks takes an interpreter minutes.
#[cfg(not(miri))]
#[test]
fn locks_with_one_hash_share_the_probes() {
    let same: Vec<usize> =
        (1usize..).map(|number| number * 8).filter(|lock| first(*lock) == 77).take(PROBES + 1).collect();
    let others = &same[..PROBES];
    assert!(others.iter().all(|lock| find_or_add(*lock).is_some()));
    assert!(find_or_add(same[PROBES]).is_none(), "no room: its releaser stays unknown");
    assert!(others.iter().all(|lock| find(*lock).is_some_and(|place| place.lock.load(Relaxed) == *lock)));
}

#[test]
fn a_release_is_noted_while_a_thread_waits() -> Result<(), &'static str> {
    let place = find_or_add(0x7f10_0000_0000).ok_or("there is no room for this lock")?;
    let by = |tid| Party { tid, call: CallRef { function: 2, since: 3 } };
    place.release(|| by(1));
    assert_eq!(place.releaser().tid, 0);
    place.enter();
    place.release(|| by(1));
    place.leave();
    place.release(|| by(9));
    assert_eq!(place.releaser(), by(1));
    Ok(())
}

/// The lock is released between the look for waiters and the release itself: a wait that begins there has no releaser,
/// rather than that of a wait before.
#[test]
fn the_releaser_of_an_earlier_wait_is_forgotten() -> Result<(), &'static str> {
    let place = find_or_add(0x7f20_0000_0000).ok_or("there is no room for this lock")?;
    let by = |tid| Party { tid, call: CallRef::default() };
    place.enter();
    place.release(|| by(1));
    place.leave();
    place.enter();
    assert_eq!(place.releaser().tid, 0);
    // Another thread comes: the release is that of both waits.
    place.release(|| by(2));
    place.enter();
    assert_eq!(place.releaser(), by(2));
    Ok(())
}
