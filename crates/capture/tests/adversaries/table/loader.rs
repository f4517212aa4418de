//! The loader's own locks, and libraries that come and go.

use crate::adversary::{Adversary, adversary};

const LOCKED: &str = "loader/callback_lock.c";
const OPENS: &str = "loader/opens.c";
const PLUGINS: &[&str] = &["loader/plugin.c", "loader/twin.c"];

/// The holder of a lock that a callback of `dl_iterate_phdr` waits for.
const fn locked(name: &'static str, words: &'static [&'static str], does: &'static str) -> Adversary {
    adversary(name, LOCKED, does).words(words)
}

const fn opens(name: &'static str, words: &'static [&'static str], does: &'static str) -> Adversary {
    adversary(name, OPENS, does).words(words).libraries(PLUGINS).flags(&["-rdynamic"])
}

pub const ALL: &[Adversary] = &[
    locked(
        "callback_lock_mutex",
        &["mutex"],
        "a `dl_iterate_phdr` callback waits for a lock whose holder waits for a mutex",
    ),
    locked("callback_lock_rwlock", &["rwlock"], "the same, and the holder waits for a rwlock"),
    locked("callback_lock_condition", &["condition"], "the same, and the holder waits for a condition"),
    locked("callback_lock_semaphore", &["semaphore"], "the same, and the holder waits for a semaphore"),
    locked("callback_lock_join", &["join"], "the same, and the holder joins a thread"),
    locked(
        "callback_lock_short_calls",
        &["short-calls"],
        "the same, and the holder makes short driver calls",
    ),
    locked("callback_lock_slow_call", &["slow-call"], "the same, and the holder makes a slow driver call"),
    locked(
        "callback_lock_call_after_pause",
        &["call-after-pause"],
        "the same, and the holder makes a driver call after a pause",
    ),
    locked("callback_lock_dlsym", &["dlsym"], "the same, and the holder calls `dlsym`"),
    locked(
        "callback_lock_dlopen",
        &["dlopen"],
        "the same, and the holder calls `dlopen` for a library that is loaded",
    ),
    locked(
        "callback_lock_release",
        &["release"],
        "the same, and the holder releases the lock after a second thread came to wait for it",
    ),
    opens(
        "dlopen_in_threads",
        &["threads"],
        "threads open and close libraries whose constructors open others and call the driver",
    ),
    opens(
        "dlopen_with_lock_held",
        &["lock-held"],
        "a thread opens libraries while another waits for a lock that it holds",
    ),
    opens(
        "dlclose_while_in_calls",
        &["while-in-calls"],
        "libraries are closed while other threads are in slow calls",
    ),
    opens(
        "libraries_in_turn",
        &["in-turn"],
        "a library replaces another at its addresses while stacks are recorded",
    ),
    adversary(
        "constructor_calls",
        "loader/constructor.c",
        "constructors and destructors call the driver, before and after `main`",
    ),
    adversary(
        "dlmopen",
        "loader/namespace.c",
        "a library with its own C library is loaded into another namespace",
    )
    .libraries(&["loader/solitary.c"]),
];
