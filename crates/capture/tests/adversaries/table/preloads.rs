//! Other libraries that are preloaded, and sanitizers.

use crate::adversary::Preload::{self, Built, First, Package};
use crate::adversary::{Adversary, adversary};

const fn beside(name: &'static str, preloads: &'static [Preload], does: &'static str) -> Adversary {
    adversary(name, "preloads/common.c", does).preloads(preloads)
}

const JEMALLOC: Preload = Package { package: "libjemalloc2", file: "libjemalloc.so" };
const TCMALLOC: Preload = Package { package: "libtcmalloc-minimal4", file: "libtcmalloc_minimal.so" };
const MIMALLOC: Preload = Package { package: "libmimalloc2.0", file: "libmimalloc.so" };
const LOOKS_UP: &str = "preloads/looks_up.c";
const THREADS: &str = "preloads/threads.c";
const SHARES: &str = "preloads/shares.c";

pub const ALL: &[Adversary] = &[
    beside("jemalloc", &[JEMALLOC], "jemalloc is preloaded"),
    beside("tcmalloc", &[TCMALLOC], "tcmalloc is preloaded"),
    beside("mimalloc", &[MIMALLOC], "mimalloc is preloaded"),
    beside(
        "own_allocator",
        &[Built("preloads/allocates.c")],
        "a preloaded allocator takes a mutex in each call",
    ),
    beside("hooks_dlsym", &[Built(LOOKS_UP)], "a preloaded library wraps `dlsym`"),
    beside("hooks_dlsym_first", &[First(LOOKS_UP)], "the same, before holdup's"),
    beside("hooks_threads", &[Built(THREADS)], "a preloaded library wraps locks and `pthread_create`"),
    beside("hooks_threads_first", &[First(THREADS)], "the same, before holdup's"),
    beside(
        "shares_gpu",
        &[Built(SHARES)],
        "a preloaded layer that shares out GPUs has the driver's functions and `dlsym`",
    ),
    beside("shares_gpu_first", &[First(SHARES)], "the same, before holdup's"),
    beside(
        "shares_gpu_looked_up",
        &[Built(SHARES)],
        "the same layer; the program looks the driver's functions up",
    )
    .flags(&["-DLOOK_UP"]),
    beside("shares_gpu_asked", &[Built(SHARES)], "the same layer; the program asks `cuGetProcAddress`")
        .flags(&["-DLOOK_UP"])
        .environment(&[("STANDIN_BIND", "address")]),
    beside(
        "everything_preloaded",
        &[JEMALLOC, Built(LOOKS_UP), Built(SHARES)],
        "jemalloc and two tools are preloaded together",
    ),
    beside("audited", &[], "an audit library of the loader (`LD_AUDIT`) sees each function that is bound")
        .libraries(&["preloads/audits.c"])
        .environment(&[("LD_AUDIT", "libaudits.so")]),
    beside("bound_at_once", &[], "all functions are bound at the start (`LD_BIND_NOW`)")
        .environment(&[("LD_BIND_NOW", "1")]),
    beside("own_functions", &[], "the program itself has a `dlsym`, a `malloc` and a `pthread_mutex_lock`")
        .flags(&["-DOWN_FUNCTIONS", "-rdynamic"]),
    beside(
        "patches_itself",
        &[],
        "the program puts a function of its own in place of the driver's while it runs",
    )
    .flags(&["-DPATCHES", "-Wl,-z,lazy", "-Wl,-z,norelro", "-no-pie"]),
    beside("gprof", &[], "built with gprof's counters (`-pg`)").flags(&["-pg"]),
    beside("gcov", &[], "built with gcov's counters (`--coverage`)").flags(&["--coverage"]),
    beside("address_sanitizer", &[], "built with AddressSanitizer")
        .flags(&["-fsanitize=address"])
        .environment(QUIET),
    beside("address_sanitizer_static", &[], "the same, with the runtime in the program")
        .flags(&["-fsanitize=address", "-static-libasan"])
        .environment(QUIET),
    beside("thread_sanitizer", &[], "built with ThreadSanitizer")
        .flags(&["-fsanitize=thread"])
        .environment(QUIET),
    beside("thread_sanitizer_static", &[], "the same, with the runtime in the program")
        .flags(&["-fsanitize=thread", "-static-libtsan"])
        .environment(QUIET),
    beside("undefined_sanitizer", &[], "built with UndefinedBehaviorSanitizer")
        .flags(&["-fsanitize=undefined"]),
];

/// The stand-in keeps memory.
const QUIET: &[(&str, &str)] = &[("ASAN_OPTIONS", "detect_leaks=0"), ("TSAN_OPTIONS", "report_bugs=1")];
