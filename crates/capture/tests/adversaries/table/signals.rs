//! Handlers of signals, and stacks that are small or left by a jump.

use crate::adversary::Expected::Counted;
use crate::adversary::{Adversary, Preload, adversary};

const fn timer(name: &'static str, words: &'static [&'static str], does: &'static str) -> Adversary {
    adversary(name, "signals/timer.c", does).words(words)
}

const fn jumps(name: &'static str, words: &'static [&'static str], does: &'static str) -> Adversary {
    adversary(name, "signals/jumps.c", does).words(words)
}

const fn small(name: &'static str, words: &'static [&'static str], does: &'static str) -> Adversary {
    // A function of another library that is looked up at its first call needs more stack than the call.
    adversary(name, "signals/small_stacks.c", does).words(words).flags(&["-Wl,-z,now"])
}

/// Bound at the start, and its own libraries found.
const PROFILER: &[Preload] = &[
    Preload::Package { package: "libunwind8", file: "libunwind.so" },
    Preload::Package { package: "libgoogle-perftools4", file: "libprofiler.so" },
];

pub const ALL: &[Adversary] = &[
    timer("timer_unwinds", &["unwinds"], "a SIGALRM handler unwinds the stack, 1,000 times a second"),
    timer(
        "timer_unwinds_prof",
        &["unwinds-prof"],
        "a SIGPROF handler unwinds the stack, 1,000 times a second",
    ),
    timer("timer_waits", &["waits"], "a SIGALRM handler waits for a mutex, 1,000 times a second"),
    // A handler that interrupts its thread as that writes a record cannot write another.
    timer("timer_calls", &["calls"], "a SIGALRM handler makes driver calls, 1,000 times a second")
        .recorded(Counted),
    timer("timer_calls_within_calls", &["calls-within"], "the same, on threads that are within driver calls")
        .recorded(Counted),
    timer("timer_posts", &["posts"], "a SIGALRM handler posts a semaphore, 1,000 times a second"),
    adversary("gperftools", "signals/gperftools.c", "gperftools' profiler samples the program")
        .preloads(PROFILER)
        .environment(&[("CPUPROFILE", "profile"), ("CPUPROFILE_FREQUENCY", "1000")]),
    jumps("jump_out_of_call", &["call"], "a handler leaves a driver call by `siglongjmp`"),
    jumps("jump_out_of_wait", &["wait"], "a handler leaves a wait for a mutex by `siglongjmp`"),
    jumps("jump_out_of_semaphore", &["semaphore"], "a handler leaves `sem_wait` by `siglongjmp`"),
    jumps("jump_out_of_fault", &["fault"], "a SIGSEGV handler recovers by `siglongjmp`, as runtimes do"),
    jumps("jump_out_of_fault_in_call", &["fault-in-call"], "the same within a driver call"),
    small(
        "handler_on_16_kib",
        &["handler", "16384"],
        "a handler on an alternate stack of 16 KiB makes a slow call and waits",
    ),
    small(
        "handler_on_8_kib",
        &["handler", "8192"],
        "a handler on an alternate stack of 8 KiB makes a slow call and waits",
    ),
    small(
        "coroutines",
        &["coroutines"],
        "coroutines on stacks of 16 KiB move between threads within calls and waits",
    ),
    small("smallest_stack", &["smallest"], "a thread has the smallest stack that the C library allows"),
    small(
        "near_stack_end",
        &["near-end"],
        "a recursion makes a slow call and waits 12 KiB before its stack ends",
    ),
];
