//! Functions of the operating system's runtime library in which threads wait: what for, and in which system call.

use trace::{LockKind, LockMode};

/// Target of a thread's wait in a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WaitTarget {
    /// A lock, or another thread.
    Lock(LockKind, LockMode),
    /// An event or a time: the function does nothing but wait.
    Event(&'static str),
    /// Data: the function waits and copies.
    Data(&'static str),
}

impl WaitTarget {
    /// The system call in which the thread is blocked.
    pub(super) fn system_call(self) -> &'static str {
        match self {
            WaitTarget::Lock(..) => "futex",
            WaitTarget::Event(call) | WaitTarget::Data(call) => call,
        }
    }
}

/// Target of a thread's wait in the function of that name; `None` if it does not wait there, or not only there.
pub(super) fn awaited(function: &str) -> Option<WaitTarget> {
    use LockMode::{Exclusive, Shared, Unknown};
    let lock = |kind, mode| Some(WaitTarget::Lock(kind, mode));
    match function.trim_start_matches('_').trim_end_matches("64") {
        "pthread_mutex_lock" | "pthread_mutex_timedlock" | "pthread_mutex_clocklock" => {
            lock(LockKind::Mutex, Exclusive)
        }
        "pthread_rwlock_rdlock" | "pthread_rwlock_timedrdlock" | "pthread_rwlock_clockrdlock" => {
            lock(LockKind::RwLock, Shared)
        }
        "pthread_rwlock_wrlock" | "pthread_rwlock_timedwrlock" | "pthread_rwlock_clockwrlock" => {
            lock(LockKind::RwLock, Exclusive)
        }
        "pthread_spin_lock" => lock(LockKind::Spin, Exclusive),
        "pthread_cond_wait" | "pthread_cond_timedwait" | "pthread_cond_clockwait" => {
            lock(LockKind::Condition, Unknown)
        }
        "sem_wait" | "sem_timedwait" | "sem_clockwait" => lock(LockKind::Semaphore, Unknown),
        "pthread_barrier_wait" => lock(LockKind::Barrier, Unknown),
        "pthread_join" | "pthread_timedjoin_np" | "pthread_clockjoin_np" => lock(LockKind::Join, Unknown),
        "poll" | "poll_chk" => Some(WaitTarget::Event("poll")),
        "ppoll" | "ppoll_chk" => Some(WaitTarget::Event("ppoll")),
        "select" => Some(WaitTarget::Event("select")),
        "pselect" => Some(WaitTarget::Event("pselect6")),
        "epoll_wait" => Some(WaitTarget::Event("epoll_wait")),
        "epoll_pwait" | "epoll_pwait2" => Some(WaitTarget::Event("epoll_pwait")),
        "sleep" | "usleep" | "nanosleep" | "clock_nanosleep" => Some(WaitTarget::Event("clock_nanosleep")),
        "pause" => Some(WaitTarget::Event("pause")),
        "sigwait" | "sigwaitinfo" | "sigtimedwait" => Some(WaitTarget::Event("rt_sigtimedwait")),
        "sigsuspend" => Some(WaitTarget::Event("rt_sigsuspend")),
        "wait" | "waitpid" | "wait3" | "wait4" => Some(WaitTarget::Event("wait4")),
        "waitid" => Some(WaitTarget::Event("waitid")),
        "accept" | "accept4" => Some(WaitTarget::Event("accept")),
        "read" => Some(WaitTarget::Data("read")),
        "fread" | "fgets" | "getline" => Some(WaitTarget::Data("read(file)")),
        "readv" | "preadv" => Some(WaitTarget::Data("readv")),
        "pread" => Some(WaitTarget::Data("pread64")),
        "write" => Some(WaitTarget::Data("write")),
        "fwrite" | "fputs" | "fflush" => Some(WaitTarget::Data("write(file)")),
        "open" | "fopen" | "openat" => Some(WaitTarget::Data("openat")),
        "close" | "fclose" => Some(WaitTarget::Data("close")),
        "writev" | "pwritev" => Some(WaitTarget::Data("writev")),
        "pwrite" => Some(WaitTarget::Data("pwrite64")),
        "recv" | "recvfrom" | "recv_chk" | "recvfrom_chk" => Some(WaitTarget::Data("recvfrom")),
        "recvmsg" => Some(WaitTarget::Data("recvmsg")),
        "send" | "sendto" => Some(WaitTarget::Data("sendto")),
        "sendmsg" => Some(WaitTarget::Data("sendmsg")),
        "connect" => Some(WaitTarget::Data("connect")),
        "fsync" => Some(WaitTarget::Data("fsync")),
        "fdatasync" => Some(WaitTarget::Data("fdatasync")),
        "flock" => Some(WaitTarget::Data("flock")),
        "ioctl" => Some(WaitTarget::Data("ioctl")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_wait_for_locks_events_or_data() {
        let lock = WaitTarget::Lock(LockKind::RwLock, LockMode::Shared);
        assert_eq!(awaited("pthread_rwlock_rdlock"), Some(lock));
        assert_eq!(lock.system_call(), "futex");
        assert_eq!(awaited("usleep"), Some(WaitTarget::Event("clock_nanosleep")));
        assert_eq!(awaited("__poll_chk"), Some(WaitTarget::Event("poll")));
        assert_eq!(awaited("pread64"), Some(WaitTarget::Data("pread64")));
        assert_eq!((awaited("pthread_create"), awaited("mmap64")), (None, None));
    }
}
