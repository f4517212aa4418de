//! Names of the system calls that threads are blocked in.

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

/// The name of a system call: its number for one that hardly ever blocks.
pub fn name(number: i64) -> String {
    let known = NAMES.iter().chain(OLDER).find(|(known, _)| *known == number);
    known.map_or_else(|| format!("syscall {number}"), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn names() {
        assert_eq!(name(libc::SYS_futex), "futex");
        assert_eq!(name(libc::SYS_read), "read");
        assert_eq!(name(9999), "syscall 9999");
    }
}
