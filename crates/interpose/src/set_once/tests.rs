//! Values that are set once.

use super::*;
use std::sync::atomic::AtomicUsize;
use std::thread;

#[test]
fn the_first_value_stays() {
    let published = SetOnce::new();
    assert_eq!(published.get(), None);
    assert!(published.set([1u64; 4]));
    assert!(!published.set([2; 4]));
    assert_eq!(published.get(), Some(&[1; 4]));
    // SAFETY: this thread alone has it.
    unsafe { published.forked() };
    assert_eq!(published.get(), Some(&[1; 4]));
}

#[test]
fn a_child_sets_what_its_parent_was_setting() {
    let published = SetOnce::new();
    published.state.store(WRITING, Relaxed);
    assert_eq!((published.get(), published.set(1)), (None, false));
    // SAFETY: this thread alone has it, and writes nothing at the moment.
    unsafe { published.forked() };
    assert!(published.set(2));
    assert_eq!(published.get(), Some(&2));
}

#[test]
fn readers_see_a_whole_value_or_none() {
    let published = SetOnce::new();
    let set = AtomicUsize::new(0);
    thread::scope(|scope| {
        for value in [1u64, 2, 3] {
            let (published, set) = (&published, &set);
            scope.spawn(move || set.fetch_add(usize::from(published.set([value; 8])), Relaxed));
        }
        let whole = |read: &[u64; 8]| read.iter().all(|word| *word == read[0]);
        (0..100).for_each(|_| assert!(published.get().is_none_or(whole)));
    });
    assert_eq!(set.into_inner(), 1);
}
