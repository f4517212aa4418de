//! Rights that are given away, and limits that are reached.

use crate::adversary::Expected::{Counted, Either, Nothing, Recorded};
use crate::adversary::{Adversary, End, Place, adversary};

const fn limited(name: &'static str, words: &'static [&'static str], does: &'static str) -> Adversary {
    adversary(name, "limits/limits.c", does).words(words).recorded(Counted)
}

const fn filtered(name: &'static str, words: &'static [&'static str], does: &'static str) -> Adversary {
    adversary(name, "limits/filter.c", does).words(words).recorded(Counted).ends(End::Exit(3))
}

const fn launched(name: &'static str, words: &'static [&'static str], does: &'static str) -> Adversary {
    adversary(name, "limits/launcher.c", does).words(words).ends(End::Exit(3))
}

const fn executed(name: &'static str, words: &'static [&'static str], does: &'static str) -> Adversary {
    adversary(name, "limits/privileges.c", does).words(words)
}

pub const ALL: &[Adversary] = &[
    limited("setuid", &["setuid"], "becomes another user for good").needs_root(),
    limited("setuid_early", &["setuid", "early"], "becomes another user before it initializes the driver")
        .needs_root()
        .recorded(Nothing),
    limited("seteuid", &["seteuid"], "acts as another user").needs_root(),
    limited("undumpable", &["undumpable"], "forbids others to look at its memory (`PR_SET_DUMPABLE`)"),
    limited("undumpable_nobody", &["undumpable-nobody"], "the same as another user").needs_root(),
    limited("no_descriptors", &["descriptors"], "reaches its limit of descriptors"),
    limited("no_descriptors_early", &["descriptors", "early"], "the same before it initializes the driver")
        .recorded(Either),
    limited("small_files", &["file-size"], "limits the size of files to 100 kB"),
    limited(
        "no_files_early",
        &["no-files", "early"],
        "limits the size of files to nothing before it initializes the driver",
    )
    .recorded(Either),
    limited(
        "little_memory",
        &["memory"],
        "limits its address space to 8 MiB more, and needs half of it later",
    ),
    limited("few_processes", &["processes"], "may make no further process or thread"),
    limited("little_locked", &["locked"], "may lock no memory"),
    limited("all_locked", &["all-locked"], "locks all memory that it has and gets (`mlockall`)"),
    limited("chroot", &["chroot"], "changes its root folder").needs_root(),
    limited("chroot_early", &["chroot", "early"], "the same before it initializes the driver")
        .needs_root()
        .recorded(Nothing),
    limited("folder_removed", &["unlinked"], "removes the folder of the recording").recorded(Either),
    limited("all_closed", &["closed"], "closes all descriptors, as daemons do"),
    limited("all_replaced", &["replaced"], "has a file of its own behind 200 descriptors"),
    limited("elsewhere", &["elsewhere"], "changes its working folder"),
    limited("umask", &["umask"], "lets nobody read the files that it makes"),
    limited("disk_full", &["nothing"], "the disk becomes full").place(Place::Disk(400_000)).needs_root(),
    limited("disk_full_early", &["nothing", "early"], "the disk has no room when it initializes the driver")
        .place(Place::Disk(4096))
        .needs_root()
        .recorded(Either),
    limited("disk_read_only", &["nothing", "early"], "the file system of the recording is read-only")
        .place(Place::ReadOnly)
        .needs_root()
        .recorded(Nothing),
    filtered(
        "seccomp_strict",
        &["strict-prctl"],
        "permits itself to read, write and exit alone (seccomp's strict mode)",
    ),
    filtered("seccomp_strict_by_seccomp", &["strict-seccomp"], "the same by the system call `seccomp`"),
    filtered(
        "counter_forbidden",
        &["no-counter"],
        "forbids itself to read the processor's counter (`PR_SET_TSC`)",
    ),
    filtered(
        "seccomp_kills",
        &["kill-leaves"],
        "a seccomp filter kills it at any call but read, write, futex and exit",
    ),
    filtered("seccomp_kills_then_returns", &["kill-returns"], "the same; it ends by `exit`"),
    filtered("seccomp_kills_threads", &["kill-threads"], "the same, set for all threads by one of them"),
    filtered(
        "seccomp_refuses",
        &["refuse"],
        "a seccomp filter refuses files, mappings and process ids with EPERM",
    ),
    filtered(
        "seccomp_kills_creation",
        &["kill-creation"],
        "a seccomp filter kills it when it makes a file; then it initializes the driver",
    )
    .recorded(Nothing),
    launched("seccomp_then_execv", &["kills", "execv"], "sets a seccomp filter, then executes the program")
        .recorded(Nothing),
    launched("seccomp_then_execl", &["kills", "execl"], "the same by `execl`").recorded(Nothing),
    launched("seccomp_then_number", &["kills", "execve-by-number"], "the same by `syscall`")
        .recorded(Nothing),
    launched("seccomp_then_spawn", &["kills", "spawn"], "the same by `posix_spawn`").recorded(Nothing),
    launched(
        "no_filter_then_execv",
        &["asks", "execv"],
        "asks whether it has a filter and gives up new rights, then executes the program",
    ),
    adversary("process_namespace", "limits/namespaces.c", "a child is process 1 of a namespace")
        .children(Recorded),
    executed("setuid_binary", &["other-rights"], "executes a program with another user's rights")
        .needs_root()
        .recorded(Either),
    executed("small_main_stack", &["small-stack"], "its stack is limited to 256 KiB"),
    executed("traced", &["traced"], "a tracer stops it at each signal"),
    executed("traced_by_child", &["traced-by-child"], "its own child traces it"),
];
