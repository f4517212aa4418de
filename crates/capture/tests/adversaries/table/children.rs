//! Other processes that a program makes.

use crate::adversary::Expected::{Either, Recorded};
use crate::adversary::{Adversary, adversary};

const fn cloned(name: &'static str, words: &'static [&'static str], does: &'static str) -> Adversary {
    adversary(name, "children/clones.c", does).words(words).children(Either)
}

pub const ALL: &[Adversary] = &[
    cloned("fork_without_handlers", &["_Fork"], "a child of `_Fork` makes driver calls"),
    cloned("raw_clone", &["syscall"], "a child of the system call `clone` makes driver calls"),
    cloned("clone_apart", &["clone"], "a child of `clone` with its own memory makes driver calls"),
    cloned(
        "clone_vm",
        &["clone-vm"],
        "a child of `clone(CLONE_VM)` makes driver calls in its parent's memory",
    ),
    cloned("clone_vfork", &["clone-vfork"], "the same with `CLONE_VFORK`"),
    cloned("vfork_calls", &["vfork"], "a child of `vfork` makes driver calls"),
    cloned("vfork_waits", &["vfork-waits"], "a child of `vfork` waits for a lock of its parent"),
    cloned("vfork_exec", &["vfork-exec"], "children of `vfork` execute programs, which exist or not"),
    cloned("spawn", &["spawn"], "`posix_spawn` starts programs"),
    cloned("double_fork", &["double-fork"], "a grandchild makes driver calls after its parent ended"),
    cloned("daemon", &["daemon"], "a child becomes a daemon and makes driver calls"),
    cloned("child_outlives", &["outlives"], "a child makes driver calls after the program ended"),
    cloned("many_children", &["many"], "200 children, one after the other, make driver calls"),
    adversary(
        "forks_among_threads",
        "children/threads.c",
        "threads fork while others are in calls, wait for locks and hold them",
    )
    .children(Either),
    adversary(
        "workers_initialize",
        "children/initializes.c",
        "a child that `fork` made before initializes the driver itself",
    )
    .children(Recorded),
    adversary("workers_initialize_without_handlers", "children/initializes.c", "the same by `_Fork`")
        .words(&["_Fork"])
        .children(Recorded),
];
