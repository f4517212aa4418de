//! The sequence lock between threads. With `RUSTFLAGS='--cfg loom'` in every order of its loads and stores that the
//! memory model allows, else as they come.

// `loom` is set by hand, and is no feature.
#![allow(unexpected_cfgs)]

#[cfg(loom)]
use loom::{sync::Arc, sync::atomic, thread};
#[cfg(not(loom))]
use std::{sync::Arc, sync::atomic, thread};

// The crate's own file, over the atomics above.
#[path = "../src/sequence_lock.rs"]
mod sequence_lock;

use sequence_lock::SequenceLock;

/// Runs the test once in each order, or often.
fn in_every_order(test: impl Fn() + Sync + Send + 'static) {
    #[cfg(loom)]
    loom::model(test);
    #[cfg(not(loom))]
    (0..2000).for_each(|_| test());
}

fn fresh() -> Arc<SequenceLock<2>> {
    let words = std::array::from_fn(|_| atomic::AtomicU64::new(0));
    Arc::new(SequenceLock { version: atomic::AtomicU32::new(0), words })
}

fn is_whole([first, second]: [u64; 2]) -> bool {
    first == second
}

fn writer(lock: &Arc<SequenceLock<2>>, value: u64) -> thread::JoinHandle<bool> {
    let lock = lock.clone();
    thread::spawn(move || lock.write([value; 2]))
}

#[test]
fn a_reader_beside_a_writer_reads_one_write_or_nothing() {
    in_every_order(|| {
        let lock = fresh();
        let writer = writer(&lock, 1);
        assert!(lock.read().is_none_or(is_whole));
        assert!(writer.join().expect("a writer"));
        assert_eq!(lock.read(), Some([1; 2]));
    });
}

#[test]
fn two_writers_of_a_fresh_place_mix_nothing() {
    in_every_order(|| {
        let lock = fresh();
        let writers = [writer(&lock, 1), writer(&lock, 2)];
        assert!(lock.read().is_none_or(is_whole));
        let written = writers.map(|writer| writer.join().expect("a writer"));
        assert!(written.contains(&true));
        assert!(is_whole(lock.read().expect("nobody writes")));
    });
}

#[test]
fn a_second_write_is_read_whole() {
    in_every_order(|| {
        let lock = fresh();
        assert!(lock.write([1; 2]));
        let writer = writer(&lock, 2);
        assert!(lock.read().is_none_or(is_whole));
        assert!(writer.join().expect("a writer"));
    });
}

#[test]
fn a_child_writes_where_its_parent_was_writing() {
    in_every_order(|| {
        let lock = fresh();
        lock.version.store(1, atomic::Ordering::Relaxed);
        assert_eq!((lock.read(), lock.write([1; 2])), (None, false));
        lock.forked();
        assert_eq!((lock.read(), lock.write([2; 2])), (Some([0; 2]), true));
    });
}

#[test]
fn a_child_keeps_what_its_parent_wrote_whole() {
    in_every_order(|| {
        let lock = fresh();
        assert!(lock.write([3; 2]));
        lock.forked_whole();
        assert_eq!(lock.read(), Some([3; 2]));
        lock.version.store(3, atomic::Ordering::Relaxed);
        lock.forked_whole();
        assert_eq!((lock.read(), lock.write([4; 2])), (Some([0; 2]), true));
    });
}
