//! The machines whose code is read.

/// A register, by its number in instructions.
pub(crate) type Register = u8;

/// A machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Machine {
    X86,
    Arm,
}

/// Names of system calls, with their numbers on x86-64 and on 64-bit Arm: `asm/unistd_64.h` and `asm-generic/unistd.h`
/// of Linux 6.1; `u64::MAX` for none. Others are shown by their number.
const SYSTEM_CALLS: [(&str, u64, u64); 41] = [
    ("read", 0, 63),
    ("write", 1, 64),
    ("close", 3, 57),
    ("lseek", 8, 62),
    ("mmap", 9, 222),
    ("mprotect", 10, 226),
    ("munmap", 11, 215),
    ("brk", 12, 214),
    ("rt_sigaction", 13, 134),
    ("rt_sigprocmask", 14, 135),
    ("ioctl", 16, 29),
    ("sched_yield", 24, 124),
    ("mremap", 25, 216),
    ("madvise", 28, 233),
    ("nanosleep", 35, 101),
    ("setitimer", 38, 103),
    ("getpid", 39, 172),
    ("clone", 56, 220),
    ("vfork", 58, u64::MAX),
    ("exit", 60, 93),
    ("kill", 62, 129),
    ("fcntl", 72, 25),
    ("fsync", 74, 82),
    ("ftruncate", 77, 46),
    ("getppid", 110, 173),
    ("prctl", 157, 167),
    ("gettid", 186, 178),
    ("futex", 202, 98),
    ("clock_gettime", 228, 113),
    ("exit_group", 231, 94),
    ("tgkill", 234, 131),
    ("openat", 257, 56),
    ("readlinkat", 267, 78),
    ("unshare", 272, 97),
    ("fallocate", 285, 47),
    ("process_vm_readv", 310, 270),
    ("getrandom", 318, 278),
    ("memfd_create", 319, 279),
    ("membarrier", 324, 283),
    ("clone3", 435, 435),
    ("openat2", 437, 437),
];

impl Machine {
    pub(crate) const ALL: [Machine; 2] = [Machine::X86, Machine::Arm];

    /// The name that Rust and Linux have for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Machine::X86 => "x86_64",
            Machine::Arm => "aarch64",
        }
    }

    /// Rust's name of Linux with the GNU C library on it.
    pub(crate) fn target(self) -> &'static str {
        match self {
            Machine::X86 => "x86_64-unknown-linux-gnu",
            Machine::Arm => "aarch64-unknown-linux-gnu",
        }
    }

    /// A system call by its number.
    pub(crate) fn name_system_call(self, number: u64) -> String {
        let of = |call: &&(&str, u64, u64)| match self {
            Machine::X86 => call.1 == number,
            Machine::Arm => call.2 == number,
        };
        SYSTEM_CALLS
            .iter()
            .find(of)
            .map_or_else(|| format!("system call {number}"), |(name, ..)| (*name).to_owned())
    }

    /// The register with the number of a system call: `rax`, `x8`.
    pub(crate) fn system_call(self) -> Register {
        match self {
            Machine::X86 => 0,
            Machine::Arm => 8,
        }
    }

    /// The register with a function's first argument: `rdi`, `x0`.
    pub(crate) fn first_argument(self) -> Register {
        match self {
            Machine::X86 => 7,
            Machine::Arm => 0,
        }
    }

    /// The register with a system call's result: `rax`, `x0`.
    pub(crate) fn result(self) -> Register {
        0
    }

    /// Whether a function leaves a register as it was: `rbx`, `rbp`, `r12` to `r15`; `x19` to `x29`.
    pub(crate) fn survives(self, register: Register) -> bool {
        match self {
            Machine::X86 => matches!(register, 3 | 5 | 12..=15),
            Machine::Arm => (19..=29).contains(&register),
        }
    }
}
