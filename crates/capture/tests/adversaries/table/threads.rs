//! Locks in unusual cases, many threads, and programs that look at themselves.

use crate::adversary::Expected::{Counted, Either};
use crate::adversary::{Adversary, adversary};

const fn many(name: &'static str, words: &'static [&'static str], does: &'static str) -> Adversary {
    adversary(name, "threads/many.c", does).words(words)
}

pub const ALL: &[Adversary] = &[
    adversary(
        "locks",
        "threads/locks.c",
        "prints results and errno of locks of all kinds: robust, inherited, checked, timed",
    )
    .recorded(Counted),
    many("two_thousand_threads", &["at-once"], "has 2,000 threads"),
    many("short_threads", &["in-turn"], "starts 3,000 threads one after the other, each for one call"),
    many("detached_threads", &["detached"], "starts 3,000 threads that nobody joins"),
    many("destructors_call", &["destructors"], "destructors of thread-specific values make driver calls"),
    many("all_keys", &["keys"], "uses all keys of thread-specific values"),
    adversary(
        "looks_at_functions",
        "looks/functions.c",
        "compares the driver's functions by address, file and stack",
    )
    .flags(&["-rdynamic"]),
    adversary(
        "looks_at_itself",
        "looks/self.c",
        "prints its descriptors, threads, handlers, masks and mappings",
    )
    .recorded(Either),
];
