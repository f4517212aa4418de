//! Names of the system calls that threads are blocked in.

use std::path::Path;

/// Lists those that can block, by their numbers on the machine that this is built for.
macro_rules! names {
    ($($name:ident = $number:ident,)*) => {
        const NAMES: &[(i64, &str)] = &[$((libc::$number as i64, stringify!($name)),)*];
    };
}

names! {
    accept = SYS_accept,
    accept4 = SYS_accept4,
    clock_nanosleep = SYS_clock_nanosleep,
    clone = SYS_clone,
    close = SYS_close,
    connect = SYS_connect,
    epoll_pwait = SYS_epoll_pwait,
    epoll_pwait2 = SYS_epoll_pwait2,
    execve = SYS_execve,
    exit = SYS_exit,
    exit_group = SYS_exit_group,
    fallocate = SYS_fallocate,
    fcntl = SYS_fcntl,
    fdatasync = SYS_fdatasync,
    flock = SYS_flock,
    fsync = SYS_fsync,
    ftruncate = SYS_ftruncate,
    futex = SYS_futex,
    futex_waitv = SYS_futex_waitv,
    getdents64 = SYS_getdents64,
    getrandom = SYS_getrandom,
    io_getevents = SYS_io_getevents,
    io_uring_enter = SYS_io_uring_enter,
    ioctl = SYS_ioctl,
    madvise = SYS_madvise,
    mlock = SYS_mlock,
    mmap = SYS_mmap,
    mprotect = SYS_mprotect,
    mremap = SYS_mremap,
    msgrcv = SYS_msgrcv,
    msgsnd = SYS_msgsnd,
    msync = SYS_msync,
    munmap = SYS_munmap,
    nanosleep = SYS_nanosleep,
    newfstatat = SYS_newfstatat,
    openat = SYS_openat,
    ppoll = SYS_ppoll,
    pread64 = SYS_pread64,
    preadv = SYS_preadv,
    process_vm_readv = SYS_process_vm_readv,
    pselect6 = SYS_pselect6,
    pwrite64 = SYS_pwrite64,
    pwritev = SYS_pwritev,
    read = SYS_read,
    readv = SYS_readv,
    recvfrom = SYS_recvfrom,
    recvmmsg = SYS_recvmmsg,
    recvmsg = SYS_recvmsg,
    rt_sigsuspend = SYS_rt_sigsuspend,
    rt_sigtimedwait = SYS_rt_sigtimedwait,
    sched_yield = SYS_sched_yield,
    semop = SYS_semop,
    semtimedop = SYS_semtimedop,
    sendfile = SYS_sendfile,
    sendmmsg = SYS_sendmmsg,
    sendmsg = SYS_sendmsg,
    sendto = SYS_sendto,
    splice = SYS_splice,
    sync_file_range = SYS_sync_file_range,
    unlinkat = SYS_unlinkat,
    wait4 = SYS_wait4,
    waitid = SYS_waitid,
    write = SYS_write,
    writev = SYS_writev,
}

/// Calls that only older architectures have.
#[cfg(target_arch = "x86_64")]
const OLDER: &[(i64, &str)] = &[
    (libc::SYS_epoll_wait, "epoll_wait"),
    (libc::SYS_fork, "fork"),
    (libc::SYS_open, "open"),
    (libc::SYS_pause, "pause"),
    (libc::SYS_poll, "poll"),
    (libc::SYS_select, "select"),
    (libc::SYS_stat, "stat"),
    (libc::SYS_unlink, "unlink"),
    (libc::SYS_vfork, "vfork"),
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[(i64, &str)] = &[];

/// The use of a call that its number leaves open.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Usage {
    /// None that is known, or none that matters.
    Any,
    /// A file of a file system is read or written, and no socket, pipe or device.
    File,
    /// A file is opened to write to it.
    Writing,
}

/// The name of a system call, and of its use: its number for one that hardly ever blocks.
pub fn name(number: i64, usage: Usage) -> String {
    let known = NAMES.iter().chain(OLDER).find(|(known, _)| *known == number);
    let name = known.map_or_else(|| format!("syscall {number}"), |(_, name)| (*name).to_owned());
    match usage {
        Usage::Any => name,
        Usage::File => format!("{name}(file)"),
        Usage::Writing => format!("{name}(writing)"),
    }
}

/// Which argument of a call tells its use or its object: the first, or the flags of one that opens a file.
pub fn telling(number: i64) -> usize {
    match number {
        libc::SYS_openat => 2,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => 1,
        _ => 0,
    }
}

/// The use of a call of a process, by the argument that tells it.
pub fn usage(pid: i32, number: i64, argument: u64) -> Usage {
    /// File systems without files.
    const DEVICES: [&str; 3] = ["/dev", "/proc", "/sys"];
    match number {
        libc::SYS_read | libc::SYS_readv | libc::SYS_write | libc::SYS_writev => {
            let target = std::fs::read_link(format!("/proc/{pid}/fd/{argument}"));
            let is_file = |path: &Path| path.is_absolute() && !DEVICES.iter().any(|of| path.starts_with(of));
            if target.is_ok_and(|path| is_file(&path)) { Usage::File } else { Usage::Any }
        }
        _ if telling(number) > 0 && argument & WRITING != 0 => Usage::Writing,
        _ => Usage::Any,
    }
}

/// The flags of which one is set where a file is opened to write to it.
const WRITING: u64 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u64;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn names() {
        assert_eq!(name(libc::SYS_futex, Usage::Any), "futex");
        assert_eq!(name(libc::SYS_read, Usage::File), "read(file)");
        assert_eq!(name(libc::SYS_openat, Usage::Writing), "openat(writing)");
        assert_eq!(name(9999, Usage::Any), "syscall 9999");
    }

    #[test]
    fn a_file_is_no_pipe_and_no_device() {
        let pid = std::process::id().cast_signed();
        let is = |number, of: &dyn AsRawFd| {
            let descriptor = u64::try_from(of.as_raw_fd()).unwrap();
            usage(pid, number, descriptor) == Usage::File
        };
        let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        let device = std::fs::File::open("/dev/zero").unwrap();
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(is(libc::SYS_read, &file));
        assert!(!is(libc::SYS_read, &device) && !is(libc::SYS_read, &reader));
        assert!(!is(libc::SYS_pread64, &file), "its name says so");
        assert_eq!(usage(pid, libc::SYS_read, u64::MAX), Usage::Any);
    }

    #[test]
    fn a_file_is_opened_to_write_or_to_read() {
        let of = |flags: i32| usage(1, libc::SYS_openat, flags.cast_unsigned().into());
        assert_eq!(of(libc::O_WRONLY | libc::O_TRUNC), Usage::Writing);
        assert_eq!(of(libc::O_RDONLY | libc::O_CLOEXEC), Usage::Any);
        assert_eq!(usage(1, libc::SYS_futex, 1), Usage::Any);
    }
}
