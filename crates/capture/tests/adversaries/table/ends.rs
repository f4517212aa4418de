//! The ways in which programs and their threads end.

use crate::adversary::Expected::Either;
use crate::adversary::{Adversary, End, adversary};

const fn ends(name: &'static str, words: &'static [&'static str], end: End, does: &'static str) -> Adversary {
    adversary(name, "ends/endings.c", does).words(words).ends(end)
}

const fn environment(name: &'static str, words: &'static [&'static str], does: &'static str) -> Adversary {
    adversary(name, "ends/environment.c", does).words(words)
}

const fn cancel(name: &'static str, words: &'static [&'static str], does: &'static str) -> Adversary {
    adversary(name, "ends/cancel.c", does).words(words)
}

pub const ALL: &[Adversary] = &[
    ends("exit_among_calls", &["exit"], End::Exit(4), "`exit` while other threads are in calls"),
    ends("underscore_exit", &["_exit"], End::Exit(5), "`_exit` while other threads are in calls"),
    ends(
        "exit_in_thread",
        &["thread-exit"],
        End::Exit(4),
        "a thread calls `exit` after the main thread ended",
    ),
    ends("quick_exit", &["quick_exit"], End::Exit(6), "`quick_exit`, with driver calls in its handlers"),
    ends("abort", &["abort"], End::Signal(libc::SIGABRT), "`abort` while other threads are in calls"),
    ends("killed", &["kill"], End::Signal(libc::SIGKILL), "SIGKILL while other threads are in calls"),
    ends(
        "terminated",
        &["terminate"],
        End::Signal(libc::SIGTERM),
        "SIGTERM while other threads are in calls",
    ),
    ends(
        "exit_in_exit",
        &["exit-in-exit"],
        End::Exit(7),
        "`exit` within a handler of `exit`, with driver calls in others",
    ),
    ends("exit_in_callback", &["callback"], End::Exit(8), "`exit` within a callback of the driver"),
    ends("stdio_closed", &["stdio"], End::Exit(9), "all standard streams are closed"),
    ends("no_stdio", &["no-stdio"], End::Exit(9), "descriptors 0, 1 and 2 are free while calls are made"),
    ends("main_thread_ends", &["main-ends"], End::Exit(0), "the main thread ends before another one"),
    ends("exec_itself", &["exec"], End::Exit(0), "executes itself while other threads are in calls"),
    ends(
        "exec_other",
        &["exec-other"],
        End::Exit(3),
        "executes another program while other threads are in calls",
    ),
    ends("exec_in_thread", &["exec-thread"], End::Exit(0), "a thread executes the program anew"),
    environment(
        "environment_cleared",
        &["cleared"],
        "clears its environment before it initializes the driver",
    )
    .recorded(Either),
    environment("environment_null", &["null"], "has no environment when it initializes the driver")
        .recorded(Either),
    environment(
        "preload_removed",
        &["without-preload"],
        "removes `LD_PRELOAD` before it initializes the driver",
    ),
    environment(
        "environment_changed",
        &["changed"],
        "changes holdup's variables before it initializes the driver",
    )
    .recorded(Either),
    cancel("cancel_in_wait", &["wait"], "threads are cancelled in a wait for a condition"),
    cancel("cancel_in_semaphore", &["semaphore"], "threads are cancelled in `sem_wait`"),
    cancel("cancel_in_join", &["join"], "threads are cancelled in `pthread_join`"),
    cancel("cancel_in_call", &["call"], "threads are cancelled in a slow driver call"),
    cancel("cancel_between_calls", &["calls"], "threads are cancelled that make driver calls"),
    cancel("cancel_between_locks", &["locks"], "threads are cancelled that use a mutex"),
    cancel(
        "cancel_at_once_in_semaphore",
        &["semaphore", "at-once"],
        "threads are cancelled in `sem_wait`, asynchronously",
    ),
    cancel(
        "cancel_at_once_in_call",
        &["call", "at-once"],
        "threads are cancelled in a slow driver call, asynchronously",
    ),
    cancel(
        "cancel_at_once_in_calls",
        &["calls", "at-once"],
        "threads are cancelled anywhere in driver calls, asynchronously",
    ),
    cancel(
        "cancel_at_once_between_locks",
        &["locks", "at-once"],
        "threads are cancelled between locks, asynchronously",
    ),
];
